"""Exports that profilers never or rarely write: thousands of nested or crossing ranges, repeated ids, arbitrary cells.

Each export is small, and so must be the cost of converting it.
"""

import math
import random
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ingest.nsys.attach import list_wanted_columns
from tests.support import exports
from tests.support.exports import MAIN, NVTX, PID, kernel, kernels

CALL = ("start", "end", "globalTid", "correlationId", "nameId", "eventClass", "returnValue")
PUSHED, STARTED = 59, 60
EXTREMES: tuple[Any, ...] = (
    None, 0, 1, -1, 2**31, -(2**31) - 1, 2**53, 2**61, 2**62, 2**63 - 1, -(2**63), 1e308, -1e308, math.inf, 1.5,
    "text", "", "NaN", "1e30", "99999999999999999999999", "\N{SNOWMAN}", "a'b\"c;--", b"\x00\xff\xfe", b"",
)  # fmt: skip
"""Values for cells of any column; SQLite stores any type in any column."""

Range = tuple[int, int | None, str, int]
"""Start and end in ns, name, PUSHED or STARTED. The end of an open range is None."""
Work = tuple[int, int, int, int]
"""Start and length of a call, start and end of its kernel, in ns."""


def capture(ranges: Sequence[Range], work: Sequence[Work]) -> exports.Tables:
    """Return ranges and calls of one thread. Call n and kernel n, counted from 1, have the correlation id n."""
    events = [(start, end, kind, name, None, MAIN, 0) for start, end, name, kind in ranges]
    calls = [(start, start + length, MAIN, n, 1, 0, 0) for n, (start, length, *_) in enumerate(work, 1)]
    ran = [kernel(start, end, correlation=n) for n, (_, _, start, end) in enumerate(work, 1)]
    return {
        **kernels(*ran),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (CALL, calls),
        "NVTX_EVENTS": (NVTX, events),
    }


def overlapping(starts: Sequence[int], after: int) -> list[Work]:
    """Return calls of 3 ns, and kernels of 15 ns that start every 10 ns from ``after`` on."""
    return [(start, 3, after + 10 * n, after + 10 * n + 15) for n, start in enumerate(starts)]


def deep(depth: int) -> exports.Tables:
    """Return nested ranges that are all open at once, with a call in each."""
    end = 20 * depth
    ranges = [(10 * n, end - n, f"level {n % 7}", PUSHED) for n in range(depth)]
    return capture(ranges, overlapping([10 * n + 3 for n in range(depth)], end))


def never_popped(count: int) -> exports.Tables:
    """Return consecutive ranges that are pushed but never popped."""
    ranges = [(10 * n, None, f"lost {n % 3}", PUSHED) for n in range(count)]
    return capture(
        [*ranges, (10 * count, 20 * count, "last", PUSHED)], overlapping([10 * n + 3 for n in range(count)], 20 * count)
    )


def crossing(count: int, at_once: int) -> exports.Tables:
    """Return start/end ranges, ``at_once`` of them open at a time, that all cross, with a call after each start."""
    ranges = [(10 * n, 10 * (n + at_once) + 5, f"request {n % 5}", STARTED) for n in range(count)]
    return capture(ranges, overlapping([10 * n + 6 for n in range(count)], 10 * (count + at_once)))


def moments(count: int) -> exports.Tables:
    """Return many ranges and calls of zero length at each moment, inside ranges that start or end there."""
    chance = random.Random(1)
    points = [(t := chance.randrange(1000), t, f"point {n % 5}", PUSHED) for n in range(count)]
    around = [(n, 5000 - n, "around", PUSHED) for n in range(1000)]
    work = [(chance.randrange(1000), 0, 10_000 + 10 * n, 10_015 + 10 * n) for n in range(count)]
    return capture([*points, *around], work)


def threads(count: int) -> exports.Tables:
    """Return threads with ranges and as many without, any of which could drive any other."""
    ranges = [(10 * n, 10 * n + 5000, PUSHED, "work", None, PID + 1000 + t, 0) for t in range(count) for n in range(3)]
    calls = [
        (start, start + 3, PID + 1000 + count + t, 1, 1, 0, 0) for t in range(count) for start in range(0, 400, 20)
    ]
    return {"NVTX_EVENTS": (NVTX, ranges), "CUPTI_ACTIVITY_KIND_RUNTIME": (CALL, calls)}


def one_correlation(count: int) -> exports.Tables:
    """Return calls and kernels that all have the same correlation id."""
    return {
        **kernels(*(kernel(10 * n + 5, 10 * n + 9, correlation=7) for n in range(count))),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (CALL, [(10 * n, 10 * n + 2, MAIN, 7, 1, 0, 0) for n in range(count)]),
    }


def repeated_ids(count: int) -> exports.Tables:
    """Return many rows with the same id but different texts, for every table that others refer to."""
    again = range(count)
    return {
        **kernels(*(kernel(10 * n, 10 * n + 5) for n in again)),
        "StringIds": (("id", "value"), [(1, f"one {n}") for n in again]),
        "PROCESSES": (("globalPid", "pid", "name"), [(PID, 7, f"program {n}") for n in again]),
        "ThreadNames": (("nameId", "priority", "globalTid"), [(1, 0, MAIN) for _ in again]),
        "TARGET_INFO_GPU": (("id", "name"), [(0, f"GPU {n}") for n in again]),
        "TARGET_INFO_GPU_METRICS": (("typeId", "metricId", "metricName"), [(256, 1, f"metric {n}") for n in again]),
        "GPU_METRICS": (("timestamp", "typeId", "metricId", "value"), [(n, 256, 1, n) for n in again]),
        "ENUM_CUDA_MEMCPY_OPER": (("id", "name", "label"), [(1, "HTOD", f"label {n}") for n in again]),
        "CUPTI_ACTIVITY_KIND_MEMCPY": (
            ("start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes", "copyKind"),
            [(10 * n, 10 * n + 5, 0, 7, n, PID, 4, 1) for n in again],
        ),
        "DIAGNOSTIC_EVENT": (("timestamp", "source", "severity", "text"), [(n, 1, 1, f"word {n}") for n in again]),
        "ENUM_DIAGNOSTIC_SEVERITY_LEVEL": (("id", "name", "label"), [(1, "E", "Error") for _ in again]),
        "NVTX_EVENTS": (
            NVTX,
            [(0, None, 75, f"domain {n}", None, MAIN, 3) for n in again]
            + [(n, n + 5, 59, None, 1, MAIN, 3) for n in again],
        ),
    }


def write_extremes(path: Path) -> Path:
    """Write an export with every table that the loader reads, each column holding plain cells and all ``EXTREMES``."""
    with closing(sqlite3.connect(path)) as db:
        for table, columns in list_wanted_columns().items():
            names = ", ".join(f'"{column}"' for column in columns)
            db.execute(f'CREATE TABLE "{table}" ({", ".join(_declared(columns))})')
            insert = f'INSERT INTO "{table}" ({names}) VALUES ({", ".join("?" * len(columns))})'
            plain = [_plain(column, kind) for column, kind in columns.items()]
            rows = [plain]
            rows += [[*plain[:i], cell, *plain[i + 1 :]] for i in range(len(columns)) for cell in EXTREMES]
            rows += [[cell] * len(columns) for cell in EXTREMES]
            db.executemany(insert, rows)
        db.commit()
    return path


def _declared(columns: Mapping[str, str]) -> list[str]:
    return [f'"{column}" {"TEXT" if kind == "VARCHAR" else "INTEGER"}' for column, kind in columns.items()]


def _plain(column: str, kind: str) -> Any:
    if kind == "VARCHAR":
        return "a text"
    return {"end": 20, "start": 10, "eventType": 59, "globalTid": MAIN, "globalPid": PID}.get(column, 1)
