"""Databases of nvprof and the Visual Profiler: SQLite."""

from pathlib import Path

import duckdb

from ingest.formats import Format
from ingest.formats.nsys_sqlite import is_sqlite
from ingest.nvprof.tables import has_records


def matches(path: Path) -> bool:
    """Return True for an SQLite file with the tables of nvprof."""
    try:
        return is_sqlite(path) and has_records(path)
    except OSError:
        return False


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    from ingest.nvprof import database  # here: it imports numpy and pyarrow

    database.load_capture(db, source)


FORMAT = Format(
    name="database of nvprof",
    kind="nvprof",
    endings={".nvvp": 1, ".nvprof": 1},
    misnamed=("is not a database of nvprof", "Capture with: nvprof --export-profile FILE -- PROGRAM"),
    cost=1 << 11,
    matches=matches,
    convert=convert,
    array_readers=("ingest.torch.load",),
)
