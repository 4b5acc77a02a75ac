"""The views of a selection: the rows of each table that belong to it, named ``selected_`` and the table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from profiledb.report.schema import quote
from profiledb.selection.model import Selection

OPERATIONS = ("kernel", "memop", "graph_launch")
"""Tables of work on a GPU."""

CALLS = ("api_call", "osrt_call", "mpi_call", "openmp_event", "sync")
"""Tables of events on the host; GPU and stream do not restrict them."""

_RARE = ("graph_launch", "mpi_call", "openmp_event", "tensor_event")
"""Tables that are empty in most reports."""

_BEGIN = "SELECT coalesce(start_ns, 0) FROM capture_window"
"""Start of the capture; the clock's zero if the capture states none and no GPU worked."""
_FEW = 16
"""Most stretches of range numbers that conditions name instead of looking each number up."""


@dataclass(frozen=True)
class Content:
    """The content of some instances of ranges, on one cursor.

    Args:
        name: of the temporary tables ``name`` (pre), if the stretches are many, ``name_outermost`` (pre, post) and
            ``name_id`` (range_id).
        stretches: the range numbers inside, as first and last numbers; None if they are many.
    """

    name: str
    stretches: tuple[tuple[int, int], ...] | None

    def holds(self, column: str) -> str:
        """Return the condition that a range number lies inside; never NULL."""
        if self.stretches is None:
            return f"coalesce({column} IN (FROM {self.name}), false)"
        within = " OR ".join(f"{column} BETWEEN {first} AND {last}" for first, last in self.stretches)
        return f"coalesce({within or 'false'}, false)"


def build_busy_sql(prefix: str = "") -> str:
    """Return SQL for the union of the intervals in which each GPU worked, by a sweep over starts.

    A busy interval starts where work starts after all earlier work has ended, and ends at the latest end of the work
    before the next one.

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


def collect_content(cursor: duckdb.DuckDBPyConnection, instances: str) -> Content:
    """Collect the content of the rows of the table ``instances`` in temporary tables named after it.

    The rows may be nested; the outermost ones then cover all. ``*_id`` has the rows and every range that one of them
    encloses, even if ranges cross.
    """
    inside = f"{instances}_range"
    cursor.execute(f"""
        CREATE OR REPLACE TEMP TABLE {inside}_outermost AS
        WITH swept AS (
            SELECT pre, post, max(post) OVER before AS reached FROM {instances}
            WINDOW before AS (ORDER BY pre, post ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        )
        SELECT pre, post FROM swept WHERE reached IS NULL OR pre > reached;
        CREATE OR REPLACE TEMP TABLE {inside}_id AS
        WITH around AS (
            SELECT global_tid, start_ns, max((end_ns, -start_ns, -range_id)) OVER until_here AS widest
            FROM range SEMI JOIN {instances} USING (range_id) WHERE end_global_tid IS NULL
            WINDOW until_here AS (PARTITION BY global_tid ORDER BY start_ns)
        )
        SELECT range_id FROM {instances}
        UNION SELECT range_id FROM range ASOF JOIN around USING (global_tid, start_ns)
        WHERE end_global_tid IS NULL AND (end_ns, -range.start_ns, -range_id) < widest
    """)
    stretches = cursor.execute(f"""
        WITH swept AS (
            SELECT pre, post, coalesce(pre > lag(post) OVER (ORDER BY pre) + 1, true) AS begins FROM {inside}_outermost
        ), joined AS (  -- ranges that follow each other are one stretch
            SELECT pre, post, count_if(begins) OVER (ORDER BY pre) AS stretch FROM swept
        )
        SELECT min(pre), max(post) FROM joined GROUP BY stretch ORDER BY 1 LIMIT {_FEW + 1}
    """).fetchall()
    if len(stretches) <= _FEW:
        return Content(inside, tuple(stretches))
    cursor.execute(f"""
        CREATE OR REPLACE TEMP TABLE {inside} AS
        SELECT range.pre FROM range ASOF JOIN {inside}_outermost AS top ON range.pre >= top.pre
        WHERE range.pre <= top.post
    """)
    return Content(inside, None)


def create_views(
    cursor: duckdb.DuckDBPyConnection,
    selection: Selection,
    chosen: Content | None,
    skipped: Content | None,
    within: Content | None = None,
) -> None:
    """Hide the views of the whole report (selected.sql) behind views of the selection, for this cursor only.

    Args:
        cursor: the cursor.
        selection: GPU, stream, times and mode.
        chosen: keep only this content.
        skipped: exclude this content.
        within: keep only this content, and only the time of ``unit``.
    """
    included = [content for content in (chosen, within) if content]
    begin = _read_begin(cursor) if selection.from_ns is not None or selection.to_ns is not None else 0
    times = _build_time_conditions(selection, begin)
    crossed = _find_crossed(cursor, selection.mode, included, skipped)
    inside = {place: _build_range_conditions(*place, included, skipped, crossed) for place in _list_placed(selection)}
    for (_, table), conditions in inside.items():
        hardware = _build_hardware_conditions(selection) if table in OPERATIONS else []
        _create_view(cursor, table, [*times, *hardware, *conditions])
    _create_view(cursor, "sync", times)
    _create_view(cursor, "tensor_event", _build_tensor_conditions(selection, begin, included, skipped))
    joins = [f"SEMI JOIN {content.name}_id USING (range_id)" for content in included]
    joins += [f"ANTI JOIN {skipped.name}_id USING (range_id)"] if skipped else []
    _create_view(cursor, "range", times, joins)
    cursor.execute(f"CREATE OR REPLACE TEMP VIEW selected_busy AS {build_busy_sql('selected_')}")
    cursor.execute(_build_window_sql(selection, begin, chosen, skipped, within))
    work = {
        table: [*_build_hardware_conditions(selection), *inside[mode, table]]
        for mode, table in inside
        if table in OPERATIONS
    }
    cursor.execute(_build_active_sql(work))


def _list_placed(selection: Selection) -> list[tuple[str, str]]:
    """Return the tables whose rows belong to ranges, each after the mode of its attribution."""
    by_mode = {*OPERATIONS, "api_call"}
    return [
        (selection.mode if table in by_mode else "thread", table) for table in (*OPERATIONS, *CALLS) if table != "sync"
    ]


def _read_begin(cursor: duckdb.DuckDBPyConnection) -> int | None:
    row = cursor.execute(_BEGIN).fetchone()
    return row[0] if row else None


def _create_view(
    cursor: duckdb.DuckDBPyConnection, table: str, conditions: list[str], joins: Sequence[str] = ()
) -> None:
    conditions = [f"has_rows({quote(table)})", *conditions] if table in _RARE else conditions
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    cursor.execute(f"CREATE OR REPLACE TEMP VIEW selected_{table} AS SELECT * FROM {' '.join([table, *joins])} {where}")


def _build_time_sql(time_ns: int, begin: int | None) -> str:
    """Return a time of the capture on the report's clock; NULL without a begin."""
    return "NULL" if begin is None else str(time_ns + begin)


def _build_time_conditions(selection: Selection, begin: int | None, column: str = "start_ns") -> list[str]:
    conditions = [f"{column} >= {_build_time_sql(selection.from_ns, begin)}"] if selection.from_ns is not None else []
    return conditions + (
        [f"{column} < {_build_time_sql(selection.to_ns, begin)}"] if selection.to_ns is not None else []
    )


def _build_hardware_conditions(selection: Selection) -> list[str]:
    conditions = [f"device_id = {selection.device}"] if selection.device is not None else []
    return conditions + ([f"stream_id = {selection.stream}"] if selection.stream is not None else [])


def _find_crossed(
    cursor: duckdb.DuckDBPyConnection, mode: str, included: Sequence[Content], skipped: Content | None
) -> frozenset[str]:
    """Return those conditions on further ranges around calls (call_range) that hold for any call: few ranges cross."""
    asked = {content.holds(f"{mode}_range") for content in included}
    asked |= {skipped.holds(column) for column in ("process_range", "thread_range")} if skipped else set()
    return frozenset(
        one for one in asked if cursor.execute(f"SELECT 1 FROM call_range WHERE {one} LIMIT 1").fetchone() is not None
    )


def _build_range_conditions(
    mode: str, table: str, included: Sequence[Content], skipped: Content | None, crossed: frozenset[str]
) -> list[str]:
    """Return conditions on the innermost range of a row, and on further ranges around its call if some cross.

    Exclusion is by process in either mode, because a warm-up covers the threads that it drives.
    """
    column = f"{mode}_range"
    left_out = "thread_range" if table in ("osrt_call", "mpi_call", "openmp_event") else "process_range"

    def inside(content: Content, column: str) -> str:
        own = content.holds(column)
        if table not in (*OPERATIONS, "api_call"):
            return own
        if own not in crossed:
            return own
        return f"({own} OR coalesce(call_id IN (SELECT call_id FROM call_range WHERE {own}), false))"

    gone = [f"NOT {inside(skipped, left_out)}"] if skipped else []
    return [inside(content, column) for content in included] + gone


def _build_tensor_conditions(
    selection: Selection, begin: int | None, included: Sequence[Content], skipped: Content | None
) -> list[str]:
    """Return conditions on allocations: moments on the host, of a GPU or the CPU, that streams do not restrict.

    By process, allocations of a driven thread belong to the open ranges of its driver, as calls do.
    """
    device = [f"(device_type = 0 OR device_id = {selection.device})"] if selection.device is not None else []
    inside = [
        f"({content.holds('thread_range')} OR event_id IN ({_build_driven_sql(content.name)}))"
        if selection.mode == "process"
        else content.holds("thread_range")
        for content in included
    ]
    gone = [f"NOT {skipped.holds('thread_range')}"] if skipped else []
    return [*_build_time_conditions(selection, begin, "time_ns"), *device, *inside, *gone]


def _build_driven_sql(inside: str) -> str:
    """Return SQL for allocations on driven threads while their driver was in an outermost range of ``inside``."""
    return f"""
        SELECT event_id
        FROM (SELECT event_id, time_ns, driver_tid FROM tensor_event JOIN thread_driver USING (global_tid))
        ASOF JOIN (
            SELECT start_ns, end_ns, global_tid FROM range SEMI JOIN {inside}_outermost USING (pre)
        ) AS top ON top.global_tid = driver_tid AND time_ns >= start_ns WHERE time_ns <= end_ns
    """


def _build_window_sql(
    selection: Selection, begin: int | None, chosen: Content | None, skipped: Content | None, within: Content | None
) -> str:
    """Return the intervals that a selection covers: those of its ranges on the GPU without excluded ones.

    Of units, such as steps, it covers the time from the start of a range to the end of all its work.
    """
    low = _build_time_sql(selection.from_ns, begin) if selection.from_ns is not None else "start_ns"
    high = _build_time_sql(selection.to_ns, begin) if selection.to_ns is not None else "end_ns"
    covers = {"included": "SELECT start_ns, end_ns FROM capture_window"}
    if chosen:
        covers["included"] = _build_projected_sql("chosen", selection.mode)
    if skipped:
        covers["gone"] = _build_projected_sql("skipped", "process")
    if within:
        covers["units"] = "FROM unit"
    edges = " UNION ALL ".join(
        f"SELECT unnest([start_ns, end_ns]) AS t, unnest([1, -1]) AS step, '{kind}' AS kind FROM ({sql})"
        for kind, sql in covers.items()
    )
    depths = ", ".join(
        f"coalesce(sum(sum(step) FILTER (kind = '{kind}')) OVER (ORDER BY t), 0) AS {kind}" for kind in covers
    )
    holds = " AND ".join(f"{kind} = 0" if kind == "gone" else f"{kind} > 0" for kind in covers)
    return f"""
CREATE OR REPLACE TEMP VIEW selected_window AS
WITH edge AS (
    {edges}
), depth AS (
    SELECT t AS start_ns, lead(t) OVER (ORDER BY t) AS end_ns, {depths}
    FROM edge GROUP BY t
), piece AS (
    SELECT greatest(start_ns, {low}) AS start_ns, least(end_ns, {high}) AS end_ns
    FROM depth WHERE {holds}
), swept AS (
    SELECT *, (start_ns IS DISTINCT FROM lag(end_ns) OVER (ORDER BY start_ns))::INTEGER AS begins
    FROM piece WHERE end_ns > start_ns
), island AS (
    SELECT *, sum(begins) OVER (ORDER BY start_ns) AS island FROM swept
)
SELECT min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM island GROUP BY island
"""


def _build_active_sql(conditions: Mapping[str, Sequence[str]]) -> str:
    """Return the intervals of the window from the first to the last operation of each GPU, whatever times are
    selected.

    Args:
        conditions: conditions on the operations of each table.
    """

    def work(table: str) -> str:
        return f"SELECT device_id, start_ns, end_ns FROM {table} WHERE {' AND '.join(['true', *conditions[table]])}"

    return f"""
CREATE OR REPLACE TEMP VIEW selected_active AS
WITH span AS (
    SELECT device_id, min(start_ns) AS low, max(end_ns) AS high FROM ({" UNION ALL ".join(map(work, OPERATIONS))})
    WHERE device_id IS NOT NULL GROUP BY device_id
)
SELECT device_id, greatest(start_ns, low) AS start_ns, least(end_ns, high) AS end_ns
FROM span JOIN selected_window ON start_ns < high AND end_ns > low
"""


def _build_projected_sql(instances: str, mode: str) -> str:
    return f"SELECT start_ns, end_ns FROM projection SEMI JOIN {instances} USING (range_id) WHERE mode = '{mode}'"
