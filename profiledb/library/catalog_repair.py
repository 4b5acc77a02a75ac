"""Diagnose a damaged catalog and recover its readable rows."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from profiledb.errors import CatalogError
from profiledb.report.schema import quote_identifier, read_sql

CORE = ("report", "job", "label")
"""Tables of the very first version: a catalog without them has lost data."""
PATIENCE_S = 30.0
"""Seconds that a program waits for another one's lock."""
ASIDE = "catalog.damaged-*.sqlite"
"""Pattern of the names of catalogs that were set aside."""

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_SCHEMA}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_READ_ONLY = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
_DISK = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}


def connect(path: Path) -> sqlite3.Connection:
    """Connect to a catalog; read-only if the disk has no space even for the index of SQLite's log."""
    db = sqlite3.connect(path, timeout=PATIENCE_S)
    try:
        db.execute("PRAGMA schema_version")
    except sqlite3.Error as error:
        db.close()
        log = Path(f"{path}-wal")
        has_log = log.exists() and log.stat().st_size > 0  # without its index, the log cannot be read
        if _get_primary_code(error) not in _DISK | _READ_ONLY or has_log or not path.exists():
            raise
        return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    return db


def explain_error(error: sqlite3.Error, path: Path) -> Exception:
    """Translate an error of SQLite; return the error itself if the catalog's file is not at fault."""
    code = _get_primary_code(error)
    if code in _DAMAGED:
        return CatalogError(
            "The library's catalog is damaged.",
            hint="The worker rebuilds it from the reports when it starts: warpdeck ingest",
        )
    if code in _BUSY:
        return CatalogError("Another program has locked the library's catalog.", hint="Try again in a moment.")
    if code in _READ_ONLY:
        return CatalogError(
            "The library's catalog cannot be written.", hint=f"Check permissions and free space of {path.parent}."
        )
    if code in _DISK:
        return CatalogError(
            "The library's disk cannot be read or written.", hint=f"Check the free space of {path.parent}."
        )
    return error


def is_damage(error: sqlite3.Error) -> bool:
    """Return True if an error means that the file's content is damaged."""
    return _get_primary_code(error) in _DAMAGED


def is_damaged(path: Path) -> bool:
    """Return True if a catalog has to be set aside: SQLite cannot read it, or a table of the first version is missing.

    Raises:
        CatalogError: it cannot be examined now and may be intact.
    """
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(path, timeout=PATIENCE_S)) as db:
            tables = _list_tables(db)
            db.execute("BEGIN IMMEDIATE")
            db.rollback()
            return bool(tables) and (
                db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",) or not _is_complete(tables)
            )
    except sqlite3.Error as error:
        if _get_primary_code(error) in _DAMAGED | {
            sqlite3.SQLITE_READONLY
        }:  # a copy of a read-only file can be written
            return True
        raise explain_error(error, path) from error


def set_aside(path: Path, name: str = ASIDE) -> Path:
    """Rename a damaged SQLite file and its log by the present time (``*``); return the new path."""
    moment = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}Z"
    aside = path.with_name(name.replace("*", moment))
    for suffix in ("-shm", "-wal", ""):  # the log first, so that the next file does not adopt it
        with suppress(FileNotFoundError):
            Path(f"{path}{suffix}").rename(f"{aside}{suffix}")
    return aside


def salvage_entries(aside: Path, path: Path) -> int:
    """Copy the entries of people, and which files were deleted, as far as they are readable; return the number of
    rows.
    """
    count = 0
    with closing(sqlite3.connect(path)) as fresh, fresh:
        for table, columns in list_expected_columns().items():
            if table in ("report", "listing", "finding"):
                continue  # they come from the manifests, and from judging again
            names = ", ".join(map(quote_identifier, columns))
            insert = f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})"
            for row in _read_rows(aside, f"SELECT {names} FROM {table}"):
                with suppress(sqlite3.Error):  # a value has the wrong type or is missing
                    count += fresh.execute(insert, row).rowcount
    return count


@cache
def list_expected_columns() -> dict[str, tuple[str, ...]]:
    """Return the columns of each table of a catalog."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(read_sql("catalog.sql", __package__))
        return _list_tables(db)


def _list_tables(db: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {
        name: tuple(column for (column,) in db.execute("SELECT name FROM pragma_table_info(?)", [name]))
        for name in names
    }


def _is_complete(tables: dict[str, tuple[str, ...]]) -> bool:
    return set(CORE) <= set(tables) and all(
        set(columns) <= set(tables[table]) for table, columns in list_expected_columns().items() if table in tables
    )


def _read_rows(path: Path, query: str) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a query up to the first that cannot be read."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as db:
        yield from db.execute(query)


def _get_primary_code(error: sqlite3.Error) -> int:
    """Return the primary code of an error; 0 if SQLite gave none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
