"""The summaries of all reports as tables for a question: what was kept of each for Trends (studies/trends/store.py)."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa

PREFIX = "library_"
"""How the names of these tables begin; a question that does not say it does not wait for them."""
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


def tables(file: Path) -> dict[str, pa.Table]:
    """The tables by name; empty ones where nothing was kept yet, or the file cannot be read."""
    found = {f"{PREFIX}{name}": _empty(columns) for name, columns in _TABLES.items()}
    if not file.exists():
        return found
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=5)) as db:
            for name, columns in _TABLES.items():
                found[f"{PREFIX}{name}"] = _read(db, name, columns)
    except (sqlite3.Error, pa.ArrowException):
        pass
    return found


def _read(db: sqlite3.Connection, name: str, columns: dict[str, pa.DataType]) -> pa.Table:
    rows = db.execute(f"SELECT {', '.join(columns)} FROM {name} LIMIT {MOST_ROWS}").fetchall()
    values = zip(*rows, strict=True) if rows else [()] * len(columns)
    return pa.table([pa.array(one, kind) for one, kind in zip(values, columns.values(), strict=True)], list(columns))


def _empty(columns: dict[str, pa.DataType]) -> pa.Table:
    return pa.schema(list(columns.items())).empty_table()
