"""Reads tables of an SQLite export that hold what their columns do not promise: text for numbers, broken UTF-8."""

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb

from ingest.nsys.source import Source, columns_of
from profiledb.schema import identifier

NUMBERS = ("integer", "real", "null")


def repaired(db: duckdb.DuckDBPyConnection, path: Path, source: Source) -> Source:
    """The same export, with the tables that DuckDB refuses read cell by cell as text: far slower, and complete.

    Cells that are not of their column's type become NULL when they are cast; ``wrong_cells`` counts them.
    """
    tables = {name: read if _readable(db, read) else _register(db, path, name) for name, read in source.tables.items()}
    return Source(tables, source.name, source.blobs)


def wrong_cells(path: Path, known: dict[str, dict[str, str]]) -> list[tuple[str, str, int]]:
    """(table, column, count) of cells that should be numbers and are not; SQLite stores anything anywhere.

    Args:
        path: the export.
        known: the tables and columns to look at, with the types that are wanted.
    """
    found = []
    with closing(_connect(path)) as db:
        for table, columns in known.items():
            present = {row[1] for row in db.execute(f'PRAGMA table_info("{table}")')}
            for column in (c for c, type_ in columns.items() if type_ != "VARCHAR" and c in present):
                query = f'SELECT count(*) FROM "{table}" WHERE typeof("{column}") NOT IN {NUMBERS}'
                (count,) = db.execute(query).fetchone()
                found += [(table, column, count)] if count else []
    return found


def _readable(db: duckdb.DuckDBPyConnection, read: str) -> bool:
    """Whether DuckDB can store the table; reading alone does not look at how texts are encoded."""
    try:
        db.execute(f"CREATE OR REPLACE TEMP TABLE probe AS {read}")
    except (duckdb.Error, UnicodeDecodeError):  # the message may quote bytes that are no text
        return False
    db.execute("DROP TABLE probe")
    return True


def _register(db: duckdb.DuckDBPyConnection, path: Path, name: str) -> str:
    with closing(_connect(path)) as source:
        cursor = source.execute(f"SELECT * FROM {identifier(name)} ORDER BY rowid")
        columns = [description[0] for description in cursor.description]
        cells = [[None if cell is None else _text(cell) for cell in row] for row in cursor]
    data = list(zip(*cells, strict=True)) or [() for _ in columns]
    import pyarrow as pa  # here, because it takes 0.1 s and few exports are damaged

    arrays = [pa.array(column, pa.string()) for column in data]
    view = f"repaired {name}"
    db.register(view, pa.table(arrays, names=columns))
    return f"SELECT row_number() OVER () AS row_id, {columns_of(name)} FROM {identifier(view)}"


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    return connection


def _text(cell: object) -> str:
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
