"""Timers against ranges: pairs by step, by order and none, with figures by hand."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.conftest import SAMPLES, ingest_files
from tests.ingest.torch.test_trace_load import event, text
from tests.support.page_reports import Publish, picked, run
from tests.support.range_captures import Capture, Range

Timings = Callable[[str, Sequence[tuple[str, int | str, float]]], None]
RANGES: list[Range] = [
    *[(1000 * i, 1000 * i + 900, f"step_{i}") for i in range(4)],
    *[(1000 * i + 10, 1000 * i + 510 + 10 * i, "forward") for i in range(4)],
    *[(1000 * i + 600 + 50 * j, 1000 * i + 620 + 50 * j, "twice") for i in range(4) for j in (0, 1)],
    *[(5000 + 100 * i, 5040 + 100 * i, "plain") for i in range(3)],
    (6000, None, "plain"),
]


@pytest.fixture
def timings(library: Library) -> Timings:
    """Lays timings (label, step, ns) beside a report."""

    def lay(report_id: str, rows: Sequence[tuple[str, int | str, float]]) -> None:
        text = "".join(f"{label},{step},{ns / 1e9!r}\n" for label, step, ns in rows)
        library.put_sidecar(report_id, "timings", f"label,step,seconds\n{text}")

    return lay


def by_label(library: Library, report_id: str, **params: Any) -> dict[str, dict[str, Any]]:
    return {row["label"]: row for row in run(library, report_id, "timing_compare", **params)}


def test_pairs_by_step(library: Library, capture: Capture, timings: Timings) -> None:
    one = capture(RANGES, [(20, 100, 400, "one"), (1020, 1100, 1700, "one")])
    timings(one, [("forward", 0, 600), ("forward", 1, 640), ("forward", 9, 5000), ("step", 2, 1000)])
    rows = by_label(library, one)
    forward = rows["forward"]
    assert picked([forward], "timings", "ranges", "pairs") == [(3, 4, 2)]
    assert (forward["timer_mean_ns"], forward["cpu_mean_ns"], forward["gpu_mean_ns"]) == (620, 505, 450)
    assert (forward["timer_std_ns"], forward["timer_p50_ns"]) == (pytest.approx(800**0.5), 620)
    assert forward["timer_p95_ns"] == pytest.approx(638)
    assert (forward["over_cpu_ns"], forward["over_gpu_ns"], forward["gpu_pairs"]) == (115, 170, 2)
    assert forward["over_cpu_pct"] == pytest.approx(100 * 115 / 505)
    assert picked([rows["step"]], "pairs", "cpu_mean_ns", "gpu_mean_ns") == [(1, 900, None)]
    pairs = run(library, one, "timing_pairs", label="forward")
    assert [(p["step"], p["is_pair"]) for p in pairs] == [(0, True), (1, True), (2, False), (3, False), (9, False)]


def test_a_label_may_be_the_end_of_a_path(library: Library, capture: Capture, timings: Timings) -> None:
    layers: list[Range] = [(20, 100, "layer_0"), (610, 700, "layer_0")]
    one = capture([(0, 1000, "step_0"), (10, 500, "forward"), (600, 900, "backward"), *layers])
    timings(one, [("forward/layer_0", 0, 100)])
    row = by_label(library, one)["forward/layer_0"]
    assert (row["pairs"], row["ranges"], row["cpu_mean_ns"], row["over_cpu_ns"]) == (1, 1, 80, 20)


def test_modules_and_operators_of_a_trace_are_no_part_of_a_label(tmp_path: Path) -> None:
    """PyTorch's ranges lie between the program's own, and the labels of its timer do not have them."""
    lines = [
        line
        for n in range(3)
        for line in (
            event("user_annotation", f"step_{n}", 10_000 * n, 10_000 * n + 9_000),
            event("python_function", "nn.Module: Net_0", 10_000 * n + 100, 10_000 * n + 8_000, Python_id=2 * n),
            event("user_annotation", "layer_0", 10_000 * n + 200, 10_000 * n + 7_000),
            event("python_function", "nn.Module: Block_0", 10_000 * n + 300, 10_000 * n + 6_000, Python_id=2 * n + 1),
            event("cpu_op", "aten::linear", 10_000 * n + 400, 10_000 * n + 5_000, **{"Ev Idx": n}),
            event("user_annotation", "attention", 10_000 * n + 500, 10_000 * n + 4_500),
        )
    ]
    (tmp_path / "net.pt.trace.json").write_text(text(lines))
    rows = "".join(f"layer_0/attention,{n},{4_100 / 1e9!r}\n" for n in range(3))
    (tmp_path / "net.timings.csv").write_text(f"label,step,seconds\n{rows}")
    ingest_files(tmp_path, [tmp_path / "net.pt.trace.json", tmp_path / "net.timings.csv"])
    library = Library(tmp_path / "library")
    (row,) = by_label(library, library.list()[0].id).values()
    assert picked([row], "label", "timings", "pairs", "cpu_mean_ns", "over_cpu_ns") == [
        ("layer_0/attention", 3, 3, 4_000, 100)
    ]


def test_pairs_by_order_and_none(library: Library, capture: Capture, timings: Timings) -> None:
    one = capture(RANGES)
    timings(one, [("plain", 7, 50), ("plain", 8, 60), ("plain", 9, 70), ("twice", 0, 90), ("nowhere", 0, 1)])
    rows = by_label(library, one)
    assert picked([rows["plain"]], "ranges", "pairs", "over_cpu_ns") == [(3, 3, 20)], "what never closed is left out"
    assert picked([rows["twice"]], "ranges", "pairs", "timer_mean_ns", "cpu_mean_ns", "over_cpu_ns") == [
        (8, 0, 90, 20, None)
    ]  # fmt: skip
    assert picked([rows["nowhere"]], "ranges", "pairs", "cpu_mean_ns") == [(0, 0, None)]
    timings(one, [("plain", 7, 50), ("plain", 8, 60)])
    assert by_label(library, one)["plain"]["pairs"] == 0, "there are three ranges, and nothing tells which"


def test_two_of_both_in_a_step_are_pairs(library: Library, capture: Capture, timings: Timings) -> None:
    one = capture(RANGES)
    timings(one, [("twice", 3, 30), ("twice", 3, 40), ("step_1", 1, 1000)])
    rows = by_label(library, one)
    assert picked([rows["twice"]], "pairs", "over_cpu_ns") == [(2, 15)]
    assert rows["step_1"]["pairs"] == 1


def test_a_number_in_the_label_is_no_step(library: Library, capture: Capture, timings: Timings) -> None:
    sizes: list[Range] = [(1000 * n, 1000 * n + 900, f"batch_{n}") for n in (1, 2)]
    steps: list[Range] = [
        (1000 * n + 100 * k, 1000 * n + 100 * k + 50, f"step_{k}") for n in (1, 2) for k in range(n + 1)
    ]
    one = capture([*sizes, *steps])
    timings(one, [*[("batch_1", k, 60) for k in (0, 1)], ("batch_1", "", 910), *[("batch_2", k, 70) for k in range(3)]])
    rows = list(by_label(library, one).values())
    assert sorted(picked(rows, "label", "timings", "ranges", "pairs", "over_cpu_ns")) == [
        ("batch_1", 1, 1, 1, 10),
        ("batch_1/step_*", 2, 2, 2, 10),
        ("batch_2", 0, 1, 0, None),
        ("batch_2/step_*", 3, 3, 3, 20),
    ]


def test_one_measurement_of_a_loop_is_of_its_range(library: Library, capture: Capture, timings: Timings) -> None:
    """Tables without steps count from 0, which is then no step inside the range."""
    one = capture([(0, 1000, "train"), *[(100 * k, 100 * k + 50, f"step_{k}") for k in range(3)]])
    timings(one, [("train", 0, 1007)])
    rows = by_label(library, one)
    assert picked(list(rows.values()), "label", "ranges", "pairs", "over_cpu_ns") == [("train", 1, 1, 7)]


def test_measurements_of_a_warm_up_belong_to_its_ranges(library: Library, capture: Capture, timings: Timings) -> None:
    warm: list[Range] = [(0, 500, "warmup"), (10, 110, "forward"), (200, 300, "forward")]
    one = capture([*warm, *[(1000 * n, 1000 * n + 100, "forward") for n in (1, 2)]])
    timings(one, [("forward", "warmup", 150), ("forward", "warmup", 150), ("forward", 0, 107), ("forward", 1, 107)])
    every = by_label(library, one)["forward"]
    assert (every["timings"], every["ranges"], every["pairs"], every["over_cpu_ns"]) == (4, 4, 4, 28.5)
    steady = by_label(library, one, warmup="exclude")["forward"]
    assert (steady["timings"], steady["ranges"], steady["pairs"], steady["over_cpu_ns"]) == (2, 2, 2, 7)
    assert [(p["step"], p["is_warmup"]) for p in run(library, one, "timing_pairs", label="forward")] == [
        (0, False), (1, False), (None, True), (None, True)
    ]  # fmt: skip


def test_names_with_slashes_are_found_below_a_range(library: Library, capture: Capture, timings: Timings) -> None:
    one = capture([(0, 1000, "step_0"), (10, 500, "matmul_8/gpu"), (20, 100, "compute")])
    timings(one, [("matmul_8/gpu", 0, 495), ("matmul_8/gpu/compute", 0, 81)])
    rows = by_label(library, one)
    assert {label: row["over_cpu_ns"] for label, row in rows.items()} == {"matmul_8/gpu": 5, "matmul_8/gpu/compute": 1}


def test_the_selection_holds(library: Library, capture: Capture, timings: Timings) -> None:
    one = capture(RANGES)
    timings(one, [("forward", i, 600) for i in range(4)])
    assert by_label(library, one, range="step_2")["forward"]["pairs"] == 1


def test_without_timings_it_says_so(library: Library, publish: Publish) -> None:
    with pytest.raises(NotCapturedError, match="No timings"):
        run(library, publish(lambda _: None), "timing_compare")


@pytest.mark.skipif(not list(SAMPLES.glob("*.sqlite")), reason="no sample reports here")
def test_the_steps_of_a_sample(nsys_samples: Library, tmp_path: Path) -> None:
    """Each timer is 1 µs longer than its range, and the analysis has to find that."""
    report = nsys_samples.find("transformer_inference.nsys-rep").id
    query = "SELECT name, end_ns - start_ns AS ns FROM range JOIN range_name USING (name_id) WHERE name LIKE 'step_%'"
    rows = analysis.query(nsys_samples, report, query)
    text = "".join(f"step,{name[5:]},{float(ns + 1000) / 1e9!r}\n" for name, ns in rows.itertuples(index=False))
    own = Library(tmp_path / "own")
    for path in nsys_samples.reports.glob(f"{report}.v*"):
        (own.reports / path.name).write_bytes(path.read_bytes())
    own.put_sidecar(report, "timings", f"label,step,seconds\n{text}")
    row = by_label(own, report)["step"]
    assert (row["timings"], row["ranges"], row["pairs"]) == (5, 5, 5)
    assert row["over_cpu_ns"] == 1000
