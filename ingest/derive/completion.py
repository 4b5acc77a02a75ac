"""Completes a report from the rows that a reader staged: all that is derived, in one place and one transaction."""

from collections.abc import Callable

import duckdb

from ingest import diagnostics
from ingest.derive import attribution, launches, nesting, projection, rejection, staging
from profiledb.report.schema import read_sql


def _nothing() -> None:
    """What a reader does that has written everything else already."""


def complete(
    db: duckdb.DuckDBPyConnection, *, names: Callable[[], None] = _nothing, rest: Callable[[], None] = _nothing
) -> None:
    """Fills the staged tables of the report (staging.py), and ``range_path``, ``call_range``, ``thread_driver``,
    ``nccl_call``, ``rejected_row``, ``busy`` and ``projection``.

    Where it fails, nothing of it and of what ``names`` and ``rest`` wrote is in the report.

    Args:
        db: connection after ``stage``, with rows in ``staged_*`` and no transaction open.
        names: writes ``range_name``, unless that was done before.
        rest: writes the other tables of the report, unless that was done before; the ranges are written then, and the
            reader may give back what it kept for them.
    """
    # Before the transaction: DuckDB does not know how large the tables of an open one are, and plans badly.
    nesting.number(db)
    attribution.calls(db)
    _drop(db, "event", "numbered", "thing", "around", "call", "by_thread", "loose", "covered", "by_process")
    db.execute("BEGIN")  # one commit for all: the file is worthless until it is complete
    try:
        names()
        _write_ranges(db)
        rest()
        _write(db)
        diagnostics.finish(db)
    except BaseException:
        db.execute("ROLLBACK")  # leaves the tables empty, for another way to read the same file
        raise
    db.execute("COMMIT")


def _write_ranges(db: duckdb.DuckDBPyConnection) -> None:
    nesting.write(db)
    staging.forget(db, "range")
    _drop(db, "opened", "parent", "path_of", "member", "found", "number", "further_range")


def _write(db: duckdb.DuckDBPyConnection) -> None:
    db.execute(read_sql("calls.sql", "ingest.derive"))
    launches.find(db)
    db.execute(read_sql("operations.sql", "ingest.derive"))
    for table in staging.DERIVED:
        staging.forget(db, table)
    _drop(db, "call_at", "later_call")
    attribution.others(db)
    rejection.reject(db)
    projection.sweep(db)
    projection.project(db)


def _drop(db: duckdb.DuckDBPyConnection, *tables: str) -> None:
    """Gives the memory of temporary tables back."""
    for table in tables:
        db.execute(f"DROP TABLE IF EXISTS temp.{table}")
