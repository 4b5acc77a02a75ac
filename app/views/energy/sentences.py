"""Formatting of energies with their error bars, and the explanation of these bars."""

from typing import Any

import pandas as pd

from app.ui import format as fmt

JOULES = (("MJ", 1e6), ("kJ", 1e3), ("J", 1.0), ("mJ", 1e-3), ("µJ", 1e-6))
SHORT = "too short to measure"
OUTSIDE = "not in the log"

BAR = (
    "Between two changes of its energy counter a GPU used a known energy E in a known time t. Work that covers"
    " the fraction f of that time gets f × E. Its interval is what is possible while the power P stayed between"
    " the lowest and the highest power that the log shows (or the power limit, where the program gives it): at"
    " least the larger of f × Pmin × t and E − (1 − f) × Pmax × t, at most the smaller of f × Pmax × t and E −"
    " (1 − f) × Pmin × t, so f = 1 gives E. At both ends the interval also includes how much older a change may"
    " be than the reading that shows it. ± is the distance to the farther end of the interval. Where half of the"
    " interval is more than half of the energy, the time is too short to measure. Where the log has a hole, E is"
    " divided between the readings on both sides of it."
)
LAG = (
    "± is the uncertainty of the readings: energy is known from one change of the GPU's counter to the next,"
    " and work gets its share of that time. NVML readings are driver-side averages and lag slightly; the ± does"
    " not include this. Every energy includes idle power."
)


def format_energy(value: Any, low: Any = None, high: Any = None, *, measurable: Any = True) -> str:
    """Format an energy, with its error bar if known: ``3.07 ± 0.14 kJ``; or say why there is no value."""
    amount = fmt.number(value)
    if amount is None:
        return fmt.MISSING
    if not bool(measurable):
        return SHORT
    off = compute_error(amount, low, high)
    unit, size = fmt.unit_for(amount, JOULES)
    digits = (
        _count_decimals(amount / size)
        if off is None
        else min(_count_decimals(off / size), _count_decimals(amount / size) + 1)
    )
    return f"{amount / size:,.{digits}f}" + (f" ± {off / size:,.{digits}f}" if off is not None else "") + f" {unit}"


def _count_decimals(value: float) -> int:
    """Return the number of decimals: three significant digits, but at most two decimals."""
    return 2 if value < 9.995 else 1 if value < 99.95 else 0


def compute_error(value: Any, low: Any, high: Any) -> float | None:
    """Return the distance from an energy to the farther end of its interval; None if a value is missing."""
    numbers = [fmt.number(bound) for bound in (value, low, high)]
    if any(bound is None for bound in numbers):
        return None
    amount, least, most = (float(bound) for bound in numbers if bound is not None)
    return max(most - amount, amount - least)


def format_power(value: Any) -> str:
    """Format a power: ``674 W``."""
    amount = fmt.number(value)
    return fmt.MISSING if amount is None else f"{amount:,.1f} W" if amount < 100 else f"{amount:,.0f} W"


def sum_energy(rows: pd.DataFrame) -> "pd.Series[Any]":
    """Combine the rows of several GPUs: energies add up, and the coverage is a share of their combined time."""
    known = float((rows["seconds"] * rows["covered_pct"].fillna(0) / 100).sum())
    sums = {name: rows[name].sum(min_count=1) for name in ("joules", "low_j", "high_j")}
    asked = float(rows["seconds"].sum())
    value, low, high = (fmt.number(sums[name]) for name in ("joules", "low_j", "high_j"))
    measurable = bool(value and low is not None and high is not None and high - low <= value)
    return pd.Series(
        sums
        | {
            "covered_pct": 100 * known / asked if asked else None,
            "mean_w": value / known * len(rows) if value and known else None,
            "measurable": measurable,
        }
    )


def describe_coverage(rows: pd.DataFrame) -> str:
    """Describe the part of the selection outside the log, per GPU (Markdown, escaped); "" if the log covers all."""
    sentences = []
    for row in rows.itertuples():
        gpu = f"GPU {fmt.count(row.gpu_id)}: " if len(rows) > 1 else ""
        share = fmt.number(row.covered_pct)
        if not row.readings:
            sentences.append(f"{gpu}the log has no readings for this GPU.")
        elif share is None:
            sentences.append(f"{gpu}the selection covers no time.")
        elif fmt.number(row.log_start_ns) is None:
            sentences.append(f"{gpu}the log's readings do not change, so its energy is unknown.")
        elif share < 99.95:
            span = f"{fmt.duration(row.log_start_ns)} to {fmt.duration(row.log_end_ns)}"
            part = f"{fmt.percent(share)} of the selection" if share else "none of the selection"
            sentences.append(f"{gpu}the log covers {part}: {span} after the start of the capture.")
    words = " ".join(sentences)
    return fmt.plain(words[:1].upper() + words[1:])


def explain_source(rows: pd.DataFrame) -> str:
    """Explain how energy was computed for GPUs without an energy counter (Markdown, escaped)."""
    added = [fmt.count(gpu) for gpu in rows.loc[rows["source"] == "power", "gpu_id"]]
    if not added:
        return ""
    return fmt.plain(
        f"GPU {', '.join(added)} has no energy counter. Its power readings are integrated by the trapezoid rule,"
        " and the ± does not include power changes between two readings."
    )


def note(row: Any) -> str:
    """Explain why a row has no value, or that it covers only a part; "" if it is complete."""
    share = fmt.number(row["covered_pct"]) if "covered_pct" in row else 100.0
    if not share or fmt.number(row["joules"]) is None:
        return OUTSIDE
    if not bool(row["measurable"]):
        return SHORT
    return "" if share > 99.9 else f"log covers {fmt.percent(share)}"
