"""Analyses of the Ranges page: captures with known numbers, and properties of every report."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.report.schema import SCHEMA_VERSION
from tests.support import exports
from tests.support.every_report import EVERY_REPORT
from tests.support.exports import MAIN, OTHER, PID, kernel
from tests.support.page_reports import picked, run

BEGIN, THIRD = 1000, PID + 72
Range = tuple[int, int | None, str, int]
Work = tuple[int, int, int, int]
Report = Callable[..., str]
MORE = pytest.mark.slow("more captures of ranges")
CALL = ("start", "end", "globalTid", "correlationId", "nameId", "eventClass", "returnValue")


def tables(ranges: Sequence[Range], work: Sequence[Work], domain: str) -> exports.Tables:
    """An export: ranges, and work (begin of a call of 10 ns, its thread, begin and end of its kernel)."""
    nvtx: list[tuple[Any, ...]] = [(BEGIN, None, 75, domain, None, MAIN, 1)] if domain else []
    for start, end, name, tid in ranges:
        own, text = name.startswith(f"{domain}:"), name.removeprefix(f"{domain}:")
        nvtx.append((BEGIN + start, None if end is None else BEGIN + end, 59, text, None, tid, int(own)))
    calls = [(BEGIN + w[0], BEGIN + w[0] + 10, w[1], i, 1, 0, 0) for i, w in enumerate(work, 1)]
    kernels = [kernel(BEGIN + w[2], BEGIN + w[3], correlation=i) for i, w in enumerate(work, 1)]
    gpu = {**exports.kernels(*kernels), "CUPTI_ACTIVITY_KIND_RUNTIME": (CALL, calls)} if work else {}
    return {
        **gpu,
        "NVTX_EVENTS": (exports.NVTX, nvtx),
        "ANALYSIS_DETAILS": (("duration", "startTime", "stopTime"), [(100_000, BEGIN, BEGIN + 100_000)]),
    }


@lru_cache(maxsize=8)
def load(ranges: tuple[Range, ...], work: tuple[Work, ...], domain: str) -> bytes:
    """Return the report of an export; several tests ask for the same one."""
    with TemporaryDirectory() as folder:
        database = Path(folder) / "loaded.duckdb"
        with exports.loaded(database, exports.write(Path(folder) / "x.sqlite", tables(ranges, work, domain))) as db:
            db.execute("UPDATE kernel_name SET class = 'other'")
        return database.read_bytes()


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "library")


@pytest.fixture
def report(library: Library, tmp_path: Path) -> Report:
    """Publishes the capture of some ranges, and answers its id."""

    def report_(ranges: Sequence[Range], work: Sequence[Work] = (), domain: str = "") -> str:
        number = len(library.list())
        database = tmp_path / f"{number}.duckdb"
        database.write_bytes(load(tuple(ranges), tuple(work), domain))
        manifest = Manifest(f"{number:016x}", SCHEMA_VERSION, f"{number}.sqlite", "nsys", str(number), 1)
        library.publish(database, manifest)
        return manifest.id

    return report_


STEPS = [(100, 3100), (3200, 4200), (4300, 5300), (5400, 6420), (6500, 7480), (7500, 8500)]
TRAINING: list[Range] = [
    (0, 10000, "train", MAIN),
    *[(start, end, f"step_{number}", MAIN) for number, (start, end) in enumerate(STEPS)],
    *[(start + 10, start + 110, "a/b", MAIN) for start, _ in STEPS],
    (8600, 8700, "idle", MAIN),
    (9000, None, "step_6", MAIN),
    *[(5, 505, "loader:io", OTHER), (605, 1105, "loader:io", OTHER)],
    *[(2000, 2100, "work", OTHER), (2000, 2050, "work", THIRD), (2200, 2300, "work", OTHER)],
]
TRAINING_WORK: list[Work] = [
    *[(start + 20, MAIN, start + 200, start + 500) for start, _ in STEPS],
    *[(start + 150, MAIN, start + 600, start + (2600 if start == 100 else 700)) for start, _ in STEPS],
    (10500, MAIN, 10600, 10700),
]


@pytest.fixture
def training(report: Report) -> str:
    """Steps of 500 ns on the GPU, busy for 400, the first one of 2,400 and 2,300; one step is never closed."""
    return report(TRAINING, TRAINING_WORK, "loader")


def test_the_tree(library: Library, training: str) -> None:
    rows = {row["path"]: row for row in run(library, training, "nvtx_tree")}
    assert list(rows)[:3] == ["train", "train/step_0", r"train/step_0/a\/b"]
    assert set(rows) == {
        "train", "train/idle", "loader:io", "work", *[f"train/step_{i}" for i in range(7)],
        *[rf"train/step_{i}/a\/b" for i in range(6)],
    }  # fmt: skip
    train, step, inner = rows["train"], rows["train/step_0"], rows[r"train/step_0/a\/b"]
    assert (train["cpu_ns"], train["self_ns"], train["operations"], train["children"]) == (10000, 900, 12, 8)
    assert (train["gpu_ns"], train["busy_ns"], train["inside_busy_ns"]) == (7900, 4300, 4300)
    assert (step["cpu_ns"], step["self_ns"], step["gpu_ns"], step["busy_ns"]) == (3000, 2900, 2400, 2300)
    assert (inner["name"], inner["level"], inner["gpu_ns"], inner["operations"]) == ("a/b", 2, 300, 1)
    idle = rows["train/idle"]
    assert (idle["gpu_ns"], idle["busy_ns"], idle["operations"], idle["launched_in"]) == (None, None, 0, 0)
    assert (rows["train/step_6"]["cpu_ns"], rows["work"]["instances"], rows["work"]["threads"]) == (1000, 3, 2)
    assert (rows["loader:io"]["instances"], rows["loader:io"]["cpu_ns"]) == (2, 1000)


def test_parts_of_the_tree(library: Library, training: str) -> None:
    top = run(library, training, "nvtx_tree", depth=1)
    assert picked(top, "path", "paths") == [("train", 3), ("loader:io", 3), ("work", 3)]
    assert picked(run(library, training, "nvtx_tree", depth="2", limit=2), "path", "paths") == [
        ("train", 11), ("train/step_0", 11),
    ]  # fmt: skip
    found = run(library, training, "nvtx_tree", search="STEP_")
    assert picked(found, "name") == [(f"step_{i}",) for i in range(7)]
    assert run(library, training, "nvtx_tree", search="step%") == []
    assert picked(run(library, training, "nvtx_tree", path="train/idle"), "cpu_ns") == [(100,)]
    assert len(run(library, training, "nvtx_tree", path="a/b")) == 6
    inside = run(library, training, "nvtx_tree", range="train/step_1", depth=1)
    assert picked(inside, "path", "paths") == [("train/step_1", 1)]


def test_instances_count_by_thread_and_know_their_gap(library: Library, training: str) -> None:
    columns = ("nth", "number", "thread", "start_ns", "cpu_ns", "gap_ns", "gpu_ns", "operations")
    assert picked(run(library, training, "range_instances", path="work"), *columns) == [
        (1, 1, "7 / 71", 2000, 100, None, None, 0),
        (2, 1, "7 / 72", 2000, 50, None, None, 0),
        (3, 2, "7 / 71", 2200, 100, 100, None, 0),
    ]  # fmt: skip
    assert picked(run(library, training, "range_instances", path="loader:io"), "gap_ns") == [(None,), (100,)]
    (first,) = run(library, training, "range_instances", path=r"train/step_0/a\/b")
    assert (first["gpu_start_ns"], first["gpu_ns"], first["busy_ns"], first["closed"]) == (300, 300, 300, True)
    assert len(run(library, training, "range_instances", path="a/b")) == 6
    assert run(library, training, "range_instances", path="nothing") == []
    assert run(library, training, "range_instances") == []
    (last,) = run(library, training, "range_instances", path="train/step_6")
    assert (last["cpu_ns"], last["closed"], last["is_warmup"]) == (1000, False, False)


def test_a_selection_keeps_the_numbers_of_instances(library: Library, training: str) -> None:
    rows = run(library, training, "range_instances", path="work", range="work", skip_first=1)
    assert picked(rows, "nth", "number", "gap_ns", "instances") == [(1, 2, 100, 1)]
    assert run(library, training, "range_instances", path="work", range="train") == []


def flat(*durations: int, name: str = "op", tid: int = MAIN, gap: int = 10) -> list[Range]:
    """Ranges one after the other."""
    found: list[Range] = []
    at = 0
    for duration in durations:
        found.append((at, at + duration, name, tid))
        at += duration + gap
    return found


@pytest.mark.parametrize(
    ("durations", "warmup"),
    [
        pytest.param([200, 100, 100], 1, marks=MORE),
        pytest.param([105, 100, 100], 0, marks=MORE),  # less than a tenth
        ([111, 100, 100], 1),
        pytest.param([200, 100], 0, marks=MORE),  # no third
        pytest.param([500, 400, 300, 100, 100, 100, 100, 100, 100], 3, marks=MORE),
        ([500, 400, 300, 200, 100, 100, 100, 100, 100, 100], 3),  # at most the first third
        pytest.param([500, 100, 300, 100, 100, 100, 100, 100, 100], 1, marks=MORE),  # only those that lead
        pytest.param([100, 500, 300, 100, 100, 100, 100, 100, 100], 0, marks=MORE),
        pytest.param([170, 100, 100, 80, 120, 60, 140, 100, 100], 1, marks=MORE),  # the deviation of the rest is 20
        ([155, 100, 100, 80, 120, 60, 140, 100, 100], 0),
    ],
)
def test_what_looks_like_a_warm_up(library: Library, report: Report, durations: list[int], warmup: int) -> None:
    rows = run(library, report(flat(*durations)), "range_instances", path="op")
    assert [row["is_warmup"] for row in rows] == [number < warmup for number in range(len(durations))]


def test_a_warm_up_on_the_gpu_alone(library: Library, report: Report) -> None:
    work = [(at, MAIN, at + 50, at + 50 + (400 if at == 0 else 40)) for at in (0, 110, 220)]
    report_id = report(flat(100, 100, 100), work)
    assert picked(run(library, report_id, "range_instances", path="op"), "is_warmup") == [(True,), (False,), (False,)]
    cpu, gpu, busy = run(library, report_id, "range_spread", path="op")
    assert (cpu["measure"], cpu["warmup"], cpu["cv_pct"], cpu["steady_median_ns"]) == ("cpu", 1, 0, 100)
    assert (gpu["measure"], gpu["max_ns"], gpu["median_ns"], gpu["steady_median_ns"]) == ("gpu", 400, 40, 40)
    assert (busy["measure"], busy["mean_ns"]) == ("busy", 160)


def test_the_spread(library: Library, report: Report, training: str) -> None:
    (cpu,) = run(library, report(flat(400, 100, 100, 80, 120)), "range_spread", path="op")
    assert (cpu["instances"], cpu["warmup"], cpu["min_ns"], cpu["max_ns"]) == (5, 1, 80, 400)
    assert (cpu["mean_ns"], cpu["median_ns"], cpu["p95_ns"]) == (160, 100, pytest.approx(120 + 0.8 * 280))
    assert cpu["stddev_ns"] == pytest.approx(((240**2 + 2 * 60**2 + 80**2 + 40**2) / 4) ** 0.5)
    assert cpu["cv_pct"] == pytest.approx(100 * cpu["stddev_ns"] / 160)
    assert (cpu["steady_median_ns"], cpu["steady_cv_pct"]) == (100, pytest.approx(16.33, abs=0.01))
    assert run(library, training, "range_spread", path="step_6") == []  # never closed


def test_thinning_keeps_the_extremes(library: Library, report: Report) -> None:
    durations = [100 + i % 7 for i in range(100)]
    durations[40], durations[70] = 900, 5
    report_id = report(flat(*durations))
    assert len(run(library, report_id, "range_instances", path="op")) == 100
    rows = run(library, report_id, "range_instances", path="op", points=12)
    assert 2 <= len(rows) <= 12
    assert {41, 71} <= {row["nth"] for row in rows}
    assert {row["instances"] for row in rows} == {100}
    steps = run(library, report_id, "iterations", points=12)
    assert {41, 71} <= {row["number"] for row in steps}
    assert len(steps) <= 12


def test_gaps_of_a_name_that_stands_in_several_paths(library: Library, report: Report) -> None:
    """Each step has one forward: its predecessor on the thread is that of the step before, selected or not."""
    steps = [(1000 * i, 1000 * i + 900, f"step_{i}", MAIN) for i in range(3)]
    ranges = [*steps, *[(1000 * i + 100, 1000 * i + 200 + 10 * i, "forward", MAIN) for i in range(3)]]
    report_id = report(ranges)
    rows = run(library, report_id, "range_instances", path="forward")
    assert picked(rows, "path", "number", "gap_ns") == [
        ("step_0/forward", 1, None), ("step_1/forward", 1, 900), ("step_2/forward", 1, 890)
    ]  # fmt: skip
    assert picked(run(library, report_id, "range_instances", path="forward", range="step_2"), "gap_ns") == [(890,)]


def test_numbered_steps(library: Library, training: str) -> None:
    rows = run(library, training, "iterations")
    assert {row["steps"] for row in rows} == {"train/step_*"}
    assert picked(rows, "number", "name", "cpu_ns", "gap_ns", "is_warmup", "closed") == [
        (1, "step_0", 3000, None, True, True),
        (2, "step_1", 1000, 100, False, True),
        (3, "step_2", 1000, 100, False, True),
        (4, "step_3", 1020, 100, False, True),
        (5, "step_4", 980, 80, False, True),
        (6, "step_5", 1000, 20, False, True),
        (7, "step_6", 1000, 500, False, False),
    ]  # fmt: skip
    assert picked(rows, "gpu_ns", "busy_ns", "operations")[-2:] == [(500, 400, 2), (None, None, 0)]


def test_steps_in_numbers(library: Library, training: str) -> None:
    (cpu,) = run(library, training, "iteration_summary")
    assert (cpu["rank"], cpu["steps"], cpu["thread"], cpu["count"]) == (1, "train/step_*", "7 / 70", 5)
    assert (cpu["warmup"], cpu["first_ns"], cpu["median_ns"], cpu["mean_ns"]) == (1, 3000, 1000, 1000)
    assert (cpu["min_ns"], cpu["max_ns"], cpu["p95_ns"], cpu["total_ns"]) == (980, 1020, pytest.approx(1016), 5000)
    assert cpu["stddev_ns"] == pytest.approx(200**0.5)
    assert cpu["cv_pct"] == pytest.approx(0.1 * 200**0.5)
    assert (cpu["per_second"], cpu["unclosed"], cpu["has_gpu"]) == (pytest.approx(5e9 / 5300), 1, True)
    (gpu,) = run(library, training, "iteration_summary", by="gpu")
    assert (gpu["first_ns"], gpu["median_ns"], gpu["max_ns"], gpu["cv_pct"]) == (2400, 500, 500, 0)
    (busy,) = run(library, training, "iteration_summary", by="busy")
    assert (busy["first_ns"], busy["median_ns"]) == (2300, 400)
    with pytest.raises(AnalysisError):
        analysis.run(library, training, "iteration_summary", {"by": "anything"})


@pytest.mark.parametrize(("working", "whole"), [((0, 1, 2), 3), ((0, 2), 4), pytest.param((), 4, marks=MORE)])
def test_a_last_step_without_work_is_cut_off(
    library: Library, report: Report, working: Sequence[int], whole: int
) -> None:
    """It is if all others have some: `torch.profiler` opens a step before it stops. On the CPU alone it counts."""
    steps: list[Range] = [(number * 1000, number * 1000 + 900, f"step_{number}", MAIN) for number in range(3)]
    work: list[Work] = [(n * 1000 + 20, MAIN, n * 1000 + 200, n * 1000 + 700) for n in working]
    work.append((5000, MAIN, 5100, 5200))
    made = report([*steps, (3000, 3040, "step_3", MAIN)], work)
    (row,) = run(library, made, "iteration_summary")
    assert (row["count"], row["unclosed"]) == (whole, 4 - whole)
    assert row["min_ns"] == (900 if whole == 3 else 40)
    assert [one["closed"] for one in run(library, made, "iterations")] == [True, True, True, whole == 4]


def patterns(library: Library, report_id: str) -> list[tuple[str, int]]:
    found = run(library, report_id, "iteration_summary")
    assert [row["rank"] for row in found] == list(range(1, len(found) + 1))
    return picked(found, "steps", "count")


@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        pytest.param(["step_0", "step_1"], "step_*", marks=MORE),
        (["ProfilerStep#5", "ProfilerStep#6"], "ProfilerStep#*"),
        pytest.param(["iter 12", "iter 13"], "iter *", marks=MORE),
        (["epoch 1 step 3", "epoch 1 step 4"], "epoch 1 step *"),
        (["step 1/2", "step 2/2"], r"step *\/2"),
        pytest.param(["train_step", "train_step"], "train_step", marks=MORE),
        pytest.param(["Batch[3]", "Batch[4]"], "Batch[*]", marks=MORE),
        pytest.param(["frame 7", "frame 8", "frame 9"], "frame *", marks=MORE),
        (["request", "request", "request"], "request"),
    ],
)
def test_names_of_steps(library: Library, report: Report, names: list[str], pattern: str) -> None:
    ranges = [(100 * i, 100 * i + 90, name, MAIN) for i, name in enumerate(names)]
    assert patterns(library, report(ranges)) == [(pattern, len(names))]


@pytest.mark.parametrize(
    "names",
    [
        ["optimizer_step"] * 2,
        pytest.param(["load_batch"] * 2, marks=MORE),
        pytest.param(["batch_norm"] * 2, marks=MORE),
        ["frame 7", "frame 8"],
        pytest.param(["step"], marks=MORE),
        pytest.param([f"layer_{i}" for i in range(5)], marks=MORE),
    ],
)
def test_what_is_no_step(library: Library, report: Report, names: list[str]) -> None:
    ranges = [(100 * i, 100 * i + 90, name, MAIN) for i, name in enumerate(names)]
    report_id = report(ranges)
    assert run(library, report_id, "iterations") == run(library, report_id, "iteration_summary") == []


def test_without_such_names_the_one_that_covers_most(library: Library, report: Report) -> None:
    ranges: list[Range] = [(0, 1000, "main", MAIN)]
    ranges += [(10 + 300 * i, 200 + 300 * i, "body", MAIN) for i in range(3)]
    ranges += [(210 + 300 * i, 220 + 300 * i, "rest", MAIN) for i in range(3)]
    ranges += [(20 + 300 * i, 190 + 300 * i, "inner", MAIN) for i in range(3)]
    assert patterns(library, report(ranges)) == [("main/body", 3)]
    assert patterns(library, report(ranges[:1] + ranges[4:7])) == []


def test_steps_go_before_epochs_and_others(library: Library, report: Report) -> None:
    ranges: list[Range] = []
    for epoch in range(2):
        ranges.append((1000 * epoch, 1000 * epoch + 900, f"epoch {epoch}", MAIN))
        at = 1000 * epoch
        ranges += [(at + 100 * i, at + 100 * i + 80, f"step {i}", MAIN) for i in range(5)]
        ranges += [(at + 600, at + 890, "evaluation", MAIN)]
    report_id = report(ranges)
    assert patterns(library, report_id) == [("epoch */step *", 10), ("epoch *", 2)]
    rows = run(library, report_id, "iterations", rank="1")
    assert picked(rows, "number", "path")[5:7] == [(6, "epoch 1/step 0"), (7, "epoch 1/step 1")]


def test_each_thread_has_its_own_steps(library: Library, report: Report) -> None:
    ranges = flat(100, 100, name="step") + flat(300, 300, 300, name="step", tid=OTHER)
    found = run(library, report(ranges), "iteration_summary")
    assert picked(found, "rank", "thread", "count", "first_ns") == [(1, "7 / 71", 3, 300), (2, "7 / 70", 2, 100)]


def test_steps_in_a_warm_up_are_one_and_come_last(library: Library, report: Report) -> None:
    ranges: list[Range] = [(0, 9000, "warmup", MAIN), *[(1000 * i, 1000 * i + 900, "step", MAIN) for i in range(3)]]
    ranges += [(10000 + 100 * i, 10000 + 100 * i + 90, "step", MAIN) for i in range(3)]
    report_id = report(ranges)
    assert picked(run(library, report_id, "iteration_summary"), "steps", "warmup", "median_ns") == [
        ("step", 0, 90), ("warmup/step", 3, None),
    ]  # fmt: skip
    assert len(run(library, report_id, "iterations", warmup="exclude")) == 3


def test_the_mode_decides_what_a_range_ran(library: Library, report: Report) -> None:
    """The second thread has no ranges: in the mode process, its launches belong to its driver's range."""
    ranges = flat(100, 100, 100, name="step")
    work = [(at + 10, OTHER, at + 50, at + 80) for at in (0, 110, 220)]
    report_id = report(ranges, [*work, (30, MAIN, 55, 60)])
    for name in ("range_instances", "iterations"):
        params = {"path": "step"} if name == "range_instances" else {}
        assert picked(run(library, report_id, name, mode="thread", **params), "operations") == [(1,), (0,), (0,)]
        rows = run(library, report_id, name, **params)
        assert picked(rows, "operations", "gpu_ns") == [(2, 30), (1, 30), (1, 30)]
    assert run(library, report_id, "range_facts", mode="thread")[0]["operations"] == 1
    assert run(library, report_id, "range_facts")[0]["operations"] == 4


def test_without_anything_of_the_gpu(library: Library, report: Report) -> None:
    report_id = report(flat(200, 100, 100, name="step"))
    (facts,) = run(library, report_id, "range_facts")
    assert (facts["ranges"], facts["cpu_ns"], facts["gpu_ns"], facts["operations"]) == (3, 400, None, None)
    (tree,) = run(library, report_id, "nvtx_tree")
    assert (tree["cpu_ns"], tree["gpu_ns"], tree["busy_ns"], tree["operations"]) == (400, None, None, None)
    rows = run(library, report_id, "range_instances", path="step")
    assert picked(rows, "cpu_ns", "gpu_ns", "operations", "is_warmup")[0] == (200, None, None, True)
    (gpu,) = run(library, report_id, "iteration_summary", by="gpu")
    assert (gpu["first_ns"], gpu["median_ns"], gpu["has_gpu"], gpu["count"], gpu["warmup"]) == (None, None, False, 2, 1)


def test_ranges_in_numbers(library: Library, training: str) -> None:
    (facts,) = run(library, training, "range_facts")
    assert (facts["ranges"], facts["paths"], facts["threads"], facts["unclosed"]) == (20, 17, 3, 1)
    assert (facts["cpu_ns"], facts["gpu_ns"], facts["busy_ns"], facts["operations"]) == (11250, 7900, 4300, 12)
    (inner,) = run(library, training, "range_facts", range="train/step_0")
    assert (inner["ranges"], inner["cpu_ns"], inner["operations"]) == (2, 3000, 2)


@EVERY_REPORT
def test_in_every_report_parts_add_up(every_report: Library, name: str) -> None:
    """By thread: by process, a thread's range and its driver's may hold the same operation."""
    report_id = every_report.find(name).id
    try:
        tree = run(every_report, report_id, "nvtx_tree", mode="thread")
    except NotCapturedError:
        pytest.skip("no NVTX ranges")
    roots = [row for row in tree if row["parent_id"] is None]
    above = {row["path_id"]: row["parent_id"] for row in tree}
    totals = dict.fromkeys((row["path_id"] for row in roots), 0)
    for row in tree:
        top = row["path_id"]
        while above[top] is not None:
            top = above[top]
        totals[top] += row["self_ns"]
    assert totals == {row["path_id"]: row["cpu_ns"] for row in roots}
    assert sum(row["instances"] for row in tree) == every_report.find(name).rows["range"]
    (facts,) = run(every_report, report_id, "range_facts", mode="thread")
    assert facts["cpu_ns"] == sum(row["cpu_ns"] for row in roots)
    assert (facts["operations"] or 0) == sum(row["operations"] or 0 for row in roots)
    captured = every_report.find(name).rows
    if not captured.keys() & {"kernel", "memop", "graph_launch"}:  # nothing ran on a GPU, or nothing of it was traced
        with pytest.raises(NotCapturedError):
            run(every_report, report_id, "attribution")
        work = {"attributed": 0}
    else:
        work = {
            row["category"]: row["operations"] for row in run(every_report, report_id, "attribution", mode="thread")
        }
    crossing = analysis.query(every_report, report_id, "SELECT count(thread_range) AS n FROM call_range")["n"][0]
    if not crossing:
        assert (facts["operations"] or 0) == work["attributed"]
    for row in sorted(tree, key=lambda row: -row["cpu_ns"])[:20]:
        rows = run(every_report, report_id, "range_instances", path=row["path"], mode="thread")
        assert (len(rows), sum(one["cpu_ns"] for one in rows)) == (row["instances"], row["cpu_ns"])
        assert sum(one["busy_ns"] or 0 for one in rows) == (row["busy_ns"] or 0)
        assert sum(one["is_warmup"] for one in rows) <= len(rows) / 3
    for summary in run(every_report, report_id, "iteration_summary"):
        steps = run(every_report, report_id, "iterations", rank=summary["rank"])
        assert sum(step["closed"] and not step["is_warmup"] for step in steps) == summary["count"]
        assert sum(step["closed"] and step["is_warmup"] for step in steps) == summary["warmup"]
