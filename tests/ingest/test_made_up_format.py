"""A format that no tool writes becomes a report: its reader stages plain rows, and every analysis answers.

This module is the format: a line of JSON after its magic. Times are in ns; the numbers expected are worked out by hand.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from ingest import formats
from ingest.conversion import job
from ingest.conversion.child import Request
from ingest.conversion.limits import Limits
from ingest.derive import complete, stage
from ingest.derive.staging import global_tid
from profiledb.query import analysis
from profiledb.report.catalog import Manifest
from profiledb.report.library import Library
from profiledb.report.store import Access

NAME = "made-up trace"
KIND = "made-up"
RUNS_TOOLS = True  # so that job.serve leaves this very process what it may read
MAGIC = b"MADE UP 1\n"

PROCESS, MAIN, HELPER = global_tid(7, 0), global_tid(7, 7), global_tid(7, 8)
MATMUL, SOFTMAX, OWN = "nvjet_sm90_tst_192x128", "softmax_warp_forward", "f"
TRACE: dict[str, list[tuple[Any, ...]]] = {
    "range": [  # begin, end, name; all of the main thread
        (0, 1000, "step"), (100, 400, "forward"), (150, 250, "attention"), (400, 900, "backward"),
        (910, 990, "optimizer"),
    ],
    "call": [  # begin, end, thread, correlation
        (110, 115, MAIN, 1), (160, 165, MAIN, 2), (200, 205, MAIN, 3), (300, 305, MAIN, 4),
        (450, 455, HELPER, 5), (500, 505, HELPER, 6), (600, 605, HELPER, 7),
        (920, 925, MAIN, 8), (950, 955, MAIN, 9), (1010, 1015, MAIN, 10),
    ],
    "kernel": [  # begin, end, name, correlation
        (120, 170, MATMUL, 1), (170, 200, SOFTMAX, 2), (210, 260, MATMUL, 3), (310, 360, MATMUL, 4),
        (460, 560, MATMUL, 5), (520, 580, SOFTMAX, 6), (610, 700, MATMUL, 7),
        (930, 940, OWN, 8), (960, 980, OWN, 9), (1020, 1060, OWN, 10),
    ],
}  # fmt: skip


def matches(path: Path) -> bool:
    """Whether the file begins as all of the format do."""
    return path.is_file() and path.read_bytes().startswith(MAGIC)


def access(source: Path) -> Access:
    """The load needs nothing."""
    return Access()


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """The whole reader."""
    trace = json.loads(source.read_bytes()[len(MAGIC) :])
    names = {name: number for number, name in enumerate(dict.fromkeys(row[2] for row in trace["range"]), 1)}
    kernels = {name: number for number, name in enumerate(dict.fromkeys(row[2] for row in trace["kernel"]), 1)}
    insert(db, "report", "kind, tool, start_ns, stop_ns, duration_ns", [(KIND, "Made up", 0, 1100, 1100)])
    insert(db, "process", "global_pid, pid, name", [(PROCESS, 7, "train")])
    insert(db, "string", "string_id, value", [(1, "cudaLaunchKernel")])
    insert(db, "range_name", "name_id, text, name", [(number, name, name) for name, number in names.items()])
    insert(db, "kernel_name", "name_id, demangled, short", [(n, f"{name}(int)", name) for name, n in kernels.items()])
    stage(db)
    insert(db, "staged_thread", "global_tid, name", [(MAIN, "python"), (HELPER, "pt_autograd_0")])
    ranges = [
        (number, start, end, True, "PushPop", names[name], MAIN)
        for number, (start, end, name) in enumerate(trace["range"], 1)
    ]
    insert(db, "staged_range", "range_id, start_ns, end_ns, closed, style, name_id, global_tid", ranges)
    calls = [(number, *call, 1) for number, call in enumerate(trace["call"], 1)]
    insert(db, "staged_api_call", "call_id, start_ns, end_ns, global_tid, correlation_id, name_id", calls)
    launched = [
        (number, start, end, 0, 7, correlation, PROCESS, kernels[name], 1, 1, 1, 32, 1, 1)
        for number, (start, end, name, correlation) in enumerate(trace["kernel"], 1)
    ]
    columns = "kernel_id, start_ns, end_ns, device_id, stream_id, correlation_id, global_pid, name_id"
    insert(db, "staged_kernel", f"{columns}, grid_x, grid_y, grid_z, block_x, block_y, block_z", launched)
    complete(db)


def insert(db: duckdb.DuckDBPyConnection, table: str, columns: str, rows: list[tuple[Any, ...]]) -> None:
    if rows:
        db.executemany(f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(rows[0]))})", rows)


class Report:
    """What analyses answer on a trace, after the way of every dropped file: a conversion, then the library."""

    def __init__(self, folder: Path, trace: dict[str, list[tuple[Any, ...]]]) -> None:
        source, work = folder / "run.madeup", folder / "library" / "work" / "one"
        source.write_bytes(MAGIC + json.dumps(trace).encode())
        self.library = Library(folder / "library")
        work.mkdir(parents=True)
        outcome = job.serve(Request(source, work, self.library.folder, Limits(60, 1 << 32, 1 << 30)))
        assert outcome.state == "ready", outcome
        made = Manifest.from_json(outcome.manifest)
        self.library.publish(work / job.DATABASE, made)
        self.id = made.id

    def rows(self, name: str, columns: str, **params: Any) -> list[tuple[Any, ...]]:
        return _rows(analysis.run(self.library, self.id, name, params)[columns.split()])

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        return _rows(analysis.query(self.library, self.id, sql))


def _rows(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(None if pd.isna(value) else value for value in row) for row in frame.to_numpy()]


Make = Callable[[dict[str, list[tuple[Any, ...]]]], Report]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Takes a trace in; the only line that makes the format known."""
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, __name__))
    return lambda trace: Report(tmp_path, trace)


@pytest.fixture
def report(make: Make) -> Report:
    return make(TRACE)


def test_kernels(report: Report) -> None:
    columns = "name class total_ns share_pct calls median_ns min_ns max_ns"
    assert report.rows("kernels", columns) == [
        (MATMUL, "matmul", 340, 68, 5, 50, 50, 100),
        (SOFTMAX, "softmax", 90, 18, 2, 45, 30, 60),
        (OWN, "other", 70, 14, 3, 20, 10, 40),
    ]
    columns = "name class rank kernels total_ns share_pct calls first_ns last_ns"
    assert report.rows("kernel_summary", columns, kernel=f"{SOFTMAX}(int)") == [
        (SOFTMAX, "softmax", 2, 3, 90, 18, 2, 170, 580)
    ]
    assert report.rows("class_split", "class total_ns calls") == [
        ("matmul", 340, 5),
        ("softmax", 90, 2),
        ("other", 70, 3),
    ]


def test_kernels_by_phase(report: Report) -> None:
    assert report.rows("top_kernels", "phase rank name total_ns calls", mode="process") == [
        ("all", 1, MATMUL, 340, 5),
        ("all", 2, SOFTMAX, 90, 2),
        ("all", 3, OWN, 70, 3),
        ("forward", 1, MATMUL, 150, 3),
        ("forward", 2, SOFTMAX, 30, 1),
        ("backward", 1, MATMUL, 190, 2),
        ("backward", 2, SOFTMAX, 60, 1),
        ("optimizer", 1, OWN, 30, 2),
        ("none", 1, OWN, 40, 1),
    ]


def test_ranges(report: Report) -> None:
    assert report.rows("range_summary", "name style total_ns instances") == [
        ("step", "PushPop", 1000, 1),
        ("backward", "PushPop", 500, 1),
        ("forward", "PushPop", 300, 1),
        ("attention", "PushPop", 100, 1),
        ("optimizer", "PushPop", 80, 1),
    ]


def test_what_ranges_ran_in_both_modes(report: Report) -> None:
    """Softmax runs beside a matmul for 40 ns of the backward pass, which the helper thread launched."""
    columns = "level path cpu_ns self_ns gpu_ns busy_ns kernel_ns operations"
    forward = [
        (1, "step/forward", 300, 200, 240, 180, 180, 4),
        (2, "step/forward/attention", 100, 100, 90, 80, 80, 2),
    ]
    optimizer = (1, "step/optimizer", 80, 80, 50, 30, 30, 2)
    assert report.rows("nvtx_tree", columns, mode="process") == [
        (0, "step", 1000, 120, 860, 420, 460, 9),
        *forward,
        (1, "step/backward", 500, 500, 240, 210, 250, 3),
        optimizer,
    ]
    assert report.rows("nvtx_tree", columns, mode="thread") == [
        (0, "step", 1000, 120, 860, 210, 210, 6),
        *forward,
        (1, "step/backward", 500, 500, None, None, None, 0),
        optimizer,
    ]
    assert report.rows("attribution", "category operations gpu_ns share_pct") == [
        ("attributed", 6, 210, 42),
        ("inferred", 3, 250, 50),
        ("unattributed", 1, 40, 8),
    ]


def test_when_the_gpu_worked(report: Report) -> None:
    columns = "gpu_id operations busy_ns kernel_ns first_ns active_ns capture_ns"
    assert report.rows("gpu_busy", columns) == [(0, 10, 460, 500, 120, 940, 1100)]
    columns = "start_ns duration_ns reason next range next_range launched_ns launch thread"
    launch, main, helper = "cudaLaunchKernel", "7 / 7", "7 / 8"
    assert report.rows("idle_gaps", columns, min_ns=1) == [
        (700, 230, "host code", OWN, "step/backward", "step/optimizer", 220, launch, main),
        (360, 100, "host code", MATMUL, "step/backward", "step/backward", 90, launch, helper),
        (260, 50, "host code", MATMUL, "step/forward", "step/forward", 40, launch, main),
        (980, 40, "host code", OWN, None, None, 30, launch, main),
        (580, 30, "host code", MATMUL, "step/backward", "step/backward", 20, launch, helper),
        (940, 20, "host code", OWN, "step/optimizer", "step/optimizer", 10, launch, main),
        (200, 10, "launch call", MATMUL, "step/forward/attention", "step/forward/attention", 0, launch, main),
    ]


def test_threads_and_the_one_that_drives(report: Report) -> None:
    assert report.query("SELECT pid, tid, name FROM thread ORDER BY tid") == [(7, 7, "python"), (7, 8, "pt_autograd_0")]
    assert report.query("FROM thread_driver") == [(HELPER, MAIN, 100)]


def test_impossible_rows_ranges_that_cross_and_calls_of_no_range(make: Make) -> None:
    report = make(
        {
            "range": [(0, 100, "all"), (10, 60, "first"), (40, 90, "second")],
            "call": [(50, 52, MAIN, 1), (70, 72, MAIN, 2), (95, 200, HELPER, 3)],
            "kernel": [(60, 70, OWN, 1), (80, 85, OWN, 2), (90, 80, OWN, 3), (210, 220, OWN, 3), (230, 235, OWN, 4)],
        }
    )
    assert report.rows("nvtx_tree", "path kernel_ns operations", mode="thread") == [
        ("all", 15, 2),
        ("all/first", 10, 1),
        ("all/second", 15, 2),
    ]
    assert report.query("SELECT source, row_json::JSON->>'start_ns' FROM rejected_row") == [("kernel", "90")]
    assert report.query("SELECT kernel_id, call_id FROM kernel ORDER BY 1") == [(1, 1), (2, 2), (4, 3), (5, None)]
    assert report.query("SELECT text FROM diagnostic") == [
        ("1 rows of kernel have impossible times and are left out of every figure.",)
    ]


def test_kernels_alone(make: Make) -> None:
    report = make({"range": [], "call": [], "kernel": TRACE["kernel"]})
    assert report.rows("gpu_busy", "operations busy_ns") == [(10, 460)]
    assert report.rows("class_split", "class calls") == [("matmul", 5), ("softmax", 2), ("other", 3)]
    assert report.query("SELECT count(*) FROM thread") == [(2,)]
