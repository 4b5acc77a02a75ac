"""Memory copies and NVTX ranges on the overview, where the report has them."""

import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import heads, tables
from profiledb.errors import NotCapturedError

TOP = 10
COPY_COLUMNS = heads.of(
    "memory_copies",
    heads.use("operation", width=260),
    "total_ns",
    "count",
    heads.use("bytes", kind="count", unit="B"),
    heads.use("avg_bytes", kind="count", unit="B"),
    heads.use("bytes_per_s", name="mb_per_s", unit="MB/s"),
)
RANGE_COLUMNS = heads.of(
    "range_summary",
    heads.use("name", width=380),
    "total_ns",
    "instances",
    "avg_ns",
    heads.use("median_ns", like="avg_ns"),
    heads.use("max_ns", like="avg_ns"),
    "style",
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
