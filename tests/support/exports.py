"""Small hand-made nsys exports: SQLite files with the tables and rows that a test specifies."""

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from ingest.nsys import load, sqlite
from profiledb.report import store
from tests.support.page_reports import empty

PID = 0x1000007000000
"""A global process id (process 7); plus a thread number, it is a global thread id."""
MAIN = PID + 70
OTHER = PID + 71

NVTX = ("start", "end", "eventType", "text", "textId", "globalTid", "domainId")
KERNEL = (
    *("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "demangledName", "shortName"),
    *("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"),
    *("registersPerThread", "staticSharedMemory", "dynamicSharedMemory"),
)

Rows = Sequence[Sequence[Any]]
Tables = Mapping[str, tuple[Sequence[str], Rows]]


def write(path: Path, tables: Tables) -> Path:
    """Write an export. A column is declared TEXT if its first value is a string, and otherwise INTEGER."""
    strings: Tables = {"StringIds": (("id", "value"), [(1, "one"), (2, "two"), (3, "three")])}
    facts: Tables = {
        "TARGET_INFO_SYSTEM_ENV": (("name", "value"), [("OsDescription", "Linux")]),
        "META_DATA_CAPTURE": (("name", "value"), [("RATE_HZ", "0")]),
    }
    with sqlite3.connect(path) as db:
        for name, (columns, rows) in {**strings, **facts, **tables}.items():
            kinds = [
                "TEXT" if any(isinstance(row[i], str) for row in rows[:1]) else "INTEGER" for i in range(len(columns))
            ]
            declared = ", ".join(f'"{column}" {kind}' for column, kind in zip(columns, kinds, strict=True))
            db.execute(f'CREATE TABLE "{name}" ({declared})')
            db.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(columns))})', rows)
    db.close()
    return path


def kernel(
    start: int, end: int, *, name: int = 1, device: int = 0, correlation: int = 1, pid: int = PID
) -> tuple[Any, ...]:
    """Return a kernel row with one block of 32 threads."""
    return (start, end, device, 1, 7, correlation, pid, name, name, 1, 1, 1, 32, 1, 1, 16, 0, 0)


def kernels(*rows: tuple[Any, ...]) -> dict[str, tuple[Sequence[str], Rows]]:
    """Return the kernel table with these rows."""
    return {"CUPTI_ACTIVITY_KIND_KERNEL": (KERNEL, rows)}


@cache
def ready() -> store.Ready:
    """Return an empty report and DuckDB's SQLite extension: to check its signature for each load takes 0.13 s."""
    (extension,) = sqlite.get_access(Path()).extensions
    return replace(empty(), extensions={extension.name: os.open(extension, os.O_RDONLY)})


@contextmanager
def loaded(database: Path, export: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Load an SQLite export into a new report file in this process, and yield the connection."""
    with store.create(database, access=sqlite.get_access(export), ready=ready()) as db:
        load.load_export(db, sqlite.open_export(db, export))
        yield db
