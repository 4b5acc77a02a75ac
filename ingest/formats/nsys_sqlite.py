"""SQLite files that ``nsys export`` or ``nsys stats`` wrote."""

from pathlib import Path

import duckdb

from ingest import diagnostics
from ingest.nsys import load, sqlite
from ingest.nsys.attach import wanted
from profiledb.errors import ConversionError
from profiledb.report.schema import quote
from profiledb.report.store import Access

NAME = "nsys export (SQLite)"
KIND = "nsys"
RUNS_TOOLS = False
MAGIC = b"SQLite format 3\0"


def matches(path: Path) -> bool:
    """An SQLite file with the string table and the machine facts that every nsys export has."""
    if not path.is_file() or _head(path) != MAGIC:
        return False
    try:
        return is_export(set(sqlite.tables(path)))
    except ConversionError:
        return True  # a damaged database: convert() says so


def access(source: Path) -> Access:
    """What the load needs; see Format.access."""
    return sqlite.access(source)


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Loads the export; see Format.convert."""
    if not load.load(db, sqlite.export(db, source)):
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
    """Names the columns whose cells were left out: a number that is missing must not pass for one that is 0."""
    for table, column, count in sqlite.wrong_cells(source, wanted()):
        diagnostics.note(db, "warning", f"{count:,} cells of {table}.{column} are not numbers and are excluded.")


def is_export(tables: set[str]) -> bool:
    """Whether these table names are those of an nsys export."""
    return "StringIds" in tables and any(t.startswith(("TARGET_INFO_", "CUPTI_", "NVTX_")) for t in tables)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(MAGIC))
