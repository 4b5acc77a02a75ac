"""What each range ran on the GPU: from the begin of its first operation to the end of its last one, in both modes.

An operation counts in every range around its call. It is added up where it is innermost, and the sums then go up from
range to range, so that no operation is joined with all its ranges.
"""

import duckdb

MODES = ("thread", "process")


def project(db: duckdb.DuckDBPyConnection) -> None:
    """Fills ``projection``; needs the operations, and ``nested`` of ``ranges.number``."""
    if not db.execute("SELECT 1 FROM nested LIMIT 1").fetchone():
        return
    db.execute("""
        CREATE OR REPLACE TEMP TABLE operation AS
        SELECT call_id, thread_range, process_range, device_id, start_ns, end_ns, end_ns - start_ns AS kernel_ns
        FROM kernel
        UNION ALL SELECT call_id, thread_range, process_range, device_id, start_ns, end_ns, 0 FROM memop
        UNION ALL SELECT call_id, thread_range, process_range, device_id, start_ns, end_ns, 0 FROM graph_launch;
        CREATE OR REPLACE TEMP TABLE shared AS  -- operations during which another one ran on the same GPU
        SELECT * FROM operation
        WINDOW by_time AS (PARTITION BY device_id ORDER BY start_ns)
        QUALIFY start_ns < max(end_ns) OVER (by_time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
            OR end_ns > lead(start_ns) OVER by_time
    """)
    (deepest,) = db.execute("SELECT max(depth) FROM nested").fetchone() or (0,)
    launches = _launches(db)
    for mode in MODES:
        db.execute(f"CREATE OR REPLACE TEMP TABLE part AS {_sums(mode, launches)}")
        db.execute(f"CREATE OR REPLACE TEMP TABLE shared_in AS FROM ({_held(mode, 'shared')}) JOIN nested USING (pre)")
        db.execute("CREATE OR REPLACE TEMP TABLE twice (pre BIGINT, ns BIGINT)")
        for depth in range(deepest, 0, -1):
            _add_upwards(db, depth)
        _write(db, mode)


def _launches(db: duckdb.DuckDBPyConnection) -> str:
    """SQL that counts calls; where each call launched one operation, as usual, that is a count of rows."""
    query = "SELECT count(call_id) = count(DISTINCT call_id) FROM operation"
    return "count(*)" if db.execute(query).fetchone() == (True,) else "count(DISTINCT call_id)"


def _held(mode: str, operations: str) -> str:
    """Operations with each innermost range (``pre``) around their call."""
    columns = "call_id, device_id, start_ns, end_ns, kernel_ns"
    return f"""
        SELECT {mode}_range AS pre, {columns} FROM {operations} WHERE {mode}_range IS NOT NULL
        UNION ALL
        SELECT further.{mode}_range, {columns} FROM call_range AS further JOIN {operations} USING (call_id)
        WHERE further.{mode}_range IS NOT NULL
    """


def _sums(mode: str, launches: str) -> str:
    return f"""
        SELECT pre, min(start_ns) AS start_ns, max(end_ns) AS end_ns, {launches} AS launches, count(*) AS operations,
            sum(end_ns - start_ns)::BIGINT AS operation_ns, sum(kernel_ns)::BIGINT AS kernel_ns
        FROM ({_held(mode, "operation")}) GROUP BY pre
    """


def _add_upwards(db: duckdb.DuckDBPyConnection, depth: int) -> None:
    """Adds the ranges of one depth to those around them, and collects the time that operations in them share."""
    db.execute(f"""
        INSERT INTO part
        SELECT parent_pre, min(start_ns), max(end_ns), sum(launches)::BIGINT, sum(operations)::BIGINT,
            sum(operation_ns)::BIGINT, sum(kernel_ns)::BIGINT
        FROM part JOIN nested USING (pre) WHERE depth = {depth} AND parent_pre IS NOT NULL GROUP BY parent_pre;
        INSERT INTO twice
        SELECT pre, sum(greatest(0, least(end_ns, reached) - start_ns))::BIGINT
        FROM (
            SELECT pre, start_ns, end_ns, max(end_ns) OVER (
                PARTITION BY pre, device_id ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS reached
            FROM shared_in WHERE depth = {depth}
        )
        WHERE reached > start_ns GROUP BY pre;
        CREATE OR REPLACE TEMP TABLE shared_in AS
        SELECT * FROM shared_in WHERE depth < {depth}
        UNION ALL BY NAME
        SELECT device_id, start_ns, end_ns, nested.* FROM shared_in AS one JOIN nested ON nested.pre = one.parent_pre
        WHERE one.depth = {depth}
    """)


def _write(db: duckdb.DuckDBPyConnection, mode: str) -> None:
    db.execute(f"""
        INSERT INTO projection BY NAME
        WITH total AS (
            SELECT pre, min(start_ns) AS start_ns, max(end_ns) AS end_ns, sum(launches)::BIGINT AS launches,
                sum(operations)::BIGINT AS operations, sum(operation_ns)::BIGINT AS operation_ns,
                sum(kernel_ns)::BIGINT AS kernel_ns
            FROM part GROUP BY pre
        )
        SELECT '{mode}' AS mode, id AS range_id, total.start_ns, total.end_ns, launches, operations, operation_ns,
            kernel_ns, operation_ns - coalesce(twice.ns, 0) AS busy_ns
        FROM total JOIN nested USING (pre) LEFT JOIN twice USING (pre)
    """)
