"""GPU memory held by the program over the capture."""

from typing import Any

import streamlit as st

from app import session
from app.selection import chart_drag
from app.ui import format as fmt
from app.ui import page_elements, theme
from app.views.memory import charts

MOST = 8
"""Most GPUs drawn."""


def draw_memory(report_id: str) -> None:
    """Draw the section. Raises NotCapturedError if memory usage was not captured."""
    gpus = session.run(report_id, "memory_use")
    st.subheader("GPU memory", anchor=False)
    rows = session.run(report_id, "memory_over_time")
    end_ns = fmt.number(gpus["capture_ns"].max())
    for gpu in gpus.head(MOST).itertuples():
        _draw_facts(gpu, alone=len(gpus) == 1)
        steps = rows[rows["gpu_id"] == gpu.gpu_id]
        if len(steps) and (last := max(end_ns or 0.0, float(steps["time_ns"].max()))):
            figure = charts.plot_memory(steps, last, theme.get_theme())
            chart_drag.draw_chart(figure, f"memory-{gpu.gpu_id}")
    if len(gpus) > MOST:
        st.caption(f"{len(gpus) - MOST} more GPUs: see the analysis memory_use.")
    st.caption(
        "Allocated minus freed, as seen by CUDA. Includes memory cached by the framework; excludes the CUDA"
        " context and other processes."
    )


def _draw_facts(gpu: Any, *, alone: bool) -> None:
    whole = f" of {fmt.bytes_(gpu.gpu_bytes)}" if fmt.number(gpu.gpu_bytes) else ""
    items = [
        (
            "Peak" if alone else f"GPU {gpu.gpu_id} peak",
            fmt.bytes_(gpu.peak_bytes),
            f"Most memory{whole} allocated at once, first at {fmt.duration(gpu.peak_ns)}.",
        ),
        ("Share of GPU memory", fmt.percent(gpu.peak_pct), f"The peak as a share{whole}."),
        ("At the end", fmt.bytes_(gpu.end_bytes), "Still allocated when the capture ended."),
        ("Allocations", fmt.count(gpu.allocations), "Device memory allocations, module variables included."),
        ("Frees", fmt.count(gpu.releases), "Device memory frees."),
        ("Pinned host memory", fmt.bytes_(gpu.host_bytes), "Allocated minus freed."),
        ("Managed memory", fmt.bytes_(gpu.managed_bytes), "Allocated minus freed; not in the chart."),
    ]
    page_elements.draw_facts([item for item in items if item[1] != fmt.MISSING])
