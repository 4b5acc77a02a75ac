"""Makes an nsys export readable as the catalog ``src``: every table that load.sql names, with the types it wants."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb
import duckdb_extension_sqlite_scanner

from profiledb.errors import ConversionError
from profiledb.schema import identifier, quote, read_sql

ENUM = "ENUM_"

Payloads = Iterator[tuple[int, int | None, bytes]]
"""row_id of NVTX_EVENTS, domain and bytes of the events that have a payload."""


@dataclass(frozen=True)
class Source:
    """The tables of an export.

    Args:
        tables: name -> SQL that reads all of it, its first column ``row_id``: 1, 2, ... in the order of the export.
        name: how the export is called in messages.
        blobs: reads the payloads of NVTX events. No other read sees that column: it is declared as text and holds
            bytes, which DuckDB refuses in either form, and redaction could not search them.
    """

    tables: dict[str, str]
    name: str
    blobs: Callable[[], Payloads] | None = None


def from_parquet(folder: Path) -> Source:
    """The tables of a parquetdir export, a file each."""
    files = {path.stem: quote(str(path)) for path in sorted(folder.glob("*.parquet"))}
    read = "SELECT file_row_number + 1 AS row_id, {} FROM read_parquet({}, file_row_number=true)"
    rest = "* EXCLUDE (file_row_number)"
    reads = {name: read.format(columns_of(name, rest), path) for name, path in files.items()}
    return Source(reads, folder.name, lambda: _parquet_payloads(folder / "NVTX_EVENTS.parquet"))


def from_sqlite(db: duckdb.DuckDBPyConnection, path: Path, *, only: frozenset[str] = frozenset()) -> Source:
    """The real tables of an SQLite export (views and virtual tables are left alone: reading them may never end).

    The file is attached, because that gives SQLite's own row number: counting rows instead, to keep their order,
    would hold the whole load to one core.

    Args:
        db: the connection that will read; the SQLite extension is loaded into it.
        path: the database file; it is not written to.
        only: names of the tables to take; empty for all.

    Raises:
        ConversionError: the file is not a readable SQLite database.
    """
    _load_scanner(db)
    names = [name for name in sqlite_tables(path) if not only or name in only]
    catalog = identifier(f"sqlite {path.name}")
    db.execute(f"ATTACH IF NOT EXISTS {quote(str(path))} AS {catalog} (TYPE sqlite, READ_ONLY)")
    reads = {name: f"SELECT rowid AS row_id, {columns_of(name)} FROM {catalog}.{identifier(name)}" for name in names}
    return Source(reads, path.name, lambda: _sqlite_payloads(path))


def columns_of(table: str, rest: str = "*") -> str:
    """The columns of a table to read: all of them, but never the bytes of payloads."""
    hidden = "('binarydata', 'file_row_number')"
    return f"COLUMNS(c -> lower(c) NOT IN {hidden})" if table == "NVTX_EVENTS" else rest


def _sqlite_payloads(path: Path) -> Payloads:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        db.text_factory = bytes
        columns = {row[1].decode("utf-8", "replace") for row in db.execute('PRAGMA table_info("NVTX_EVENTS")')}
        if {"binaryData", "domainId"} <= columns:
            yield from db.execute(
                "SELECT rowid, domainId, binaryData FROM NVTX_EVENTS WHERE typeof(binaryData) = 'blob' ORDER BY rowid"
            )


def _parquet_payloads(path: Path) -> Payloads:
    import pyarrow as pa  # here, because it takes 0.1 s and few captures have payloads
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        if not {"binaryData", "domainId"} <= set(file.schema_arrow.names):
            return
        before = 0
        for batch in file.iter_batches(columns=["binaryData", "domainId"]):
            blobs = batch.column("binaryData").cast(pa.large_binary())
            for number in blobs.is_valid().to_numpy(zero_copy_only=False).nonzero()[0].tolist():
                yield before + number + 1, batch.column("domainId")[number].as_py(), blobs[number].as_py()
            before += batch.num_rows


def sqlite_tables(path: Path) -> list[str]:
    """Names of the real tables of an SQLite file.

    Raises:
        ConversionError: SQLite cannot read the file.
    """
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            return [name for (name,) in connection.execute(query)]
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        raise ConversionError(
            f"{path.name} is an SQLite file that cannot be read: it is damaged or not complete.",
            hint="Export it again with: nsys export -t sqlite",
            detail=str(error),
        ) from error


def _load_scanner(db: duckdb.DuckDBPyConnection) -> None:
    """Loads the extension from its wheel: DuckDB's own way to it would need a network."""
    root = Path(duckdb_extension_sqlite_scanner.__file__).parent
    extension = next((root / "extensions").glob(f"v{duckdb.__version__}/*.duckdb_extension"), None)
    if extension is None:
        raise ConversionError(
            f"The SQLite extension for DuckDB {duckdb.__version__} is not installed.",
            hint="Install duckdb and duckdb-extension-sqlite-scanner in the same version.",
        )
    db.execute(f"LOAD {quote(str(extension))}")


def attach(db: duckdb.DuckDBPyConnection, *sources: Source) -> None:
    """Fills the catalog ``src``; of two sources with the same table the first one counts.

    Tables that no source has stay empty, columns that a table lacks are NULL, cells of a wrong type become NULL.
    """
    db.execute("ATTACH ':memory:' AS src")
    db.execute("USE src")
    db.execute(read_sql("export.sql", "ingest.nsys"))
    db.execute("USE report")
    for name, columns in wanted().items():
        read = next((s.tables[name] for s in sources if name in s.tables), None)
        if read is None:
            db.execute(f'ALTER TABLE src."{name}" ADD COLUMN row_id BIGINT')
        else:
            present = _columns(db, read)
            picked = ", ".join(_pick(column, type_, present) for column, type_ in columns.items())
            db.execute(f'DROP TABLE src."{name}"')
            db.execute(f'CREATE VIEW src."{name}" AS SELECT row_id, {picked} FROM ({read})')


@cache
def wanted() -> dict[str, dict[str, str]]:
    """Tables and columns of nsys exports that load.sql reads, with the types it wants."""
    with duckdb.connect() as db:
        db.execute(read_sql("export.sql", "ingest.nsys"))
        rows = db.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY ALL"
        )
        found: dict[str, dict[str, str]] = {}
        for table, column, type_ in rows.fetchall():
            found.setdefault(table, {})[column] = type_
    return found


def unknown_columns(db: duckdb.DuckDBPyConnection, source: Source, name: str) -> list[str]:
    """Columns of a table of the export that load.sql does not read."""
    lower = {column.lower() for column in wanted()[name]}
    return [column for column in _columns(db, source.tables[name]) if column.lower() not in lower | {"row_id"}]


def _columns(db: duckdb.DuckDBPyConnection, read: str) -> dict[str, str]:
    return {name: type_ for name, type_, *_ in db.execute(f"DESCRIBE {read}").fetchall()}


def _pick(column: str, type_: str, present: dict[str, str]) -> str:
    if column not in present:
        return f'NULL::{type_} AS "{column}"'
    if type_ == "UBIGINT" and present[column] != "UBIGINT":  # SQLite has signed numbers only
        wide = f'TRY_CAST("{column}" AS HUGEINT)'  # of a repaired table it is a text
        value = f"CASE WHEN {wide} < 0 THEN {wide} + 18446744073709551616 ELSE {wide} END"
    else:
        value = f'"{column}"'
    return f'TRY_CAST({value} AS {type_}) AS "{column}"'
