"""Where a reader puts the rows from which something is derived: ``staged_kernel`` and others, as plain as they come.

They have the names and columns of the tables of a report (profiledb/report/schema*.sql), less the columns that are
derived. A reader inserts into them, or drops one and puts a temporary view of that name in its place, so that millions
of rows are read where they lie and written once, complete. Columns that a view leaves out are NULL; none may lack:

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
from profiledb.report.schema import tables

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
"""Tables that are staged, and of each the columns that are derived."""
ID_BITS = 24
"""Binary digits of the id of a thread, and of a process, in a global id."""

_CUT = """
    CREATE OR REPLACE TEMP MACRO cut(long, most) AS
    CASE WHEN length(long) > most THEN long[:most] || ' [cut]' ELSE long END
"""


def stage(db: duckdb.DuckDBPyConnection) -> None:
    """Prepares a connection that writes a report: empty tables ``staged_*``, the macro ``cut``, and how DuckDB plans.

    What an earlier attempt at the same report staged, and had to say (remarks), is forgotten.
    """
    db.execute("SET preserve_insertion_order = false")  # ids keep the order; insisting on it takes one core only
    db.execute("SET asof_loop_join_threshold = 0")  # tables of a transaction look so small that loops would be chosen
    db.execute(_CUT)
    diagnostics.start(db)
    for table in DERIVED:
        forget(db, table)
    db.execute(";".join(_empty(table, derived) for table, derived in DERIVED.items()))


def _empty(table: str, derived: frozenset[str]) -> str:
    plain = (column for column in tables()[table].columns if column.name not in derived)
    return f"CREATE TEMP TABLE {PREFIX}{table} ({', '.join(f'{column.name} {column.type}' for column in plain)})"


def forget(db: duckdb.DuckDBPyConnection, table: str) -> None:
    """Drops what stands staged for a table, be it rows or a view."""
    for kind in ("VIEW", "TABLE"):
        with suppress(duckdb.CatalogException):  # it is of the other kind; to look that up takes 4 ms each time
            db.execute(f"DROP {kind} IF EXISTS temp.{PREFIX}{table}")


def global_tid(pid: int, tid: int) -> int:
    """The global id of a thread; with 0 as the thread, that of a process.

    Args:
        pid: process id of the operating system; two machines in one report need different ones.
        tid: thread id of the operating system; that of a main thread is the id of its process.
    """
    low = (1 << ID_BITS) - 1
    return (pid & low) << ID_BITS | tid & low
