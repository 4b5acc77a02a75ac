"""Plotly charts on a page, all drawn with the same settings."""

from typing import Any

import plotly.graph_objects as go
import streamlit as st

_CONFIG = {"displayModeBar": False}
"""No mode bar: its buttons cover the chart."""


def draw_chart(figure: go.Figure, key: str) -> None:
    """Draw a chart at full width; ``key`` is unique on the page."""
    st.plotly_chart(figure, config=_CONFIG, width="stretch", key=key)


def draw_draggable(figure: go.Figure, key: str) -> tuple[float, float] | None:
    """Draw a chart with horizontal box selection; return the ends of the selected span in x axis units, if any."""
    if figure.layout.dragmode != "select":  # a cached figure was updated on its first use
        figure.update_layout(dragmode="select", selectdirection="h")
    event: Any = st.plotly_chart(
        figure, config=_CONFIG, width="stretch", key=key, on_select="rerun", selection_mode="box"
    )
    boxes = event.selection.box if event else []
    if not boxes or not boxes[0].get("x"):
        return None
    ends = [float(end) for end in boxes[0]["x"]]
    return min(ends), max(ends)


def draw_clickable(figure: go.Figure, key: str) -> str | None:
    """Draw a chart with clickable points; return the ``customdata`` of the clicked point, if any."""
    event: Any = st.plotly_chart(
        figure, config=_CONFIG, width="stretch", key=key, on_select="rerun", selection_mode="points"
    )
    picked = [point.get("customdata") for point in event.selection.points] if event else []
    data = picked[0] if picked else None
    return str(data[0] if isinstance(data, list) else data) if data is not None else None
