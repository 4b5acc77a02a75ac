"""Tables of a kernel's page: launch shapes with their occupancy, and its longest launches."""

import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import tables

LONGEST = 100
SHAPE_COLUMNS = (
    tables.Col("grid", "Grid", help="Blocks in x, y and z", width=120),
    tables.Col("block", "Block", help="Threads of a block in x, y and z", width=100),
    tables.Col("calls", "Calls", kind="count"),
    tables.Col("share_pct", "Share", kind="bar", help="Share of this kernel's time", width=110),
    tables.Col("total_ns", "Total", kind="duration"),
    tables.Col("avg_ns", "Average", kind="duration"),
    tables.Col("occupancy_pct", "Occupancy", kind="percent", help="Theoretical: warps an SM can hold of this launch"),
    tables.Col("limiter", "Limited by", help="What sets the theoretical occupancy", width=120),
    tables.Col("blocks_per_sm", "Blocks / SM", kind="count", help="Blocks of this launch that an SM can hold"),
    tables.Col("waves", "Waves", kind="number", help="Blocks of the grid over the blocks that fit on the GPU at once"),
    tables.Col("registers", "Registers", kind="count", help="Registers of a thread"),
    tables.Col("static_shared_bytes", "Static shared", kind="bytes", help="Shared memory of a block that it declares"),
    tables.Col(
        "dynamic_shared_bytes", "Dynamic shared", kind="bytes", help="Shared memory of a block asked for at launch"
    ),
    tables.Col("local_bytes", "Local", kind="bytes", help="Local memory of a thread: spills and indexed arrays"),
)
SHAPE_HIDDEN = ("min_ns", "max_ns", "gpu", "warps", "limit_warps", "limit_registers", "limit_shared", "limit_blocks")
LONGEST_COLUMNS = (
    tables.Col("duration_ns", "Duration", kind="duration"),
    tables.Col("since_start_ns", "Begin", kind="duration", help="From the begin of the capture"),
    tables.Col("gpu_id", "GPU", kind="count"),
    tables.Col("stream", "Stream", kind="count"),
    tables.Col("grid", "Grid", width=120),
    tables.Col("block", "Block", width=100),
    tables.Col("registers", "Registers", kind="count"),
    tables.Col("shared_bytes", "Shared", kind="bytes", help="Shared memory of a block, static and dynamic"),
    tables.Col("correlation_id", "Correlation", kind="count", help="Joins the API call that launched it"),
)


def shapes(report_id: str, kernel: int) -> None:
    """Draws the launch shapes."""
    rows = session.run(report_id, "kernel_shapes", kernel=kernel)
    st.subheader("Launch shapes", anchor=False)
    if rows["occupancy_pct"].isna().all():
        st.caption("The report does not tell enough of its GPU to compute an occupancy.")
    else:
        st.caption(
            "Occupancy is theoretical, by the rules of the CUDA occupancy calculator; a Compute report measures it."
        )
    tables.table(rows, SHAPE_COLUMNS, key="shapes", download="launch_shapes.csv", hidden=SHAPE_HIDDEN)


def longest(report_id: str, kernel: int, calls: int) -> None:
    """Draws the longest launches."""
    rows = session.run(report_id, "kernel_instances", kernel=kernel, limit=LONGEST)
    st.subheader("Longest launches", anchor=False)
    if calls > len(rows):
        st.caption(f"The {fmt.count(len(rows))} longest of {fmt.count(calls)}.")
    tables.table(
        rows, LONGEST_COLUMNS, key="longest", download="longest_launches.csv", height=320 if len(rows) > 8 else None
    )
