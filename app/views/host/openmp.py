"""OpenMP regions: how long they take, and how evenly their threads share the work."""

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import share_bar, table_columns, tables

COLUMNS = table_columns.of(
    "openmp_regions",
    table_columns.use("range", width=180),
    table_columns.use("region", width=125),
    "wall_ns",
    table_columns.bar("work_pct", width=110),
    table_columns.bar("wait_pct", width=110),
    "imbalance",
    table_columns.use("lost_ns", label="Lost"),
    "regions",
    "threads",
    "mean_ns",
    "share_pct",
    "barrier_ns",
    "lock_ns",
    "late_ns",
)


def show(report_id: str) -> None:
    """Draws the section; raises NotCapturedError where the report has no OpenMP events."""
    rows = session.run(report_id, "openmp_regions")
    st.subheader("OpenMP regions", anchor=False)
    if rows.empty:
        st.caption("No OpenMP region begins in this selection.")
        return
    st.markdown(sentence(rows))
    columns = table_columns.filled(rows, COLUMNS)
    tables.table(rows, columns, key="openmp", download="openmp_regions.csv", height=share_bar.height(len(rows)))
    st.caption(
        "Working: in tasks of a region. Waiting: in barriers, for locks, or not yet there. Imbalance: the work of the"
        " thread that works longest over the mean; 1 is even."
    )


def sentence(rows: pd.DataFrame) -> str:
    """How long the regions take, how much of that their threads work, and what uneven work costs, in Markdown."""
    count, wall = (int(rows[name].sum()) for name in ("regions", "wall_ns"))
    many = "1 region takes" if count == 1 else f"{fmt.count(count)} regions take"
    team = sum(int(rows[name].sum()) for name in ("work_ns", "barrier_ns", "lock_ns", "late_ns"))
    if not team:
        return f"{many} {fmt.duration(wall)}. The capture does not tell which threads worked in them."
    works = fmt.percent(100 * int(rows["work_ns"].sum()) / team)
    lost = fmt.duration(int(rows["lost_ns"].sum()))
    return (
        f"{many} {fmt.duration(wall)}; their threads work {works} of it. Evenly shared work would save at most {lost}."
    )
