"""Heat map of kernel times over the reports of a series, drawn separately from the page."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from app import session
from app.ui import chart_element, charts, theme
from app.ui import format as fmt
from app.ui import page_elements as ui
from app.ui.charts import ACCENT, GROUND, Theme
from app.ui.figure_cache import cache_figure
from app.views.trends.sentences import format_labels
from profiledb.studies.trends.series import Series
from profiledb.studies.trends.summary_store import Row

TOP = 20
"""Most kernels drawn: those with the most time in any report."""
REPORTS = 200
"""Most reports drawn: the newest ones."""
_ROW_PX = 22
_LABELS = 5


def draw_heat(series: Series) -> None:
    st.subheader("Kernels by report", anchor=False)
    _draw_map(series.name)


@st.fragment
def _draw_map(name: str) -> None:
    with ui.boundary():
        board = session.read_board()
        if name not in board.names:
            return
        points = board.find(name).points[-REPORTS:]
        rows = board.summaries.of([point.id for point in points], "kernel")
        if not any(rows.values()):
            st.caption("No report of this series has kernels.")
            return
        names, times = build_grid([rows[point.id] for point in points])
        below = format_labels(points)
        chart_element.draw_chart(
            plot_heat(tuple(names), tuple(map(tuple, times)), below, theme.get_theme()), "trends-heat"
        )
        st.caption("Time per step, the darker the longer beside other reports of the same row. Empty: not among the 40"
                   " kernels kept of that report.")  # fmt: skip


def build_grid(every: list[list[Row]]) -> tuple[list[str], list[list[float | None]]]:
    """Return the kernels with the most time in any report, and their time per report in ns (None if not stored)."""
    most: dict[str, float] = {}
    titles: dict[str, str] = {}
    for rows in every:
        for row in rows:
            most[row.name] = max(most.get(row.name, 0.0), row.value)
            titles[row.name] = row.title or row.name
    chosen = sorted(most, key=lambda name: -most[name])[:TOP]
    times = [{row.name: row.value for row in rows} for rows in every]
    return [titles[name] for name in chosen], [[one.get(name) for one in times] for name in chosen]


@cache_figure
def plot_heat(
    names: tuple[str, ...], times: tuple[tuple[float | None, ...], ...], below: tuple[str, ...], shade: Theme
) -> go.Figure:
    """Return the figure: one row per kernel, the longest on top, colored relative to the row's maximum."""
    values = np.array(times, dtype=np.float64)
    tops = np.nanmax(values, axis=1, keepdims=True)
    shares = values / np.where(tops > 0, tops, 1)
    text = [
        [f"{fmt.escape_plotly(fmt.shortened(name, 60))}<br><b>{fmt.duration(ns)}</b><br>{fmt.escape_plotly(label)}"
         for ns, label in zip(row, below, strict=True)]
        for name, row in zip(names, times, strict=True)
    ]  # fmt: skip
    figure = go.Figure(
        go.Heatmap(
            z=shares, text=text, hovertemplate="%{text}<extra></extra>", zmin=0, zmax=1, showscale=False,
            xgap=1, ygap=1,
            colorscale=[[0, charts.fade_color(ACCENT[shade], 0.05)], [1, ACCENT[shade]]], hoverongaps=False,
        )
    )  # fmt: skip
    charts.apply_frame(figure, shade, height=70 + _ROW_PX * len(names), left=250, bottom=44)
    shown = range(0, len(below), max(1, -(-len(below) // _LABELS)))
    figure.update_xaxes(tickvals=list(shown), ticktext=[fmt.escape_plotly(below[at]) for at in shown])
    figure.update_yaxes(
        tickvals=list(range(len(names))), autorange="reversed", showgrid=False,
        ticktext=[fmt.escape_plotly(fmt.shortened(name, 34)) for name in names],
    )  # fmt: skip
    figure.update_layout(plot_bgcolor=GROUND[shade])
    return figure
