"""SQLite's tables (catalog.sql, summaries.sql) are those that the migrations of PostgreSQL make."""

import re
import sqlite3
from contextlib import closing

import psycopg
import pytest

from profiledb.report.schema import read_sql
from tests.support.postgres import Server

KINDS = {"bigint": "INTEGER", "double precision": "REAL", "text": "TEXT", "bytea": "BLOB"}
SCRIPTS = {"catalog.sql": "profiledb.library", "summaries.sql": "profiledb.studies.trends"}
COLUMNS = """
SELECT table_name, column_name, data_type, is_nullable = 'NO', column_default FROM information_schema.columns
WHERE table_schema = 'public' ORDER BY ordinal_position
"""
KEYS = """
SELECT table_name, column_name FROM information_schema.key_column_usage JOIN information_schema.table_constraints
USING (constraint_schema, constraint_name, table_name)
WHERE constraint_type = 'PRIMARY KEY' AND constraint_schema = 'public' ORDER BY ordinal_position
"""
INDEXES = """
SELECT tablename, indexname, indexdef FROM pg_indexes
WHERE schemaname = 'public' AND indexname NOT LIKE '%\\_pkey' AND indexname NOT LIKE '%\\_key'
"""
Column = tuple[str, bool, str]
"""Kind, whether a value is required, and the default."""
Table = tuple[dict[str, Column], list[str], dict[str, str]]
"""Columns by name, names of the primary key in its order, and definitions of indexes by name."""


def read_sqlite(script: str, package: str) -> dict[str, Table]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(read_sql(script, package))
        names = [name for (name,) in db.execute("SELECT name FROM pragma_table_list WHERE schema = 'main'")]
        found: dict[str, Table] = {}
        for table in (name for name in names if not name.startswith("sqlite_")):
            info = db.execute('SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?)', [table])
            rows = info.fetchall()
            key = [name for name, *_, place in sorted(rows, key=lambda row: row[-1]) if place]
            columns = {
                name: (kind, bool(required or place), given or "") for name, kind, required, given, place in rows
            }
            made = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ?", [table])
            found[table] = columns, key, {name: shorten(text) for name, text in made if text}
    return found


def read_postgres(url: str) -> dict[str, Table]:
    found: dict[str, Table] = {}
    with psycopg.connect(url) as db:
        for table, name, kind, required, given in db.execute(COLUMNS):
            columns, _, _ = found.setdefault(table, ({}, [], {}))
            columns[name] = str(KINDS.get(kind, kind)), required, (given or "").replace("::text", "")
        for table, name in db.execute(KEYS):
            found[table][1].append(name)
        for table, name, text in db.execute(INDEXES):
            found[table][2][name] = shorten(text)
    return found


def shorten(definition: str) -> str:
    """Return the definition of an index without the parts that the two databases write differently."""
    return re.sub(r"IF NOT EXISTS |public\.|USING btree |::text|[()]", "", definition).strip()


@pytest.fixture
def migrated(postgres: Server) -> dict[str, Table]:
    return read_postgres(postgres.create())


@pytest.mark.parametrize("script", SCRIPTS)
def test_both_databases_have_the_same_tables(migrated: dict[str, Table], script: str) -> None:
    defined = read_sqlite(script, SCRIPTS[script])
    assert len(defined) > 5
    for table, (columns, key, indexes) in defined.items():
        made = migrated[table]
        if table == "measure":  # without a key in PostgreSQL: names are longer than an index takes
            assert made[0] == columns
            continue
        assert made == (columns, key, indexes), table


def test_tables_of_a_team_alone_are_known(migrated: dict[str, Table]) -> None:
    """A folder library has no queue, and keeps tokens and questions in files."""
    shared = {table for script, package in SCRIPTS.items() for table in read_sqlite(script, package)}
    assert migrated.keys() - shared == {"alembic_version", "library", "question", "revision", "token", "worker"}
