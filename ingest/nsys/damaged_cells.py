"""Read exports with cells that violate their column's type: text in place of numbers, texts that are not UTF-8."""

import sqlite3
from dataclasses import replace

import duckdb

from ingest.nsys.source import Source
from profiledb.errors import ConversionError

REFUSED = (duckdb.TypeMismatchException, duckdb.InvalidInputException, duckdb.ConversionException, UnicodeDecodeError)
"""Errors that DuckDB raises for such cells; the last one if its own message quotes bytes that are no text."""


def replace_damaged_cells(db: duckdb.DuckDBPyConnection, source: Source) -> Source:
    """Return the export with the tables that DuckDB refuses read another way: far slower, but complete.

    Cells that do not fit their column's type become NULL when they are cast.

    Raises:
        ConversionError: a table cannot be read at all.
    """
    return replace(source, tables={name: _read_table(db, source, name) for name in source.tables})


def _read_table(db: duckdb.DuckDBPyConnection, source: Source, name: str) -> str:
    if _make_readable(db, source.tables[name]):
        return source.tables[name]
    import pyarrow as pa  # here: it takes 0.1 s, and few exports are damaged

    try:
        return source.lossy(name)
    except (sqlite3.Error, pa.ArrowException, OSError) as error:
        raise ConversionError(
            f"{source.name} is damaged or incomplete: one of its tables cannot be read.",
            hint="Export it again with: nsys export -t sqlite REPORT.nsys-rep",
        ) from error


def _make_readable(db: duckdb.DuckDBPyConnection, read: str) -> bool:
    """Return True if DuckDB can store the table; reading alone does not check the encoding of texts."""
    try:
        db.execute(f"CREATE OR REPLACE TEMP TABLE probe AS {read}")
    except (duckdb.Error, UnicodeDecodeError):
        return False
    db.execute("DROP TABLE probe")
    return True
