"""The summaries of all reports as tables for a question (studies/trends/summary_store.py)."""

import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from profiledb.console.question_limits import PREFIX
from profiledb.errors import AnalysisError, CatalogError, ConfigError
from profiledb.library.database import Connection
from profiledb.library.team_database import open_database

MOST_ROWS = 3_000_000
"""Rows read of a table."""
_UNREAD = "The summaries of all reports cannot be read."
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


def read_tables(place: str, seen: Sequence[str] | None = None) -> dict[str, pa.Table]:
    """Return the tables by name; empty ones if there are no summaries yet.

    Args:
        place: the file of the summaries, or the address of a team's database.
        seen: ids of the reports that the visitor sees; None for all.

    Raises:
        AnalysisError: they cannot be read now; an answer without rows would mean that there are none.
    """
    if not _is_shared(place) and not Path(place).exists():
        return {f"{PREFIX}{name}": _make_empty_table(columns) for name, columns in _TABLES.items()}
    try:
        with _open_place(place) as db:
            read = {f"{PREFIX}{name}": _read_table(db, name, columns) for name, columns in _TABLES.items()}
    except (CatalogError, ConfigError) as error:
        raise AnalysisError(f"{_UNREAD} {error.message}", hint=error.hint) from None
    except (sqlite3.Error, pa.ArrowException):
        raise AnalysisError(_UNREAD, hint="Try again in a moment.") from None
    return read if seen is None else {name: _select_reports(rows, seen) for name, rows in read.items()}


def _is_shared(place: str) -> bool:
    return place.startswith("postgres")


def _open_place(place: str) -> AbstractContextManager[Connection]:
    if _is_shared(place):
        return open_database(place).connect("")
    return closing(sqlite3.connect(f"{Path(place).as_uri()}?mode=ro", uri=True, timeout=5))


def _read_table(db: Connection, name: str, columns: dict[str, pa.DataType]) -> pa.Table:
    rows = db.execute(f"SELECT {', '.join(columns)} FROM {name} LIMIT {MOST_ROWS}").fetchall()
    values = zip(*rows, strict=True) if rows else [()] * len(columns)
    return pa.table([pa.array(one, kind) for one, kind in zip(values, columns.values(), strict=True)], list(columns))


def _select_reports(rows: pa.Table, seen: Sequence[str]) -> pa.Table:
    """Return the rows of some reports."""
    return rows.filter(pc.is_in(rows["report_id"], pa.array(seen, pa.string())))


def _make_empty_table(columns: dict[str, pa.DataType]) -> pa.Table:
    return pa.schema(list(columns.items())).empty_table()
