"""The summaries of all reports as tables for a question: what was kept of each for Trends (studies/trends/store.py)."""

import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from profiledb.console.bounds import PREFIX
from profiledb.errors import CatalogError
from profiledb.report.database import Connection, shared

MOST_ROWS = 3_000_000
"""Rows of a table that are read."""
_TABLES = {
    "summary": {
        "report_id": pa.string(), "name": pa.string(), "kind": pa.string(), "gpu": pa.string(), "gpus": pa.int64(),
        "command": pa.string(), "captured_at": pa.string(), "driver": pa.string(), "tool": pa.string(),
        "machine": pa.string(), "basis": pa.string(),
    },
    "measure": {
        "report_id": pa.string(), "measure": pa.string(), "name": pa.string(), "value": pa.float64(),
        "low": pa.float64(), "high": pa.float64(), "title": pa.string(),
    },
}  # fmt: skip


def tables(place: str, seen: Sequence[str] | None = None) -> dict[str, pa.Table]:
    """The tables by name; empty ones where nothing was kept yet, or it cannot be read.

    Args:
        place: the file of the summaries, or the address of a team's database.
        seen: the ids of the reports that whoever asks sees; None: all.
    """
    found = {f"{PREFIX}{name}": _empty(columns) for name, columns in _TABLES.items()}
    with suppress(sqlite3.Error, CatalogError, pa.ArrowException), _opened(place) as db:
        for name, columns in _TABLES.items():
            rows = _read(db, name, columns)
            found[f"{PREFIX}{name}"] = rows if seen is None else _those(rows, seen)
    return found


def _opened(place: str) -> AbstractContextManager[Connection]:
    if place.startswith("postgres"):
        return shared(place).connect("")
    return closing(sqlite3.connect(f"{Path(place).as_uri()}?mode=ro", uri=True, timeout=5))


def _read(db: Connection, name: str, columns: dict[str, pa.DataType]) -> pa.Table:
    rows = db.execute(f"SELECT {', '.join(columns)} FROM {name} LIMIT {MOST_ROWS}").fetchall()
    values = zip(*rows, strict=True) if rows else [()] * len(columns)
    return pa.table([pa.array(one, kind) for one, kind in zip(values, columns.values(), strict=True)], list(columns))


def _those(rows: pa.Table, seen: Sequence[str]) -> pa.Table:
    """The rows of some reports."""
    return rows.filter(pc.is_in(rows["report_id"], pa.array(seen, pa.string())))


def _empty(columns: dict[str, pa.DataType]) -> pa.Table:
    return pa.schema(list(columns.items())).empty_table()
