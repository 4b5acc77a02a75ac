"""Attribute calls to ranges, by their own thread and by the process.

By thread, as nsys does: a range holds the calls of its thread that neither start before it nor end after it. By
process, the innermost range open on a driving thread also holds the calls of the threads it drives: PyTorch launches a
backward pass from other threads while the main thread waits inside the range ``backward``. Libraries open ranges on any
thread (cuBLAS, CCCL), so a driven thread may have ranges of its own; its calls then count in both.
"""

import duckdb

from ingest.derive.innermost import place_calls, place_points
from profiledb.report.schema import count_rows

DRIVEN = "pt_autograd"
"""Starts of names of threads that never work for themselves. Other threads are driven if most calls have no range."""

_OF_DRIVER = 1 << 20
"""Offset of a driving thread's lanes, which come after those of the thread itself."""

_OTHERS = (
    ("osrt_call", "call_id", "start_ns", "end_ns"),
    ("mpi_call", "call_id", "start_ns", "end_ns"),
    ("openmp_event", "event_id", "start_ns", "start_ns"),  # nsys lets some end with the session, outside all ranges
    ("tensor_event", "event_id", "time_ns", "time_ns"),
)
"""Tables whose rows belong to ranges of their own thread: key, start and end."""

SAMPLE = 1000
"""Calls per thread that are examined to find its driving thread."""
MOST = 2_000_000
"""Most pairs of such a call and a lane of another thread; above this number, fewer of both are examined."""
FEWEST = 8
"""Lanes per process that are always examined."""


def attribute_calls(db: duckdb.DuckDBPyConnection) -> None:
    """Find the ranges of ``staged_api_call`` from the output of ``nesting.number_ranges``; write only temporary tables.

    Creates ``call_at`` (call_id, thread_range, process_range) with a row per call; ``further_range`` with the same
    columns for further ranges around calls where ranges cross; and ``driver``, the rows of the table thread_driver.
    """
    db.execute("""
        CREATE OR REPLACE TEMP TABLE lane AS
        SELECT tid, lane FROM span UNION SELECT tid, 0 FROM opened WHERE s = e AND end_tid IS NULL;
        CREATE OR REPLACE TEMP TABLE call AS
        SELECT call_id, global_tid AS tid, start_ns AS s, end_ns AS e FROM staged_api_call
        WHERE end_ns >= start_ns AND EXISTS (FROM lane);
        CREATE OR REPLACE TEMP VIEW own AS
        SELECT call_id AS thing, tid, lane, s, e FROM call JOIN lane USING (tid)
    """)
    place_calls(db, "own", "by_thread")
    place_points(db, "own", "by_thread")
    _find_drivers(db)
    db.execute("""
        CREATE OR REPLACE TEMP VIEW driven AS
        SELECT call_id AS thing, driver_tid AS tid, lane, s, e
        FROM call JOIN driver ON global_tid = call.tid JOIN lane ON lane.tid = driver_tid
    """)
    place_calls(db, "driven", "by_process")
    place_points(db, "driven", "by_process")
    _collect_lanes(db)


def attribute_others(db: duckdb.DuckDBPyConnection) -> None:
    """Set ``thread_range`` of OS and MPI calls, OpenMP events and tensor memory, by their own thread."""
    for table, key, start, end in _OTHERS:
        if not count_rows(db, table):
            continue
        db.execute(f"""
            CREATE OR REPLACE TEMP VIEW other AS
            SELECT {key} AS thing, global_tid AS tid, lane, {start} AS s, {end} AS e
            FROM {table} JOIN lane ON lane.tid = global_tid
        """)
        if place_calls(db, "other", "by_thread"):
            db.execute(f"""
                UPDATE {table} SET thread_range = pre
                FROM (SELECT thing, arg_min(pre, lane) AS pre FROM by_thread GROUP BY thing) WHERE thing = {key}
            """)


def _find_drivers(db: duckdb.DuckDBPyConnection) -> None:
    """Find the thread that drives another one: the thread of its process with a range open during most of its calls.

    No thread drives the main thread, whose id is that of the process. Among equal candidates the main thread wins, then
    the smallest id.
    """
    db.execute(f"""
        CREATE OR REPLACE TEMP TABLE loose AS
        WITH named AS (
            SELECT DISTINCT global_tid AS tid FROM staged_thread WHERE starts_with(name, '{DRIVEN}')
        ), helper AS (
            SELECT tid, greatest(1, count(*) // {SAMPLE}) AS every,
                count(*) FILTER (call_id IN (SELECT thing FROM by_thread)) AS own, count(*) AS calls
            FROM call WHERE tid & 16777215 <> (tid // 16777216) & 16777215 GROUP BY tid
        )
        SELECT row_number() OVER () AS number, call_id, tid, s, e FROM call JOIN helper USING (tid)
        WHERE call_id % every = 0 AND (own * 2 < calls OR tid IN (FROM named));
        CREATE OR REPLACE TEMP TABLE driving AS FROM lane
    """)
    _thin_out(db)
    db.execute("""
        CREATE OR REPLACE TEMP VIEW candidate AS
        SELECT loose.number * 4294967296 + rank AS thing, lane.tid, lane.lane, s, e, loose.tid AS helper, call_id
        FROM loose JOIN (SELECT *, dense_rank() OVER (ORDER BY tid) AS rank FROM driving) AS lane
            ON lane.tid // 16777216 = loose.tid // 16777216 AND lane.tid <> loose.tid
    """)
    place_calls(db, "candidate", "covered")
    place_points(db, "candidate", "covered")
    db.execute("""
        CREATE OR REPLACE TEMP TABLE driver AS
        WITH cover AS (
            SELECT helper, tid, count(DISTINCT call_id) AS calls
            FROM (SELECT DISTINCT thing, helper, tid, call_id FROM candidate) SEMI JOIN covered USING (thing)
            GROUP BY helper, tid
        )
        SELECT helper AS global_tid,
            arg_max(tid, (calls, tid & 16777215 = (tid // 16777216) & 16777215, -tid)) AS driver_tid,
            100.0 * max(calls) / (SELECT count(*) FROM loose WHERE loose.tid = helper)
        FROM cover GROUP BY helper
    """)


def _thin_out(db: duckdb.DuckDBPyConnection) -> None:
    """Reduce the calls (``loose``) and threads (``driving``, those with the most ranges) if there are thousands of
    either."""
    (pairs,) = db.execute("""
        SELECT coalesce(sum(calls.n * lanes.n), 0)
        FROM (SELECT tid // 16777216 AS process, count(*) AS n FROM loose GROUP BY ALL) AS calls
        JOIN (SELECT tid // 16777216 AS process, count(*) AS n FROM driving GROUP BY ALL) AS lanes USING (process)
    """).fetchone() or (0,)
    if pairs <= MOST:
        return
    db.execute(f"""
        CREATE OR REPLACE TEMP TABLE loose AS
        SELECT * FROM loose QUALIFY row_number() OVER (PARTITION BY tid ORDER BY call_id) % {pairs // MOST + 1} = 1;
        CREATE OR REPLACE TEMP TABLE driving AS
        SELECT tid, lane FROM lane JOIN (SELECT tid, count(*) AS ranges FROM span GROUP BY tid) USING (tid)
        QUALIFY row_number() OVER (
            PARTITION BY tid // 16777216
            ORDER BY tid & 16777215 = (tid // 16777216) & 16777215 DESC, ranges DESC, tid, lane
        ) <= greatest({FEWEST}, {MOST} // (SELECT count(*) FROM loose))
    """)


def _collect_lanes(db: duckdb.DuckDBPyConnection) -> None:
    """Put one row per call into ``call_at``, that of its first lane, and the others into ``further_range``."""
    db.execute(f"""
        CREATE OR REPLACE TEMP TABLE call_at AS
        SELECT thing AS call_id, lane, pre AS thread_range, pre AS process_range FROM by_thread
        UNION ALL SELECT thing, lane + {_OF_DRIVER}, NULL, pre FROM by_process;
        CREATE OR REPLACE TEMP TABLE further_range AS FROM call_at LIMIT 0
    """)
    several = "SELECT 1 FROM by_thread WHERE lane > 0 UNION ALL SELECT 1 FROM by_process WHERE lane > 0"
    if not db.execute(
        f"{several} UNION ALL SELECT 1 FROM by_process SEMI JOIN by_thread USING (thing) LIMIT 1"
    ).fetchone():
        return
    db.execute("""
        CREATE OR REPLACE TEMP TABLE first_lane AS SELECT call_id, min(lane) AS lane FROM call_at GROUP BY call_id;
        CREATE OR REPLACE TEMP TABLE further_range AS FROM call_at ANTI JOIN first_lane USING (call_id, lane);
        CREATE OR REPLACE TEMP TABLE call_at AS FROM call_at SEMI JOIN first_lane USING (call_id, lane)
    """)
