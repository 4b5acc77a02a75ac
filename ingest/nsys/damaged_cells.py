"""Exports that hold what their columns do not promise: text for numbers, texts that are none in UTF-8."""

import sqlite3
from dataclasses import replace

import duckdb

from ingest.nsys.source import Source
from profiledb.errors import ConversionError

REFUSED = (duckdb.TypeMismatchException, duckdb.InvalidInputException, duckdb.ConversionException, UnicodeDecodeError)
"""What DuckDB raises for such cells; the last one where its own message quotes bytes that are no text."""


def repaired(db: duckdb.DuckDBPyConnection, source: Source) -> Source:
    """The same export, with the tables that DuckDB refuses read another way: far slower, and complete.

    Cells that are not of their column's type become NULL when they are cast.

    Raises:
        ConversionError: a table cannot be read at all.
    """
    return replace(source, tables={name: _read(db, source, name) for name in source.tables})


def _read(db: duckdb.DuckDBPyConnection, source: Source, name: str) -> str:
    if _readable(db, source.tables[name]):
        return source.tables[name]
    import pyarrow as pa  # here, because it takes 0.1 s and few exports are damaged

    try:
        return source.lossy(name)
    except (sqlite3.Error, pa.ArrowException, OSError) as error:
        raise ConversionError(
            f"{source.name} is damaged or incomplete: one of its tables cannot be read.",
            hint="Export it again with: nsys export -t sqlite REPORT.nsys-rep",
        ) from error


def _readable(db: duckdb.DuckDBPyConnection, read: str) -> bool:
    """Whether DuckDB can store the table; reading alone does not look at how texts are encoded."""
    try:
        db.execute(f"CREATE OR REPLACE TEMP TABLE probe AS {read}")
    except (duckdb.Error, UnicodeDecodeError):
        return False
    db.execute("DROP TABLE probe")
    return True
