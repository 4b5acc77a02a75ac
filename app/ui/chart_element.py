"""Charts on a page, all drawn in the same way."""

from typing import Any

import plotly.graph_objects as go
import streamlit as st

_CONFIG = {"displayModeBar": False}
"""No buttons that cover the chart."""


def chart(figure: go.Figure, key: str) -> None:
    """Draws a chart as wide as there is room; ``key`` is unique on the page."""
    st.plotly_chart(figure, config=_CONFIG, width="stretch", key=key)


def dragged(figure: go.Figure, key: str) -> tuple[float, float] | None:
    """Draws a chart over which a stretch of the x axis can be dragged; answers its ends, in units of the axis."""
    if figure.layout.dragmode != "select":  # a figure that is kept has it from the first time on
        figure.update_layout(dragmode="select", selectdirection="h")
    event: Any = st.plotly_chart(
        figure, config=_CONFIG, width="stretch", key=key, on_select="rerun", selection_mode="box"
    )
    boxes = event.selection.box if event else []
    if not boxes or not boxes[0].get("x"):
        return None
    ends = [float(end) for end in boxes[0]["x"]]
    return min(ends), max(ends)


def clicked(figure: go.Figure, key: str) -> str | None:
    """Draws a chart whose points can be clicked; answers the ``customdata`` of the one that was."""
    event: Any = st.plotly_chart(
        figure, config=_CONFIG, width="stretch", key=key, on_select="rerun", selection_mode="points"
    )
    picked = [point.get("customdata") for point in event.selection.points] if event else []
    data = picked[0] if picked else None
    return str(data[0] if isinstance(data, list) else data) if data is not None else None
