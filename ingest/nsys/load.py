"""Loads an nsys export into the tables of a report and completes them."""

from collections.abc import Sequence

import duckdb

from ingest import remarks
from ingest.derive import attribution, projection, rejection
from ingest.nsys import damaged, lookups, metrics, notes, payload, ranges, redact, rest
from ingest.nsys.attach import attach
from ingest.nsys.source import Source
from profiledb.report.schema import read_sql
from profiledb.selection.views import busy

_CUT = """
    CREATE OR REPLACE TEMP MACRO cut(long, most) AS
    CASE WHEN length(long) > most THEN long[:most] || ' [cut]' ELSE long END
"""


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
    db.execute("SET preserve_insertion_order = false")  # row_id keeps the order; insisting on it takes one core only
    db.execute("SET asof_loop_join_threshold = 0")  # tables of a transaction look so small that loops would be chosen
    db.execute(_CUT)
    try:
        _load(db, sources)
    except damaged.REFUSED:
        _load(db, [damaged.repaired(db, source) for source in sources])
        return False
    return True


def _load(db: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> None:
    remarks.start(db)
    try:
        attach(db, sources)
        lookups.keep_first(db)
        lookups.collect_enums(db, sources)
        # Before the transaction: DuckDB does not know how large the tables of an open one are, and plans badly.
        ranges.number(db)
        attribution.calls(db)
        payload.decode(db, sources)
        _forget(db, "event", "numbered", "thing", "around", "call", "by_thread", "loose", "covered", "by_process")
        _write(db, sources)
    finally:
        db.execute("USE report")
        db.execute("DETACH DATABASE IF EXISTS src")


def _write(db: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> None:
    db.execute("BEGIN")  # one commit for all: the file is worthless until it is complete
    try:
        _fill(db, sources)
    except BaseException:
        db.execute("ROLLBACK")  # leaves the tables empty, for another way to read the same export
        raise
    db.execute("COMMIT")


def _fill(db: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> None:
    db.execute("INSERT INTO enum_value FROM enumeration")
    redact.take_strings(db, sources)
    ranges.write(db)
    _forget(db, "nvtx", "named", "opened", "parent", "path_of", "member", "found", "number", "further_range")
    db.execute(read_sql("load_calls.sql", "ingest.nsys"))
    lookups.launches(db)
    db.execute(read_sql("load.sql", "ingest.nsys"))
    _forget(db, "call_at", "later_call")
    attribution.others(db)
    metrics.pivot(db)
    rejection.reject(db)
    rest.keep(db, sources)
    db.execute(f"INSERT INTO busy {busy()} ORDER BY device_id, start_ns")
    projection.project(db)
    notes.graphs(db)
    notes.texts(db)
    remarks.finish(db)


def _forget(db: duckdb.DuckDBPyConnection, *tables: str) -> None:
    """Gives the memory of temporary tables back."""
    for table in tables:
        db.execute(f"DROP TABLE IF EXISTS temp.{table}")
