"""The tables of a database of rocprofv3 (rocpd): a set for each process of the run, whose names end in its id."""

import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ingest.nsys import sqlite
from profiledb.errors import ConversionError
from profiledb.report.schema import quote_identifier

DISPATCHES = "rocpd_kernel_dispatch"
_TABLE = re.compile(r"^(rocpd_[a-z_]*?[a-z])(_[0-9a-f_]{8,80})?$")
_MOST_RUNS = 1024
"""Most processes of a file."""


def has_dispatches(path: Path) -> bool:
    """Return True if an SQLite file has a table of dispatches."""
    try:
        return any((match := _TABLE.match(name)) and match[1] == DISPATCHES for name in sqlite.list_tables(path))
    except ConversionError:
        return False


@dataclass(frozen=True)
class Run:
    """The tables of one process, by their plain names, each with its columns."""

    tables: Mapping[str, str]
    columns: Mapping[str, frozenset[str]]

    def table(self, name: str, columns: str) -> str:
        """Return a table as SQL, or an empty one with these columns if the run has none of that name."""
        if name in self.tables:
            return quote_identifier(self.tables[name])
        return f"(SELECT {', '.join(f'NULL AS {column}' for column in columns.split())} LIMIT 0)"


def list_runs(path: Path) -> list[Run]:
    """Return the runs of a database; none if it is no rocpd.

    Raises:
        ConversionError: SQLite cannot read the file.
    """
    tables_by_run: dict[str, dict[str, str]] = {}
    for table in sqlite.list_tables(path):
        if match := _TABLE.match(table):
            tables_by_run.setdefault(match[2] or "", {})[match[1]] = table
    runs = [tables for tables in tables_by_run.values() if DISPATCHES in tables][:_MOST_RUNS]
    with sqlite.connect(path) as db:
        return [Run(tables, {name: _list_columns(db, table) for name, table in tables.items()}) for tables in runs]


def _list_columns(db: sqlite3.Connection, table: str) -> frozenset[str]:
    return frozenset(
        row[1].decode("utf-8", "replace") for row in db.execute(f"PRAGMA table_info({quote_identifier(table)})")
    )
