"""Whether files of the library are what was written there: a disk, a copy or a person may have changed them.

They are looked at on a connection of their own: nothing that a damaged file does to it can spoil that of queries.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import duckdb

from profiledb.report import schema, sidecar, store
from profiledb.report.schema import identifier, quote
from profiledb.report.sidecar import Kind

_BROKEN = (duckdb.InternalException, duckdb.FatalException)
_OF_CONTENT = (duckdb.IOException, duckdb.SerializationException, *_BROKEN)
"""What DuckDB raises where it finds something else than it wrote."""
_one_at_a_time = threading.Lock()
CATALOG = "looked_at"
"""Name under which ``attached`` has the file."""


def opens(path: Path) -> bool:
    """Whether a report's file opens as a database with the tables of this schema, at its full length.

    Cheap (milliseconds): it does not read the rows. True also where the file may not be read, which is another fault.
    """
    try:
        with attached(path) as db:
            return _fits(db) and path.stat().st_size >= store.full_length(db, CATALOG)
    except duckdb.Error:
        return not os.access(path, os.R_OK)


def reads(path: Path) -> bool:
    """Whether every row of a report's file can be read; takes as long as that does."""
    try:
        with attached(path) as db:
            tables = db.execute(
                f"SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = '{CATALOG}'"
            ).fetchall()
            for names in tables:
                db.execute(f"SELECT bit_xor(hash(t)) FROM {CATALOG}.{'.'.join(map(identifier, names))} AS t").fetchall()
    except _OF_CONTENT:
        return not os.access(path, os.R_OK)
    return True


def is_damaged(path: Path, error: duckdb.Error) -> bool:
    """Whether an error in a query on a report is the fault of its file."""
    if not opens(path):
        return True
    return isinstance(error, _OF_CONTENT) and not reads(path)


def damaged_sidecar(reports: Path, report_id: str) -> Kind | None:
    """The first of a report's sidecars that cannot be read; None where all can, or there are none."""
    with duckdb.connect() as db:
        for kind in sidecar.SUFFIX:
            file = sidecar.path(reports, report_id, kind)
            try:
                if file.exists():
                    db.execute(f"SELECT bit_xor(hash(t)) FROM ({sidecar.select(kind, file)}) AS t").fetchall()
            except duckdb.Error:
                return kind
    return None


@contextmanager
def attached(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor on a connection apart from that of queries, which has a report's file attached, read only.

    Raises:
        duckdb.Error: it does not open.
    """
    with _one_at_a_time:
        db = _connection()
        try:
            db.execute(f"ATTACH {quote(str(path))} AS {CATALOG} (READ_ONLY)")
            try:
                with db.cursor() as cursor:
                    yield cursor
            finally:
                db.execute(f"DETACH {CATALOG}")
        except _BROKEN:
            _connection.cache_clear()
            raise


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    """Kept, because to connect takes longer than to look at a file."""
    return duckdb.connect(config={"threads": 1})


def _fits(db: duckdb.DuckDBPyConnection) -> bool:
    rows = db.execute(
        f"SELECT table_name, column_count FROM duckdb_tables() WHERE database_name = '{CATALOG}'"
        " AND schema_name = 'main'"
    ).fetchall()
    columns = dict(rows)
    return all(columns.get(table.name, 0) >= len(table.columns) for table in schema.tables().values())
