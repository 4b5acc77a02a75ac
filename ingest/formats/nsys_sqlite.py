"""SQLite files that ``nsys export`` or ``nsys stats`` wrote."""

import sqlite3
from pathlib import Path

import duckdb

from ingest.nsys import damaged, load
from ingest.nsys.source import from_sqlite, sqlite_tables, wanted
from profiledb.errors import ConversionError
from profiledb.schema import quote

NAME = "nsys export (SQLite)"
KIND = "nsys"
MAGIC = b"SQLite format 3\0"


def matches(path: Path) -> bool:
    """An SQLite file with the string table and the machine facts that every nsys export has."""
    if not path.is_file() or _head(path) != MAGIC:
        return False
    try:
        return is_export(set(sqlite_tables(path)))
    except ConversionError:
        return True  # a damaged database: convert() says so


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Loads the export; see Format.convert."""
    export = from_sqlite(db, source)
    try:
        load.load(db, export)
    except (duckdb.TypeMismatchException, duckdb.InvalidInputException, UnicodeDecodeError):
        # the last one is duckdb's word, too: its message quotes the bytes that it refuses
        load.load(db, damaged.repaired(db, source, export))
        _note_wrong_cells(db, source)
    version = db.execute(
        "SELECT any_value(value) FROM capture_setting WHERE name = 'EXPORT_PRODUCT_VERSION'"
    ).fetchone()
    written_by = f", written by nsys {version[0]}" if version and version[0] else ""
    db.execute(f"UPDATE report SET converter = {quote('SQLite export' + written_by)}")


def _note_wrong_cells(db: duckdb.DuckDBPyConnection, source: Path) -> None:
    """Names the columns whose cells were left out: a number that is missing must not pass for one that is 0."""
    for table, column, count in damaged.wrong_cells(source, wanted()):
        load.note(db, "warning", f"{count:,} cells of {table}.{column} are not numbers and are left out.")


def is_export(tables: set[str]) -> bool:
    """Whether these table names are those of an nsys export."""
    return "StringIds" in tables and any(t.startswith(("TARGET_INFO_", "CUPTI_", "NVTX_")) for t in tables)


def session(path: Path) -> str | None:
    """Identity of the capture that an export came from, where the export holds it."""
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            query = "SELECT value FROM META_DATA_CAPTURE WHERE name = 'PROFILING_SESSION_UUID' AND value <> ''"
            row = connection.execute(query).fetchone()
        finally:
            connection.close()
    except sqlite3.DatabaseError:
        return None
    return str(row[0]) if row else None


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(MAGIC))
