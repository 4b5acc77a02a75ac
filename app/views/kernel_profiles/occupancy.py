"""Occupancy of one launch: theoretical and achieved, what limits it, and curves for other launch parameters."""

from typing import Any

import pandas as pd
import streamlit as st

from app.ui import chart_element, page_elements, theme
from app.ui import format as fmt
from app.views.kernel_profiles import charts, elements, sentences

LIMITS = {
    "limit_registers": "registers",
    "limit_shared_mem": "shared memory",
    "limit_warps": "warps",
    "limit_sm": "SM at most",
    "limit_barriers": "barriers",
}
"""Columns of ``ncu_occupancy`` that hold the number of blocks each limit allows."""
FAR_POINTS = 10
"""Gap between theoretical and achieved occupancy, in points, above which ncu's own rule reports it."""


def draw_occupancy(report_id: str, launch: int) -> None:
    st.markdown("**Occupancy**")
    row = elements.run_of_launch(report_id, "ncu_occupancy", launch).iloc[0]
    if pd.isna(row["theoretical_pct"]) and pd.isna(row["achieved_pct"]) and pd.isna(row["limit_blocks"]):
        elements.draw_lacking("No occupancy in this report.", "occupancy")
        return
    _draw_facts(row)
    for sentence in (describe_limit(row), list_limits(row), explain_shortfall(row)):
        if sentence:
            st.markdown(fmt.plain(sentence))
    if pd.isna(row["theoretical_pct"]):
        elements.draw_lacking("No theoretical occupancy in this report.", "occupancy")
    _draw_curves(elements.run_of_launch(report_id, "ncu_occupancy_curve", launch), row)


def _draw_facts(row: "pd.Series[Any]") -> None:
    items = [
        (
            "Theoretical",
            fmt.percent(row["theoretical_pct"]),
            "Warps per SM that the launch allows, as a share of the maximum.",
        ),
        ("Achieved", fmt.percent(row["achieved_pct"]), "Average active warps per SM, as a share of the maximum."),
        ("Blocks per SM", _format_blocks(row["limit_blocks"]), "The smallest of the limits."),
    ]
    page_elements.draw_facts([item for item in items if item[1] != fmt.MISSING])


def list_limits(row: "pd.Series[Any]") -> str:
    """List the blocks per SM that each limit of an ``ncu_occupancy`` row allows; "" if none is known."""
    names = LIMITS if pd.notna(row["limit_blocks"]) else {}
    known = [f"{what} {fmt.count(row[name])}" for name, what in names.items() if pd.notna(row[name])]
    return f"Blocks per SM by limit: {', '.join(known)}." if known else ""


def _format_blocks(count: object) -> str:
    amount = fmt.number(count)
    return fmt.MISSING if amount is None else f"{amount:,.0f} block{'s'[: amount != 1]}"


def describe_limit(row: "pd.Series[Any]") -> str:
    """Say what limits the theoretical occupancy of an ``ncu_occupancy`` row; "" if the limiter is unknown."""
    if not isinstance(row["limiter"], str):
        return ""
    fits = f"{_format_blocks(row['limit_blocks'])} fit{'s' if row['limit_blocks'] == 1 else ''} on an SM"
    warps, most = fmt.number(row["theoretical_warps"]), fmt.number(row["max_warps"])
    if warps is not None and most is not None:
        fits += f", {fmt.count(warps)} of {fmt.count(most)} warps"
    if warps is not None and warps == most:
        return f"Nothing limits it: {fits}."
    named = [_title_limiter(name, row) for name in row["limiter"].split(", ")]
    return f"Limited by {' and by '.join(named)}: {fits}."


def _title_limiter(name: str, row: "pd.Series[Any]") -> str:
    registers = fmt.number(row["registers"])
    if name == "registers" and registers is not None:
        return f"registers ({fmt.count(registers)} per thread)"
    if name == "shared_mem" and (shared := count_shared_bytes(row)) is not None:
        return f"shared memory ({fmt.bytes_(shared)} per block)"
    size = fmt.number(row["warps_per_block"])
    if name == "warps" and size is not None:
        return f"the block size ({fmt.count(size)} warps)"
    return sentences.LIMITERS.get(name, name)


def count_shared_bytes(row: "pd.Series[Any]") -> float | None:
    """Return the shared memory per block in bytes, including the driver's share; None if unknown."""
    parts = [fmt.number(row[f"shared_{part}_bytes"]) for part in ("static", "dynamic", "driver")]
    return sum(part or 0.0 for part in parts) if parts[0] is not None or parts[1] is not None else None


def explain_shortfall(row: "pd.Series[Any]") -> str:
    """Explain an achieved occupancy far below the theoretical one; "" if it is not far below."""
    theory, achieved = fmt.number(row["theoretical_pct"]), fmt.number(row["achieved_pct"])
    if theory is None or achieved is None or theory - achieved <= FAR_POINTS:
        return ""
    return (
        f"Achieved is {theory - achieved:.1f} points below theoretical. Likely causes: uneven blocks or warps, a"
        " tail, or too few blocks."
    )


def _draw_curves(rows: pd.DataFrame, row: "pd.Series[Any]") -> None:
    if rows.empty:
        elements.draw_lacking(
            "No occupancy for other launch shapes in this report; ncu's text output never has it.", "occupancy"
        )
        return
    shared = count_shared_bytes(row)
    forms = (
        ("registers", "Registers per thread", fmt.count(row["registers"]), 1.0),
        ("shared_mem", "Shared memory (KB)", fmt.bytes_(shared), 1e3),
        ("block_size", "Threads per block", fmt.count(row["block_size"]), 1.0),
    )
    with st.container(key="occupancy-curves"):
        for what, title, label, size in forms:
            points = rows[rows["what"] == what].reset_index(drop=True)
            if points.empty:
                continue
            with st.container():
                figure = charts.plot_curve(points, title, label, theme.get_theme(), size=size)
                chart_element.draw_chart(figure, f"curve-{what}")
    st.caption("Theoretical occupancy when one of these changes. The mark is this launch.")
