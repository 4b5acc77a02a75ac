"""GPU busy time: one number a GPU, and a strip over the capture."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.selection import drag, settled
from app.ui import charts, page, theme
from app.ui import format as fmt

BUSY = "Time in which the GPU ran at least one kernel, copy or memory set; work that runs at the same time counts once."
STRIPS = 8
DRAWN_PCT = 1.0
"""Where no stretch of the capture is busier, a strip would look empty: the numbers alone are clearer."""


def show(report_id: str) -> None:
    """Draws the section; raises NotCapturedError where nothing ran on a GPU."""
    busy = session.run(report_id, "gpu_busy")
    bins = session.run(report_id, "busy_timeline")
    used = busy[busy["operations"] > 0]
    st.subheader("GPU busy", anchor=False)
    if used.empty and settled.is_part(report_id):
        st.caption("Nothing ran on a GPU in this selection.")
        return
    for row in used.head(STRIPS).itertuples():
        _gpu(report_id, row, bins[bins["gpu_id"] == row.gpu_id], alone=len(busy) == 1)
    if len(used) > STRIPS:
        st.caption(f"And {len(used) - STRIPS} more GPUs; the analysis gpu_busy lists them all.")
    _unused(busy[busy["operations"] == 0], part=settled.is_part(report_id))


def _gpu(report_id: str, row: Any, bins: pd.DataFrame, *, alone: bool) -> None:
    part = settled.is_part(report_id)
    covered = "that the selection covers" if part else "of the capture"
    name = "GPU busy" if alone else f"GPU {row.gpu_id} busy"
    page.facts(
        [
            (name, fmt.percent(row.busy_pct), f"{BUSY} The share is of the time that the selection covers."),
            (
                "Of its active span",
                fmt.percent(row.busy_active_pct),
                "From its first operation to the end of its last.",
            ),
            ("Busy time", fmt.duration(row.busy_ns), BUSY),
            ("Kernels", fmt.duration(row.kernel_ns), "Sum of durations; kernels that overlap both count."),
            ("Copies and sets", fmt.duration(row.copy_ns), "Sum of durations of copies and memory sets."),
        ]
    )
    drawn = (fmt.number(bins["busy_pct"].max()) or 0) >= DRAWN_PCT
    if drawn:
        figure = charts.busy_strip(bins, theme.theme())
        drag.chart(figure, f"busy-{row.gpu_id}")
    st.caption(
        f"{fmt.percent(row.busy_pct)} is {fmt.duration(row.busy_ns)} of the {fmt.duration(row.capture_ns)} {covered};"
        f" {fmt.percent(row.busy_active_pct)} is of the {fmt.duration(row.active_ns)} from the GPU's first"
        " operation to the end of its last."
        + (" The strip shows the whole capture, with this work alone." if part and drawn else "")
    )


def _unused(rows: pd.DataFrame, *, part: bool) -> None:
    if len(rows):
        numbers = ", ".join(str(gpu) for gpu in rows["gpu_id"])
        noun, verb = ("GPU", "was") if len(rows) == 1 else ("GPUs", "were")
        idle = "ran nothing of the selection" if part else f"{verb} not used by the program"
        st.caption(f"{noun} {numbers} of this machine {idle}.")
