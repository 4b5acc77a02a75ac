"""Idle gaps of each GPU: their pieces by cause, and the longest gaps, stored so that no area has to read all."""

import duckdb

KEPT = 4_096
"""Gaps stored per lane, the longest."""

PIECES = """
CREATE OR REPLACE TEMP MACRO range_edge(threads, low, high) AS TABLE
SELECT NULL::BIGINT AS tid, NULL::VARCHAR AS kind, NULL::BIGINT AS t, NULL::BIGINT AS pre WHERE false;
CREATE OR REPLACE TEMP TABLE idle_piece AS
WITH piece AS (
    SELECT device_id AS device, gap_id, s, e, reason, function, (
            gap_id, reason, function
        ) IS DISTINCT FROM lag((gap_id, reason, function)) OVER (PARTITION BY device_id ORDER BY s) AS begins
    FROM selected_idle(2000, NULL)
), numbered AS (
    SELECT *, sum(begins::INTEGER) OVER (PARTITION BY device ORDER BY s) AS number FROM piece
)
SELECT device, min(s) AS start_ns, max(e) AS end_ns, 'idle-' || any_value(reason) AS class,
    concat_ws(' · ', replace(any_value(reason), 'host code', 'non-CUDA code'), any_value(function)) AS text,
    row_number() OVER (ORDER BY device, min(s)) AS ref, any_value(gap_id) AS gap
FROM numbered GROUP BY device, number
"""
"""Pieces of gaps by the host's activity, regardless of open ranges, so that no range is read."""

LONGEST = """
SELECT lane, min(s) AS s, max(e) AS e, arg_max(cause, (ns, cause)) AS cause, arg_max(during, (ns, cause)) AS during
FROM (
    SELECT lane, gap, cause, arg_max(text, (e - s, -s)) AS during, sum(e - s) AS ns, min(s) AS s, max(e) AS e
    FROM ({pieces}) GROUP BY lane, gap, cause
) GROUP BY lane, gap
"""
"""A query for whole gaps from their pieces (lane, gap, s, e, cause, text), each with the cause of its largest part."""


def write_gaps(db: duckdb.DuckDBPyConnection, origin: int) -> None:
    """Write the longest gaps of each lane of idle time."""
    db.execute(f"""
        CREATE OR REPLACE TEMP TABLE long_gap AS
        SELECT device, gap FROM idle_piece GROUP BY device, gap
        QUALIFY row_number() OVER (PARTITION BY device ORDER BY sum(end_ns - start_ns) DESC, min(start_ns)) <= {KEPT}
    """)
    pieces = f"""
        SELECT lane.id AS lane, gap, start_ns - {origin} AS s, end_ns - {origin} AS e, class AS cause, text
        FROM idle_piece AS piece SEMI JOIN long_gap USING (device, gap)
        JOIN (FROM t.lane WHERE kind = 'idle') AS lane ON lane.device IS NOT DISTINCT FROM piece.device
    """
    db.execute(f"INSERT INTO t.gap FROM ({LONGEST.format(pieces=pieces)}) ORDER BY lane, e - s DESC, s")
    db.execute("DROP TABLE long_gap")
