"""Make an nsys export readable as the catalog ``src``: every table that load.sql names, with the types it needs."""

import re
from collections.abc import Sequence
from functools import cache

import duckdb

from ingest.nsys import launch_environment, openmp, redact
from ingest.nsys.source import CUT, LARGEST, LATEST, LONGEST, PLAIN, SIZES, TIMES, Facts, Source
from profiledb.report.schema import quote, quote_identifier, read_sql

_TABLE = re.compile(r"^CREATE TABLE (\w+) \((.*?)\);", re.MULTILINE | re.DOTALL)
_COLUMN = re.compile(r'"?(\w+)"? ([A-Z]+)')
_MACHINE = "TARGET_INFO_SYSTEM_ENV"
_SMALL = ("PROCESSES", "TARGET_INFO_GPU", "TARGET_INFO_GPU_METRICS")
"""Small tables that several statements read: binding their views again would take longer than reading the rows."""


def attach(db: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> dict[str, dict[str, str]]:
    """Fill the catalog ``src``; if two sources have the same table, the first one counts.

    Tables that no source has stay empty, missing columns are NULL, and cells of a wrong type become NULL. Every text
    passes redact.

    Returns:
        The columns of each table of the export that was read, with their types.
    """
    db.execute("ATTACH ':memory:' AS src")
    facts = redact.redact_facts(sources)
    redact.prepare(db, redact.find_secrets(db, sources, facts))
    reads = {name: read for source in reversed(sources) for name, read in source.tables.items()}
    present: dict[str, dict[str, str]] = {}
    replaced = []
    for name, types in list_wanted_columns().items():
        if name in openmp.TABLES and name not in reads:
            continue  # hardly any export has these eighteen: openmp.stage_openmp reads the present ones
        target = f"src.{quote_identifier(name)}"
        if name not in reads or name in facts:
            empty = ", ".join(f"{quote_identifier(column)} {type_}" for column, type_ in types.items())
            replaced.append(f"CREATE TABLE {target} (row_id BIGINT, {empty})")
        else:
            present[name] = list_columns(db, reads[name])
            picked = ", ".join(_pick_columns(column, type_, present[name]) for column, type_ in types.items())
            kind = "TABLE" if name in _SMALL else "VIEW"
            replaced.append(f"CREATE {kind} {target} AS SELECT row_id, {picked} FROM ({reads[name]})")
    db.execute("; ".join(replaced))
    for name, rows in facts.items():
        wanted = redact.select_wanted(name, rows)
        if name == _MACHINE:
            wanted += launch_environment.read_launch(facts)
        _insert_facts(db, f"src.{quote_identifier(name)}", wanted)
    return present


def _insert_facts(db: duckdb.DuckDBPyConnection, target: str, rows: Facts) -> None:
    if rows:
        values = ", ".join(f"({at}, {quote(name)}, {quote(value)})" for at, (name, value) in enumerate(rows, 1))
        db.execute(f"""
            INSERT INTO {target} (row_id, name, value)
            SELECT place, name, src.clean(value) FROM (VALUES {values}) AS given(place, name, value)
        """)


@cache
def list_wanted_columns() -> dict[str, dict[str, str]]:
    """Return the tables and columns of nsys exports that load.sql reads, with the types it needs, by name."""
    declared = _TABLE.findall(read_sql("export.sql", "ingest.nsys"))
    tables = {table: dict(sorted(_COLUMN.findall(body))) for table, body in declared}
    return dict(sorted((tables | openmp.TABLES).items()))


def list_columns(db: duckdb.DuckDBPyConnection, read: str) -> dict[str, str]:
    """Return the columns of a query with their types."""
    return {name: type_ for name, type_, *_ in db.execute(f"DESCRIBE {read}").fetchall()}


def _pick_columns(column: str, type_: str, present: dict[str, str]) -> str:
    """Return SQL for a column in the needed type; a cell that cannot be cast becomes NULL or its readable part."""
    name = quote_identifier(column)
    if column not in present:
        return f"NULL::{type_} AS {name}"
    value = name
    if not present[column].startswith(PLAIN):  # bytes, dates, lists: never a number, but maybe a text
        value = f"{value}::VARCHAR"
    if type_ == "UBIGINT" and present[column] != "UBIGINT":  # SQLite has only signed numbers
        wide = f"TRY_CAST({value} AS HUGEINT)"  # a repaired table holds texts
        value = f"CASE WHEN {wide} < 0 THEN {wide} + 18446744073709551616 ELSE {wide} END"
    value = f"TRY_CAST({value} AS {type_})"
    if type_ == "VARCHAR":
        long = f"strlen({value}) > {LONGEST} AND length({value}) > {LONGEST}"  # bytes first: DuckDB knows them already
        value = f"src.clean(CASE WHEN {long} THEN ({value})[:{LONGEST}] || {quote(CUT)} ELSE {value} END)"
    if column in TIMES:
        wrong = f"CASE WHEN {name} IS NOT NULL THEN {-2 * LATEST} END" if column == "end" else "NULL"
        value = f"CASE WHEN {value} BETWEEN {-LATEST} AND {LATEST} THEN {value} ELSE {wrong} END"
    if column in SIZES:
        value = f"CASE WHEN {value} BETWEEN {-LARGEST} AND {LARGEST} THEN {value} END"
    return f"{value} AS {name}"
