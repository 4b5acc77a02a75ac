"""An invented format, and a trace in it with ten kernels and five ranges; times are in ns.

This module implements the format: a magic line, followed by a line of JSON.
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
from ingest.conversion.messages import DATABASE, Limits, Request
from ingest.derive import complete, stage
from ingest.derive.staging import ID_BITS
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis

MAGIC = b"MADE UP 1\n"

PROCESS = 7 << ID_BITS
MAIN, HELPER = PROCESS | 7, PROCESS | 8
MATMUL, SOFTMAX, OWN = "nvjet_sm90_tst_192x128", "softmax_warp_forward", "f"
TRACE: dict[str, list[tuple[Any, ...]]] = {
    "range": [  # start, end, name; all on the main thread
        (0, 1000, "step"), (100, 400, "forward"), (150, 250, "attention"), (400, 900, "backward"),
        (910, 990, "optimizer"),
    ],
    "call": [  # start, end, thread, correlation
        (110, 115, MAIN, 1), (160, 165, MAIN, 2), (200, 205, MAIN, 3), (300, 305, MAIN, 4),
        (450, 455, HELPER, 5), (500, 505, HELPER, 6), (600, 605, HELPER, 7),
        (920, 925, MAIN, 8), (950, 955, MAIN, 9), (1010, 1015, MAIN, 10),
    ],
    "kernel": [  # start, end, name, correlation
        (120, 170, MATMUL, 1), (170, 200, SOFTMAX, 2), (210, 260, MATMUL, 3), (310, 360, MATMUL, 4),
        (460, 560, MATMUL, 5), (520, 580, SOFTMAX, 6), (610, 700, MATMUL, 7),
        (930, 940, OWN, 8), (960, 980, OWN, 9), (1020, 1060, OWN, 10),
    ],
}  # fmt: skip


def matches(path: Path) -> bool:
    """Return True if the file starts with the magic."""
    return path.is_file() and path.read_bytes().startswith(MAGIC)


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Read the whole trace into the report."""
    trace = json.loads(source.read_bytes()[len(MAGIC) :])
    names = {name: number for number, name in enumerate(dict.fromkeys(row[2] for row in trace["range"]), 1)}
    kernels = {name: number for number, name in enumerate(dict.fromkeys(row[2] for row in trace["kernel"]), 1)}
    insert(db, "report", "kind, tool, start_ns, stop_ns, duration_ns", [(FORMAT.kind, "Made up", 0, 1100, 1100)])
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


FORMAT = formats.Format(
    name="made-up trace",
    kind="made-up",
    endings={".madeup": 1000},
    misnamed=("does not start like a made-up trace", "Make it up again."),
    cost=10,
    matches=matches,
    convert=convert,
    runs_tools=True,  # makes job.serve give this process access to the files it may read
    array_readers=("no.such.module",),
)


class Report:
    """A report converted from a trace through the same steps as any dropped file, and its analyses."""

    def __init__(self, folder: Path, trace: dict[str, list[tuple[Any, ...]]]) -> None:
        source, work = folder / "run.madeup", folder / "library" / "work" / "one"
        source.write_bytes(MAGIC + json.dumps(trace).encode())
        self.library = Library(folder / "library")
        work.mkdir(parents=True)
        outcome = job.serve(Request(source, work, self.library.folder, Limits(60, 1 << 32, 1 << 30)))
        assert outcome.state == "ready", outcome
        self.manifest = Manifest.from_json(outcome.manifest)
        self.library.publish(work / DATABASE, self.manifest)
        self.id = self.manifest.id

    def rows(self, name: str, columns: str, **params: Any) -> list[tuple[Any, ...]]:
        return _rows(analysis.run(self.library, self.id, name, params)[columns.split()])

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        return _rows(analysis.query(self.library, self.id, sql))


def _rows(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(None if pd.isna(value) else value for value in row) for row in frame.to_numpy()]


Make = Callable[..., Report]


@pytest.fixture(name="make")
def make_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Return a function that imports a trace into the library below a folder. Registering the format takes one line."""
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, __name__))
    return lambda trace, folder=tmp_path: Report(folder, trace)
