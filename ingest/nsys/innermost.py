"""Finds the innermost range around a call, in every lane of a thread: exact, and without a join of all with all."""

import duckdb

from profiledb.schema import count_rows


def place(db: duckdb.DuckDBPyConnection, things: str, placed: str, *, among_ranges: bool = False) -> int:
    """Fills the temporary table ``placed`` (thing, lane, pre): the innermost range of a lane that holds each thing.

    A range holds what does not begin before it and does not end after it. The timeline (nest.sql) tells which range
    is the innermost when a thing begins; where that one ends too early, the ranges around it are tried in turn.

    Args:
        things: table with the columns thing, tid, lane, s, e (ns): what to place, and in which lanes.
        placed: name of the table that is made.
        among_ranges: the things are ranges too (``thing`` is their id): of two with the same edges, the one with the
            smaller id holds the other.

    Returns:
        Number of rows in ``placed``.
    """
    holds = "r.e >= thing.e"
    if among_ranges:
        holds += " AND (r.s < thing.s OR r.e > thing.e OR r.id < thing.thing)"
    db.execute(f"""
        CREATE OR REPLACE TEMP TABLE {placed} AS
        SELECT thing.thing, thing.lane, r.pre, {holds} AS holds
        FROM {things} AS thing ASOF JOIN timeline AS r ON r.tid = thing.tid AND r.lane = thing.lane AND thing.s >= r.t
        WHERE r.pre > 0
    """)
    while db.execute(f"SELECT 1 FROM {placed} WHERE NOT holds LIMIT 1").fetchone():
        db.execute(f"""
            CREATE OR REPLACE TEMP TABLE outside AS
            SELECT thing, {placed}.lane, parent_pre AS pre FROM {placed} JOIN nested USING (pre) WHERE NOT holds;
            DELETE FROM {placed} WHERE NOT holds;
            INSERT INTO {placed}
            SELECT thing.thing, thing.lane, r.pre, {holds}
            FROM outside JOIN {things} AS thing USING (thing, lane) JOIN nested AS r USING (pre)
        """)
    return count_rows(db, placed)


def place_points(db: duckdb.DuckDBPyConnection, things: str, placed: str) -> None:
    """Corrects ``placed`` for things of no length, which ranges that end at that moment or have no length hold too.

    There are hardly any, so they are compared with every range of their thread; of ranges that enclose each other the
    inner one is kept, and each that is left gets a number of its own as its lane.
    """
    if not db.execute(f"SELECT 1 FROM {things} WHERE s = e LIMIT 1").fetchone():
        return
    db.execute(f"""
        CREATE OR REPLACE TEMP TABLE held AS
        SELECT thing, pre, post
        FROM (SELECT DISTINCT thing, tid, s, e FROM {things} WHERE s = e) AS one
        JOIN opened AS r ON r.tid = one.tid AND r.s <= one.s AND r.e >= one.e AND r.end_tid IS NULL
        JOIN number USING (id);
        DELETE FROM {placed} WHERE thing IN (SELECT thing FROM held);
        INSERT INTO {placed}
        SELECT thing, row_number() OVER (PARTITION BY thing ORDER BY pre) - 1, pre, true FROM held AS one
        WHERE NOT EXISTS (FROM held WHERE held.thing = one.thing AND held.pre > one.pre AND held.pre <= one.post)
    """)
