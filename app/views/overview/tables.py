"""Memory copies and NVTX ranges on the overview, where the report has them."""

import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import tables
from profiledb.errors import NotCapturedError

TOP = 10
COPY_COLUMNS = (
    tables.Col("operation", "Operation", width=260),
    tables.Col("total_ns", "Total", kind="duration", help="Sum of durations"),
    tables.Col("count", "Operations", kind="count"),
    tables.Col("bytes", "Size", "B", "Sum of sizes", "count"),
    tables.Col("avg_bytes", "Average size", "B", "Mean size of an operation", "count"),
    tables.Col("mb_per_s", "Rate", "MB/s", "Sum of sizes over sum of durations", "number"),
)
RANGE_COLUMNS = (
    tables.Col("name", "Range", width=380),
    tables.Col("total_ns", "Total", kind="duration", help="Time on the host between begin and end"),
    tables.Col("instances", "Instances", kind="count"),
    tables.Col("avg_ns", "Average", kind="duration"),
    tables.Col("median_ns", "Median", kind="duration", like="avg_ns"),
    tables.Col("max_ns", "Longest", kind="duration", like="avg_ns"),
    tables.Col("style", "Style"),
)


def copies(report_id: str) -> None:
    """Draws the copies by direction; nothing where there are none."""
    try:
        rows = session.run(report_id, "memory_copies")
    except NotCapturedError:
        return
    if rows.empty:
        return
    st.subheader("Memory copies", anchor=False)
    rates = rows.assign(mb_per_s=rows["bytes_per_s"] / 1e6)
    tables.table(rates, COPY_COLUMNS, key="copies", download="memory_copies.csv")


def ranges(report_id: str) -> None:
    """Draws the NVTX ranges that took the longest; nothing where there are none."""
    try:
        rows = session.run(report_id, "range_summary")
    except NotCapturedError:
        return
    if rows.empty:
        return
    st.subheader("NVTX ranges", anchor=False)
    st.caption(
        "Time on the host, ranges inside others included"
        + (f"; the {TOP} longest of {fmt.count(len(rows))} names." if len(rows) > TOP else ".")
    )
    tables.table(rows.head(TOP), RANGE_COLUMNS, key="ranges", download="nvtx_ranges.csv")
