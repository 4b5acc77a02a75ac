"""Copy the rows of a snapshot into another catalog: first check for contradictions, then write all at once.

Rows that exist stay, so a move that was stopped can run again. A row with the same key and other content contradicts
the move, because nobody can say which is right; for files (job) the target's row counts.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from profiledb.library import report_list
from profiledb.library.audit import LOGS
from profiledb.library.catalog import Catalog
from profiledb.library.database import Connection
from profiledb.library.move import small_files, snapshot
from profiledb.report.schema import quote, quote_identifier

SHOWN = 5
_LEFT = ("stored_file", "login", "listing", "finding", "removal", "removal_look")
"""Tables that stay: which object of the old bucket a file is, who is logged in there, what is made of others, and what
was announced there."""
_SAME_BY = {
    "report": ("id", "source_sha256"),
    "job": ("path",),
    "token": ("id", "name", "role", "digest"),
    "token_use": ("token_id",),
}
"""Columns that have to agree in rows with the same key; in other tables every column has to."""
_AT_ONCE = 500


def find_contradictions(path: Path, catalog: Catalog, folder: Path) -> list[str]:
    """Describe the first few rows of the target that have the key of a snapshot's row and other content."""
    contradictions: list[str] = []
    for table, columns in _list_moved_tables().items():
        keys = _list_key_columns(path, table)
        places = [columns.index(name) for name in _SAME_BY.get(table, columns)]
        if table in LOGS or len(keys) == len(places):
            continue
        at = [columns.index(name) for name in keys]
        there = {tuple(row[i] for i in at): row for row in _read_target_rows(catalog, folder, table)}
        for row in snapshot.read_rows(path, table):
            other = there.get(tuple(row[i] for i in at))
            if other is not None and [row[i] for i in places] != [other[i] for i in places]:
                contradictions.append(f"{table} {' '.join(str(row[i])[:80] for i in at)}")
                if len(contradictions) == SHOWN:
                    return contradictions
    return contradictions


def write_rows(path: Path, catalog: Catalog, folder: Path) -> int:
    """Write the missing rows in one transaction; return their number."""
    count = 0
    with catalog.transaction() as db:
        for table, columns in _list_moved_tables().items():
            if table in small_files.TABLES and catalog.shared is None:
                continue
            names = ", ".join(map(quote_identifier, columns))
            rows = _find_new_entries(path, db, table) if table in LOGS else snapshot.read_rows(path, table)
            statement = f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))}) ON CONFLICT DO NOTHING"
            while some := [row for row, _ in zip(rows, range(_AT_ONCE), strict=False)]:
                count += db.executemany(statement, some).rowcount
        report_list.fill(db)
    if catalog.shared is None:
        count += sum(_write_small_files(path, folder, table) for table in small_files.TABLES)
    return count


def _list_moved_tables() -> dict[str, tuple[str, ...]]:
    """Return the tables that are copied; entries of the audit get new numbers."""
    tables = {table: columns for table, columns in snapshot.list_table_columns().items() if table not in _LEFT}
    return tables | {table: tuple(name for name in tables[table] if name != "id") for table in LOGS}


def _list_key_columns(path: Path, table: str) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        query = f"SELECT name FROM pragma_table_info({quote(table)}) WHERE pk > 0 ORDER BY pk"
        return [name for (name,) in db.execute(query)]


def _read_target_rows(catalog: Catalog, folder: Path, table: str) -> Iterator[Any]:
    """Yield the rows of the target."""
    if table in small_files.TABLES and catalog.shared is None:
        yield from small_files.read_rows(folder, table)
        return
    names = ", ".join(map(quote_identifier, _list_moved_tables()[table]))
    with catalog.transaction() as db:
        yield from [tuple(row) for row in db.execute(f"SELECT {names} FROM {table}")]


def _find_new_entries(path: Path, db: Connection, table: str) -> Iterator[tuple[Any, ...]]:
    """Yield the entries of a log that the target lacks, counting repetitions."""
    columns = snapshot.list_table_columns()[table]
    names = ", ".join(name for name in columns if name != "id")
    known = Counter(tuple(row) for row in db.execute(f"SELECT {names} FROM {table}"))
    number = columns.index("id")
    for row in sorted(snapshot.read_rows(path, table), key=lambda row: row[number]):
        entry = (*row[:number], *row[number + 1 :])
        known[entry] -= 1
        if known[entry] < 0:
            yield entry


def _write_small_files(path: Path, folder: Path, table: str) -> int:
    known = [tuple(row) for row in small_files.read_rows(folder, table)]
    there = {row[0] for row in known}
    more = [row for row in snapshot.read_rows(path, table) if row[0] not in there]
    if more:
        small_files.write_rows(folder, table, [*known, *more])
    return len(more)
