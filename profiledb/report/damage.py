"""Check that files of the library are as they were written: a disk, a copy or a person may have changed them.

The checks use a connection of their own, so that a damaged file cannot break the connection of queries.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import duckdb

from profiledb.report import schema, sidecar, store
from profiledb.report.schema import quote, quote_identifier
from profiledb.report.sidecar import Kind

_BROKEN = (duckdb.InternalException, duckdb.FatalException)
_OF_CONTENT = (duckdb.IOException, duckdb.SerializationException, *_BROKEN)
"""Errors that DuckDB raises for content that it did not write."""
_one_at_a_time = threading.Lock()
CATALOG = "looked_at"
"""Name under which ``attached`` attaches the file."""


def can_open(path: Path) -> bool:
    """Return True if a report's file opens as a database with the tables of this schema, at its full length.

    Takes milliseconds because it reads no rows. Also True for a file without read permission, which is another fault.
    """
    try:
        with attach(path) as db:
            return _has_schema(db) and path.stat().st_size >= store.measure_full_length(db, CATALOG)
    except duckdb.Error:
        return not os.access(path, os.R_OK)


def can_read_rows(path: Path) -> bool:
    """Return True if every row of a report's file can be read; takes as long as reading them."""
    try:
        with attach(path) as db:
            tables = db.execute(
                f"SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = '{CATALOG}'"
            ).fetchall()
            for names in tables:
                db.execute(
                    f"SELECT bit_xor(hash(t)) FROM {CATALOG}.{'.'.join(map(quote_identifier, names))} AS t"
                ).fetchall()
    except _OF_CONTENT:
        return not os.access(path, os.R_OK)
    return True


def is_damaged(path: Path, error: duckdb.Error) -> bool:
    """Return True if the file of a report caused an error in a query."""
    if not can_open(path):
        return True
    return isinstance(error, _OF_CONTENT) and not can_read_rows(path)


def find_damaged_sidecar(reports: Path, report_id: str) -> Kind | None:
    """Return the kind of the first of a report's sidecars that cannot be read; None if all are readable."""
    with duckdb.connect() as db:
        for kind in sidecar.SUFFIX:
            file = sidecar.get_path(reports, report_id, kind)
            try:
                if file.exists():
                    db.execute(f"SELECT bit_xor(hash(t)) FROM ({sidecar.select_rows(kind, file)}) AS t").fetchall()
            except duckdb.Error:
                return kind
    return None


@contextmanager
def attach(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Attach a report's file read-only to a connection apart from that of queries, and open a cursor.

    Raises:
        duckdb.Error: the file does not open.
    """
    with _one_at_a_time:
        db = _open_connection()
        try:
            db.execute(f"ATTACH {quote(str(path))} AS {CATALOG} (READ_ONLY)")
            try:
                with db.cursor() as cursor:
                    yield cursor
            finally:
                db.execute(f"DETACH {CATALOG}")
        except _BROKEN:
            _open_connection.cache_clear()
            raise


@cache
def _open_connection() -> duckdb.DuckDBPyConnection:
    """Cached, because connecting takes longer than looking at a file."""
    return duckdb.connect(config={"threads": 1})


def _has_schema(db: duckdb.DuckDBPyConnection) -> bool:
    rows = db.execute(
        f"SELECT table_name, column_count FROM duckdb_tables() WHERE database_name = '{CATALOG}'"
        " AND schema_name = 'main'"
        f" UNION ALL SELECT view_name, column_count FROM duckdb_views() WHERE database_name = '{CATALOG}'"
        " AND schema_name = 'main'"  # of a preview
    ).fetchall()
    columns = dict(rows)
    needed = (
        table for table in schema.read_tables().values() if table.name in columns or table.name not in schema.ADDED
    )
    return all(columns.get(table.name, 0) >= len(table.columns) for table in needed)
