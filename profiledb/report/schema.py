"""Create the tables of a report from the commented SQL files beside this module.

The comments in ``schema*.sql`` document every column. They are also stored in the database, so that
``duckdb_columns()`` and ``duckdb_tables()`` show them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

SCHEMA_VERSION = 6
"""Raise when a change of the tables, or of the code that fills them, makes older report files unreadable."""

ADDED = frozenset({"path_sum", "counter", "counter_value"})
"""Tables that reports of this version may lack, because they were made before. Empty views stand in for them."""

FILES = ("schema.sql", "schema_nvtx.sql", "schema_ncu.sql", "schema_torch.sql")
_TABLE = re.compile(
    r"^-- (?P<comment>[^\n]+)\nCREATE TABLE (?P<name>\w+) \(\n(?P<body>.*?)^\);", re.MULTILINE | re.DOTALL
)
_COLUMN = re.compile(r'^ +"?(?P<name>\w+)"? (?P<type>[A-Z][A-Z0-9_\[\]() ]*?),? *-- (?P<comment>.+)$', re.MULTILINE)


@dataclass(frozen=True)
class Column:
    """A column of the schema: name, DuckDB type, and meaning with unit."""

    name: str
    type: str
    comment: str


@dataclass(frozen=True)
class Table:
    """A table of the schema with its columns in order."""

    name: str
    comment: str
    columns: tuple[Column, ...]


@cache
def read_tables() -> dict[str, Table]:
    """Return all tables of a report by name, as the SQL files declare them."""
    declared = {}
    for text in map(read_sql, FILES):
        for match in _TABLE.finditer(text):
            columns = tuple(Column(**column.groupdict()) for column in _COLUMN.finditer(match["body"]))
            declared[match["name"]] = Table(match["name"], match["comment"], columns)
    return declared


@cache
def list_events() -> frozenset[str]:
    """Return the names of the tables of timed events, which readers of files fill."""
    derived = {"report", "busy", "projection", "diagnostic"}
    timed = {t.name for t in read_tables().values() if {"start_ns", "time_ns"} & {column.name for column in t.columns}}
    return frozenset(timed - derived)


def create(db: "duckdb.DuckDBPyConnection") -> None:
    """Create every table, empty, in the current schema of ``db``."""
    for name in FILES:
        db.execute(read_sql(name))


def write_comments(db: "duckdb.DuckDBPyConnection") -> None:
    """Store the meaning of every table and column in ``db`` as comments."""
    statements = []
    for table in read_tables().values():
        statements.append(f"COMMENT ON TABLE {table.name} IS {quote(table.comment)}")
        statements += [
            f'COMMENT ON COLUMN {table.name}."{column.name}" IS {quote(column.comment)}' for column in table.columns
        ]
    db.execute(";".join(["BEGIN", *statements, "COMMIT"]))


def read_sql(name: str, package: str = "profiledb.report") -> str:
    """Read an SQL file of a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def count_rows(db: "duckdb.DuckDBPyConnection", table: str) -> int:
    return count_all_rows(db, [table])[table]


def count_all_rows(db: "duckdb.DuckDBPyConnection", names: Iterable[str]) -> dict[str, int]:
    """Return the number of rows of each table, by one statement: each further one would take as long as four tables."""
    counts = [f"SELECT {quote(name)}, count(*) FROM {quote_identifier(name)}" for name in names]
    return dict(db.execute(" UNION ALL ".join(counts)).fetchall())


def quote(text: str | None) -> str:
    """Return an SQL string literal, or NULL. A text with NULs, which would end a statement, is concatenated from parts.

    A conversion writes its few values this way: binding the first parameter makes DuckDB import pandas, 0.3 s.
    """
    if text is None:
        return "NULL"
    literal = "'" + text.replace("'", "''") + "'"
    return literal if "\0" not in text else "(" + literal.replace("\0", "' || chr(0) || '") + ")"


def quote_identifier(name: str) -> str:
    """Quote an SQL identifier, whatever it contains; a NUL, which would end a statement, becomes a replacement mark."""
    return '"' + name.replace('"', '""').replace("\0", "\N{REPLACEMENT CHARACTER}") + '"'
