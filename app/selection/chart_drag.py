"""Charts over capture time: dragging over one selects that time window on all pages."""

from collections.abc import Callable

import plotly.graph_objects as go
import streamlit as st

from app.selection import page_selection
from app.ui import chart_element
from app.ui.charts import NS_PER_X

Times = Callable[[float, float], tuple[float, float] | None]
"""Converts the ends of the dragged span from axis units to a time window (ns of the capture), if any."""


def draw_chart(figure: go.Figure, key: str, times: Times | None = None) -> None:
    """Draw a chart; ``key`` is unique on the page. Without ``times`` the figure needs ``NS_PER_X`` in ``layout.meta``.

    The widget key includes the selected window, so that a chart forgets its drag once the page has taken it over.
    """
    now = f"{st.query_params.get('from', '')}-{st.query_params.get('to', '')}"
    ends = chart_element.draw_draggable(figure, f"{key}-{now}")
    if ends is None:
        return
    dragged = times(*ends) if times else tuple(end * float(figure.layout.meta[NS_PER_X]) for end in ends)
    first, last = (max(0, round(end)) for end in dragged or (0, 0))
    if first < last:
        st.query_params.update({"from": page_selection.milliseconds(first), "to": page_selection.milliseconds(last)})
        st.rerun()
