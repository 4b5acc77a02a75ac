"""The allocator's segments at the time of a memory snapshot."""

from typing import Any

import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import page_elements
from app.ui.analysis_table import AnalysisTable

TITLE = "Allocator segments"
MOST = 8
"""Most GPUs whose figures are shown."""
SEGMENTS = AnalysisTable("tensor_segments", changes={"free_pct": {"label": "Free share"}}, filled=True, few=True)


def draw_segments(report_id: str) -> None:
    """Draw the section. Raises NotCapturedError if the report has no snapshot."""
    devices = session.run(report_id, "tensor_fragmentation")
    st.subheader(TITLE, anchor=False)
    if devices.empty:
        st.caption("The snapshot has no segment of this GPU.")
        return
    for row in devices.head(MOST).itertuples():
        _draw_facts(row, alone=len(devices) == 1)
    rows = session.run(report_id, "tensor_segments")
    st.caption("When the snapshot was taken. Free memory serves an allocation only where one block of it is as large.")
    SEGMENTS.table(rows, without=("device",) if len(devices) == 1 else ())


def _draw_facts(row: Any, *, alone: bool) -> None:
    items = [
        (
            "Segments" if alone else f"{row.device} segments",
            fmt.count(row.segments),
            f"Pieces of the device that the allocator holds: {fmt.bytes_(row.bytes)}.",
        ),
        ("Used", fmt.bytes_(row.used_bytes), "Asked for by tensors that are alive."),
        ("Rounding", fmt.bytes_(row.rounding_bytes), "What the blocks of tensors are larger than what was asked for."),
        ("Free", fmt.bytes_(row.free_bytes), "In no tensor, ready to be used again."),
        (
            "Largest free block",
            fmt.bytes_(row.largest_free_bytes),
            "The most that one allocation finds; for a larger one the allocator takes more of the device.",
        ),
        ("Scattered", fmt.percent(row.scattered_pct), "Free memory outside of the largest free block of its segment."),
        (
            "In empty segments",
            fmt.bytes_(row.empty_bytes),
            "Free memory that torch.cuda.empty_cache() gives back to the device.",
        ),
        ("Awaiting release", fmt.bytes_(row.awaiting_bytes), "Released, but a stream still uses it."),
    ]
    page_elements.draw_facts([item for item in items if item[1] != fmt.MISSING])
