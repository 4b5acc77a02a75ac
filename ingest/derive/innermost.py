"""Find the innermost range around a call in every lane of a thread, exactly and without a join of all with all."""

import duckdb

from profiledb.report.schema import count_rows

MOMENT = 64
"""Ranges of zero length of a thread and moment that may hold other things of zero length."""


def place_calls(db: duckdb.DuckDBPyConnection, things: str, placed: str, *, among_ranges: bool = False) -> int:
    """Fill the temporary table ``placed`` (thing, lane, pre, holds): the innermost range of a lane that holds each
    thing.

    A range holds a thing that does not start before it and does not end after it. The timeline (nest.sql) tells the
    innermost range at a thing's start; if that range ends too early, ``climb_ranges`` finds the next one that does not.

    Args:
        things: table with the columns thing, tid, lane, s, e (ns): the things to place, and their lanes.
        placed: name of the new table.
        among_ranges: the things are ranges themselves (``thing`` is their id): of two with the same edges, the one with
            the smaller id holds the other.

    Returns:
        Number of rows in ``placed``.
    """
    if not db.execute(f"SELECT 1 FROM {things} LIMIT 1").fetchone():  # avoids sorting the timeline for nothing
        db.execute(f"CREATE OR REPLACE TEMP TABLE {placed} (thing BIGINT, lane INTEGER, pre BIGINT, holds BOOLEAN)")
        return 0
    holds = "r.e >= thing.e"
    if among_ranges:
        holds += " AND (r.s < thing.s OR r.e > thing.e OR r.id < thing.thing)"
    db.execute(f"""
        CREATE OR REPLACE TEMP TABLE {placed} AS
        SELECT thing.thing, thing.lane, r.pre, {holds} AS holds
        FROM {things} AS thing ASOF JOIN timeline AS r ON r.tid = thing.tid AND r.lane = thing.lane AND thing.s >= r.t
        WHERE r.pre > 0
    """)
    if db.execute(f"SELECT 1 FROM {placed} WHERE NOT holds LIMIT 1").fetchone():
        db.execute(f"""
            CREATE OR REPLACE TEMP TABLE outside AS
            SELECT thing.thing, thing.lane, one.pre, thing.s, thing.e
            FROM {placed} AS one JOIN {things} AS thing USING (thing, lane) WHERE NOT holds;
            DELETE FROM {placed} WHERE NOT holds
        """)
        climb_ranges(db, "outside", holds)
        db.execute(f"INSERT INTO {placed} SELECT thing, lane, pre, true FROM outside; DROP TABLE outside")
    return count_rows(db, placed)


def climb_ranges(db: duckdb.DuckDBPyConnection, things: str, holds: str) -> None:
    """Move each row of a table from a range that does not hold it to the next one around that does.

    Rows that no range holds are removed. All ranges around a range that holds a row hold it, too, so the steps double:
    one table of ranges per binary digit of the depth, each with twice the distance.

    Args:
        things: temporary table with the column ``pre`` of a range that does not hold the row.
        holds: SQL condition that a range ``r`` (a row of ``nested``) holds a row ``thing`` of the table.
    """
    for power in reversed(range(_make_leaps(db))):
        db.execute(f"""
            CREATE OR REPLACE TEMP TABLE {things} AS
            SELECT thing.* REPLACE (CASE WHEN NOT ({holds}) THEN r.pre ELSE thing.pre END AS pre)
            FROM {things} AS thing LEFT JOIN leap_{power} AS leap USING (pre) LEFT JOIN nested AS r ON r.pre = leap.up
        """)
    db.execute(f"""
        CREATE OR REPLACE TEMP TABLE {things} AS
        SELECT thing.* REPLACE (parent_pre AS pre) FROM {things} AS thing JOIN nested USING (pre)
        WHERE parent_pre IS NOT NULL
    """)


def forget_leaps(db: duckdb.DuckDBPyConnection) -> None:
    """Drop the cached tables of ``nested``; call it before that table changes."""
    for power in range(_cache_leaps(db)):
        db.execute(f"DROP TABLE IF EXISTS temp.leap_{power}")  # missing after a rollback
    db.execute("SET VARIABLE leaps = 0")


def _cache_leaps(db: duckdb.DuckDBPyConnection) -> int:
    (count,) = db.execute("SELECT coalesce(getvariable('leaps'), 0)").fetchone() or (0,)
    return int(count)


def _make_leaps(db: duckdb.DuckDBPyConnection) -> int:
    """Return the number of tables ``leap_N`` (pre, up), each with the range that is 2^N ranges further out."""
    (deepest,) = db.execute("SELECT coalesce(max(depth), 0) FROM nested").fetchone() or (0,)
    wanted = max(int(deepest) - 1, 0).bit_length()  # together they reach from the innermost to the outermost range
    for power in range(_cache_leaps(db), wanted):
        once = f"leap_{power - 1}"
        leaps = f"SELECT one.pre, two.up FROM {once} AS one JOIN {once} AS two ON two.pre = one.up"
        if power == 0:
            leaps = "SELECT pre, parent_pre AS up FROM nested WHERE parent_pre IS NOT NULL"
        db.execute(f"CREATE TEMP TABLE leap_{power} AS {leaps}; SET VARIABLE leaps = {power + 1}")
    return wanted


def place_points(db: duckdb.DuckDBPyConnection, things: str, placed: str) -> None:
    """Correct ``placed`` for things of zero length, which ranges of zero length or with an end at that moment also
    hold.

    Of nested ranges the inner one is kept, and each remaining one gets its own number as its lane.
    """
    if not db.execute(f"SELECT 1 FROM {things} WHERE s = e LIMIT 1").fetchone():
        return
    db.execute(f"""
        CREATE OR REPLACE TEMP TABLE point AS SELECT thing, tid, lane, s AS t FROM {things} WHERE s = e;
        CREATE OR REPLACE TEMP TABLE touched AS {select_ending_at("point")};
        CREATE OR REPLACE TEMP TABLE held AS
        SELECT thing, pre FROM touched
        UNION ALL
        SELECT one.thing, one.pre FROM {placed} AS one SEMI JOIN point USING (thing) JOIN nested AS r USING (pre)
        LEFT JOIN touched ON touched.thing = one.thing AND touched.lane = one.lane
        WHERE touched.pre IS NULL OR touched.pre NOT BETWEEN r.pre + 1 AND r.post
        UNION ALL
        SELECT thing, number.pre
        FROM (SELECT DISTINCT thing, tid, t FROM point) AS one JOIN (
            SELECT id, tid, s FROM opened WHERE s = e AND end_tid IS NULL
            QUALIFY row_number() OVER (PARTITION BY tid, s ORDER BY id) <= {MOMENT}
        ) AS r ON r.tid = one.tid AND r.s = one.t JOIN number USING (id);
        DELETE FROM {placed} WHERE thing IN (SELECT thing FROM point);
        INSERT INTO {placed}
        SELECT thing, row_number() OVER (PARTITION BY thing ORDER BY pre) - 1, pre, true FROM held;
        DROP TABLE point; DROP TABLE touched; DROP TABLE held
    """)


def select_ending_at(points: str) -> str:
    """Return SQL for the innermost range that ends at the very moment of each point, in its lane.

    Args:
        points: table with the columns thing, tid, lane, t (ns).

    Returns:
        A query with the columns thing, lane, pre.
    """
    return f"""
        SELECT one.thing, one.lane, r.pre
        FROM {points} AS one ASOF JOIN timeline AS r ON r.tid = one.tid AND r.lane = one.lane AND one.t > r.t
        WHERE r.pre > 0 AND r.e = one.t
    """
