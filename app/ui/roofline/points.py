"""Kernels as points with an area proportional to time, and labels for the largest; shared by the roofline charts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from app.ui import format as fmt
from app.ui.charts import GROUND, MARK, Theme, fade_color
from app.ui.roofline.labels import SIZE_PX, Room, Spot, list_positions

SMALLEST_PX, LARGEST_PX = 8, 46
LABELS = 7
"""Maximum number of labeled points."""
_NAME = 30


@dataclass(frozen=True)
class Point:
    """A kernel on the chart.

    Args:
        key: the value that a click returns.
        name: untrusted; drawn beside the largest points.
        group: the legend entry of its color.
        color: ``#RRGGBB``.
        x: FLOP/byte; percent on the speed of light chart.
        y: FLOP/s; percent on the speed of light chart.
        weight: time in ns; sets the area.
        hover: escaped lines.
        estimated: whether part of the point is estimated rather than measured.
        impossible: whether the point lies above its roof.
        hollow: whether the point belongs to a baseline.
        bytes_per_s: traffic of a kernel without floating-point work; x and y are then 0.
    """

    key: str
    name: str
    group: str
    color: str
    x: float
    y: float
    weight: float
    hover: str
    estimated: bool = False
    impossible: bool = False
    hollow: bool = False
    bytes_per_s: float = 0.0


def draw_points(figure: go.Figure, points: Sequence[Point], theme: Theme) -> None:
    """Draw one trace per group, so that each gets a legend entry; large points are drawn below small ones."""
    largest = max((point.weight for point in points), default=1) or 1
    groups = dict.fromkeys(point.group for point in points)
    for group in groups:
        of_group = sorted((point for point in points if point.group == group), key=lambda point: -point.weight)
        figure.add_scatter(
            x=[point.x for point in of_group],
            y=[point.y for point in of_group],
            mode="markers",
            name=fmt.escape_plotly(group),
            customdata=[point.key for point in of_group],
            text=[point.hover for point in of_group],
            hovertemplate="%{text}<extra></extra>",
            marker={
                "size": [compute_diameter(point.weight / largest) for point in of_group],
                "color": [_choose_fill(point) for point in of_group],
                "symbol": [_choose_symbol(point) for point in of_group],
                "line": {
                    "width": [2 if point.hollow or point.impossible else 1 for point in of_group],
                    "color": [_choose_edge(point, theme) for point in of_group],
                },
                "opacity": 1,
            },
            showlegend=False,
        )
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="markers",
            name=fmt.escape_plotly(group),
            marker={"size": 10, "color": of_group[0].color},
            showlegend=True,
        )


def compute_diameter(share: float) -> float:
    """Return the diameter in pixels: area is proportional to ``share``, with a clickable minimum."""
    return max(SMALLEST_PX, LARGEST_PX * math.sqrt(share))


def _choose_fill(point: Point) -> str:
    return "rgba(0, 0, 0, 0)" if point.hollow else fade_color(point.color, 0.72)


def _choose_symbol(point: Point) -> str:
    return "x" if point.impossible else "diamond" if point.estimated else "circle"


def _choose_edge(point: Point, theme: Theme) -> str:
    if point.impossible:
        return MARK[theme]
    return point.color if point.hollow else GROUND[theme]


def name_largest(figure: go.Figure, points: Sequence[Point], room: Room, theme: Theme, *, log: bool = True) -> None:
    """Label the points with the most time, as long as no label covers a point or another label."""
    largest = max((point.weight for point in points), default=1) or 1
    places = {id(point): (math.log10(point.x), math.log10(point.y)) if log else (point.x, point.y) for point in points}
    named: set[str] = set()
    for point in sorted((point for point in points if not point.hollow), key=lambda point: -point.weight):
        text = fmt.shortened(point.name, _NAME)
        spots = [(*places[id(point)], spot) for spot in list_positions(compute_diameter(point.weight / largest))]
        if len(named) < LABELS and text not in named and (place := room.find(text, spots)):
            named.add(text)
            write_text(figure, fmt.escape_plotly(text), place, theme)


def take(room: Room, points: Sequence[Point], *, log: bool = True) -> None:
    """Mark the areas of all points as taken."""
    largest = max((point.weight for point in points), default=1) or 1
    for point in points:
        place = (math.log10(point.x), math.log10(point.y)) if log else (point.x, point.y)
        room.take_point(*place, compute_diameter(point.weight / largest))


def write_text(figure: go.Figure, text: str, where: tuple[float, float, Spot], theme: Theme, color: str = "") -> None:
    """Write escaped text at a position, given as powers of ten on logarithmic axes."""
    x, y, spot = where
    figure.add_annotation(
        x=x,
        y=y,
        text=text,
        showarrow=False,
        xanchor="left" if spot.side == "right" else "right",
        yanchor="middle",
        xshift=spot.right_px,
        yshift=spot.up_px,
        font={"size": SIZE_PX} | ({"color": color} if color else {}),
        bgcolor=fade_color(GROUND[theme], 0.6),
        borderpad=0,
    )


def place_legend(figure: go.Figure) -> None:
    """Put the legend below the chart, one entry per group, and make a click select a point."""
    figure.update_layout(
        showlegend=True,
        legend={"orientation": "h", "y": -0.13, "x": 0, "yanchor": "top", "itemclick": False, "itemdoubleclick": False},
        hovermode="closest",
        clickmode="event+select",
    )
    figure.update_layout(margin={"b": 72})
