"""What the address asks of this page."""

import streamlit as st

from app.ui import format as fmt
from profiledb.errors import AnalysisError
from profiledb.studies.trends import series
from profiledb.studies.trends.series import Series
from profiledb.studies.trends.series_board import Board

SERIES, MEASURE, AXIS = "series", "measure", "axis"
"""The parameters of the address: the key of a series, the measure, what the chart goes along."""
AXES = {"order": "By report", "date": "By date"}


def asked_series(board: Board) -> Series | None:
    """The series that the address names; None where it names none, or one that there is not, which is then said."""
    asked = st.query_params.get(SERIES, "")
    if not asked:
        return None
    try:
        return series.find_series(board.series, asked[:400])
    except AnalysisError:
        st.warning(f"There is no series {fmt.plain(fmt.shortened(asked, 40))}.")
        return None
