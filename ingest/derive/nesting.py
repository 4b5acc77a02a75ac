"""Number the ranges as nested sets, find the range around each, and write them.

Ranges of a thread usually nest, and one window over their edges numbers them all (nest.sql). If ranges of a thread
cross, as start/end ranges may, they are spread over lanes within which they nest.
"""

import duckdb

from ingest import diagnostics
from ingest.derive import lanes, paths
from ingest.derive.innermost import forget_leaps, place_calls, select_ending_at
from profiledb.report.schema import count_rows, read_sql


def number_ranges(db: duckdb.DuckDBPyConnection) -> None:
    """Number the ranges of ``staged_range`` and find their parents; write only temporary tables.

    Creates ``span`` (ranges that hold calls), ``nested`` and ``timeline`` (nest.sql) for ``innermost.place_calls``, and
    ``number`` and ``parent`` of all ranges. A range that ends on another thread, or before it starts, holds nothing;
    one of zero length holds at most calls of zero length. A range that crosses so many others that no lane is left for
    it holds nothing, too; ``beyond`` (id) lists these.
    """
    forget_leaps(db)
    db.execute("""
        CREATE OR REPLACE TEMP TABLE opened AS
        SELECT range_id AS id, global_tid AS tid, start_ns AS s, end_ns AS e, style = 'PushPop' AS pushed,
            end_global_tid AS end_tid, name_id
        FROM staged_range;
        CREATE OR REPLACE TEMP TABLE beyond (id BIGINT);
        CREATE OR REPLACE TEMP TABLE span AS
        SELECT id, tid, 0 AS lane, s, e, pushed FROM opened
        WHERE end_tid IS NULL AND tid IS NOT NULL AND e > s
    """)
    nest = read_sql("nest.sql", "ingest.derive")
    db.execute(nest)
    if lanes.spread_lanes(db):
        db.execute(nest)
    _find_parents(db)
    db.execute("""
        CREATE OR REPLACE TEMP TABLE number AS
        SELECT id, pre, post, parent_pre FROM nested
        UNION ALL
        SELECT id, before + row_number() OVER (ORDER BY id) AS pre, pre, NULL
        FROM opened ANTI JOIN nested USING (id) CROSS JOIN (SELECT count(*) AS before FROM nested)
    """)


def write_ranges(db: duckdb.DuckDBPyConnection) -> None:
    """Fill the tables of ranges from the output of ``number_ranges`` and ``attribution.attribute_calls``, and note
    left-out ranges.

    Needs ``range_name``.
    """
    deep = paths.find_paths(db)
    db.execute(read_sql("write_ranges.sql", "ingest.derive"))
    if deep:
        text = f"{deep:,} ranges are nested more than {paths.DEEPEST} deep."
        diagnostics.remember(db, "warning", f"{text} Their paths skip the ranges in between (…).")
    if count := count_rows(db, "beyond"):
        text = f"{count:,} ranges cross too many others of their thread."
        diagnostics.remember(db, "warning", f"{text} They are listed with their times but contain nothing.")


def _find_parents(db: duckdb.DuckDBPyConnection) -> None:
    """Create the table ``parent``: the tightest range around each on its thread, whatever its lane."""
    db.execute("""
        CREATE OR REPLACE TEMP TABLE parent AS SELECT id, parent_id FROM nested;
        CREATE OR REPLACE TEMP TABLE thing AS
        SELECT id AS thing, span.tid, other.lane, s, e
        FROM span JOIN (SELECT DISTINCT tid, lane FROM span) AS other
            ON other.tid = span.tid AND other.lane <> span.lane
    """)
    if place_calls(db, "thing", "around", among_ranges=True):
        db.execute("""
            CREATE OR REPLACE TEMP TABLE parent AS
            SELECT id, arg_min(holder, (slack, -holder)) AS parent_id
            FROM (
                SELECT one.id, up.id AS holder, (one.s - up.s) + (up.e - one.e) AS slack
                FROM nested AS one LEFT JOIN nested AS up ON up.id = one.parent_id
                UNION ALL
                SELECT thing, up.id, (span.s - up.s) + (up.e - span.e)
                FROM around JOIN nested AS up USING (pre) JOIN span ON span.id = thing
            )
            GROUP BY id
        """)
    _find_parents_of_points(db)
    db.execute("INSERT INTO parent SELECT id, NULL FROM opened ANTI JOIN parent USING (id)")


def _find_parents_of_points(db: duckdb.DuckDBPyConnection) -> None:
    """Find the parents of ranges of zero length: the previous one at the same moment, else the shortest range around,
    which may touch the moment or still be open."""
    db.execute("""
        CREATE OR REPLACE TEMP TABLE point AS
        SELECT id AS thing, tid, s AS t, lag(id) OVER (PARTITION BY tid, s ORDER BY id) AS before
        FROM opened WHERE e = s AND end_tid IS NULL AND tid IS NOT NULL
    """)
    if not db.execute("SELECT 1 FROM point LIMIT 1").fetchone():
        return
    db.execute(f"""
        INSERT INTO parent SELECT thing, before FROM point WHERE before IS NOT NULL;
        CREATE OR REPLACE TEMP TABLE point AS
        SELECT thing, tid, lane, t FROM point JOIN (SELECT DISTINCT tid, lane FROM span) USING (tid)
        WHERE before IS NULL;
        INSERT INTO parent
        SELECT thing, arg_min(r.id, (r.e - r.s, -r.id))
        FROM (
            SELECT one.thing, r.pre FROM point AS one ASOF JOIN timeline AS r
                ON r.tid = one.tid AND r.lane = one.lane AND one.t >= r.t
            UNION ALL SELECT thing, pre FROM ({select_ending_at("point")})
        ) JOIN nested AS r USING (pre)
        GROUP BY thing;
        DROP TABLE point
    """)
