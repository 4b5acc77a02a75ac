"""Kernels as points whose area is their time, with names beside the largest: what the charts of a roofline share."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from app.ui import format as fmt
from app.ui.charts import FONT_PX, MARK, Theme, faded

SMALLEST_PX, LARGEST_PX = 8, 46
LABELS = 7
"""Names that the chart carries at most: those of the largest points that leave room."""
APART_X, APART_Y = 0.10, 0.06
"""How far two labelled points are apart, as shares of the axes."""

_GROUND = {"light": "#ffffff", "dark": "#13161b"}


@dataclass(frozen=True)
class Point:
    """A kernel on the chart.

    Args:
        key: what a click on it gives back.
        name: untrusted; drawn beside the largest points.
        group: what the legend calls its colour.
        color: ``#RRGGBB``.
        x: FLOP per byte, above 0; on the speed of light percent.
        y: FLOP/s, above 0; on the speed of light percent.
        weight: time, ns; the area of the point.
        hover: escaped lines.
        estimated: whether a part of it was not measured as such.
        impossible: whether it lies above its roof.
        hollow: whether it belongs to a baseline.
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


def draw_points(figure: go.Figure, points: Sequence[Point], theme: Theme) -> None:
    """A trace a group, so that the legend has a line for each; the largest points lie at the bottom."""
    largest = max((point.weight for point in points), default=1) or 1
    groups = dict.fromkeys(point.group for point in points)
    for group in groups:
        of_group = sorted((point for point in points if point.group == group), key=lambda point: -point.weight)
        figure.add_scatter(
            x=[point.x for point in of_group],
            y=[point.y for point in of_group],
            mode="markers",
            name=fmt.plotly_text(group),
            customdata=[point.key for point in of_group],
            text=[point.hover for point in of_group],
            hovertemplate="%{text}<extra></extra>",
            marker={
                "size": [_diameter(point.weight / largest) for point in of_group],
                "color": [_fill(point) for point in of_group],
                "symbol": [_symbol(point) for point in of_group],
                "line": {
                    "width": [2 if point.hollow or point.impossible else 1 for point in of_group],
                    "color": [_edge(point, theme) for point in of_group],
                },
                "opacity": 1,
            },
            showlegend=False,
        )
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="markers",
            name=fmt.plotly_text(group),
            marker={"size": 10, "color": of_group[0].color},
            showlegend=True,
        )


def _diameter(share: float) -> float:
    """The area tells the time, down to a size that can be hit."""
    return max(SMALLEST_PX, LARGEST_PX * math.sqrt(share))


def _fill(point: Point) -> str:
    return "rgba(0, 0, 0, 0)" if point.hollow else faded(point.color, 0.72)


def _symbol(point: Point) -> str:
    return "x" if point.impossible else "diamond" if point.estimated else "circle"


def _edge(point: Point, theme: Theme) -> str:
    if point.impossible:
        return MARK[theme]
    return point.color if point.hollow else _GROUND[theme]


def name_largest(
    figure: go.Figure,
    points: Sequence[Point],
    x: tuple[float, float],
    y: tuple[float, float],
    theme: Theme,
    *,
    log: bool = True,
) -> None:
    """Names beside the points with the most time, where no named one is near."""
    largest = max((point.weight for point in points), default=1) or 1
    named: list[tuple[float, float]] = []
    for point in sorted(points, key=lambda point: -point.weight):
        place = (math.log10(point.x), math.log10(point.y)) if log else (point.x, point.y)
        spot = ((place[0] - x[0]) / (x[1] - x[0]), (place[1] - y[0]) / (y[1] - y[0]))
        near = any(abs(spot[0] - a) < 3 * APART_X and abs(spot[1] - b) < APART_Y for a, b in named)
        if point.hollow or near or len(named) == LABELS:
            continue
        named.append(spot)
        right = spot[0] < 0.55
        figure.add_annotation(
            x=place[0],
            y=place[1],
            text=fmt.plotly_text(fmt.shortened(point.name, 30)),
            showarrow=False,
            xanchor="left" if right else "right",
            xshift=(1 if right else -1) * (_diameter(point.weight / largest) / 2 + 4),
            font={"size": FONT_PX - 1},
            bgcolor=faded(_GROUND[theme], 0.6),
            borderpad=1,
        )


def legend(figure: go.Figure) -> None:
    """A line a group below the chart; a click on a point selects it."""
    figure.update_layout(
        showlegend=True,
        legend={"orientation": "h", "y": -0.13, "x": 0, "yanchor": "top", "itemclick": False, "itemdoubleclick": False},
        hovermode="closest",
        clickmode="event+select",
    )
    figure.update_layout(margin={"b": 72})
