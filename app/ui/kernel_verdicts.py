"""The limit of each kernel of a report with a timeline, as its linked Compute report measured it."""

import re

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import profile_links, table_columns, verdicts
from profiledb import words
from profiledb.errors import PreparingError, WarpdeckError

IN_LIST = table_columns.choose_columns(
    "kernel_verdicts",
    table_columns.use("verdict", width=118),
    table_columns.use("verdict_pct", width=104),
)
_OTHER_VENDOR = re.compile(r"\b(AMD|Radeon|Intel)\b")


def add_verdicts(report_id: str, kernels: pd.DataFrame) -> pd.DataFrame:
    """Add the verdict of each kernel, with the number behind it, the reason, and the command where it lacks one;
    nothing while the report is being prepared."""
    try:
        rows = session.run(report_id, "kernel_verdicts").set_index("kernel")
    except PreparingError:
        return kernels
    return kernels.assign(
        **{name: kernels["kernel"].map(rows[name]) for name in ("verdict", "verdict_pct", "reason", "command")}
    )


def draw_section(report_id: str, kernel: int) -> None:
    """Say what limits a kernel and what to do, or that nobody measured it, with the command that does.

    Nothing of a GPU that Nsight Compute cannot measure.
    """
    row = session.run(report_id, "kernel_verdicts", kernel=kernel).iloc[0]
    if row["verdict"] == words.NOT_MEASURED and _OTHER_VENDOR.search(session.report().gpu or ""):
        return
    st.subheader("What limits it", anchor=False)
    if row["verdict"] == words.NOT_MEASURED:
        st.markdown(f"**Not measured**: {fmt.plain(row['reason'])}. Measure it, and drop the file into the Library:")
        st.code(fmt.visible(row["command"]), language=None, wrap_lines=True)
        return
    linked = session.read_links()[report_id]
    try:
        limits = session.run_whole(linked, "ncu_limits", launch=int(row["launch_id"])).iloc[0]
    except WarpdeckError as error:
        st.caption(f"The linked Compute report has no answer here: {fmt.plain(error.message)}")
        return
    advice = verdicts.choose_advice(row["verdict"], limits["flops_per_s"])
    st.markdown(f"**{fmt.plain(verdicts.describe_verdict(limits.to_dict()))}** {advice}")
    shapes = f"{fmt.percent(row['measured_pct'])} of its time is in launch shapes that Nsight Compute measured"
    others = f"; other shapes: {fmt.plain(row['others'])}" if isinstance(row["others"], str) else ""
    st.caption(f"{shapes}{others}.")
    with st.container(key="kernel-launch"):
        profile_links.to_launch(linked, int(row["launch_id"]))
