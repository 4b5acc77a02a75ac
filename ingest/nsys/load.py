"""Load an nsys export into the tables of a report and complete them."""

import re
from collections.abc import Collection, Mapping, Sequence

import duckdb

from ingest.derive import complete, preview, stage
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
from ingest.nsys.attach import attach, list_wanted_columns
from ingest.nsys.source import Source
from profiledb.report.preview import FILLED
from profiledb.report.schema import read_sql

Columns = Mapping[str, dict[str, str]]
"""Columns of an export's tables with their types."""
_TABLE = re.compile(r"\bsrc\.(\w+)")
_TARGET = re.compile(r"^INSERT INTO (\w+)", re.MULTILINE)


def load_export(db: duckdb.DuckDBPyConnection, *sources: Source) -> bool:
    """Fill the tables of the report that ``db`` has open as catalog ``report``.

    Args:
        db: connection with the empty schema in catalog ``report``.
        sources: the export; a later source adds tables that the earlier ones lack.

    Returns:
        True if DuckDB could read it as it is; otherwise cells that do not fit their column's type were excluded.

    Raises:
        ConversionError: a table of the export cannot be read.
    """
    try:
        _load_staged(db, sources)
    except damaged_cells.REFUSED:
        _load_staged(db, [damaged_cells.replace_damaged_cells(db, source) for source in sources])
        return False
    return True


def _load_staged(db: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> None:
    try:
        stage(db)
        present = attach(db, sources)
        lookups.keep_first(db)
        lookups.collect_enums(db, sources)
        payload.decode(db, sources)
        python_stacks.decode_stacks(db, sources)
        ranges.stage_ranges(db)
        db.execute(read_sql("stage.sql", "ingest.nsys"))
        openmp.stage_openmp(db, present)
        preview.write(db, lambda: _write_preview(db, present))
        complete(db, names=lambda: _write_names(db, present), rest=lambda: _write_rest(db, sources, present))
        row_guard.check_row_counts(db, sources)
        notes.note_graphs(db)
        notes.note_settings(db)
        notes.note_cut_texts(db)
    finally:
        db.execute("USE report")
        db.execute("DETACH DATABASE IF EXISTS src")


def _write_names(db: duckdb.DuckDBPyConnection, present: Columns) -> None:
    db.execute("INSERT INTO enum_value FROM enumeration")
    redact.take_strings(db, {table: list_wanted_columns()[table] for table in present})
    ranges.write_range_names(db)


def _write_preview(db: duckdb.DuckDBPyConnection, present: Columns) -> None:
    """Write the tables that a preview fills, beside those of operations, as a report has them."""
    db.execute("INSERT INTO enum_value FROM enumeration")
    redact.take_strings(db, {table: list_wanted_columns()[table] for table in present})
    statements = read_sql("load.sql", "ingest.nsys").split(";\n")
    filled = (one for one in statements if (target := _TARGET.search(one)) and target[1] in FILLED)
    db.execute(";\n".join(filled))
    db.execute(read_sql("load_report.sql", "ingest.nsys"))


def _write_rest(db: duckdb.DuckDBPyConnection, sources: Sequence[Source], present: Columns) -> None:
    notes.note_unclosed_ranges(db)
    raw_tables.copy_events(db)
    for table in ("nvtx", "named"):
        db.execute(f"DROP TABLE temp.{table}")  # frees their memory
    db.execute(
        _list_needed(read_sql("load.sql", "ingest.nsys"), {table for source in sources for table in source.tables})
    )
    python_stacks.write_stacks(db)
    db.execute(read_sql("load_report.sql", "ingest.nsys"))
    metrics.pivot_metrics(db)
    raw_tables.copy_numbers(db, sources, present)


def _list_needed(sql: str, present: Collection[str]) -> str:
    """Return the statements that read a present table of the export: planning one takes a millisecond or two."""
    wanted_by = ((statement, _TABLE.findall(statement)) for statement in sql.split(";\n"))
    return ";\n".join(one for one, tables in wanted_by if not tables or any(table in present for table in tables))
