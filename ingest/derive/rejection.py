"""Takes out rows that cannot be: they would spoil every sum, or the sums would be no numbers of 64 bits any more."""

import duckdb

from ingest import diagnostics
from profiledb.report.schema import quote

INTERVALS = (
    *("kernel", "memop", "api_call", "range", "sync", "osrt_call", "mpi_call", "graph_launch"),
    *("openacc_event", "openmp_event", "um_gpu_page_fault", "profiler_overhead", "python_call"),
)
"""Tables of things that last: none may end before it begins."""

ENDLESS = ("mpi_call",)
"""Those of which the export may know no end: what hung when the capture ended is worth seeing."""

MOMENTS = ("mark", "memory_event", "um_cpu_page_fault", "sched_event", "cpu_sample", "python_sample",
           "tensor_event")  # fmt: skip
"""Tables of things that happen at a time."""

TOTAL = 1 << 61
"""What the durations of a table may come to, in ns: 73 years. Sums over a few tables are then numbers of 64 bits."""


def reject(db: duckdb.DuckDBPyConnection) -> None:
    """Moves impossible rows to ``rejected_row``, and says how many they are."""
    for table in INTERVALS:
        missing = "start_ns IS NULL" if table in ENDLESS else "start_ns IS NULL OR end_ns IS NULL"
        if count := _move(db, table, f"{missing} OR end_ns < start_ns", "no time, or an end before their start"):
            _tell(db, count, table, "impossible times")
        _reject_endless(db, table)
    for table in MOMENTS:
        if count := _move(db, table, "time_ns IS NULL", "no time"):
            _tell(db, count, table, "no possible time")


def _reject_endless(db: duckdb.DuckDBPyConnection, table: str) -> None:
    """Takes out rows that last so long that the sum of a table overflows: none lasts longer than an equal share."""
    (total, rows) = db.execute(f"SELECT sum(end_ns - start_ns), count(*) FROM {table}").fetchone() or (0, 0)
    if (total or 0) > TOTAL:
        longest = TOTAL // rows
        count = _move(db, table, f"end_ns - start_ns > {longest}", "a duration that no capture can have")
        _tell(db, count, table, "impossible durations")


def _tell(db: duckdb.DuckDBPyConnection, count: int, table: str, what: str) -> None:
    diagnostics.remember(db, "warning", f"{count:,} rows of {table} have {what} and are excluded everywhere.")


def _move(db: duckdb.DuckDBPyConnection, table: str, condition: str, reason: str) -> int:
    (count,) = db.execute(f"SELECT count(*) FROM {table} WHERE {condition}").fetchone() or (0,)
    if count:
        db.execute(f"""
            INSERT INTO rejected_row
            SELECT {quote(table)}, {quote(reason)}, to_json(t) FROM {table} AS t WHERE {condition};
            DELETE FROM {table} WHERE {condition}
        """)
    return int(count)
