"""The critical path by kernel, range and operator: a made-up report, its lane, and real reports."""

import json
from pathlib import Path

import numpy as np
import pytest

from profiledb.access.cli.main import main
from profiledb.access.operations.registry import list_operations
from profiledb.errors import AnalysisError
from profiledb.library.library import Library
from profiledb.replay import critical_path, path_table
from profiledb.replay.attribution import sum_by_range
from profiledb.replay.critical_path import CALLS, HOST, LATENCY, Segment
from profiledb.timeline import event, events
from profiledb.timeline.names import read_texts
from tests.conftest import ROOT, ingest_files
from tests.support.recordings import Call, recording
from tests.support.timelines import NAMES, REPORT, TIDS, calls, joined, kernels, library, timelines

TRAINING = "transformer_training.nsys-rep"


@pytest.fixture
def reads(tmp_path: Path) -> Library:
    """Two kernels of 50 and 100 µs with a wait for each. One range ends and the next begins in the 10 µs of host code
    between them."""
    launches = calls([50_000, 117_000], [52_000, 119_000], TIDS[0])
    waits = calls([52_000, 119_000], [107_000, 224_000], TIDS[0], first=3) | {"name_id": np.full(2, 2)}
    content = NAMES | {
        "string": {"string_id": np.array([1, 2]), "value": ["cudaLaunchKernel_v7000", "cudaDeviceSynchronize_v3020"]},
        "kernel": kernels([55_000, 122_000], [105_000, 222_000]),
        "api_call": joined(launches, waits),
        "range_name": {"name_id": np.array([1, 2], np.int32), "text": ["forward", "loss"], "name": ["forward", "loss"]},
        "range": {
            "range_id": np.array([1, 2]), "start_ns": np.array([50_000, 112_000]),
            "end_ns": np.array([112_000, 230_000]), "name_id": np.array([1, 2], np.int32),
            "global_tid": np.full(2, TIDS[0]), "level": np.zeros(2, np.int32), "closed": [True, True],
            "pre": np.array([1, 2]), "post": np.array([1, 2]),
        },
    }  # fmt: skip
    return library(tmp_path, content)


def test_the_path_of_a_report_filled_by_hand(reads: Library) -> None:
    found = path_table.read_path(reads, REPORT)
    assert (found.begin_ns, found.end_ns, found.steps) == (50_000, 224_000, ())
    # Each launch takes 5 µs to its kernel, each wait ends 2 µs after it.
    assert {(row.kind, row.name): row.path_ns for row in found.rows} == {
        ("matmul", "kernel_2"): 100_000, ("softmax", "kernel_1"): 50_000, (LATENCY, ""): 10_000, (HOST, ""): 10_000,
        (CALLS, "cudaDeviceSynchronize"): 4_000, (CALLS, "cudaLaunchKernel"): 0,
    }  # fmt: skip
    kernel = found.rows[0]
    assert kernel == path_table.PathRow("matmul", "kernel_2", 100_000, 100 * 100 / 174, 1, 100_000, 1, 0, 0)
    ranges = {row.name: row for row in path_table.read_path(reads, REPORT, "range").rows}
    assert {name: row.path_ns for name, row in ranges.items()} == {"forward": 62_000, "loss": 112_000}
    assert ranges["forward"].kind == "range"
    assert [row.path_ns for row in path_table.read_path(reads, REPORT, "operator").rows] == [174_000], "in no operator"


def test_the_lane_shows_what_the_path_is_about(reads: Library) -> None:
    shelf = timelines(reads)
    opened = shelf.wait(REPORT)
    lane = opened.lanes[0]
    assert (lane.kind, opened.listed[0]["title"], opened.listed[0]["busy_ns"]) == ("path", "Critical path", 174_000)
    with shelf.cursor(REPORT) as cursor:
        found = cursor.execute(f"FROM ({events.build_events_query(opened, [lane])}) ORDER BY s").fetchall()
        texts = read_texts(cursor, [name for *_, name, _ in found])
        told = [(texts[name], s + opened.origin_ns, e + opened.origin_ns) for _, _, s, e, name, _ in found]
        assert told == [
            ("launch latency", 50_000, 55_000), ("kernel_1", 55_000, 105_000),
            ("cudaDeviceSynchronize", 105_000, 107_000), ("non-CUDA code", 107_000, 117_000),
            ("launch latency", 117_000, 122_000), ("kernel_2", 122_000, 222_000),
            ("cudaDeviceSynchronize", 222_000, 224_000),
        ]  # fmt: skip
        kernel = event.describe_event(cursor, opened, lane.id, found[1][-1])
        assert ("Class", "Softmax") in kernel["rows"]
        assert ("Launched by", "cudaLaunchKernel") in kernel["rows"]
        host = event.describe_event(cursor, opened, lane.id, found[3][-1])
        assert host["rows"][1] == ("Duration", "10.0 µs")


def test_ranges_of_the_driving_thread_hold_what_lies_outside_of_those_of_a_thread() -> None:
    recorded = recording([Call("cudaLaunchKernel", 10, 20, thread=0), Call("cudaLaunchKernel", 40, 50, thread=1)], [])
    main_thread, backward_thread = recorded.threads
    ranges = {
        "step": np.array([[main_thread, 0, 100]]),
        "backward": np.array([[main_thread, 30, 80]]),
        "AddmmBackward": np.array([[backward_thread, 38, 45]]),
    }
    segments = [
        Segment(0, 10, HOST, "", 0), Segment(10, 20, CALLS, "cudaLaunchKernel", 0), Segment(20, 40, HOST, "", 1),
        Segment(40, 50, CALLS, "cudaLaunchKernel", 1), Segment(50, 120, HOST, "", 1),
    ]  # fmt: skip
    told = sum_by_range(segments, recorded, ranges, {backward_thread: main_thread})
    # Host code is in the step until 30, in backward until 38, after the call until 80, in the step until 100.
    assert told == {"step": 10 + 10 + 10 + 20, "backward": 8 + 30, "AddmmBackward": 2 + 10, "": 20}
    alone = sum_by_range(segments, recorded, ranges, {})
    assert alone == {"step": 20, "AddmmBackward": 2 + 10, "": 18 + 70}


def test_a_path_is_cut_at_the_bounds_of_a_step() -> None:
    path = [Segment(0, 10, HOST, "", 0), Segment(10, 30, "matmul", "gemm", 0, 0), Segment(30, 40, HOST, "", 1)]
    assert critical_path.cut(path, 5, 30) == [Segment(5, 10, HOST, "", 0), Segment(10, 30, "matmul", "gemm", 0, 0)]


def test_each_table_adds_up_and_so_do_the_steps(nsys_samples: Library) -> None:
    report = nsys_samples.find(TRAINING).id
    whole = path_table.read_path(nsys_samples, report)
    for by in path_table.GROUPINGS:
        rows = path_table.read_path(nsys_samples, report, by).rows
        assert sum(row.path_ns for row in rows) == whole.end_ns - whole.begin_ns
    steps = [path_table.read_path(nsys_samples, report, "range", step) for step in whole.steps]
    assert sum(one.end_ns - one.begin_ns for one in steps) == whole.end_ns - whole.begin_ns
    assert all(sum(row.path_ns for row in one.rows) == one.end_ns - one.begin_ns for one in steps)


@pytest.mark.integration
def test_operators_of_a_trace_hold_most_of_its_path(tmp_path: Path) -> None:
    ingest_files(tmp_path, [ROOT / "tests/data/torch/training.pt.trace.json.gz"])
    traces = Library(tmp_path / "library")
    found = path_table.read_path(traces, traces.list()[0].id, "operator").rows
    took = {row.name: row.path_ns for row in found}
    assert took[""] < sum(took.values()) / 2
    assert took["aten::mm"] > 0
    assert not any(row.kind == "range" for row in found)


def test_the_command_and_the_api_say_the_same(nsys_samples: Library, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["critical_path", TRAINING, "--library", str(nsys_samples.folder), "--by", "range", "--step", "3"]
    assert main([*command, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    answer = list_operations()["get_critical_path"].run(nsys_samples, {"report": TRAINING, "by": "range", "step": "3"})
    shares = [row.pop("share_pct") for row in told["rows"]]
    rows = answer.plain()["rows"]
    assert [row.pop("share_pct") for row in rows] == pytest.approx(shares)
    assert rows == told["rows"]
    assert told["step"] == 3
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("# Critical path: ")


def test_a_step_that_is_not_replayed_is_refused(nsys_samples: Library) -> None:
    report = nsys_samples.find(TRAINING).id
    with pytest.raises(AnalysisError, match="Step 1000 is not among those that are replayed"):
        path_table.read_path(nsys_samples, report, step=1_000)
    with pytest.raises(AnalysisError, match="listed by kernel, range or operator"):
        path_table.read_path(nsys_samples, report, "color")
    with pytest.raises(AnalysisError, match="step is the number of a step"):
        list_operations()["get_critical_path"].run(nsys_samples, {"report": TRAINING, "step": "9" * 5_000})
