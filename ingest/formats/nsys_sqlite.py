"""SQLite files written by ``nsys export`` or ``nsys stats``."""

from pathlib import Path

import duckdb

from ingest import diagnostics
from ingest.formats import Format
from ingest.nsys import load, sqlite
from ingest.nsys.attach import list_wanted_columns
from profiledb.errors import ConversionError
from profiledb.report import file_names
from profiledb.report.schema import quote

_MAGIC = b"SQLite format 3\0"


def matches(path: Path) -> bool:
    """Return True for an SQLite file with the string table and machine facts of every nsys export."""
    if not path.is_file() or not is_sqlite(path):
        return False
    try:
        return is_export(set(sqlite.list_tables(path)))
    except ConversionError:
        return True  # a damaged database: convert() reports that


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Load the export and note damaged cells and rows."""
    if not load.load_export(db, sqlite.open_export(db, source)):
        _note_wrong_cells(db, source)
    if not sqlite.is_sound(source):
        text = f"{source.name} is damaged: rows, tables and settings may be missing in this report."
        diagnostics.note(db, "warning", f"{text} Export it again with: nsys export -t sqlite REPORT.nsys-rep")
    version = db.execute(
        "SELECT any_value(value) FROM capture_setting WHERE name = 'EXPORT_PRODUCT_VERSION'"
    ).fetchone()
    written_by = f", written by nsys {version[0]}" if version and version[0] else ""
    db.execute(f"UPDATE report SET converter = {quote('SQLite export' + written_by)}")


def _note_wrong_cells(db: duckdb.DuckDBPyConnection, source: Path) -> None:
    """Name the columns whose cells were excluded, so that a missing number does not pass for a 0."""
    for table, column, count in sqlite.count_wrong_cells(source, list_wanted_columns()):
        diagnostics.note(db, "warning", f"{count:,} cells of {table}.{column} are not numbers and are excluded.")


def is_export(tables: set[str]) -> bool:
    """Return True if these table names are those of an nsys export."""
    return "StringIds" in tables and any(t.startswith(("TARGET_INFO_", "CUPTI_", "NVTX_")) for t in tables)


def is_sqlite(path: Path) -> bool:
    """Return True if a file starts like a database of SQLite."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


FORMAT = Format(
    name="SQLite export of nsys",
    kind="nsys",
    endings={file_names.NSYS_EXPORT: 1},
    misnamed=("is not an nsys export", "Make one with: nsys export -t sqlite REPORT.nsys-rep"),
    cost=1 << 12,
    matches=matches,
    access=sqlite.get_access,
    convert=convert,
)
