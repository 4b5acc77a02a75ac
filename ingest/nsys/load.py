"""Loads an nsys export into the tables of a report and completes them."""

import re
from collections.abc import Collection, Mapping, Sequence

import duckdb

from ingest.derive import complete, stage
from ingest.nsys import (
    damaged_cells,
    lookups,
    metrics,
    notes,
    openmp,
    payload,
    python_stacks,
    ranges,
    raw_tables,
    redact,
    row_guard,
)
from ingest.nsys.attach import attach, wanted
from ingest.nsys.source import Source
from profiledb.report.schema import read_sql

Columns = Mapping[str, dict[str, str]]
"""Tables of an export with their columns, and the type of each."""
_TABLE = re.compile(r"\bsrc\.(\w+)")


def load(db: duckdb.DuckDBPyConnection, *sources: Source) -> bool:
    """Fills the tables of the report that ``db`` has open as catalog ``report``.

    Args:
        db: connection with the empty schema in catalog ``report``.
        sources: the export; a later source adds the tables that the earlier ones lack.

    Returns:
        Whether DuckDB could read it as it is; else cells that are not of their column's type are left out.

    Raises:
        ConversionError: a table of the export cannot be read.
    """
    try:
        _load(db, sources)
    except damaged_cells.REFUSED:
        _load(db, [damaged_cells.repaired(db, source) for source in sources])
        return False
    return True


def _load(db: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> None:
    try:
        stage(db)
        present = attach(db, sources)
        lookups.keep_first(db)
        lookups.collect_enums(db, sources)
        payload.decode(db, sources)
        python_stacks.decode(db, sources)
        ranges.stage(db)
        db.execute(read_sql("stage.sql", "ingest.nsys"))
        openmp.stage(db, present)
        complete(db, names=lambda: _write_names(db, present), rest=lambda: _write_rest(db, sources, present))
        row_guard.check(db, present)
        notes.graphs(db)
        notes.settings(db)
        notes.texts(db)
    finally:
        db.execute("USE report")
        db.execute("DETACH DATABASE IF EXISTS src")


def _write_names(db: duckdb.DuckDBPyConnection, present: Columns) -> None:
    db.execute("INSERT INTO enum_value FROM enumeration")
    redact.take_strings(db, {table: wanted()[table] for table in present})
    ranges.write_names(db)


def _write_rest(db: duckdb.DuckDBPyConnection, sources: Sequence[Source], present: Columns) -> None:
    notes.unclosed(db)
    raw_tables.keep_events(db)
    for table in ("nvtx", "named"):
        db.execute(f"DROP TABLE temp.{table}")  # gives their memory back
    db.execute(_needed(read_sql("load.sql", "ingest.nsys"), {table for source in sources for table in source.tables}))
    db.execute(read_sql("load_report.sql", "ingest.nsys"))
    metrics.pivot(db)
    raw_tables.keep(db, sources, present)


def _needed(sql: str, present: Collection[str]) -> str:
    """Those statements that read a table of the export which is there: to plan one takes a millisecond or two."""
    wanted_by = ((statement, _TABLE.findall(statement)) for statement in sql.split(";\n"))
    return ";\n".join(one for one, tables in wanted_by if not tables or any(table in present for table in tables))
