"""Remove impossible rows, which would spoil every sum or make sums overflow 64 bits."""

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
    for table in INTERVALS:
        missing = "start_ns IS NULL" if table in ENDLESS else "start_ns IS NULL OR end_ns IS NULL"
        if count := _move_rows(db, table, f"{missing} OR end_ns < start_ns", "no time, or an end before their start"):
            _note_rejected(db, count, table, "impossible times")
        _reject_endless(db, table)
    for table in MOMENTS:
        if count := _move_rows(db, table, "time_ns IS NULL", "no time"):
            _note_rejected(db, count, table, "no possible time")


def _reject_endless(db: duckdb.DuckDBPyConnection, table: str) -> None:
    """Remove rows that make the sum of a table overflow: those longer than an equal share."""
    (total, rows) = db.execute(f"SELECT sum(end_ns - start_ns), count(*) FROM {table}").fetchone() or (0, 0)
    if (total or 0) > TOTAL:
        longest = TOTAL // rows
        count = _move_rows(db, table, f"end_ns - start_ns > {longest}", "a duration that no capture can have")
        _note_rejected(db, count, table, "impossible durations")


def _note_rejected(db: duckdb.DuckDBPyConnection, count: int, table: str, what: str) -> None:
    diagnostics.remember(db, "warning", f"{count:,} rows of {table} have {what} and are excluded everywhere.")


def _move_rows(db: duckdb.DuckDBPyConnection, table: str, condition: str, reason: str) -> int:
    (count,) = db.execute(f"SELECT count(*) FROM {table} WHERE {condition}").fetchone() or (0,)
    if count:
        db.execute(f"""
            INSERT INTO rejected_row
            SELECT {quote(table)}, {quote(reason)}, to_json(t) FROM {table} AS t WHERE {condition};
            DELETE FROM {table} WHERE {condition}
        """)
    return int(count)
