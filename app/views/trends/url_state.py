"""Query parameters of the Trends page."""

import streamlit as st

from app.ui import format as fmt
from profiledb.errors import AnalysisError
from profiledb.studies.trends.series import Series
from profiledb.studies.trends.series_board import Board

SERIES, MEASURE, AXIS = "series", "measure", "axis"
"""Query parameters: the key of the series, the measure, and the x axis of the chart."""
AXES = {"order": "By report", "date": "By date"}


def read_series(board: Board) -> Series | None:
    """Return the series that the URL names; None if it names none, or an unknown one, after a warning."""
    asked = st.query_params.get(SERIES, "")
    if not asked:
        return None
    try:
        return board.find(asked[:400])
    except AnalysisError:
        st.warning(f"There is no series {fmt.plain(fmt.shortened(asked, 40))}.")
        return None
