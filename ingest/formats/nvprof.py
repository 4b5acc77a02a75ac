"""Databases of nvprof and the Visual Profiler: SQLite."""

from pathlib import Path

import duckdb

from ingest.formats.nsys_sqlite import is_sqlite
from ingest.nvprof.tables import has_records
from profiledb.report.store import Access

NAME = "database of nvprof"
KIND = "nvprof"
ENDINGS = {".nvvp": 1, ".nvprof": 1}
MISNAMED = ("is not a database of nvprof", "Capture with: nvprof --export-profile FILE -- PROGRAM")
COST = 1 << 11
RUNS_TOOLS = False
ARRAY_READERS = ("ingest.torch.load",)


def matches(path: Path) -> bool:
    """Return True for an SQLite file with the tables of nvprof."""
    try:
        return is_sqlite(path) and has_records(path)
    except OSError:
        return False


def access(source: Path) -> Access:
    return Access()


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Load the capture.

    Raises:
        ConversionError: no record with a time, or the file is damaged.
    """
    from ingest.nvprof import database  # here: it imports numpy and pyarrow

    database.load_capture(db, source)
