"""Databases of AMD's rocprofv3 (rocpd): SQLite."""

from pathlib import Path

import duckdb

from ingest.formats.nsys_sqlite import is_sqlite
from ingest.rocprof.tables import has_dispatches
from profiledb.report.store import Access

NAME = "database of rocprofv3"
KIND = "rocprof"
ENDINGS = {".db": 1}
MISNAMED = ("is not a database of rocprofv3", "Capture with: rocprofv3 --sys-trace -- PROGRAM")
COST = 1 << 11
RUNS_TOOLS = False
ARRAY_READERS = ("ingest.torch.load",)


def matches(path: Path) -> bool:
    """Return True for an SQLite file with the table of dispatches of a rocpd."""
    try:
        return is_sqlite(path) and has_dispatches(path)
    except OSError:
        return False


def access(source: Path) -> Access:
    return Access()


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Load the capture.

    Raises:
        ConversionError: no record with a time, or the file is damaged.
    """
    from ingest.rocprof import database  # here: it imports numpy and pyarrow

    database.load_capture(db, source)
