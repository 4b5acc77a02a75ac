"""The same work on CPU and GPU: figures by hand, and those of the sample by plain Python from its files."""

import csv
import sqlite3
import statistics
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.studies.cpu_vs_gpu import crossing
from tests.conftest import SAMPLES, Once, ingest_files
from tests.support.page_reports import Publish, picked, run

HEADER = "task,size,device,part,seconds\n"
SMALL = """add,10,cpu,compute,0.000001
add,10,gpu,allocate,0.000002
add,10,gpu,to_device,0.000003
add,10,gpu,Compute,0.000004
add,10,gpu,to_host,0.000001
add,10,cpu,compute,0.000003
add,10,gpu,allocate,0.000004
add,10,gpu,to_device,0.000005
add,10,gpu,compute,0.000008
add,10,gpu,to_host,0.000003
add,10,gpu,allocate,0.001
add,2,cpu,compute,0.000002
Zoo,2,gpu,"load, then run",0.000007
"""
NAMED = "NVTX_EVENTS LEFT JOIN StringIds ON id = textId WHERE coalesce(text, value)"
Lay = Callable[..., str]


@pytest.fixture
def lay(library: Library, publish: Publish) -> Lay:
    """Publishes an empty report with times of tasks, and answers its id."""

    def lay_(rows: str, meta: str = "") -> str:
        report_id = publish(lambda _: None)
        library.put_sidecar(report_id, "tasks", HEADER + rows)
        if meta:
            library.put_sidecar(report_id, "meta", meta)
        return report_id

    return lay_


def test_times_by_hand(library: Library, lay: Lay) -> None:
    rows = run(library, lay(SMALL, '{"flops_by_task.add_10": "1000", "flops_by_task.add_2": "many"}'), "task_times")
    assert picked(rows, "task", "size") == [("add", 2), ("add", 10), ("Zoo", 2)], "tasks as they ran, sizes in order"
    two, ten, zoo = rows
    assert picked([ten], "cpu_repetitions", "gpu_repetitions", "partial_repetitions") == [(2, 2, 1)]
    assert picked([ten], "cpu_median_ns", "cpu_mean_ns", "cpu_min_ns", "cpu_max_ns") == [(2000, 2000, 1000, 3000)]
    assert ten["cpu_std_ns"] == pytest.approx(2000 / 2**0.5, abs=0.001)
    assert picked([ten], "gpu_median_ns", "gpu_mean_ns", "gpu_min_ns", "gpu_max_ns") == [(15000, 15000, 10000, 20000)]
    assert picked([ten], "gpu_compute_median_ns", "gpu_to_device_ns", "gpu_to_host_ns") == [(6000, 4000, 2000)]
    assert ten["gpu_allocate_ns"] == 4000, "the third one counts as a part"
    assert ten["transfer_share_pct"] == pytest.approx(100 * 12 / 30)
    assert (ten["speedup_total"], ten["speedup_compute"]) == (pytest.approx(2 / 15), pytest.approx(2 / 6))
    assert (ten["flops"], ten["cpu_flops_per_s"], ten["gpu_flops_per_s"]) == (
        1000, pytest.approx(5e8), pytest.approx(1000 / 6e-6)
    )  # fmt: skip
    assert picked([two], "cpu_median_ns", "cpu_std_ns", "gpu_median_ns", "speedup_total", "flops") == [
        (2000, None, None, None, None)
    ]  # fmt: skip
    assert picked([zoo], "gpu_median_ns", "gpu_other_ns", "gpu_compute_median_ns", "transfer_share_pct") == [
        (7000, 7000, None, None)
    ]  # fmt: skip


def test_parts_and_repetitions_by_hand(library: Library, lay: Lay) -> None:
    report = lay(SMALL)
    parts = [row for row in run(library, report, "task_parts") if (row["size"], row["device"]) == (10, "gpu")]
    assert picked(parts, "part", "repetitions", "median_ns") == [
        ("allocate", 3, 4000), ("to_device", 2, 4000), ("compute", 2, 6000), ("to_host", 2, 2000),
    ]  # fmt: skip
    assert [row["share_pct"] for row in parts] == pytest.approx([20, 100 * 8 / 30, 40, 100 * 4 / 30])
    rows = run(library, report, "task_repetitions")
    ten = [row for row in rows if (row["size"], row["device"]) == (10, "gpu")]
    assert picked(ten, "repetition", "total_ns", "compute_ns") == [(1, 10000, 4000), (2, 20000, 8000), (3, None, None)]
    assert rows[-1]["task"] == "Zoo"
    assert rows[-1]["compute_ns"] is None


def test_of_many_repetitions_some_are_drawn_evenly(library: Library, lay: Lay) -> None:
    report = lay("".join(f"add,1,cpu,compute,{n}e-6\n" for n in range(1, 1001)))
    drawn = [row["repetition"] for row in run(library, report, "task_repetitions", points=10)]
    assert drawn == list(range(100, 1001, 100))
    assert len(run(library, report, "task_repetitions")) == 500
    assert run(library, report, "task_times")[0]["cpu_repetitions"] == 1000


def test_odd_times_break_nothing(library: Library, lay: Lay) -> None:
    report = lay("a/b 'c',0,cpu,compute,0\na/b 'c',0,gpu,compute,0\nx,1,cpu,compute,1e300\nx,1,gpu,compute,1e8\n")
    zero, huge = run(library, report, "task_times")
    assert picked([zero], "cpu_median_ns", "speedup_total", "transfer_share_pct") == [(0, None, None)]
    assert picked([huge], "cpu_median_ns", "gpu_median_ns", "cpu_repetitions") == [(None, 1e17, 0)], "30 years"
    states = crossing.find_crossovers(analysis.run(library, report, "task_repetitions"))
    assert [one.state for one in states] == ["nothing in common"] * 2 + ["one device"] * 2
    assert len(run(library, report, "task_features")) == 2


def test_without_times_it_says_so(library: Library, publish: Publish) -> None:
    for name in ("task_times", "task_parts", "task_repetitions", "task_features"):
        with pytest.raises(NotCapturedError, match="CPU and GPU"):
            run(library, publish(lambda _: None), name)


@pytest.fixture(scope="session")
def tasks(once: Once) -> Library:
    """A library of the sample of tasks with its sidecars."""
    files = sorted(SAMPLES.glob("tasks.*"))
    if not files:
        pytest.skip("no sample reports here")
    return Library(once("tasks_sample", lambda folder: ingest_files(folder, files)) / "library")


def by_repetition() -> dict[tuple[str, int, str], list[dict[str, float]]]:
    """The parts of each repetition of the sample, in ns, by task, size and device."""
    found: dict[tuple[str, int, str], list[dict[str, float]]] = defaultdict(list)
    with (SAMPLES / "tasks.tasks.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = (row["task"], int(row["size"]), row["device"])
            if not found[key] or row["part"] in found[key][-1]:
                found[key].append({})
            found[key][-1][row["part"]] = float(row["seconds"]) * 1e9
    return found


def test_the_sample_against_plain_python(tasks: Library) -> None:
    rows = run(tasks, tasks.find("tasks.nsys-rep").id, "task_times")
    told = by_repetition()
    assert {(row["task"], row["size"]) for row in rows} == {key[:2] for key in told}
    assert len(rows) == 30
    for row in rows:
        parts: list[dict[str, float]] = []
        total: list[float] = []
        for device in ("cpu", "gpu"):
            parts = told[row["task"], row["size"], device]
            total, compute = [sum(one.values()) for one in parts], [one["compute"] for one in parts]
            assert row[f"{device}_repetitions"] == len(parts) == 5
            assert row[f"{device}_median_ns"] == pytest.approx(statistics.median(total))
            assert row[f"{device}_mean_ns"] == pytest.approx(statistics.fmean(total))
            assert row[f"{device}_std_ns"] == pytest.approx(statistics.stdev(total), abs=0.001)
            assert row[f"{device}_min_ns"] == pytest.approx(min(total))
            assert row[f"{device}_compute_median_ns"] == pytest.approx(statistics.median(compute))
        moved = sum(one["to_device"] + one["to_host"] for one in parts)
        assert row["transfer_share_pct"] == pytest.approx(100 * moved / sum(total))
        assert row["gpu_to_host_ns"] == pytest.approx(statistics.median(one["to_host"] for one in parts))
        assert row["flops"] == (2 * row["size"] ** 3 if row["task"] == "matmul" else row["size"] ** 2)


def test_the_story_of_the_sample(tasks: Library) -> None:
    """Without transfers, all three cross early; with them, the vector addition never does."""
    rows = analysis.run(tasks, tasks.find("tasks.nsys-rep").id, "task_repetitions")
    found = {(one.task, one.basis): one for one in crossing.find_crossovers(rows)}
    assert found["vector_add", "total"].state == "never"
    matmul, reduction = found["matmul", "total"], found["reduction", "total"]
    assert matmul.state == reduction.state == "crossed"
    assert 512 < (matmul.crossing or 0) < 1024 == matmul.threshold
    assert 2048 < (reduction.crossing or 0) < 4096
    assert (reduction.high_place, reduction.threshold) == ("above", None), "10 % faster at 8,192 is within the scatter"
    for task, low, high in (("vector_add", 256, 512), ("matmul", 64, 128), ("reduction", 128, 256)):
        one = found[task, "compute"]
        assert low < (one.crossing or 0) < high
        assert one.threshold is not None


def test_features_of_the_sample_against_its_export(tasks: Library) -> None:
    """Kernels, copies and bytes of each range, by raw SQL over the export: launches by correlation id and time."""
    rows = {(row["task"], row["size"]): row for row in run(tasks, tasks.find("tasks.nsys-rep").id, "task_features")}
    assert len(rows) == 30
    path = SAMPLES / "tasks.sqlite"
    with closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as export:
        warm = export.execute(f"SELECT max(end) FROM {NAMED} = 'warmup'").fetchone()[0]
        for (task, size), row in rows.items():
            check_against_export(export, f"{task}_{size}/gpu", warm, row)


def check_against_export(export: sqlite3.Connection, name: str, warm: int, row: dict[str, Any]) -> None:
    spans = export.execute(f"SELECT start, end FROM {NAMED} = ? AND start > ?", (name, warm)).fetchall()
    inside = "correlationId IN (SELECT correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE start >= ? AND end <= ?)"

    def per_span(what: str, table: str, and_: str = "") -> list[tuple[Any, ...]]:
        query = f"SELECT {what} FROM CUPTI_ACTIVITY_KIND_{table} WHERE {inside} {and_}"
        return [export.execute(query, span).fetchone() for span in spans]

    def mean(values: list[tuple[Any, ...]], place: int) -> float:
        return statistics.fmean(one[place] or 0 for one in values)

    assert row["profiled_repetitions"] == len(spans) == 5
    kernels = per_span("count(*), sum(end - start)", "KERNEL")
    assert row["kernels"] == pytest.approx(mean(kernels, 0))
    assert row["kernel_ns"] == pytest.approx(mean(kernels, 1))
    assert row["kernel_median_ns"] == pytest.approx(statistics.median(one[1] for one in kernels))
    for name_, kind in (("to_device", 1), ("to_host", 2)):
        copies = per_span("count(*), sum(bytes), sum(end - start)", "MEMCPY", f"AND copyKind = {kind}")
        got = [row[f"{what}_{name_}{unit}"] for what, unit in (("copies", ""), ("bytes", ""), ("copy", "_ns"))]
        assert got == pytest.approx([mean(copies, place) for place in range(3)])
    assert row["copies_other"] == 0
    query = "SELECT count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE start >= ? AND end <= ?"
    calls = [export.execute(query, span).fetchone() for span in spans]
    assert (row["api_calls"], row["api_ns"]) == (pytest.approx(mean(calls, 0)), pytest.approx(mean(calls, 1)))
    assert row["host_median_ns"] == pytest.approx(statistics.median(end - start for start, end in spans))
    longest = per_span("max(registersPerThread), max(gridX), max(blockX)", "KERNEL")
    if row["distinct_kernels"] == 1:
        assert (row["registers_per_thread"], row["grid_x"], row["block_x"]) == longest[0]
    assert row["top_kernel_launches"] <= sum(one[0] for one in kernels)
