"""The tables of a database of nvprof, which are named after the kinds of records of CUPTI."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ingest.nsys import sqlite
from profiledb.errors import ConversionError
from profiledb.report.schema import quote_identifier

PREFIX = "CUPTI_ACTIVITY_KIND_"
_STRINGS = "StringTable"


def has_records(path: Path) -> bool:
    """Return True if an SQLite file has CUPTI's tables and the strings of nvprof, which differ from those of nsys."""
    try:
        names = sqlite.list_tables(path)
    except ConversionError:
        return False
    return _STRINGS in names and any(name.startswith(PREFIX) for name in names)


class Tables:
    """The real tables of a database. Views are never read, because reading them may not end."""

    def __init__(self, path: Path, source: sqlite3.Connection) -> None:
        self._source = source
        self._names = set(sqlite.list_tables(path))
        self._strings = {row["id"]: row["value"] for row in self._rows(_STRINGS, "_id_ AS id", "value")}

    def kinds(self) -> list[str]:
        """Return the kinds of records that have a table."""
        return sorted(name.removeprefix(PREFIX) for name in self._names if name.startswith(PREFIX))

    def rows(self, kind: str, *columns: str) -> Iterator[dict[str, Any]]:
        """Yield the records of a kind by the names of their columns; columns that the table lacks are None."""
        return self._rows(PREFIX + kind, *columns)

    def count(self, kind: str) -> int:
        (count,) = self._source.execute(f"SELECT count(*) FROM {quote_identifier(PREFIX + kind)}").fetchone()
        return int(count)

    def text(self, number: object) -> str:
        """Return a text by its number; empty if there is none."""
        return str(self._strings.get(number) or "") if number else ""

    def _rows(self, table: str, *columns: str) -> Iterator[dict[str, Any]]:
        if table not in self._names:
            return iter(())
        present = {
            row[1].decode("utf-8", "replace")
            for row in self._source.execute(f"PRAGMA table_info({quote_identifier(table)})")
        }
        chosen = ", ".join(_select(column, present) for column in columns)
        return sqlite.select_rows(self._source, f"SELECT {chosen} FROM {quote_identifier(table)}")


def _select(column: str, present: set[str]) -> str:
    """Return a column as SQL, from "name", "name AS alias" or, for bytes, "hex name"."""
    name, _, alias = column.partition(" AS ")
    plain = name.removeprefix("hex ")
    if plain not in present:
        return f"NULL AS {quote_identifier(alias or plain)}"
    read = f"hex({quote_identifier(plain)})" if plain != name else quote_identifier(plain)
    return f"{read} AS {quote_identifier(alias or plain)}"
