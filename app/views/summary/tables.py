"""Memory copies and ranges on the overview, where the report has them."""

import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import table_columns, tables
from profiledb.query.analysis import rows_or_none
from profiledb.studies.summary import headline
from profiledb.studies.summary import memory as summary

TOP = 10
COPY_COLUMNS = table_columns.of(
    "memory_copies",
    table_columns.use("operation", width=260),
    "total_ns",
    "count",
    "bytes",
    "avg_bytes",
    "bytes_per_s",
)
CALL_COLUMNS = table_columns.of(
    "api_calls",
    table_columns.use("function", width=380),
    "total_ns",
    "calls",
    "avg_ns",
    "median_ns",
    "max_ns",
)
CALL_HIDDEN = ("category", "share_pct", "min_ns", "failed")
PEAK_COLUMNS = table_columns.of(
    "tensor_peak", "device", table_columns.use("name", label="Allocated by", width=380), "bytes",
    table_columns.bar("share_pct", width=130), "tensors", "largest_bytes",
)  # fmt: skip
LARGEST_COLUMNS = table_columns.of(
    "tensor_lifetimes", "device", "bytes", table_columns.use("stack", width=480), table_columns.use("start_ns",
    width=110),
    table_columns.use("end_ns", width=110),
)  # fmt: skip
RANGE_COLUMNS = table_columns.of(
    "range_summary",
    table_columns.use("name", width=380),
    "total_ns",
    "instances",
    "avg_ns",
    "median_ns",
    "max_ns",
    "style",
)


def calls(report_id: str) -> None:
    """Draws the CUDA calls that took the longest, for reports without the GPU's side of them; nothing without any."""
    rows = rows_or_none(session.run, report_id, "api_calls")
    if rows.empty:
        return
    st.subheader("CUDA API calls", anchor=False)
    number = f"{fmt.counted(rows['calls'].sum(), 'call')} recorded"
    st.caption(f"{number}. Top {TOP} of {fmt.count(len(rows))} functions." if len(rows) > TOP else f"{number}.")
    tables.table(rows.head(TOP), CALL_COLUMNS, key="calls", download="cuda_api_calls.csv", hidden=CALL_HIDDEN)


def memory(report_id: str) -> None:
    """Draws what holds memory at the peak and the largest allocations, for a memory snapshot."""
    peak = rows_or_none(session.run, report_id, "tensor_peak", limit=TOP)
    if peak.empty:
        return
    st.subheader("What holds memory at the peak", anchor=False)
    named = peak.assign(name=peak["name"].where(peak["part"] == "named", peak["part"].map(summary.PARTS)))
    tables.table(named, PEAK_COLUMNS, key="peak", download="tensor_peak.csv", hidden=("part",))
    largest = session.run(report_id, "tensor_lifetimes", limit=TOP)
    st.subheader("Largest allocations", anchor=False)
    st.caption("No start: allocated before the capture. No end: not released in it.")
    columns = table_columns.filled(largest, LARGEST_COLUMNS)
    hidden = [str(name) for name in largest.columns if name not in {column.name for column in LARGEST_COLUMNS}]
    tables.table(largest, columns, key="largest", download="tensor_lifetimes.csv", hidden=tuple(hidden))


def copies(ask: headline.Ask) -> None:
    """Draws the copies by direction; nothing where there are none."""
    rows = rows_or_none(ask, "memory_copies")
    if rows.empty:
        return
    st.subheader("Memcpy and memset", anchor=False)
    tables.table(rows, COPY_COLUMNS, key="copies", download="memory_copies.csv")


def ranges(ask: headline.Ask) -> None:
    """Draws the ranges that took the longest; nothing where there are none."""
    rows = rows_or_none(ask, "range_summary")
    if rows.empty:
        return
    st.subheader("Ranges", anchor=False)
    st.caption(
        "CPU wall time, nested ranges included."
        + (f" Top {TOP} of {fmt.count(len(rows))} names." if len(rows) > TOP else "")
    )
    told = rows["style"].nunique() > 1
    columns = [column for column in RANGE_COLUMNS if told or column.name != "style"]
    tables.table(rows.head(TOP), columns, key="ranges", download="ranges.csv", hidden=("style",))
