"""Write the preview of a report (profiledb/report/preview.py) before its ranges and calls are derived."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

import duckdb

from ingest.derive import classes, staging
from profiledb.report import preview, store
from profiledb.report.schema import quote
from profiledb.selection.views import build_busy_sql

LEAST = 200_000
"""Kernels from which on a preview is worth its time: smaller reports are complete a second later."""
_CATALOG = "preview"


@dataclass(frozen=True)
class Offer:
    """The path of a conversion's preview, and ``publish``, which is called with a connection that has it open as
    the current database, before it is closed, and returns a function to call once the file is complete."""

    path: Path
    publish: Callable[[duckdb.DuckDBPyConnection], Callable[[], None] | None]


_offer: ContextVar[Offer | None] = ContextVar("offer", default=None)


@contextmanager
def offer(wanted: Offer | None) -> Iterator[None]:
    """Have readers in this block write a preview."""
    token = _offer.set(wanted)
    try:
        yield
    finally:
        _offer.reset(token)


def write(db: duckdb.DuckDBPyConnection, write_tables: Callable[[], None]) -> None:
    """Write and publish a preview of the staged operations, if one is wanted and worth its time.

    Args:
        db: connection after ``stage``, with rows in the staged tables of ``preview.PLACED``, and no transaction open.
        write_tables: writes the other tables of ``preview.FILLED`` into the current database.
    """
    wanted = _offer.get()
    if wanted is None or wanted.path.exists() or _is_small(db):
        return
    db.execute(f"DETACH DATABASE IF EXISTS {_CATALOG}")  # of an attempt to read the export in another way
    store.attach_new(db, wanted.path, _CATALOG)
    try:
        db.execute(f"USE {_CATALOG}")
        preview.create(db)
        db.execute("BEGIN")
        write_tables()
        left_out = {table: _write_rows(db, table) for table in preview.PLACED}
        db.execute(f"INSERT INTO busy {build_busy_sql()}")
        classes.assign_classes(db)
        announce = wanted.publish(db)
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise
    finally:
        db.execute(f"USE {store.CATALOG}; DETACH {_CATALOG}")
    store.complete_file(db, wanted.path, _CATALOG)
    if not left_out["kernel"]:
        _read_kernels_from(db, wanted.path)
    if announce:
        announce()


def _is_small(db: duckdb.DuckDBPyConnection) -> bool:
    """Return True for fewer kernels than ``LEAST``; no more of them are read, which takes seconds in an SQLite file."""
    counted = db.execute(f"SELECT count(*) FROM (FROM staged_kernel LIMIT {LEAST})").fetchone()
    return counted is not None and counted[0] < LEAST


def _write_rows(db: duckdb.DuckDBPyConnection, table: str) -> int:
    """Write the staged rows of a table in one pass, drop those that end before they start, and return their number."""
    rows = preview.name_rows(table)
    db.execute(f"INSERT INTO {rows} BY NAME FROM staged_{table}")
    dropped = db.execute(f"DELETE FROM {rows} WHERE (end_ns >= start_ns) IS NOT TRUE").fetchone()
    return int(dropped[0]) if dropped else 0


def _read_kernels_from(db: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Have the report read its kernels from the preview, which is faster than the export.

    It stays open until the connection closes, wherever the worker moves it.
    """
    db.execute(f"ATTACH {quote(str(path))} AS {_CATALOG} (READ_ONLY)")
    staging.forget(db, "kernel")
    db.execute(f"CREATE TEMP VIEW staged_kernel AS FROM {_CATALOG}.{preview.name_rows('kernel')}")
