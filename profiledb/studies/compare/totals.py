"""Totals of a side of a comparison: sums of the whole selection, of the content of its steps, and of the rest."""

import pandas as pd

from profiledb.studies.compare.matching import Part, Side
from profiledb.words import number

SUMS = {
    "wall_ns": "ns",
    "busy_ns": "ns",
    "idle_ns": "ns",
    "kernel_ns": "ns",
    "launches": "count",
    "copy_ns": "ns",
    "copies": "count",
    "copy_bytes": "bytes",
    "memset_ns": "ns",
    "memsets": "count",
    "memset_bytes": "bytes",
}
"""Sums and their units. ``wall_ns`` is the time that the selection, or its steps, cover; ``busy_ns`` and ``idle_ns``
are sums over the GPUs that worked. Copies exclude memsets, which count by themselves."""

PER_STEP = "_per_step"
OUTSIDE = "_outside_steps"

MEASURES = (
    {"steps": "count"}
    | {f"{name}{PER_STEP}": unit for name, unit in SUMS.items()}
    | {"step_median_ns": "ns", "between_steps_ns": "ns"}
    | SUMS
    | {"busy_pct": "%", "kernels": "count"}
    | {f"{name}{OUTSIDE}": SUMS[name] for name in ("wall_ns", "kernel_ns", "launches", "copy_ns", "memset_ns")}
)
"""Compared measures and their units. ``step_median_ns`` is the median step on the host; ``between_steps_ns`` is the
mean time from the end of one step to the start of the next; ``busy_pct`` covers the GPUs that worked."""


def summarize(a: Side, b: Side) -> pd.DataFrame:
    """Return one row per measure of either side (``columns.SUMMARY``); unknown values are missing."""
    sides = (measure(a), measure(b))
    rows = pd.DataFrame({"measure": list(MEASURES), "unit": list(MEASURES.values())})
    for letter, values in zip("ab", sides, strict=True):
        rows[letter] = pd.array([values.get(name) for name in MEASURES], dtype="Float64")
    rows["change"] = rows["b"] - rows["a"]
    rows["change_pct"] = 100 * rows["change"] / rows["a"].where(rows["a"] > 0)
    return rows[rows["a"].notna() | rows["b"].notna()].reset_index(drop=True)


def measure(side: Side) -> dict[str, float]:
    """Return the ``MEASURES`` of a side that its report knows; outermost ranges stand in for missing steps."""
    whole = sum_up(side)
    values = whole | _list_shares(side)
    if side.unit is None or side.inside is None:
        return values
    inside, (_, count) = sum_up(side.inside), side.unit
    values |= {"steps": count} | {f"{name}{PER_STEP}": value / count for name, value in inside.items()}
    outside = {name: whole[name] - value for name, value in inside.items() if f"{name}{OUTSIDE}" in MEASURES}
    return (
        values
        | {f"{name}{OUTSIDE}": value for name, value in outside.items()}
        | _measure_pace(side, inside.get("wall_ns"))
    )


def sum_up(part: Part) -> dict[str, float]:
    """Return the ``SUMS`` of a part of a report; a sum that was not captured is missing instead of 0."""
    values: dict[str, float] = {}
    if len(part.gpu_busy):
        worked = part.gpu_busy[part.gpu_busy["operations"] > 0]
        window = number(part.gpu_busy["capture_ns"].max())
        values |= {} if window is None else {"wall_ns": window}
        if window is not None and len(worked):
            busy = worked["busy_ns"]
            values |= {"busy_ns": float(busy.sum()), "idle_ns": float((window - busy).clip(lower=0).sum())}
    if len(part.kernel_totals.columns):
        values |= {"kernel_ns": part.kernel_ns, "launches": int(part.kernel_totals["calls"].sum())}
    if len(part.copies.columns):
        for kind, names in _KINDS.items():
            rows = part.copies[part.copies["kind"] == kind]
            values |= {name: int(rows[column].sum()) for column, name in names.items()}
    return values


_KINDS = {
    "memcpy": {"total_ns": "copy_ns", "count": "copies", "bytes": "copy_bytes"},
    "memset": {"total_ns": "memset_ns", "count": "memsets", "bytes": "memset_bytes"},
}


def _list_shares(side: Side) -> dict[str, float]:
    values: dict[str, float] = {}
    worked = side.gpu_busy[side.gpu_busy["operations"] > 0] if len(side.gpu_busy) else side.gpu_busy
    if len(worked) and (share := number(worked["busy_pct"].mean())) is not None:
        values["busy_pct"] = share
    return values | ({"kernels": len(side.kernel_totals)} if len(side.kernel_totals) else {})


def _measure_pace(side: Side, inside_ns: float | None) -> dict[str, float]:
    """Return the median step on the host, and the time between steps: from first to last without the time in them."""
    if side.steps is None:
        return {}
    row = side.iteration_summary.iloc[0]
    median, rate = number(row["median_ns"]), number(row["per_second"])
    pace = {} if median is None else {"step_median_ns": median}
    if rate and inside_ns is not None and side.steps > 1:
        pace["between_steps_ns"] = max(0.0, side.steps / rate * 1e9 - inside_ns) / (side.steps - 1)
    return pace
