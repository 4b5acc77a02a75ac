"""What a kernel takes on its way: the call that launches it, the queue, the execution."""

from typing import Any

import pandas as pd
import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import page, tables
from app.views.memory import words

COLUMNS = (
    tables.Col("name", "Kernel", help="Without templates and arguments", width=300),
    tables.Col("launches", "Launches", kind="count"),
    tables.Col("call_ns", "Calls", kind="duration", help="Sum of durations of the launch calls on the host"),
    tables.Col(
        "queue_ns", "Queue", kind="duration", help="Sum of times from the end of the call to the begin", like="call_ns"
    ),
    tables.Col("kernel_ns", "Kernel", kind="duration", help="Sum of durations on the GPU", like="call_ns"),
    tables.Col("median_call_ns", "Median call", kind="duration", like="median_kernel_ns"),
    tables.Col(
        "median_queue_ns",
        "Median queue",
        kind="duration",
        help="Of the launches that began after their call had returned",
        like="median_kernel_ns",
    ),
    tables.Col("median_kernel_ns", "Median kernel", kind="duration"),
    tables.Col(
        "host_bound_pct",
        "Launch bound",
        kind="percent",
        help="Share of the launches whose kernel is shorter than its call and began at most 5 µs after it: the GPU"
        " waited for the host",
    ),
    tables.Col("class", "Class", kind="class", width=160),
)
MOST_PCT, FEW_PCT = 50.0, 10.0


def show(report_id: str) -> None:
    """Draws the section; raises NotCapturedError without kernels or calls."""
    rows = session.run(report_id, "launch_times")
    st.subheader("Launch, queue and execution", anchor=False)
    every, kernels = rows[rows["kernel"].isna()], rows[rows["kernel"].notna()]
    if every.empty or kernels.empty:
        st.caption("No kernel here with the call that launched it.")
        return
    total = every.iloc[0]
    page.facts(
        [
            ("Median launch call", fmt.duration(total["median_call_ns"]), "Duration of the call on the host."),
            (
                "Median queue",
                fmt.duration(total["median_queue_ns"]),
                "From the end of the call to the begin of the kernel, of the kernels that did not begin before.",
            ),
            ("Median kernel", fmt.duration(total["median_kernel_ns"]), "Duration on the GPU."),
            (
                "Launch bound",
                fmt.percent(total["host_bound_pct"]),
                "Share of the launches whose kernel is shorter than its call and began at most 5 µs after it.",
            ),
        ]
    )
    st.caption(meaning(total))
    tables.table(
        kernels.reset_index(drop=True),
        COLUMNS,
        key="launches",
        download="launch_times.csv",
        height=words.height(len(kernels)),
    )


def meaning(total: "pd.Series[Any]") -> str:
    """What the medians of all launches mean, in words."""
    pct = float(total["host_bound_pct"])
    queue, kernel = fmt.number(total["median_queue_ns"]), float(total["median_kernel_ns"])
    if pct >= MOST_PCT:
        return (
            "Launch bound: most kernels are shorter than the call that launches them and find the GPU waiting. Fewer"
            " and larger kernels, or a CUDA graph, would help more than faster kernels."
        )
    if pct < FEW_PCT and queue is not None and queue > kernel:
        return "At most launches the host is ahead: kernels wait in the queue, so the time of the calls is hidden."
    if pct < FEW_PCT:
        return "Few launches keep the GPU waiting."
    return f"Mixed: {fmt.percent(pct)} of the launches find the GPU waiting for the host, the others wait in the queue."
