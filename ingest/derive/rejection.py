"""Remove impossible rows, which would spoil every sum or make sums overflow 64 bits."""

from collections.abc import Mapping

import duckdb

from ingest import diagnostics
from profiledb.report.schema import quote

INTERVALS = (
    *("kernel", "memop", "api_call", "range", "sync", "osrt_call", "mpi_call", "graph_launch"),
    *("openacc_event", "openmp_event", "um_gpu_page_fault", "profiler_overhead", "python_call"),
)
"""Tables of intervals, whose end must not precede their start."""

ENDLESS = ("mpi_call",)
"""Intervals whose end the export may not know: work that hung when the capture ended is worth showing."""

MOMENTS = ("mark", "memory_event", "um_cpu_page_fault", "sched_event", "cpu_sample", "python_sample",
           "tensor_event")  # fmt: skip
"""Tables of events at one moment."""

TOTAL = 1 << 61
"""Longest sum of a table's durations in ns: 73 years, so that sums over a few tables fit 64 bits."""


def reject_rows(db: duckdb.DuckDBPyConnection) -> None:
    """Move impossible rows to ``rejected_row`` and note their number."""
    wrong = {
        table: f"start_ns IS NULL{'' if table in ENDLESS else ' OR end_ns IS NULL'} OR end_ns < start_ns"
        for table in INTERVALS
    } | dict.fromkeys(MOMENTS, "time_ns IS NULL")
    for table, count, total, rows in _measure_tables(db, wrong):
        if count and table in INTERVALS:
            _move_rows(db, table, wrong[table], "no time, or an end before their start")
            _note_rejected(db, count, table, "impossible times")
        elif count:
            _move_rows(db, table, wrong[table], "no time")
            _note_rejected(db, count, table, "no possible time")
        if total > TOTAL:
            _reject_endless(db, table, TOTAL // (rows - count))


def _measure_tables(db: duckdb.DuckDBPyConnection, wrong: Mapping[str, str]) -> list[tuple[str, int, int, int]]:
    """Return of each table its name, the number of wrong rows, the sum of the durations of all others, and the number
    of all rows. One statement reads all tables, because most of them are empty and a statement takes longer."""
    totals = {table: f"sum(CASE WHEN {wrong[table]} THEN 0 ELSE end_ns - start_ns END)" for table in INTERVALS}
    measures = [
        f"SELECT {quote(table)}, count_if({condition}), coalesce({totals.get(table, '0')}, 0), count(*) FROM {table}"
        for table, condition in wrong.items()
    ]
    return db.execute(" UNION ALL ".join(measures)).fetchall()


def _reject_endless(db: duckdb.DuckDBPyConnection, table: str, longest: int) -> None:
    """Remove rows that make the sum of a table overflow: those longer than an equal share."""
    condition = f"end_ns - start_ns > {longest}"
    (count,) = db.execute(f"SELECT count(*) FROM {table} WHERE {condition}").fetchone() or (0,)
    if count:
        _move_rows(db, table, condition, "a duration that no capture can have")
    _note_rejected(db, count, table, "impossible durations")


def _note_rejected(db: duckdb.DuckDBPyConnection, count: int, table: str, what: str) -> None:
    diagnostics.remember(db, "warning", f"{count:,} rows of {table} have {what} and are excluded everywhere.")


def _move_rows(db: duckdb.DuckDBPyConnection, table: str, condition: str, reason: str) -> None:
    db.execute(f"""
        INSERT INTO rejected_row
        SELECT {quote(table)}, {quote(reason)}, to_json(t) FROM {table} AS t WHERE {condition};
        DELETE FROM {table} WHERE {condition}
    """)
