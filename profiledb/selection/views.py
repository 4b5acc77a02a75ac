"""The views of a selection: the rows of each table that belong to it, named ``selected_`` and the table."""

from collections.abc import Sequence

import duckdb

from profiledb.selection.model import Selection

OPERATIONS = ("kernel", "memop", "graph_launch")
"""Tables of work on a GPU."""

CALLS = ("api_call", "osrt_call", "mpi_call", "openmp_event", "sync")
"""Tables of events on the host; GPU and stream do not restrict them."""

_BEGIN = "(SELECT coalesce(start_ns, 0) FROM capture_window)"
"""Start of the capture; the clock's zero if the capture states none and no GPU worked."""


def busy_sql(prefix: str = "") -> str:
    """Return SQL for the union of the intervals in which each GPU worked, by a sweep over starts.

    A busy interval starts where work starts after all earlier work has ended, and ends at the latest end of the work
    before
    the next one.

    Args:
        prefix: before the names of ``OPERATIONS``, for the work of a selection.
    """
    work = " UNION ALL ".join(f"SELECT device_id, start_ns, end_ns FROM {prefix}{table}" for table in OPERATIONS)
    return f"""
        WITH work AS ({work}), swept AS (
            SELECT *, max(end_ns) OVER (PARTITION BY device_id ORDER BY start_ns
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
            FROM work WHERE device_id IS NOT NULL
        )
        SELECT device_id, start_ns,
            coalesce(lead(reached) OVER (PARTITION BY device_id ORDER BY start_ns), last_ns) AS end_ns
        FROM swept JOIN (SELECT device_id, max(end_ns) AS last_ns FROM work GROUP BY device_id) USING (device_id)
        WHERE reached IS NULL OR start_ns > reached
    """


def collect_inside(cursor: duckdb.DuckDBPyConnection, instances: str, inside: str) -> None:
    """Create the temporary table ``inside`` (pre), for the content of the rows of a table, and a view ``inside_id``.

    ``inside`` has the numbers from pre to post of each row. The rows may be nested; the outermost ones then cover all.
    ``inside_id`` (range_id) has the rows and every range that one of them encloses, even if ranges cross.
    """
    cursor.execute(f"""
        CREATE OR REPLACE TEMP TABLE {inside}_outermost AS
        WITH swept AS (
            SELECT pre, post, max(post) OVER before AS reached FROM {instances}
            WINDOW before AS (ORDER BY pre, post ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        )
        SELECT pre, post FROM swept WHERE reached IS NULL OR pre > reached;
        CREATE OR REPLACE TEMP TABLE {inside} AS
        SELECT range.pre FROM range ASOF JOIN {inside}_outermost AS top ON range.pre >= top.pre
        WHERE range.pre <= top.post;
        CREATE OR REPLACE TEMP VIEW {inside}_id AS
        WITH around AS (
            SELECT global_tid, start_ns, max((end_ns, -start_ns, -range_id)) OVER until_here AS widest
            FROM range SEMI JOIN {instances} USING (range_id) WHERE end_global_tid IS NULL
            WINDOW until_here AS (PARTITION BY global_tid ORDER BY start_ns)
        )
        SELECT range_id FROM {instances}
        UNION SELECT range_id FROM range ASOF JOIN around USING (global_tid, start_ns)
        WHERE end_global_tid IS NULL AND (end_ns, -range.start_ns, -range_id) < widest
    """)


def create_views(
    cursor: duckdb.DuckDBPyConnection, selection: Selection, *, chosen: bool, skipped: bool, within: bool = False
) -> None:
    """Hide the views of the whole report (selected.sql) behind views of the selection, for this cursor only.

    Args:
        cursor: its temporary tables ``chosen_range`` and ``skipped_range`` hold range numbers as far as requested.
        selection: GPU, stream, times and mode.
        chosen: keep only the content of ``chosen_range``.
        skipped: exclude the content of ``skipped_range``.
        within: keep only the content of ``unit_range``, and only the time of ``unit``.
    """
    kept_tables = [name for name, asked in (("chosen_range", chosen), ("unit_range", within)) if asked]
    times = _times(selection)
    for table in OPERATIONS:
        _view(
            cursor,
            table,
            [*times, *_hardware(selection), *_range_conditions(table, selection.mode, kept_tables, skipped)],
        )
    for table in CALLS:
        mode = selection.mode if table == "api_call" else "thread"
        _view(
            cursor, table, [*times, *([] if table == "sync" else _range_conditions(table, mode, kept_tables, skipped))]
        )
    _view(cursor, "tensor_event", _tensor_conditions(selection, kept_tables, skipped))
    inside = [f"range_id IN (FROM {name}_id)" for name in kept_tables]
    inside += ["range_id NOT IN (FROM skipped_range_id)"] * skipped
    _view(cursor, "range", [*times, *inside])
    cursor.execute(f"CREATE OR REPLACE TEMP VIEW selected_busy AS {busy_sql('selected_')}")
    cursor.execute(_window_sql(selection, chosen=chosen, skipped=skipped, within=within))
    cursor.execute(_active_sql(selection, kept_tables, skipped))


def _view(cursor: duckdb.DuckDBPyConnection, table: str, conditions: list[str]) -> None:
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    cursor.execute(f"CREATE OR REPLACE TEMP VIEW selected_{table} AS SELECT * FROM {table} {where}")


def _times(selection: Selection, column: str = "start_ns") -> list[str]:
    conditions = [f"{column} >= {selection.from_ns} + {_BEGIN}"] if selection.from_ns is not None else []
    return conditions + ([f"{column} < {selection.to_ns} + {_BEGIN}"] if selection.to_ns is not None else [])


def _hardware(selection: Selection) -> list[str]:
    conditions = [f"device_id = {selection.device}"] if selection.device is not None else []
    return conditions + ([f"stream_id = {selection.stream}"] if selection.stream is not None else [])


def _range_conditions(table: str, mode: str, kept_tables: Sequence[str], skipped: bool) -> list[str]:
    """Return conditions on the innermost range of a row, and on further ranges around its call if some cross.

    Exclusion is by process in either mode, because a warm-up covers the threads that it drives.
    """
    column = f"{mode}_range"
    left_out = "thread_range" if table in ("osrt_call", "mpi_call", "openmp_event") else "process_range"

    def inside(name: str, column: str) -> str:
        own = f"coalesce({column} IN (FROM {name}), false)"
        if table not in (*OPERATIONS, "api_call"):
            return own
        further = f"call_id IN (SELECT call_id FROM call_range WHERE {column} IN (FROM {name}))"
        return f"({own} OR coalesce({further}, false))"

    return [inside(name, column) for name in kept_tables] + [f"NOT {inside('skipped_range', left_out)}"] * skipped


def _tensor_conditions(selection: Selection, kept_tables: Sequence[str], skipped: bool) -> list[str]:
    """Return conditions on allocations: moments on the host, of a GPU or the CPU, that streams do not restrict.

    By process, allocations of a driven thread belong to the open ranges of its driver, as calls do.
    """
    device = [f"(device_type = 0 OR device_id = {selection.device})"] if selection.device is not None else []
    inside = [
        f"(coalesce(thread_range IN (FROM {name}), false) OR event_id IN ({_driven_sql(name)}))"
        if selection.mode == "process"
        else f"coalesce(thread_range IN (FROM {name}), false)"
        for name in kept_tables
    ]
    gone = ["NOT coalesce(thread_range IN (FROM skipped_range), false)"] * skipped
    return [*_times(selection, "time_ns"), *device, *inside, *gone]


def _driven_sql(inside: str) -> str:
    """Return SQL for allocations on driven threads while their driver was in an outermost range of ``inside``."""
    return f"""
        SELECT event_id
        FROM (SELECT event_id, time_ns, driver_tid FROM tensor_event JOIN thread_driver USING (global_tid))
        ASOF JOIN (
            SELECT start_ns, end_ns, global_tid FROM range SEMI JOIN {inside}_outermost USING (pre)
        ) AS top ON top.global_tid = driver_tid AND time_ns >= start_ns WHERE time_ns <= end_ns
    """


def _window_sql(selection: Selection, *, chosen: bool, skipped: bool, within: bool) -> str:
    """Return the intervals that a selection covers: those of its ranges on the GPU without excluded ones.

    Of units, such as steps, it covers the time from the start of a range to the end of all its work.
    """
    low = f"{selection.from_ns} + {_BEGIN}" if selection.from_ns is not None else "start_ns"
    high = f"{selection.to_ns} + {_BEGIN}" if selection.to_ns is not None else "end_ns"
    source = _projected("chosen", selection.mode) if chosen else "SELECT start_ns, end_ns FROM capture_window"
    gone = _projected("skipped", "process") if skipped else "SELECT start_ns, end_ns FROM busy LIMIT 0"
    units = "FROM unit" if within else source
    return f"""
CREATE OR REPLACE TEMP VIEW selected_window AS
WITH edge AS (
    SELECT start_ns AS t, 1 AS kept, 0 AS gone, 0 AS units FROM ({source})
    UNION ALL SELECT end_ns, -1, 0, 0 FROM ({source})
    UNION ALL SELECT start_ns, 0, 1, 0 FROM ({gone}) UNION ALL SELECT end_ns, 0, -1, 0 FROM ({gone})
    UNION ALL SELECT start_ns, 0, 0, 1 FROM ({units}) UNION ALL SELECT end_ns, 0, 0, -1 FROM ({units})
), depth AS (
    SELECT t AS start_ns, lead(t) OVER (ORDER BY t) AS end_ns, sum(sum(kept)) OVER (ORDER BY t) AS kept,
        sum(sum(gone)) OVER (ORDER BY t) AS gone, sum(sum(units)) OVER (ORDER BY t) AS units
    FROM edge GROUP BY t
), piece AS (
    SELECT greatest(start_ns, {low}) AS start_ns, least(end_ns, {high}) AS end_ns
    FROM depth WHERE kept > 0 AND gone = 0 AND units > 0
), swept AS (
    SELECT *, (start_ns IS DISTINCT FROM lag(end_ns) OVER (ORDER BY start_ns))::INTEGER AS begins
    FROM piece WHERE end_ns > start_ns
), island AS (
    SELECT *, sum(begins) OVER (ORDER BY start_ns) AS island FROM swept
)
SELECT min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM island GROUP BY island
"""


def _active_sql(selection: Selection, kept_tables: Sequence[str], skipped: bool) -> str:
    """Return the intervals of the window from the first to the last operation of each GPU, whatever times are
    selected.
    """

    def work(table: str) -> str:
        conditions = [*_hardware(selection), *_range_conditions(table, selection.mode, kept_tables, skipped)]
        return f"SELECT device_id, start_ns, end_ns FROM {table} WHERE {' AND '.join(['true', *conditions])}"

    return f"""
CREATE OR REPLACE TEMP VIEW selected_active AS
WITH span AS (
    SELECT device_id, min(start_ns) AS low, max(end_ns) AS high FROM ({" UNION ALL ".join(map(work, OPERATIONS))})
    WHERE device_id IS NOT NULL GROUP BY device_id
)
SELECT device_id, greatest(start_ns, low) AS start_ns, least(end_ns, high) AS end_ns
FROM span JOIN selected_window ON start_ns < high AND end_ns > low
"""


def _projected(instances: str, mode: str) -> str:
    return f"SELECT start_ns, end_ns FROM projection SEMI JOIN {instances} USING (range_id) WHERE mode = '{mode}'"
