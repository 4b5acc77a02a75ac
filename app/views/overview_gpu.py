"""GPU busy time: one number a GPU, and a strip over the capture."""

from typing import Any

import pandas as pd
import streamlit as st

from app import charts, session, theme, ui
from app import format as fmt

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
    for row in used.head(STRIPS).itertuples():
        _gpu(row, bins[bins["gpu_id"] == row.gpu_id], alone=len(busy) == 1)
    if len(used) > STRIPS:
        st.caption(f"And {len(used) - STRIPS} more GPUs; the analysis gpu_busy lists them all.")
    _unused(busy[busy["operations"] == 0])


def _gpu(row: Any, bins: pd.DataFrame, *, alone: bool) -> None:
    name = "GPU busy" if alone else f"GPU {row.gpu_id} busy"
    ui.facts(
        [
            (name, fmt.percent(row.busy_pct), f"{BUSY} The share is of the whole capture."),
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
    if (fmt.number(bins["busy_pct"].max()) or 0) >= DRAWN_PCT:
        figure = charts.busy_strip(bins, theme.theme())
        st.plotly_chart(figure, config=charts.CONFIG, width="stretch", key=f"busy-{row.gpu_id}")
    st.caption(
        f"{fmt.percent(row.busy_pct)} is {fmt.duration(row.busy_ns)} of the {fmt.duration(row.capture_ns)} of the"
        f" capture; {fmt.percent(row.busy_active_pct)} is of the {fmt.duration(row.active_ns)} from the GPU's first"
        " operation to the end of its last."
    )


def _unused(rows: pd.DataFrame) -> None:
    if len(rows):
        numbers = ", ".join(str(gpu) for gpu in rows["gpu_id"])
        noun, verb = ("GPU", "was") if len(rows) == 1 else ("GPUs", "were")
        st.caption(f"{noun} {numbers} of this machine {verb} not used by the program.")
