"""Idle time of GPUs and its causes: small reports by hand, sums over every report, and the samples."""

from typing import Any

import duckdb
import pytest

from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.support.every_report import EVERY_REPORT
from tests.support.memory_reports import MAIN, WORKER, call, copy, fill
from tests.support.page_reports import Publish, insert, kernel, picked, run


def test_the_reason_of_each_gap(library: Library, gaps: str) -> None:
    rows = run(library, gaps, "idle_gaps")
    assert picked(rows, "start_ns", "duration_ns", "reason", "function") == [
        (30_000, 10_000, "host code", None),
        (50_000, 10_000, "launch latency", None),
        (72_000, 8_000, "OS runtime call", "sem_wait"),
        (85_000, 5_500, "launch call", "cudaLaunchKernel"),
    ]
    assert [round(row["covered_pct"]) for row in rows] == [85, 100, 75, 80]
    assert picked(rows, "next", "range", "next_range", "launched_ns", "launch", "thread")[1:3] == [
        ("gemm", None, None, -5_000, "cudaLaunchKernel", "7 / 70"),
        ("gemm", None, "step", 7_000, "cudaLaunchKernel", "7 / 71"),
    ]
    assert len(run(library, gaps, "idle_gaps", limit=2)) == 2
    assert run(library, gaps, "idle_gaps", min_ns=10_001) == []


def test_idle_time_is_split_and_adds_up(library: Library, gaps: str) -> None:
    rows = {row["reason"]: row for row in run(library, gaps, "idle_reasons")}
    assert {reason: row["idle_ns"] for reason, row in rows.items()} == {
        "host code": 8_500 + 1_000 + 1_000,
        "launch call": 1_000 + 500 + 4_400,
        "synchronization": 500,
        "launch latency": 10_000 + 500 + 100,
        "OS runtime call": 6_000,
        "between operations": 1_000,
    }
    assert sum(row["idle_ns"] for row in rows.values()) == 75_000 - 40_500
    assert sum(row["share_pct"] for row in rows.values()) == pytest.approx(100)
    assert sum(row["window_pct"] for row in rows.values()) == pytest.approx(100 * 34.5 / 75)
    assert sum(row["gaps"] for row in rows.values()) == 5
    assert (rows["synchronization"]["gaps"], rows["synchronization"]["longest_ns"]) == (0, None)
    assert rows["synchronization"]["function"] == "cudaStreamSynchronize"


def test_idle_time_belongs_to_the_range_that_was_open(library: Library, publish: Publish) -> None:
    """The gap from 10 to 100 µs: its launch is in step_1/work, but the host was elsewhere for most of it."""
    names = ("step_0", "load", "step_1", "load", "work", "helper")
    parents = (None, 1, None, 3, 3, None)
    above = dict(zip(range(1, 7), parents, strict=True))

    def path_of(number: int) -> str:
        up = above[number]
        return (path_of(up) + "/" if up else "") + names[number - 1]

    paths: list[dict[str, Any]] = [
        {"path_id": n, "parent_id": above[n], "level": int(bool(above[n])), "name": names[n - 1], "path": path_of(n)}
        for n in above
    ]
    spans = {1: (0, 30), 2: (12, 25), 3: (30, 110), 4: (40, 90), 5: (90, 105)}  # µs, all of the main thread
    ranges: list[dict[str, Any]] = [
        {"range_id": n, "start_ns": a * 1000, "end_ns": b * 1000, "global_tid": MAIN, "path_id": n, "pre": n}
        | {
            "parent_id": above[n],
            "post": max(m for m in above if m == n or above[m] == n),
            "level": int(bool(above[n])),
        }
        for n, (a, b) in spans.items()
    ]
    kernels = [
        kernel(0, 1, 0, 10_000, call_id=0), kernel(1, 1, 100_000, 120_000, call_id=1, process_range=5),
    ]  # fmt: skip
    calls = [call(0, 1, 0, 1_000), call(2, 3, 20_000, 22_000), call(1, 1, 95_000, 96_000, WORKER)]
    driver = {"global_tid": WORKER, "driver_tid": MAIN, "share_pct": 100.0}

    def write(db: duckdb.DuckDBPyConnection) -> None:
        busy = ((0, 10_000), (100_000, 120_000))
        fill(db, 200_000, busy, kernel=kernels, api_call=calls, range=ranges, range_path=paths, thread_driver=[driver])

    report = publish(write)
    (gap,) = run(library, report, "idle_gaps")
    assert (gap["range"], round(gap["range_pct"], 1)) == ("step_1/load", 55.6)
    assert (gap["reason"], gap["next_range"]) == ("host code", "step_1/work")
    rows = run(library, report, "idle_ranges")
    assert picked(rows, "range", "level", "idle_ns", "self_ns", "gaps") == [
        ("step_*", 0, 90_000, 2_000 + 5_000 + 10_000, 1),
        ("step_*/load", 1, 13_000 + 50_000, 63_000, 1),
        ("step_*/work", 1, 10_000, 10_000, 1),
    ]
    assert rows[1]["share_pct"] == pytest.approx(70)
    assert run(library, report, "idle_reasons")[0]["range"] == "step_*/load"


def test_threshold_and_selection_keep_the_sum(library: Library, gaps: str) -> None:
    every = run(library, gaps, "idle_reasons", min_ns=0)
    assert "between operations" not in {row["reason"] for row in every}
    only = run(library, gaps, "idle_reasons", min_ns=10**9)
    assert picked(only, "reason", "idle_ns", "gaps") == [("between operations", 34_500, 5)]
    part = run(library, gaps, "idle_reasons", from_ns=25_000, to_ns=65_000)
    assert sum(row["idle_ns"] for row in part) == 40_000 - 10_000 - 5_000
    assert sum(row["window_pct"] for row in part) == pytest.approx(100 * 25 / 40)


def test_the_edges_are_not_idle_and_a_selected_time_is(library: Library, gaps: str) -> None:
    """Nothing ran before 20 and after 95 µs; from 51 to 59 µs the GPU waits for the operation at 60 µs."""
    assert run(library, gaps, "idle_reasons", to_ns=20_000) == run(library, gaps, "idle_gaps", to_ns=20_000) == []
    assert run(library, gaps, "idle_reasons", from_ns=95_000) == []
    (row,) = run(library, gaps, "idle_gaps", from_ns=51_000, to_ns=59_000)
    assert (row["start_ns"], row["duration_ns"], row["reason"], row["next"]) == (
        51_000, 8_000, "launch latency", "gemm",
    )  # fmt: skip


def test_a_call_of_an_hour(library: Library, publish: Publish) -> None:
    hour = 3_600_000_000_000

    def write(db: duckdb.DuckDBPyConnection) -> None:
        work = ((0, 1_000), (hour - 9_000, hour - 5_000))
        kernels = [kernel(number, 1, *times, call_id=number) for number, times in enumerate(work)]
        fill(db, hour, work, kernel=kernels, api_call=[call(0, 1, 0, 10), call(1, 1, 20, hour)])

    rows = run(library, publish(write), "idle_reasons", from_ns=hour - 20_000)
    assert picked(rows, "reason", "idle_ns") == [("launch call", 11_000)]


def test_without_calls_the_reason_is_unknown(library: Library, publish: Publish) -> None:
    kernels = [kernel(0, 1, 0, 1_000), kernel(1, 1, 5_000, 9_000)]
    report = publish(lambda db: fill(db, 9_000, ((0, 1_000), (5_000, 9_000)), kernel=kernels))
    assert picked(run(library, report, "idle_reasons"), "reason", "idle_ns", "share_pct") == [("unknown", 4_000, 100)]


def test_pages_of_unified_memory_that_no_call_launches(library: Library, publish: Publish) -> None:
    def write(db: duckdb.DuckDBPyConnection) -> None:
        work = ((0, 1_000), (5_000, 9_000))
        moved = copy(1, *work[1], 4_096, (0, 2), call_id=None, operation="[CUDA memcpy Unified Host-to-Device]")
        fill(db, 9_000, work, kernel=[kernel(0, 1, *work[0], call_id=0)], memop=[moved], api_call=[call(0, 1, 0, 10)])

    rows = run(library, publish(write), "idle_reasons")
    assert picked(rows, "reason", "idle_ns", "share_pct") == [("page migration", 4_000, 100)]


def test_two_gpus_are_idle_each_for_itself(library: Library, publish: Publish) -> None:
    def write(db: duckdb.DuckDBPyConnection) -> None:
        others = [kernel(1, 1, 5_000, 6_000, device_id=1), kernel(2, 1, 9_000, 11_000, device_id=1)]
        fill(db, 20_000, ((0, 10_000),), kernel=[kernel(0, 1, 0, 10_000), *others])
        for one in others:
            insert(db, "busy", [{name: one[name] for name in ("device_id", "start_ns", "end_ns")}])

    (row,) = run(library, publish(write), "idle_reasons")
    assert (row["reason"], row["idle_ns"], row["window_pct"]) == ("unknown", 3_000, 100 * 3 / 16)


def span_less_busy(library: Library, report_id: str) -> int:
    """Time from the first to the last operation of each GPU, minus busy time: without a selection, in plain Python."""
    rows = analysis.query(library, report_id, "SELECT device_id, start_ns, end_ns FROM busy").itertuples(index=False)
    by_gpu: dict[int, list[tuple[int, int]]] = {}
    for device, start, end in rows:
        by_gpu.setdefault(device, []).append((start, end))
    return sum(
        max(end for _, end in times) - min(start for start, _ in times) - sum(end - start for start, end in times)
        for times in by_gpu.values()
    )


def test_a_start_in_which_earlier_work_may_run_is_not_idle(library: Library, publish: Publish) -> None:
    """A kernel from 0 to 10 µs; one on another stream, launched by 20 µs, starts at 5 ms, and one more at 6 ms.

    The first gap is not idle time if that is the first operation of its stream and was launched at the start.
    """

    def idle(stream: int, launched: int) -> list[tuple[Any, ...]]:
        work = ((0, 10_000), (5_000_000, 5_500_000), (6_000_000, 7_000_000))
        kernels = [kernel(n, 1, *times, call_id=n, stream_id=stream if n else 7) for n, times in enumerate(work)]
        calls = [call(0, 1, 0, 10), call(1, 1, launched - 10, launched), call(2, 1, 5_900_000, 5_900_010)]
        report = publish(lambda db: fill(db, 7_000_000, work, kernel=kernels, api_call=calls))
        return picked(run(library, report, "idle_reasons"), "reason", "idle_ns")

    assert idle(8, 20_000) == [("host code", 400_000), ("launch latency", 99_990), ("launch call", 10)]
    assert sum(ns for _, ns in idle(7, 20_000)) == 4_990_000 + 500_000, "the stream had work before"
    assert sum(ns for _, ns in idle(8, 60_000)) == 4_990_000 + 500_000, "launched after 1 % of the wait"


@EVERY_REPORT
def test_idle_time_of_every_report_adds_up(every_report: Library, name: str) -> None:
    manifest = every_report.find(name)
    try:
        rows = run(every_report, manifest.id, "idle_reasons")
    except NotCapturedError:
        assert not {"kernel", "memop", "graph_launch"} & set(manifest.rows)
        return
    assert sum(row["idle_ns"] for row in rows) == span_less_busy(every_report, manifest.id)
    assert all(row["idle_ns"] > 0 for row in rows)
    every = run(every_report, manifest.id, "idle_reasons", min_ns=0)
    assert sum(row["idle_ns"] for row in every) == sum(row["idle_ns"] for row in rows)
    gaps = run(every_report, manifest.id, "idle_gaps", limit=10**9)
    assert sum(row["gaps"] for row in rows if row["reason"] != "between operations") == len(gaps)
    short = sum(row["idle_ns"] for row in rows if row["reason"] == "between operations")
    assert sum(row["duration_ns"] for row in gaps) == sum(row["idle_ns"] for row in rows) - short
    assert all(0 < row["covered_pct"] <= 100 for row in gaps)


@pytest.mark.parametrize(
    ("name", "path", "least_pct"),
    [
        ("dataloader_starved", "step_*/next_batch", 99),
        pytest.param("idle_host_bound", "step_*/host_bookkeeping", 85, marks=pytest.mark.slow("another sample")),
    ],
)
def test_samples_name_the_range_that_starves_the_gpu(
    nsys_samples: Library, name: str, path: str, least_pct: float
) -> None:
    """In another way: gaps from the busy times, and how much of each lies inside the ranges of that name."""
    manifest = nsys_samples.find(f"{name}.nsys-rep")
    busy = analysis.query(
        nsys_samples, manifest.id,
        "SELECT busy.start_ns, busy.end_ns FROM busy WHERE start_ns > ("
        "SELECT max(projection.end_ns) FROM projection JOIN range USING (range_id) JOIN range_path USING (path_id)"
        " WHERE range_path.name = 'warmup') ORDER BY start_ns",
    )  # fmt: skip
    open_ = analysis.query(
        nsys_samples, manifest.id,
        f"SELECT start_ns, end_ns FROM range JOIN range_path USING (path_id) WHERE name = '{path.rpartition('/')[2]}'",
    )  # fmt: skip
    every = list(zip(busy["end_ns"][:-1], busy["start_ns"][1:], strict=True))
    holes = [(end, start) for end, start in every if start - end >= 2000]
    inside = sum(max(0, min(b, end) - max(a, start)) for a, b in holes for start, end in open_.itertuples(index=False))
    whole = sum(b - a for a, b in holes)
    rows = {
        row["range"]: row for row in run(nsys_samples, manifest.id, "idle_ranges", warmup="exclude", mode="process")
    }
    idle = sum(b - a for a, b in every)
    assert rows[path]["share_pct"] == pytest.approx(100 * inside / idle, abs=0.01), "as in idle_reasons"
    assert rows[path]["share_pct"] > least_pct
    reasons = run(nsys_samples, manifest.id, "idle_reasons", warmup="exclude", mode="process")
    assert sum(row["idle_ns"] for row in reasons if row["reason"] != "between operations") == whole
    assert sum(row["idle_ns"] for row in reasons) == idle
    assert reasons[0]["reason"] == "host code"
