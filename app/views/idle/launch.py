"""Launch latency of kernels: the launch call, the wait in the queue, and the execution."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import page_elements
from app.ui.analysis_table import AnalysisTable

LAUNCHES = AnalysisTable("launch_times", few=True, changes={"kernel_ns": {"label": "GPU time"}})
MOST_PCT, FEW_PCT = 50.0, 10.0
ENOUGH = 20
"""Fewest launches for a percentage of them to be meaningful."""


def draw_launches(report_id: str) -> None:
    """Draw the section. Raises NotCapturedError if the report has no kernels or no CUDA calls."""
    rows = session.run(report_id, "launch_times")
    st.subheader("Launch, queue and execution", anchor=False)
    every, kernels = rows[rows["kernel"].isna()], rows[rows["kernel"].notna()]
    if every.empty or kernels.empty:
        st.caption("No kernel here with the call that launched it.")
        return
    total = every.iloc[0]
    page_elements.draw_facts(
        [
            ("Median launch call", fmt.duration(total["median_call_ns"]), "Duration of the call on the CPU."),
            (
                "Median queue",
                fmt.duration(total["median_queue_ns"]),
                "From the end of the call to the start of the kernel; without kernels that started before.",
            ),
            ("Median kernel", fmt.duration(total["median_kernel_ns"]), "Duration on the GPU."),
            (
                "Launch bound",
                fmt.percent(total["host_bound_pct"]),
                "Share of the launches whose kernel is shorter than its call and started at most 5 µs after it.",
            ),
        ]
    )
    st.markdown(describe_launches(total, _compute_busy_pct(report_id)))
    LAUNCHES.table(kernels.reset_index(drop=True))


def _compute_busy_pct(report_id: str) -> float:
    """Return GPU busy time as a percentage of the time between first and last operation, over all GPUs used."""
    busy = session.run(report_id, "gpu_busy")
    return 100 * float(busy["busy_ns"].sum()) / max(1.0, float(busy["active_ns"].sum()))


def describe_launches(total: "pd.Series[Any]", busy_pct: float) -> str:
    """Interpret the statistics over all launches in a sentence or two.

    Args:
        total: the row of ``launch_times`` for all kernels together.
        busy_pct: GPU busy time in percent. A queue that is full only now and then does not keep the GPU busy.
    """
    pct = float(total["host_bound_pct"])
    if total["launches"] < ENOUGH:
        return f"Only {fmt.counted(total['launches'], 'launch')}: too few to judge what they wait for."
    if pct >= MOST_PCT:
        return (
            "Launch bound: most kernels are shorter than the call that launches them and find the GPU waiting. Fewer"
            " and larger kernels, or a CUDA graph, would help more than faster kernels."
        )
    if pct >= FEW_PCT:
        return f"{fmt.percent(pct)} of the launches find the GPU waiting for the CPU. The others wait in the queue."
    queue, kernel = fmt.number(total["median_queue_ns"]), float(total["median_kernel_ns"])
    if queue is None or queue <= kernel:
        return "Few launches keep the GPU waiting."
    waits = "The CPU runs ahead of the GPU, so launch overhead is hidden."
    return (
        waits if busy_pct >= MOST_PCT else f"{waits} Between these bursts the GPU is idle all the same: see GPU idle."
    )
