"""The roofline of a Compute report and that of a Systems report: figures, sentences, and what too little data says."""

import math
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app.ui import format as fmt
from app.ui.roofline.charts import NARROWEST_PX, Roof, Roofline, plot_roofline
from app.ui.roofline.labels import Room, Spot
from app.ui.roofline.points import Point
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.app.conftest import CORPUS, SAMPLES, Dashboard
from tests.support.page_reports import empty

needs_samples = pytest.mark.skipif(not list(SAMPLES.glob("*.ncu-rep")), reason="no sample reports here")
needs_corpus = pytest.mark.skipif(not CORPUS.exists(), reason="no corpus here")


def texts(at: AppTest) -> str:
    kinds = (at.caption, at.markdown, at.info, at.warning, at.error, at.header, at.code)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def metrics(at: AppTest) -> dict[str, str]:
    return {metric.label: str(metric.value).replace("\\", "") for metric in at.metric}


@needs_samples
def test_a_compute_report_shows_its_launches_under_their_roofs(dashboard: Dashboard, library: Library) -> None:
    report = library.find("transformer_training.ncu-rep").id
    at = dashboard("roofline", report=report)
    assert not at.exception
    rows = analysis.run(library, report, "ncu_roofline", {"precision": "main", "level": "dram"})
    time = rows["duration_ns"].sum()
    share = (rows["pct_of_roof"] * rows["duration_ns"]).sum() / time
    assert metrics(at)["Launches"] == f"{len(rows)} of 46"
    assert metrics(at)["Roof efficiency"] == f"{share:.1f} %"
    gaps = rows["duration_ns"] * (1 - rows["pct_of_roof"].clip(upper=100) / 100)
    assert metrics(at)["Saving at the roof"] == fmt.duration(gaps.sum())
    table = at.dataframe[0].value
    assert sorted(table["launch_id"]) == sorted(rows["launch_id"])
    assert table["roof_gap_ns"].is_monotonic_decreasing
    assert table["roof_gap_ns"].iloc[0] == pytest.approx(gaps.max())
    assert "kernels without arithmetic sit at 0 FLOP/byte" in texts(at)


@needs_samples
def test_level_precision_search_and_range_stand_in_the_address(dashboard: Dashboard, library: Library) -> None:
    report = library.find("transformer_training.ncu-rep").id
    at = dashboard("roofline", report=report, level="L1", precision="FP32", search="softmax")
    assert not at.exception
    assert set(at.dataframe[0].value["name"]) <= {n for n in at.dataframe[0].value["name"] if "softmax" in n.lower()}
    inside = dashboard("roofline", report=report, inside="step_0/forward")
    assert 0 < len(inside.dataframe[0].value) < len(dashboard("roofline", report=report).dataframe[0].value)


@needs_samples
def test_another_report_is_the_baseline(dashboard: Dashboard, library: Library) -> None:
    report, other = (library.find(f"transformer_{name}.ncu-rep").id for name in ("training", "inference"))
    at = dashboard("roofline", **{"report": report, "with": other})
    assert not at.exception
    assert "hollow is the baseline" in texts(at)


@needs_corpus
@pytest.mark.parametrize("precision", ["Each kernel's own", "Tensor cores"])
def test_a_gpu_without_tensor_cores_has_none(dashboard: Dashboard, library: Library, precision: str) -> None:
    at = dashboard("roofline", report=library.find("vec_add_1660s_full.ncu-rep").id, precision=precision)
    assert not at.exception
    assert ("No launches match" in texts(at)) == (precision == "Tensor cores")


@needs_samples
def test_a_systems_report_is_weighted_by_its_own_time(dashboard: Dashboard, library: Library) -> None:
    systems = library.find("transformer_training.nsys-rep").id
    compute = library.find("transformer_training.ncu-rep").id
    at = dashboard("roofline_by_time", report=systems, ncu=compute)
    assert not at.exception
    chosen = {"ncu": compute, "mode": "process", "warmup": "exclude"}
    row = analysis.run(library, systems, "ncu_coverage", chosen).iloc[0]
    assert row["covered_pct"] > 30
    assert metrics(at)["ncu covers"] == f"{row['covered_pct']:.1f} %"
    assert f"ncu covers {row['covered_pct']:.1f} % of kernel time" in texts(at).replace("\\", "")
    pairs = analysis.run(library, systems, "time_weighted_roofline", chosen)
    exact = pairs[pairs["match"] == "exact"].sort_values("roof_gap_ns", ascending=False, kind="stable")
    assert list(at.dataframe[0].value["calls"]) == list(exact["calls"])
    assert metrics(at)["Saving at the roof"] == fmt.duration(exact["roof_gap_ns"].sum())
    assert len(at.dataframe[1].value) == (pairs["match"] != "exact").sum()


@needs_corpus
@pytest.mark.nsight
def test_a_systems_report_without_a_compute_report_says_what_to_capture(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("roofline_by_time", report=library.find("streams_4090.nsys-rep").id)
    assert not at.exception
    assert "no Compute report in this library measured these kernels" in texts(at)
    assert "ncu --set roofline" in texts(at)


@needs_samples
def test_a_compute_report_that_covers_nothing_is_not_chosen_by_itself(dashboard: Dashboard, library: Library) -> None:
    report = library.find("dataloader_starved.nsys-rep").id
    shapes = "SELECT count(*) AS n FROM kernel"
    assert analysis.query(library, report, shapes)["n"].iloc[0] > 0
    at = dashboard("roofline_by_time", report=report)
    assert not at.exception
    assert "No Compute report in this library covers this report" in texts(at)
    assert "in other launch shapes only" in texts(at)
    (select,) = [box for box in at.selectbox if box.label == "Compute report"]
    assert select.value is None
    assert "ncu" not in at.query_params
    assert not at.metric


@needs_samples
def test_a_peak_names_the_clock_that_was_measured(dashboard: Dashboard, library: Library) -> None:
    from app.ui.roofline import elements

    report = library.find("attention.ncu-rep").id
    rows = analysis.run(library, report, "ncu_roofline", {"precision": "main", "level": "dram"})
    _, compute = elements.find_roofs(rows, rows, "dram")
    (bf16,) = [roof for roof in compute if "bf16" in roof.title]
    assert bf16.clock_hz is not None
    assert bf16.peak == pytest.approx(132 * 4096 * bf16.clock_hz, rel=1e-3)  # SMs, FLOPs a cycle of each
    figure = plot_roofline(Roofline([point(64, 2e14)], [Roof("DRAM", 4.8e12, True)], compute), "light")
    labels = " ".join(note.text for note in figure.layout.annotations)
    assert f"{bf16.peak / 1e12:,.4g} TFLOP/s at {bf16.clock_hz / 1e9:.2f} GHz, the clock measured" in labels


def test_too_few_metrics_show_the_speed_of_light_and_the_flags(dashboard: Dashboard, data: Path) -> None:
    import duckdb  # the report is made by hand: none of the samples has so little

    from profiledb.library.catalog import Manifest
    from profiledb.report import store
    from profiledb.report.schema import SCHEMA_VERSION

    library = Library(data / "library")
    path = data / "little.duckdb"
    with store.create(path, ready=empty()) as db:
        assert isinstance(db, duckdb.DuckDBPyConnection)
        db.execute("INSERT INTO report (kind) VALUES ('ncu')")
        db.execute(
            "INSERT INTO ncu_launch (launch_id, kernel, duration_ns, sm_throughput_pct, memory_throughput_pct)"
            " VALUES (0, 'f(int)', 1000, 20, 70)"
        )
    library.publish(path, Manifest("e" * 16, SCHEMA_VERSION, "little.ncu-rep", "ncu", "", 1, rows={"ncu_launch": 1}))
    at = dashboard("roofline", report="e" * 16)
    assert not at.exception
    assert "ncu --set roofline" in texts(at)
    assert "Click a point to open its launch" in texts(at)


def point(x: float, y: float, **more: Any) -> Point:
    return Point("/0", "<b>name</b>", "group", "#0072B2", x, y, 5.0, "hover", **more)


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
    """Plotly draws no words at a place that a rounding puts before the edge of the axis."""
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
    """Points of different size: the boxes of all words, drawn anew from the figure, meet nothing."""
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
