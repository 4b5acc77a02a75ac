"""Databases of AMD's rocprofv3 (rocpd): SQLite."""

from pathlib import Path

import duckdb

from ingest.formats import Format
from ingest.formats.nsys_sqlite import is_sqlite
from ingest.rocprof.tables import has_dispatches


def matches(path: Path) -> bool:
    """Return True for an SQLite file with the table of dispatches of a rocpd."""
    try:
        return is_sqlite(path) and has_dispatches(path)
    except OSError:
        return False


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    from ingest.rocprof import database  # here: it imports numpy and pyarrow

    database.load_capture(db, source)


FORMAT = Format(
    name="database of rocprofv3",
    kind="rocprof",
    endings={".db": 1},
    misnamed=("is not a database of rocprofv3", "Capture with: rocprofv3 --sys-trace -- PROGRAM"),
    cost=1 << 11,
    matches=matches,
    convert=convert,
    array_readers=("ingest.torch.load",),
)
