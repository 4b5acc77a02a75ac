"""Chart of a measure over the reports of a series, with the spread over steps, levels and changes."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
import streamlit as st

from app.ui import chart_element, charts, theme
from app.ui import format as fmt
from app.ui.charts import ACCENT, FONT_PX, GRAY, MARK, Theme
from app.ui.figure_cache import cache_figure
from app.views.trends import compared_sides
from app.views.trends.sentences import format_labels, format_point, format_share, format_value
from profiledb.studies.trends.series_changes import Shift, Trend

BETTER = {"light": "#1B7A4B", "dark": "#5BE7A9"}
COLORS = {"regression": MARK, "improvement": BETTER, "surroundings": GRAY}
_UNITS = {"ns": fmt.DURATION_UNITS, "bytes": fmt.BYTE_UNITS}
_USED = "trends-chart-used"
_LABELS = 5
"""Most commits or dates labeled on the x axis."""


@dataclass(frozen=True)
class Dot:
    """A report on the chart: its position, value and spread, hover text, and the comparison that a click opens."""

    x: str | int
    y: float
    low: float | None
    high: float | None
    text: str
    leads: str


@dataclass(frozen=True)
class Mark:
    """A change on the chart: its position, text and kind, and the comparison that a click opens."""

    at: str | int
    text: str
    kind: str
    leads: str


@dataclass(frozen=True)
class Level:
    """A level between two positions."""

    first: str | int
    last: str | int
    y: float


def draw_chart(trend: Trend, axis: str) -> None:
    """Draw the chart. Clicking a report compares it with the one before, clicking a change compares its two sides."""
    places: list[str | int] = [p.at.isoformat() if axis == "date" else at for at, p in enumerate(trend.points)]
    used = st.session_state.get(_USED, 0)  # a clicked chart gets a new key: the browser's Back would repeat the click
    figure = plot_trend(
        _make_dots(trend, places), _make_marks(trend, places), _make_levels(trend, places),
        format_labels(trend.points) if axis == "order" else (),
        (trend.measure.title, trend.measure.unit), theme.get_theme(),
    )  # fmt: skip
    clicked = chart_element.draw_clickable(figure, f"trends-chart-{used}")
    if clicked and ":" in clicked:
        st.session_state[_USED] = used + 1
        compared_sides.compare(*clicked.split(":", 1))
    st.caption(
        "A click on a report compares it with the one before; a click on a diamond compares both sides of that"
        " change." + (" Bars: shortest step to P95 of its steps." if trend.measure.name == "wall_ns" else "")
        + (" No change point: it drifts all along." if trend.drifts else "")
    )  # fmt: skip


def _make_dots(trend: Trend, places: Sequence[str | int]) -> tuple[Dot, ...]:
    before = [None, *trend.points[:-1]]
    return tuple(
        Dot(
            place, row.value, row.low, row.high,
            f"<b>{format_value(trend.measure, row.value)}</b><br>"
            f"{fmt.escape_plotly(fmt.shortened(point.facts.name, 60))}<br>"
            f"{fmt.escape_plotly(format_point(point))}, {point.at:%Y-%m-%d %H:%M} UTC",
            f"{last.id}:{point.id}" if last else "",
        )
        for place, row, point, last in zip(places, trend.rows, trend.points, before, strict=True)
    )  # fmt: skip


def _make_marks(trend: Trend, places: Sequence[str | int]) -> tuple[Mark, ...]:
    return tuple(
        Mark(
            places[shift.change.index],
            format_share(shift.change.share) + _format_note(shift),
            shift.kind if shift.open else "surroundings",
            ":".join(point.id for point in compared_sides.find_sides(trend, shift)),
        )
        for shift in trend.shifts
    )


def _format_note(shift: Shift) -> str:
    return "" if shift.open or shift.note is None else f" ({shift.note.state})"


def _make_levels(trend: Trend, places: Sequence[str | int]) -> tuple[Level, ...]:
    if not trend.shifts:
        return ()
    bounds = [0, *(shift.change.index for shift in trend.shifts), len(places)]
    middles = [trend.shifts[0].change.before, *(shift.change.after for shift in trend.shifts)]
    return tuple(
        Level(places[low], places[high - 1], middle)
        for low, high, middle in zip(bounds, bounds[1:], middles, strict=False)
    )


@cache_figure
def plot_trend(
    dots: Sequence[Dot], marks: Sequence[Mark], levels: Sequence[Level], below: Sequence[str],
    measure: tuple[str, str], shade: Theme,
) -> go.Figure:  # fmt: skip
    """Return the figure. ``measure`` is title and unit; ``below`` labels the x axis if it counts reports."""
    title, unit = measure
    top = max(max(dot.y, dot.high or 0.0) for dot in dots)
    name, size = fmt.unit_for(top, _UNITS[unit]) if unit in _UNITS else ({"count": ""}.get(unit, unit), 1.0)
    figure = go.Figure()
    for level in levels:
        figure.add_scatter(
            x=[level.first, level.last], y=[level.y / size] * 2, mode="lines", hoverinfo="skip",
            line={"width": 5, "color": charts.fade_color(ACCENT[shade], 0.3)},
        )  # fmt: skip
    spread = [(dot.y, dot.low, dot.high) for dot in dots]
    figure.add_scatter(
        x=[dot.x for dot in dots],
        y=[dot.y / size for dot in dots],
        error_y={
            "type": "data", "symmetric": False, "thickness": 1, "width": 0, "color": GRAY[shade],
            "array": [max(0.0, (high or y) - y) / size for y, _, high in spread],
            "arrayminus": [max(0.0, y - (y if low is None else low)) / size for y, low, _ in spread],
        },
        mode="lines+markers",
        line={"width": 1, "color": charts.fade_color(ACCENT[shade], 0.5)},
        marker={"size": 8, "color": ACCENT[shade]},
        customdata=[dot.leads for dot in dots],
        text=[dot.text for dot in dots],
        hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip
    _add_marks(figure, dots, marks, size, shade)
    charts.apply_frame(figure, shade, height=360, left=56, top=30, bottom=64)
    figure.update_yaxes(title_text=f"{title} ({name})" if name else title)
    if below:
        shown = range(0, len(below), max(1, -(-len(below) // _LABELS)))
        figure.update_xaxes(tickvals=list(shown), ticktext=[fmt.escape_plotly(below[at]) for at in shown])
    return figure


def _add_marks(figure: go.Figure, dots: Sequence[Dot], marks: Sequence[Mark], size: float, shade: Theme) -> None:
    """Add a dashed line and a diamond at the first report of each new level, labeled with the size of the change."""
    heights = {dot.x: dot.y / size for dot in dots}
    for mark in marks:
        color = COLORS[mark.kind][shade]
        figure.add_shape(
            type="line", x0=mark.at, x1=mark.at, y0=0, y1=1, yref="paper",
            line={"width": 1, "dash": "dot", "color": color},
        )  # fmt: skip
        figure.add_annotation(
            x=mark.at, y=1, yref="paper", yanchor="bottom", showarrow=False, text=fmt.escape_plotly(mark.text),
            font={"size": FONT_PX, "color": color},
        )  # fmt: skip
    figure.add_scatter(
        x=[mark.at for mark in marks], y=[heights[mark.at] for mark in marks], mode="markers",
        marker={"symbol": "diamond", "size": 15, "color": [COLORS[mark.kind][shade] for mark in marks]},
        customdata=[mark.leads for mark in marks], text=[fmt.escape_plotly(mark.text) for mark in marks],
        hovertemplate="<b>%{text}</b><br>compares both sides<extra></extra>",
    )  # fmt: skip
