"""Complete a report from a reader's staged rows: derive all data in one place and one transaction."""

from collections.abc import Callable

import duckdb

from ingest import diagnostics
from ingest.derive import attribution, launches, nesting, projection, rejection, staging
from profiledb.report.schema import read_sql


def _do_nothing() -> None:
    """Default for a reader that has written everything else already."""


def complete(
    db: duckdb.DuckDBPyConnection, *, names: Callable[[], None] = _do_nothing, rest: Callable[[], None] = _do_nothing
) -> None:
    """Fill the staged tables of the report (staging.py), and ``range_path``, ``call_range``, ``thread_driver``,
    ``nccl_call``, ``rejected_row``, ``busy`` and ``projection``.

    If it fails, none of these rows and none of the rows written by ``names`` and ``rest`` are in the report.

    Args:
        db: connection after ``stage``, with rows in ``staged_*`` and no transaction open.
        names: writes ``range_name``, unless that was done before.
        rest: writes the other tables of the report, unless that was done before. It runs after the ranges are written,
            so the reader may free their rows.
    """
    # Before the transaction: DuckDB does not know the sizes of the tables of an open one, and plans badly.
    nesting.number_ranges(db)
    attribution.attribute_calls(db)
    _drop_tables(db, "event", "numbered", "thing", "around", "call", "by_thread", "loose", "covered", "by_process")
    db.execute("BEGIN")  # one commit: the file is worthless until it is complete
    try:
        names()
        _write_ranges(db)
        rest()
        _write_derived(db)
        diagnostics.finish(db)
    except BaseException:
        db.execute("ROLLBACK")  # empties the tables for another way to read the same file
        raise
    db.execute("COMMIT")


def _write_ranges(db: duckdb.DuckDBPyConnection) -> None:
    nesting.write_ranges(db)
    staging.forget(db, "range")
    _drop_tables(db, "opened", "parent", "path_of", "member", "found", "number", "further_range")


def _write_derived(db: duckdb.DuckDBPyConnection) -> None:
    db.execute(read_sql("calls.sql", "ingest.derive"))
    launches.find_launches(db)
    db.execute(read_sql("operations.sql", "ingest.derive"))
    for table in staging.DERIVED:
        staging.forget(db, table)
    _drop_tables(db, "call_at", "later_call")
    attribution.attribute_others(db)
    rejection.reject_rows(db)
    projection.sweep(db)
    projection.project(db)


def _drop_tables(db: duckdb.DuckDBPyConnection, *tables: str) -> None:
    """Free the memory of temporary tables."""
    for table in tables:
        db.execute(f"DROP TABLE IF EXISTS temp.{table}")
