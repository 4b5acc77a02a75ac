"""The roofline chart: roofs, ridges, points, and labels that cover nothing."""

import math
from typing import Any

import pytest

from app.ui.roofline import elements
from app.ui.roofline.charts import NARROWEST_PX, Roof, Roofline, plot_roofline
from app.ui.roofline.labels import Room, Spot
from app.ui.roofline.points import Point
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.app.conftest import needs_samples


def point(x: float, y: float, **more: Any) -> Point:
    return Point("/0", "<b>name</b>", "group", "#0072B2", x, y, 5.0, "hover", **more)


@needs_samples
def test_a_peak_names_the_clock_that_was_measured(library: Library) -> None:
    report = library.find("attention.ncu-rep").id
    rows = analysis.run(library, report, "ncu_roofline", {"precision": "main", "level": "dram"})
    _, compute = elements.find_roofs(rows, rows, "dram")
    (bf16,) = [roof for roof in compute if "bf16" in roof.title]
    assert bf16.clock_hz is not None
    assert bf16.peak == pytest.approx(132 * 4096 * bf16.clock_hz, rel=1e-3)  # SMs, FLOPs a cycle of each
    figure = plot_roofline(Roofline([point(64, 2e14)], [Roof("DRAM", 4.8e12, True)], compute), "light")
    labels = " ".join(note.text for note in figure.layout.annotations)
    assert f"{bf16.peak / 1e12:,.4g} TFLOP/s at {bf16.clock_hz / 1e9:.2f} GHz, the clock measured" in labels


def test_the_chart_draws_roofs_ridges_points_and_arrows() -> None:
    chart = Roofline(
        [point(1, 1e12), point(4, 2e12, hollow=True), point(9, 9e13, impossible=True), point(2, 1e12, estimated=True)],
        [Roof("DRAM", 4e12, True), Roof("L2", 1e13, False)],
        [Roof("FP32", 6e13, True), Roof("FP64", 3e13, False)],
        [(1, 0)],
    )
    figure = plot_roofline(chart, "light")
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    slants = [line for line in lines if line.y[0] != line.y[1]]
    assert [round(line.y[1] / line.x[1]) for line in slants] == [4e12, 1e13]
    assert max(line.y[1] for line in slants) == pytest.approx(6e13)  # they end at the highest roof
    assert [line.y[0] for line in lines if line.y[0] == line.y[1]] == [6e13, 3e13]
    ridges = [trace.x[0] for trace in figure.data if trace.text and "Ridge" in trace.text[0]]
    assert ridges == [15]
    (points,) = [trace for trace in figure.data if trace.customdata]
    assert sorted(points.marker.symbol) == ["circle", "circle", "diamond", "x"]
    (arrow,) = [note for note in figure.layout.annotations if note.showarrow]
    assert (arrow.ax, arrow.x) == (math.log10(4), 0)
    assert all("<b>name" not in str(note.text) for note in figure.layout.annotations)  # names are untrusted


@pytest.mark.parametrize("x", [0.3, 1, 4.7, 13.37])
def test_words_of_roofs_begin_on_the_chart(x: float) -> None:
    """Plotly draws no text whose position rounding puts outside the axis."""
    roofs = [Roof("DRAM", 1.555e12, True), Roof("L2", 4.2e12, False)]
    figure = plot_roofline(Roofline([point(x, 5e11)], roofs, [Roof("FP32", 1.05e13, True)]), "light")
    low, high = figure.layout.xaxis.range
    assert len(figure.layout.annotations) >= 3
    assert all(low + 1e-9 < note.x < high - 1e-9 for note in figure.layout.annotations)


def test_what_does_no_arithmetic_stands_as_far_below_the_memory_roof_as_its_traffic_is() -> None:
    idle = point(0, 0, bytes_per_s=1e12)
    chart = Roofline([point(1, 1e12), idle], [Roof("DRAM", 4e12, True)], [Roof("FP32", 6e13, True)])
    figure = plot_roofline(chart, "light")
    (points,) = [trace for trace in figure.data if trace.customdata]
    at, y = min(zip(points.x, points.y, strict=True))
    assert at < 0.5, "left of all that does arithmetic"
    assert y / (at * 4e12) == pytest.approx(1 / 4)
    assert figure.layout.xaxis.ticktext[0] == "0"
    assert figure.layout.xaxis.tickvals[0] == pytest.approx(at)
    assert figure.layout.xaxis.range[0] < math.log10(at) < math.log10(figure.layout.xaxis.tickvals[1])
    alone = plot_roofline(Roofline([idle], [Roof("DRAM", 4e12, True)], [Roof("FP32", 6e13, True)]), "dark")
    assert [trace.customdata for trace in alone.data if trace.customdata] == [("/0",)]


def test_no_name_covers_a_point_or_another_name() -> None:
    """The label boxes, computed from the figure with points of several sizes, do not overlap."""
    points = [
        Point(
            f"/{n}",
            f"kernel_number_{n}",
            "group",
            "#0072B2",
            10 ** (n % 5 / 2),
            10 ** (9 + n % 7 / 2),
            100.0 + n**2,
            "",
        )
        for n in range(16)
    ]
    figure = plot_roofline(Roofline(points, [Roof("DRAM", 4e12, True)], [Roof("FP32", 6e13, True)]), "light")
    xs, ys = (tuple(axis.range) for axis in (figure.layout.xaxis, figure.layout.yaxis))
    height = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    boxes = []
    for note in figure.layout.annotations:
        at = ((note.x - xs[0]) / (xs[1] - xs[0]) * NARROWEST_PX, (note.y - ys[0]) / (ys[1] - ys[0]) * height)
        boxes.append(Spot("right" if note.xanchor == "left" else "left", note.xshift, note.yshift).box(note.text, *at))
    assert len(boxes) >= 4
    (drawn,) = [trace for trace in figure.data if trace.customdata]
    for x, y, size in zip(drawn.x, drawn.y, drawn.marker.size, strict=True):
        left = (math.log10(x) - xs[0]) / (xs[1] - xs[0]) * NARROWEST_PX
        bottom = (math.log10(y) - ys[0]) / (ys[1] - ys[0]) * height
        boxes.append((left - size / 2, bottom - size / 2, left + size / 2, bottom + size / 2))
    words = len(figure.layout.annotations)
    for number, one in enumerate(boxes[:words]):
        for other in boxes[number + 1 :]:
            assert one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]


def test_room_is_taken_once() -> None:
    room = Room((0, 1), (0, 1), 100, 100)
    wanted = [(0.5, 0.5, Spot("right", 0, 0))]
    assert room.find("abc", wanted) == wanted[0]
    assert room.find("abc", wanted) is None
    assert room.find("a name that is wider than the chart", [(0.1, 0.1, Spot("right", 0, 0))]) is None
