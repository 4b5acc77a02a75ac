"""Read SQLite exports by DuckDB's SQLite extension, and by Python if the extension refuses a cell."""

import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_sqlite_scanner

from ingest import scrub
from ingest.nsys.source import Facts, Payloads, Source, register_texts, select_columns
from profiledb.errors import ConversionError
from profiledb.report.schema import quote, quote_identifier
from profiledb.report.store import Access

NUMBERS = ("integer", "real", "null")
MOST_FACTS = 200_000
"""Most rows of a table of names and values that are read."""

_HEADER = struct.Struct(">16xH10xI")
"""Page size (1 means the largest) and page count in the first bytes of a database."""
_LARGEST_PAGE = 1 << 16


def get_access(path: Path) -> Access:
    """Return the access that loading an SQLite export needs: the extension, from its wheel.

    Raises:
        ConversionError: the extension is not installed in the version of DuckDB.
    """
    root = Path(duckdb_extension_sqlite_scanner.__file__).parent
    extension = next((root / "extensions").glob(f"v{duckdb.__version__}/*.duckdb_extension"), None)
    if extension is None:
        raise ConversionError(
            f"The SQLite extension for DuckDB {duckdb.__version__} is not installed.",
            hint="Install duckdb and duckdb-extension-sqlite-scanner in the same version.",
        )
    return Access((path,), (extension,))


def open_export(db: duckdb.DuckDBPyConnection, path: Path) -> Source:
    """Return the real tables of an SQLite export. Views and virtual tables are ignored: reading them may never end.

    The file is attached for SQLite's own row numbers: counting rows instead, to keep their order, would limit the whole
    load to one core.

    Args:
        db: the connection that will read, with the SQLite extension (``access``).
        path: the database file; it is not written to.

    Raises:
        ConversionError: the file is not a readable SQLite database.
    """
    catalog = quote_identifier(f"sqlite {path.name}")
    db.execute(f"ATTACH IF NOT EXISTS {quote(str(path))} AS {catalog} (TYPE sqlite, READ_ONLY)")
    reads = {
        name: f"SELECT rowid AS row_id, {select_columns(name)} FROM {catalog}.{quote_identifier(name)}"
        for name in list_tables(path)
    }
    return Source(
        reads,
        path.name,
        partial(_select_payloads, path),
        partial(_select_facts, path),
        partial(_select_lossy, db, path),
    )


def open_settings(path: Path) -> Source:
    """Return the capture's settings as the only table of an export."""
    empty = "SELECT NULL::BIGINT AS row_id, NULL::VARCHAR AS name, NULL::VARCHAR AS value WHERE false"
    return Source(
        {"META_DATA_CAPTURE": empty}, path.name, partial(iter, ()), partial(_select_facts, path), lambda _: empty
    )


def list_tables(path: Path) -> list[str]:
    """Return the names of the real tables of an SQLite file.

    Raises:
        ConversionError: SQLite cannot read the file.
    """
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
    try:
        with connect(path) as db:
            return [name.decode("utf-8", "replace") for (name,) in db.execute(query)]
    except sqlite3.Error as error:
        raise ConversionError(
            f"{path.name} is an SQLite file that cannot be read: it is damaged or incomplete.",
            hint="Export it again with: nsys export -t sqlite REPORT.nsys-rep",
            detail=scrub.scrub_database_error(error),
        ) from error


@contextmanager
def connect(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file read-only, with texts as bytes."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        db.text_factory = bytes
        yield db


def select_rows(db: sqlite3.Connection, query: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a query of ``connect`` by the names of their columns; none for an empty query."""
    if not query:
        return
    cursor = db.execute(query)
    names = [column[0] for column in cursor.description]
    for row in cursor:
        cells = (_decode_text(cell) if isinstance(cell, bytes) else cell for cell in row)
        yield dict(zip(names, cells, strict=True))


def read_session(path: Path) -> str | None:
    """Return the identity of an export's capture if the export holds it."""
    try:
        if "META_DATA_CAPTURE" not in list_tables(path):
            return None  # or a view, which may never end
    except ConversionError:
        return None
    capture = dict(_select_facts(path, "META_DATA_CAPTURE"))
    return capture.get("PROFILING_SESSION_UUID") or None


def is_sound(path: Path) -> bool:
    """Return True if the file has the length in its header and passes SQLite's check of its structure.

    Damaged pages can lose rows without an error. SQLite has no checksums: a changed cell passes.
    """
    with path.open("rb") as file:
        header = file.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return False
    page, pages = _HEADER.unpack(header)
    if path.stat().st_size < pages * (page if page > 1 else _LARGEST_PAGE):
        return False
    try:
        with connect(path) as db:
            db.execute("PRAGMA trusted_schema = OFF")
            return bool(db.execute("PRAGMA quick_check(1)").fetchone() == (b"ok",))
    except sqlite3.Error:
        return False


def count_wrong_cells(path: Path, known: dict[str, dict[str, str]]) -> list[tuple[str, str, int]]:
    """Yield (table, column, count) of cells that should be numbers and are not; SQLite stores anything anywhere.

    Args:
        path: the export.
        known: tables and columns to check, with the needed types.
    """
    wrong = []
    real = set(list_tables(path))
    with connect(path) as db:
        for table in real & known.keys():
            present = {
                row[1].decode("utf-8", "replace") for row in db.execute(f"PRAGMA table_info({quote_identifier(table)})")
            }
            numbers = [c for c, type_ in known[table].items() if type_ != "VARCHAR" and c in present]
            for column in numbers:
                table_name, column_name = quote_identifier(table), quote_identifier(column)
                query = f"SELECT count(*) FROM {table_name} WHERE typeof({column_name}) NOT IN {NUMBERS}"
                (count,) = db.execute(query).fetchone()
                wrong += [(table, column, count)] if count else []
    return sorted(wrong)


def _select_payloads(path: Path) -> Payloads:
    with connect(path) as db:
        columns = {row[1].decode("utf-8", "replace") for row in db.execute('PRAGMA table_info("NVTX_EVENTS")')}
        if {"binaryData", "domainId"} <= columns:
            yield from db.execute(
                "SELECT rowid, domainId, binaryData FROM NVTX_EVENTS WHERE typeof(binaryData) = 'blob' ORDER BY rowid"
            )


def _select_facts(path: Path, table: str) -> Facts:
    query = f"SELECT CAST(name AS BLOB), CAST(value AS BLOB) FROM {quote_identifier(table)} LIMIT {MOST_FACTS}"
    try:
        with connect(path) as db:
            rows = db.execute(query).fetchall()
    except sqlite3.Error:  # no such columns
        return []
    return [(_decode_text(name) or "", _decode_text(value)) for name, value in rows]


def _select_lossy(db: duckdb.DuckDBPyConnection, path: Path, table: str) -> str:
    """Return SQL that has Python read every cell as text: far slower, but complete."""
    with connect(path) as source:
        cursor = source.execute(f"SELECT * FROM {quote_identifier(table)} ORDER BY rowid")
        columns = [description[0] for description in cursor.description]
        cells = [[_decode_text(cell) for cell in row] for row in cursor]
    data = list(zip(*cells, strict=True)) or [() for _ in columns]
    view = register_texts(db, table, dict(zip(columns, data, strict=True)))
    return f"SELECT row_number() OVER () AS row_id, {select_columns(table)} FROM {view}"


def _decode_text(cell: object) -> str | None:
    if cell is None:
        return None
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
