"""Tables of a kernel's page: launch shapes with their occupancy, and its longest launches."""

import streamlit as st

from app import session
from app.selection import kernel_links
from app.ui import format as fmt
from app.ui import table_columns, tables

LONGEST = 100
SHAPE_COLUMNS = table_columns.of(
    "kernel_shapes",
    table_columns.use("grid", width=120),
    table_columns.use("block", width=100),
    "calls",
    table_columns.bar("share_pct", width=110),
    "total_ns",
    "avg_ns",
    "occupancy_pct",
    table_columns.use("limiter", width=120),
    "blocks_per_sm",
    "waves",
    "registers",
    "static_shared_bytes",
    "dynamic_shared_bytes",
    "local_bytes",
)
SHAPE_HIDDEN = ("min_ns", "max_ns", "gpu", "warps", "limit_warps", "limit_registers", "limit_shared", "limit_blocks")
LONGEST_COLUMNS = table_columns.of(
    "kernel_instances",
    "duration_ns",
    "since_start_ns",
    "gpu_id",
    "stream",
    table_columns.use("grid", width=120),
    table_columns.use("block", width=100),
    "registers",
    "shared_bytes",
    "correlation_id",
)


def shapes(report_id: str, kernel: int) -> None:
    """Draws the launch shapes."""
    rows = session.run(report_id, "kernel_shapes", kernel=kernel)
    st.subheader("Launch shapes", anchor=False)
    if rows["occupancy_pct"].isna().all():
        st.caption("The report says too little about its GPU to compute occupancy.")
    else:
        st.caption("Theoretical occupancy (CUDA occupancy calculator). Nsight Compute measures the achieved value.")
    tables.table(rows, SHAPE_COLUMNS, key="shapes", download="launch_shapes.csv", hidden=SHAPE_HIDDEN)


def longest(report_id: str, kernel: int, calls: int) -> None:
    """Draws the longest launches."""
    rows = session.run(report_id, "kernel_instances", kernel=kernel, limit=LONGEST)
    st.subheader("Longest launches", anchor=False)
    if calls > len(rows):
        st.caption(f"The longest {fmt.count(len(rows))} of {fmt.count(calls)} launches.")
    tables.table(
        rows, LONGEST_COLUMNS, key="longest", download="longest_launches.csv", height=320 if len(rows) > 8 else None
    )
    if len(rows):
        start, length = rows["since_start_ns"].iloc[0], rows["duration_ns"].iloc[0]
        kernel_links.to_timeline(report_id, "Longest launch on the timeline", start, start + length)
