"""The Trends page: all series, of reports and of runs, with their newest change, or one series with all its changes."""

import streamlit as st

from app import session
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.ui import url_widgets
from app.views.trends import changes, chart, heat, members, run_series, series_table
from app.views.trends.url_state import AXES, AXIS, MEASURE, SERIES, read_series
from profiledb.studies.trends.measures import MEASURES
from profiledb.studies.trends.series import Series
from profiledb.studies.trends.series_board import Board
from profiledb.studies.trends.series_lines import MAIN


def draw_page() -> None:
    board = session.read_board()
    chosen = read_series(board)
    if chosen is None:
        st.header("Trends", anchor=False)
        series_table.draw_series(board)
        run_series.draw_runs()
        series_table.explain_rules()
        return
    _draw_series(board, chosen)


def _draw_series(board: Board, series: Series) -> None:
    st.header(fmt.plain(series.name), anchor=False)
    first, last = (series.points[at].at for at in (0, -1))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("All series", icon=":material/arrow_back:", key="trends-all", on_click=_leave_series)
        st.caption(f"{fmt.counted(len(series.points), 'report')}, {first:%Y-%m-%d} to {last:%Y-%m-%d}", width="content")
    having = board.measures(series)
    if not having:
        st.info("No report of this series has figures to draw.")
        members.draw_members(board, series, None)
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        measure = st.selectbox(
            "Measure", having, format_func=lambda name: MEASURES[name].title, width=240,
            **url_widgets.bind_option(MEASURE, having, MAIN if MAIN in having else having[0]),
        )  # fmt: skip
        axis = st.segmented_control("Axis", list(AXES), format_func=AXES.__getitem__, required=True,
                                    **url_widgets.bind_option(AXIS, list(AXES), "order"))  # fmt: skip
    trend = board.one(series, measure)
    assert trend is not None  # the measure is one of those that the series has
    chart.draw_chart(trend, axis)
    changes.draw_changes(board, trend)
    with ui.boundary():
        heat.draw_heat(series)
    members.draw_members(board, series, trend)


def _leave_series() -> None:
    for name in (SERIES, MEASURE, AXIS):
        st.query_params.pop(name, None)


draw_page()
