"""Tables of the Kernel page: launch shapes with occupancy, and the longest launches."""

import pandas as pd
import streamlit as st

from app import session
from app.selection import kernel_links
from app.ui import format as fmt
from app.ui.analysis_table import AnalysisTable

LONGEST = 100


def _explain_occupancy(rows: pd.DataFrame) -> str:
    if rows["occupancy_pct"].isna().all():
        return "The report says too little about its GPU to compute occupancy."
    return "Theoretical occupancy (CUDA occupancy calculator). Nsight Compute measures the achieved value."


SHAPES = AnalysisTable(
    "kernel_shapes",
    "Launch shapes",
    "No launch of this kernel in this selection.",
    caption=_explain_occupancy,
    hidden=("min_ns", "max_ns", "gpu", "warps", "limit_warps", "limit_registers", "limit_shared", "limit_blocks"),
    download="launch_shapes.csv",
)
COUNTERS = AnalysisTable("kernel_counters", "Performance counters", filled=True, hidden=("kernel", "name"))
LINES = AnalysisTable("kernel_lines", "Source lines")
NEIGHBORS = AnalysisTable(
    "kernel_neighbors",
    "Neighbors in its stream",
    changes={"name": {"click": "opens the kernel"}},
    hidden=("kernel",),
)
INSTANCES = AnalysisTable("kernel_instances", few=True, download="longest_launches.csv")


def draw_neighbors(report_id: str, kernel: int) -> None:
    """Draw the kernels that run before and after this one; nothing if it runs alone in its stream."""
    rows = session.run(report_id, "kernel_neighbors", kernel=kernel)
    if rows.empty:
        return
    st.subheader(NEIGHBORS.title, anchor=False)
    chosen = NEIGHBORS.table(rows, select=True)
    if chosen is not None:
        kernel_links.open_kernel(report_id, int(rows["kernel"].iloc[chosen]))


def draw_longest(report_id: str, kernel: int, calls: int) -> None:
    rows = session.run(report_id, "kernel_instances", kernel=kernel, limit=LONGEST)
    st.subheader("Longest launches", anchor=False)
    if calls > len(rows):
        st.caption(f"The longest {fmt.count(len(rows))} of {fmt.count(calls)} launches.")
    INSTANCES.table(rows)
    if len(rows):
        start, length = rows["since_start_ns"].iloc[0], rows["duration_ns"].iloc[0]
        kernel_links.to_timeline(report_id, "Longest launch on the timeline", start, start + length)
