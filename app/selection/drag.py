"""Charts over the time of the capture: dragging over one selects that stretch of time for all pages."""

import plotly.graph_objects as go
import streamlit as st

from app.selection import settled
from app.ui import draw
from app.ui.charts import NS_PER_X


def chart(figure: go.Figure, key: str) -> None:
    """Draws a chart whose figure has ``NS_PER_X`` in ``layout.meta``; ``key`` is unique on the page.

    A selection that was taken over is no longer one of the chart, so the key goes by what is selected.
    """
    now = f"{st.query_params.get('from', '')}-{st.query_params.get('to', '')}"
    ends = draw.dragged(figure, f"{key}-{now}")
    if ends is None:
        return
    size = float(figure.layout.meta[NS_PER_X])
    first, last = (max(0, round(end * size)) for end in ends)
    if first < last:
        st.query_params.update({"from": settled.milliseconds(first), "to": settled.milliseconds(last)})
        st.rerun()
