"""Staged tables, ``staged_kernel`` and others: a reader's plain rows, from which the rest of a report is derived.

They have the names and columns of the tables of a report (profiledb/report/schema*.sql) without the derived columns. A
reader inserts rows, or replaces a table by a temporary view of that name, so that millions of rows are read in place
and written once, complete. Columns missing in a view are NULL; these must be present:

- range: range_id, start_ns, end_ns, style, name_id, global_tid, end_global_tid
- api_call: call_id, start_ns, end_ns, global_tid, correlation_id
- kernel, memop, graph_launch: correlation_id, global_pid
- osrt_call, mpi_call: call_id, start_ns, end_ns, global_tid
- openmp_event: event_id, start_ns, end_ns, global_tid
- thread: global_tid, name, priority

Ids are unique and count from 1 in the order of the file. An operation belongs to the call of its process with its
correlation id.
"""

from contextlib import suppress

import duckdb

from ingest import diagnostics
from profiledb.report.schema import read_tables

PREFIX = "staged_"
_OF_OPERATION = frozenset({"call_id", "thread_range", "process_range"})
DERIVED = {
    "range": frozenset({"parent_id", "level", "path_id", "pre", "post", "outer_pre"}),
    "api_call": frozenset({"thread_range", "process_range"}),
    "kernel": _OF_OPERATION,
    "memop": _OF_OPERATION,
    "graph_launch": _OF_OPERATION,
    "osrt_call": frozenset({"thread_range"}),
    "mpi_call": frozenset({"thread_range"}),
    "openmp_event": frozenset({"thread_range"}),
    "thread": frozenset({"global_pid", "pid", "tid"}),
}
"""Staged tables with the columns that are derived."""
ID_BITS = 24
"""Binary digits of a thread's and of a process's id in a global id."""

_CUT = """
    CREATE OR REPLACE TEMP MACRO cut(long, most) AS
    CASE WHEN length(long) > most THEN long[:most] || ' [cut]' ELSE long END
"""


def stage(db: duckdb.DuckDBPyConnection) -> None:
    """Prepare a connection that writes a report: empty tables ``staged_*``, the macro ``cut``, and settings of DuckDB's
    planner.

    Rows and remarks of an earlier attempt at the same report are dropped.
    """
    db.execute(
        "SET preserve_insertion_order = false"
    )  # ids keep the order; preserving it would limit DuckDB to one core
    db.execute(
        "SET asof_loop_join_threshold = 0"
    )  # tables of a transaction look so small that DuckDB would choose loops
    db.execute(_CUT)
    diagnostics.start(db)
    for table in DERIVED:
        forget(db, table)
    db.execute(";".join(_clear_tables(table, derived) for table, derived in DERIVED.items()))


def _clear_tables(table: str, derived: frozenset[str]) -> str:
    plain = (column for column in read_tables()[table].columns if column.name not in derived)
    return f"CREATE TEMP TABLE {PREFIX}{table} ({', '.join(f'{column.name} {column.type}' for column in plain)})"


def forget(db: duckdb.DuckDBPyConnection, table: str) -> None:
    """Drop the staged rows or view of a table."""
    for kind in ("VIEW", "TABLE"):
        with suppress(duckdb.CatalogException):  # it is a table or a view; looking that up takes 4 ms each time
            db.execute(f"DROP {kind} IF EXISTS temp.{PREFIX}{table}")
