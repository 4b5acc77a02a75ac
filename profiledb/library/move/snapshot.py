"""A snapshot of a catalog at one moment, as a SQLite file.

SQLite's backup copies a folder's catalog, because a copy of the file alone lacks its log; one transaction that sees no
writes of others copies a team's.

Summaries and their changes are left out, because they can be computed again.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from profiledb.errors import CatalogError
from profiledb.library import catalog_repair
from profiledb.library.audit import LOGS
from profiledb.library.catalog import FILE, Catalog
from profiledb.library.catalog_file import CatalogFile
from profiledb.library.move import small_files
from profiledb.report.schema import quote_identifier

_AT_ONCE = 1_000


def list_table_columns() -> dict[str, tuple[str, ...]]:
    """Return the columns of each table of a snapshot."""
    return catalog_repair.list_expected_columns() | small_files.TABLES


def take_snapshot(catalog: Catalog, folder: Path, to: Path) -> None:
    """Write a snapshot in place of an earlier one.

    Args:
        catalog: of a library.
        folder: of that library, with the small files that a team has in its database.
        to: the file.

    Raises:
        CatalogError: the catalog cannot be read.
    """
    for suffix in ("", "-wal", "-shm"):
        Path(f"{to}{suffix}").unlink(missing_ok=True)
    if catalog.shared is None:
        copy_folder_catalog(folder, to)
        return
    CatalogFile(to)
    _create_tables(to)
    with _open_reader(catalog.shared.url) as rows, closing(sqlite3.connect(to)) as db, db:
        for table, columns in list_table_columns().items():
            _insert_rows(db, table, columns, rows(table, columns))


def copy_folder_catalog(folder: Path, to: Path) -> None:
    """Write a snapshot of a folder library, which is only read."""
    source = folder / FILE
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as here,
            closing(sqlite3.connect(to)) as copy,
        ):
            here.backup(copy)
    except sqlite3.Error as error:
        raise CatalogError(f"{source} cannot be copied: {error}.") from error
    CatalogFile(to)  # adds tables of this version
    _create_tables(to)
    with closing(sqlite3.connect(to)) as db, db:
        for table, columns in small_files.TABLES.items():
            _insert_rows(db, table, columns, small_files.read_rows(folder, table))


def finish_catalog(path: Path) -> None:
    """Turn a snapshot into the catalog of a folder library, without rows that such a library keeps elsewhere or
    lacks.
    """
    with closing(sqlite3.connect(path)) as db:
        db.execute("DELETE FROM stored_file")
        db.execute("DELETE FROM login")  # a later logout counts, also where this copy is served
        for table in small_files.TABLES:
            db.execute(f"DROP TABLE {table}")
        db.commit()
        db.execute("PRAGMA journal_mode = DELETE")  # so that one file holds everything
        db.execute("VACUUM")


def read_rows(path: Path, table: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table in the order in which they were written."""
    names = ", ".join(map(quote_identifier, list_table_columns()[table]))
    with closing(sqlite3.connect(path)) as db:
        yield from db.execute(f"SELECT {names} FROM {table} ORDER BY rowid")


def _create_tables(path: Path) -> None:
    """Create the tables for small files."""
    with closing(sqlite3.connect(path)) as db, db:
        for table, columns in small_files.TABLES.items():
            db.execute(f"DROP TABLE IF EXISTS {table}")
            db.execute(f"CREATE TABLE {table} ({columns[0]} PRIMARY KEY, {', '.join(columns[1:])})")


def _insert_rows(db: sqlite3.Connection, table: str, columns: Sequence[str], rows_to_insert: Any) -> None:
    names = ", ".join(map(quote_identifier, columns))
    db.executemany(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})", rows_to_insert)


@contextmanager
def _open_reader(url: str) -> Iterator[Any]:
    """Yield a function that reads a table of a team's database; all its answers are of one moment."""
    import psycopg

    from profiledb.library import postgres

    try:
        with psycopg.connect(**postgres.build_connection_arguments(url)) as db:
            db.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            db.read_only = True
            db.execute("SELECT set_config('statement_timeout', '0', true)")

            def read(table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
                with db.cursor(name="warpdeck_snapshot") as cursor:
                    cursor.itersize = _AT_ONCE
                    order = "id" if table in LOGS else "1"
                    names = ", ".join(map(quote_identifier, columns))
                    cursor.execute(f"SELECT {names} FROM {quote_identifier(table)} ORDER BY {order}".encode())
                    yield from cursor

            yield read
    except psycopg.Error as error:
        raise postgres.explain_error(error) from error
