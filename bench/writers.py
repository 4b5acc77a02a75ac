"""Write generated batches as the two forms of an nsys export: a SQLite file, or a folder of parquet files."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.export_tables import SQLITE_ONLY, TABLES, make_arrow_schema, make_create_statement

# A batch is columns by name; a column is an array, a list, or one value for all rows. Columns left out are NULL.
Batch = Mapping[str, Any]
_Sequence = list | np.ndarray | pa.Array


class Writer(Protocol):
    """Takes batches of rows, table by table, in any order."""

    def write(self, table: str, batch: Batch) -> None:
        """Append the rows of `batch` to `table`."""

    def close(self) -> None:
        """Finish the export."""


def to_arrow(table: str, batch: Batch) -> pa.Table:
    """Return `batch` as an arrow table with the columns and types of `table`."""
    unknown = set(batch) - {column.name for column in TABLES[table]}
    if unknown:
        raise KeyError(f"{table} has no column {', '.join(sorted(unknown))}")
    rows = max((len(value) for value in batch.values() if isinstance(value, _Sequence)), default=1)
    schema = make_arrow_schema(table)
    arrays = []
    for field in schema:
        value = batch.get(field.name)
        if not isinstance(value, _Sequence):
            value = pa.repeat(pa.scalar(value, type=field.type), rows)
        arrays.append(value if isinstance(value, pa.Array) else pa.array(value, type=field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


class ParquetDir:
    """A folder with one uncompressed parquet file a table, as `nsys export -t parquetdir` leaves it."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True)
        self._path = path
        self._files: dict[str, pq.ParquetWriter] = {}

    def write(self, table: str, batch: Batch) -> None:
        """Append the rows of `batch` to `table`."""
        if table in SQLITE_ONLY:
            return
        rows = to_arrow(table, batch)
        if table not in self._files:
            target = self._path / f"{table}.parquet"
            self._files[table] = pq.ParquetWriter(target, rows.schema, compression="none", version="1.0")
        self._files[table].write_table(rows)

    def close(self) -> None:
        """Finish every file."""
        for file in self._files.values():
            file.close()


class SqliteFile:
    """One SQLite file, as `nsys export -t sqlite` leaves it."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE"):
            self._connection.execute(f"PRAGMA {pragma}")
        self._connection.execute("BEGIN")
        self._tables: set[str] = set()

    def write(self, table: str, batch: Batch) -> None:
        """Append the rows of `batch` to `table`."""
        if table not in self._tables:
            self._connection.execute(make_create_statement(table))
            self._tables.add(table)
        rows = to_arrow(table, batch)
        marks = ", ".join("?" * rows.num_columns)
        statement = f"INSERT INTO {table} VALUES ({marks})"
        for part in rows.to_batches(max_chunksize=50_000):
            self._connection.executemany(statement, zip(*(column.to_pylist() for column in part.columns), strict=True))

    def close(self) -> None:
        """Commit and close the file."""
        self._connection.execute("COMMIT")
        self._connection.close()


def open_writer(path: Path, form: str) -> Writer:
    """Return a writer of `form` (sqlite or parquetdir) that creates `path`."""
    if path.exists():
        raise FileExistsError(f"{path} is there already")
    return SqliteFile(path) if form == "sqlite" else ParquetDir(path)
