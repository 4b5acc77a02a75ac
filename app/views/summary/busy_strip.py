"""GPU busy time: a percentage per GPU, and a strip over the capture."""

from typing import Any

import pandas as pd
import streamlit as st

from app.selection import chart_drag, page_selection
from app.ui import charts, page_elements, theme
from app.ui import format as fmt
from profiledb.studies.summary.statement import Ask

BUSY = "Time in which the GPU ran at least one kernel, memcpy or memset; overlapping operations count once."
ACTIVE = "Share of the time from the first to the last GPU operation."
STRIPS = 8
DRAWN_PCT = 1.0
"""If no interval of the capture is busier than this percentage, the strip would look empty and is not drawn."""


def draw_busy(report_id: str, ask: Ask, *, part: bool) -> None:
    """Draw the section. Raises NotCapturedError if the report has no GPU activity.

    Args:
        ask: runs an analysis on the part of the report that the page covers.
        part: whether that is less than the selection.
    """
    part = part or page_selection.is_part(report_id)
    busy = ask("gpu_busy")
    bins = ask("busy_timeline")
    used = busy[busy["operations"] > 0]
    st.subheader("GPU busy", anchor=False)
    if used.empty and part:
        st.caption("This selection has no GPU activity.")
        return
    for row in used.head(STRIPS).itertuples():
        _draw_gpu(row, bins[bins["gpu_id"] == row.gpu_id], alone=len(busy) == 1, part=part)
    if len(used) > STRIPS:
        st.caption(f"{len(used) - STRIPS} more GPUs: see the analysis gpu_busy.")
    _name_unused_gpus(busy[busy["operations"] == 0], part=part)


def _draw_gpu(row: Any, bins: pd.DataFrame, *, alone: bool, part: bool) -> None:
    whole = f"selected {fmt.duration(row.capture_ns)}" if part else f"{fmt.duration(row.capture_ns)} capture"
    of_one = [
        (f"GPU {row.gpu_id} busy", fmt.percent(row.busy_active_pct), f"{BUSY} {ACTIVE}"),
        ("Idle", fmt.percent(row.idle_pct), f"Time in which nothing ran. {ACTIVE}"),
    ]
    page_elements.draw_facts(
        [
            *([] if alone else of_one),  # of a single one the bar at the top says it
            ("Active", fmt.duration(row.active_ns), f"From the first to the last GPU operation, of the {whole}."),
            ("Busy time", fmt.duration(row.busy_ns), BUSY),
            ("Kernel time", fmt.duration(row.kernel_ns), "Sum of durations; overlapping kernels each count."),
            ("Memcpy and memset", fmt.duration(row.copy_ns), "Sum of memcpy and memset durations."),
        ]
    )
    if (fmt.number(bins["busy_pct"].max()) or 0) >= DRAWN_PCT:
        figure = charts.plot_busy(bins, theme.get_theme())
        chart_drag.draw_chart(figure, f"busy-{row.gpu_id}")


def _name_unused_gpus(rows: pd.DataFrame, *, part: bool) -> None:
    if len(rows):
        numbers = ", ".join(str(gpu) for gpu in rows["gpu_id"])
        noun, verb = ("GPU", "was") if len(rows) == 1 else ("GPUs", "were")
        idle = "ran nothing in this selection" if part else f"{verb} not used by the program"
        st.caption(f"{noun} {numbers} of this machine {idle}.")
