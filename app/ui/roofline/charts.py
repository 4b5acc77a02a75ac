"""Plotly figures of kernels: the roofline, and speed of light for reports without enough metrics for a roofline."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import plotly.graph_objects as go

from app.ui import format as fmt
from app.ui.charts import ACCENT, GRAY, Theme, apply_frame, fade_color
from app.ui.figure_cache import cache_figure
from app.ui.roofline.labels import Room, Spot
from app.ui.roofline.points import Point, draw_points, name_largest, place_legend, take, write_text

HEIGHT_PX = 540
NARROWEST_PX = 560
"""Narrowest plot at which labels stay clear of points; on narrower ones a label may touch a point."""
BAND = 0.7
"""Width in decades of the band for kernels without floating-point work, at the left edge."""

SAME = 0.04
"""Largest relative difference between two peaks that are drawn as one roof."""

_STEPS = 24
"""Number of positions along a roof that are tried for its label."""
_HAIR = 1e-6
"""Decades inside the axis range: Plotly drops an annotation that rounding puts just outside it."""
Spots = Sequence[tuple[float, float, Spot]]
_LINE = {"light": "rgba(49, 51, 63, 0.75)", "dark": "rgba(250, 250, 250, 0.75)"}
_FAINT = {"light": "rgba(49, 51, 63, 0.38)", "dark": "rgba(250, 250, 250, 0.40)"}
_GRID = {"light": "#31333F", "dark": "#FAFAFA"}


@dataclass(frozen=True)
class Roof:
    """A peak in FLOP/s or bytes/s; ``used`` if points on the chart are compared with it.

    ``clock_hz`` is the measured SM clock that a compute peak applies to; None if unknown.
    """

    title: str
    peak: float
    used: bool
    clock_hz: float | None = None


@dataclass(frozen=True)
class Roofline:
    """The content of a chart; ``arrows`` lead from one point to another, as pairs of indices into ``points``."""

    points: Sequence[Point]
    memory: Sequence[Roof]
    compute: Sequence[Roof]
    arrows: Sequence[tuple[int, int]] = field(default=())


@cache_figure
def plot_roofline(chart: Roofline, theme: Theme) -> go.Figure:
    """Draw work against arithmetic intensity under the roofs, on logarithmic axes.

    Kernels without floating-point work have intensity 0, which a logarithmic axis cannot show. They are drawn in a band
    at the left edge, as far below the memory roof as their traffic is.
    """
    figure = go.Figure()
    edge, chart = _place_in_band(chart)
    x, y = _compute_axes(chart)
    room = Room(x, y, NARROWEST_PX, HEIGHT_PX - 84)
    take(room, chart.points)
    _draw_roofs(figure, chart, room, theme)
    draw_points(figure, chart.points, theme)
    name_largest(figure, chart.points, room, theme)
    for start, end in chart.arrows:
        _draw_arrow(figure, chart.points[start], chart.points[end], theme)
    apply_frame(figure, theme, height=HEIGHT_PX, left=64, right=16, top=12, bottom=44)
    place_legend(figure)
    figure.update_xaxes(
        type="log", range=x, title_text="Arithmetic intensity (FLOP/byte)", **_make_decade_ticks(edge or x[0], x[1])
    )
    figure.update_yaxes(type="log", range=y, title_text="Work (FLOP/s)", **_make_decade_ticks(*y, unit="FLOP/s"))
    figure.update_xaxes(showgrid=True, gridcolor=fade_color(_GRID[theme], 0.14))
    if edge is not None:
        _draw_band(figure, edge, theme)
    return figure


def _place_in_band(chart: Roofline) -> tuple[float | None, Roofline]:
    """Return the right edge of the band (a power of ten) and the chart with points placed in it.

    The edge is None if no kernel needs the band.
    """
    idle = [point for point in chart.points if point.x == 0]
    if not idle:
        return None, chart
    edge = _compute_axes(replace(chart, points=[point for point in chart.points if point.x > 0]))[0][0]
    middle = 10 ** (edge - BAND / 2)
    points = [replace(p, x=middle, y=middle * p.bytes_per_s) if p.x == 0 else p for p in chart.points]
    return edge, replace(chart, points=points)


def _draw_band(figure: go.Figure, edge: float, theme: Theme) -> None:
    """Draw the edge of the band, and label the band with intensity 0 below the axis."""
    figure.add_vline(x=10**edge, line={"width": 1, "color": _FAINT[theme], "dash": "dot"}, layer="below")
    axis = figure.layout.xaxis
    figure.update_xaxes(tickvals=[10 ** (edge - BAND / 2), *axis.tickvals], ticktext=["0", *axis.ticktext])


@cache_figure
def plot_speed_of_light(points: Sequence[Point], theme: Theme) -> go.Figure:
    """Plot compute against memory throughput in percent of peak, with the thresholds of ncu's verdict."""
    figure = go.Figure()
    for edge in (60, 80):
        line = {"color": _FAINT[theme], "width": 1, "dash": "dot"}
        figure.add_shape(type="path", path=f"M 0,{edge} L {edge},{edge} L {edge},0", line=line, layer="below")
    figure.add_shape(type="line", x0=0, y0=0, x1=100, y1=100, line={"color": _FAINT[theme], "width": 1}, layer="below")
    draw_points(figure, points, theme)
    room = Room((0, 105), (0, 105), NARROWEST_PX, HEIGHT_PX - 184)
    take(room, points, log=False)
    name_largest(figure, points, room, theme, log=False)
    apply_frame(figure, theme, height=HEIGHT_PX - 100, left=52, right=16, top=12, bottom=44)
    place_legend(figure)
    ticks = {"tickvals": [0, 20, 40, 60, 80, 100]}
    figure.update_xaxes(range=[0, 105], title_text="Memory throughput (% of the peak)", **ticks)
    figure.update_yaxes(range=[0, 105], title_text="Compute throughput (% of the peak)", **ticks)
    return figure


def _compute_axes(chart: Roofline) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ranges of both axes as powers of ten, including all points and the ridge points of the used roofs."""
    memory = [roof.peak for roof in chart.memory if roof.used] or [roof.peak for roof in chart.memory]
    compute = [roof.peak for roof in chart.compute if roof.used] or [roof.peak for roof in chart.compute]
    xs = [point.x for point in chart.points] + [work / bytes_ for work in compute for bytes_ in memory]
    pad = BAND / 2 if any(point.bytes_per_s for point in chart.points) else 0.5
    low, high = math.log10(min(xs, default=0.1)) - pad, math.log10(max(xs, default=100.0)) + 0.5
    ys = [point.y for point in chart.points] + compute
    ys += [min(max(compute), roof.peak * 10**low) for roof in chart.memory] if compute else []
    return (low, high), (math.log10(min(ys, default=1e9)) - 0.3, math.log10(max(ys, default=1e12)) + 0.4)


def _draw_roofs(figure: go.Figure, chart: Roofline, room: Room, theme: Theme) -> None:
    x, y = room.x, room.y
    top = max((roof.peak for roof in chart.compute), default=10 ** y[1])
    widest = max((roof.peak for roof in chart.memory if roof.used), default=None)
    for roof in sorted(chart.memory, key=lambda roof: not roof.used):  # the first label has the most room
        begin, end = 10 ** x[0], min(top / roof.peak, 10 ** x[1])
        if end > begin:
            _draw_line(figure, roof, (begin, end), (begin * roof.peak, end * roof.peak), theme)
            _label_roof(figure, roof, fmt.rate(roof.peak), _list_slanted_spots(begin, end, roof.peak), room, theme)
    for roof in _merge_roofs(chart.compute):
        begin = max(roof.peak / widest, 10 ** x[0]) if widest else 10 ** x[0]
        _draw_line(figure, roof, (begin, 10 ** x[1]), (roof.peak, roof.peak), theme)
        _label_roof(figure, roof, _format_peak(roof), _list_flat_spots(begin, 10 ** x[1], roof.peak), room, theme)
        if widest and roof.used:
            _draw_ridge(figure, roof, roof.peak / widest, theme)


def _format_peak(roof: Roof) -> str:
    """Return the text of a compute peak with its clock, which differs from the data sheet's."""
    peak = fmt.flops(roof.peak, digits=False)
    return peak if roof.clock_hz is None else f"{peak} at {roof.clock_hz / 1e9:.2f} GHz, the clock measured"


def _merge_roofs(roofs: Sequence[Roof]) -> list[Roof]:
    """Merge roofs with almost equal peaks under one title."""
    merged: list[Roof] = []
    for roof in sorted(roofs, key=lambda roof: (not roof.used, roof.title)):
        near = next((other for other in merged if abs(other.peak / roof.peak - 1) < SAME), None)
        if near is None:
            merged.append(roof)
        else:
            title = f"{near.title}, {roof.title}"
            merged[merged.index(near)] = replace(near, title=title, used=near.used or roof.used)
    return merged


def _draw_line(figure: go.Figure, roof: Roof, xs: tuple[float, float], ys: tuple[float, float], theme: Theme) -> None:
    figure.add_scatter(
        x=xs,
        y=ys,
        mode="lines",
        line={"color": _choose_color(roof, theme), "width": 1.5 if roof.used else 1},
        hoverinfo="skip",
        showlegend=False,
    )


def _label_roof(figure: go.Figure, roof: Roof, peak: str, wanted: Spots, room: Room, theme: Theme) -> None:
    """Label a roof at the first candidate position that covers no point."""
    text = f"{roof.title} {peak}"
    color = _LINE[theme] if roof.used else GRAY[theme]
    write_text(figure, fmt.escape_plotly(text), room.find(text, wanted) or wanted[0], theme, color)


def _list_slanted_spots(begin: float, end: float, peak: float) -> Spots:
    """Return label positions below and above a slanted roof, starting at its left end."""
    at = [math.log10(begin) + _HAIR + math.log10(end / begin) * step / _STEPS for step in range(_STEPS)]
    spots = (Spot("right", 6, -9), Spot("right", 16, -9), Spot("left", -6, 9))
    return [(x, x + math.log10(peak), spot) for x in at for spot in spots]


def _list_flat_spots(begin: float, end: float, peak: float) -> Spots:
    """Return label positions above and below a flat roof, starting at its right end."""
    at = [math.log10(end) - _HAIR - math.log10(end / begin) * step / _STEPS for step in range(_STEPS)]
    return [(x, math.log10(peak), Spot("left", 0, up)) for x in at for up in (9, -9)]


def _choose_color(roof: Roof, theme: Theme) -> str:
    return _LINE[theme] if roof.used else _FAINT[theme]


def _draw_ridge(figure: go.Figure, roof: Roof, at: float, theme: Theme) -> None:
    figure.add_scatter(
        x=[at],
        y=[roof.peak],
        mode="markers",
        marker={"symbol": "line-ns-open", "size": 12, "color": _LINE[theme], "line": {"width": 1.5}},
        text=[
            (
                f"Ridge point of {fmt.escape_plotly(roof.title)}<br><b>{fmt.significant(at)} FLOP/byte</b>: memory is"
                " the roof left of it"
            )
        ],
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
    )


def _draw_arrow(figure: go.Figure, start: Point, end: Point, theme: Theme) -> None:
    figure.add_annotation(
        x=math.log10(end.x),
        y=math.log10(end.y),
        ax=math.log10(start.x),
        ay=math.log10(start.y),
        axref="x",
        ayref="y",
        text="",
        showarrow=True,
        arrowhead=2,
        arrowsize=1,
        arrowwidth=1.2,
        arrowcolor=ACCENT[theme],
    )


def _make_decade_ticks(low: float, high: float, unit: str = "") -> dict[str, Any]:
    """Return ticks at powers of ten with their text: 0.1, 1, 10, or 1 GFLOP/s, 10 GFLOP/s."""
    powers = range(math.ceil(low), math.floor(high) + 1)
    if len(powers) > 10:
        powers = powers[:: math.ceil(len(powers) / 10)]
    words = [fmt.flops(10.0**power, digits=False) if unit else f"{10.0**power:,.12g}" for power in powers]
    return {"tickvals": [10.0**power for power in powers], "ticktext": words}
