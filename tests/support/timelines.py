"""Reports for tests of the timeline, with tables filled by hand instead of a conversion."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from profiledb.library.library import Library
from profiledb.report import store
from profiledb.report.schema import read_tables
from profiledb.rules import classes
from profiledb.timeline.store import Timelines
from tests.support.page_reports import empty

REPORT = "0123456789abcdef"
PID = 1 << 24
TIDS = (PID + 1, PID + 2)

Times = Sequence[int] | NDArray[np.int64]
Rows = dict[str, Any]
"""Columns of a table by name."""


def library(folder: Path, content: dict[str, Rows], report_id: str = REPORT) -> Library:
    """Create a library with one report whose tables hold these columns; all other columns are NULL."""
    shelf = Library(folder)
    with store.create(shelf.path(report_id), ready=empty()) as db:
        for name, columns in content.items():
            rows = pa.table({column: pa.array(values) for column, values in columns.items()})
            db.register("rows", rows)
            known = ", ".join(f'"{column}"' for column in columns)
            db.execute(f'INSERT INTO "{name}" ({known}) SELECT {known} FROM rows')
            db.unregister("rows")
            assert set(columns) <= {column.name for column in read_tables()[name].columns}
    return shelf


def timelines(shelf: Library) -> Timelines:
    """Return the timelines of a library with the default colors."""
    return Timelines(shelf, classes.load())


def kernels(starts: Times, ends: Times, stream: int = 7, first: int = 1) -> Rows:
    """Return kernels of GPU 0 on a stream, numbered from ``first``, cycling through eight names."""
    n = len(starts)
    numbers = np.arange(first, first + n)
    return {
        "kernel_id": numbers, "start_ns": np.asarray(starts, dtype=np.int64),
        "end_ns": np.asarray(ends, dtype=np.int64),
        "device_id": np.zeros(n, dtype=np.int32), "stream_id": np.full(n, stream), "global_pid": np.full(n, PID),
        "name_id": (numbers % 8).astype(np.int32), "correlation_id": numbers, "call_id": numbers,
    }  # fmt: skip


def joined(*parts: Rows) -> Rows:
    """Concatenate rows of one table."""
    return {column: np.concatenate([np.asarray(part[column]) for part in parts]) for column in parts[0]}


def calls(starts: Times, ends: Times, tid: int, first: int = 1) -> Rows:
    """Return CUDA calls of a thread."""
    n = len(starts)
    numbers = np.arange(first, first + n)
    return {
        "call_id": numbers, "start_ns": np.asarray(starts, dtype=np.int64), "end_ns": np.asarray(ends, dtype=np.int64),
        "global_tid": np.full(n, tid), "correlation_id": numbers, "name_id": np.full(n, 1),
    }  # fmt: skip


NAMES: dict[str, Rows] = {
    "kernel_name": {
        "name_id": np.arange(8, dtype=np.int32), "demangled": [f"kernel_{n}<int>(float*)" for n in range(8)],
        "short": [f"kernel_{n}" for n in range(8)], "class": ["matmul", "softmax"] * 4,
    },
    "string": {"string_id": np.array([1]), "value": ["cudaLaunchKernel_v7000"]},
}  # fmt: skip


def report_row(start: int, stop: int) -> Rows:
    """Return the row of the table ``report``."""
    return {"kind": ["nsys"], "name": ["made"], "start_ns": [start], "stop_ns": [stop], "duration_ns": [stop - start]}
