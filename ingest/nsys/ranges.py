"""Numbers the NVTX ranges as nested sets, finds what encloses each, and writes them.

Ranges of a thread nest as a rule, and then one window over their edges numbers them all (nest.sql). Where ranges of a
thread cross, as start/end ranges may, they are spread over lanes within which they nest.
"""

import duckdb

from ingest.nsys.innermost import place
from profiledb.schema import count_rows, read_sql


def number(db: duckdb.DuckDBPyConnection) -> None:
    """Numbers the ranges of the export and finds their parents; writes nothing but temporary tables.

    Leaves ``span`` (ranges that hold calls), ``nested`` and ``timeline`` (nest.sql) for ``innermost.place``, and
    ``number`` and ``parent`` of all ranges. A range that ends on another thread, and one that ends before it begins,
    holds nothing; one of no length holds no more than a call of no length.
    """
    db.execute(read_sql("load_nvtx.sql", "ingest.nsys"))
    db.execute("""
        CREATE OR REPLACE TEMP TABLE span AS
        SELECT id, tid, 0 AS lane, s, e, pushed FROM opened
        WHERE end_tid IS NULL AND tid IS NOT NULL AND e > s
    """)
    nest = read_sql("nest.sql", "ingest.nsys")
    db.execute(nest)
    if _spread_crossing(db):
        db.execute(nest)
    _find_parents(db)
    db.execute("""
        CREATE OR REPLACE TEMP TABLE number AS
        SELECT id, pre, post, parent_pre FROM nested
        UNION ALL
        SELECT id, before + row_number() OVER (ORDER BY id) AS pre, pre, NULL
        FROM opened ANTI JOIN nested USING (id) CROSS JOIN (SELECT count(*) AS before FROM nested)
    """)


def write(db: duckdb.DuckDBPyConnection) -> None:
    """Fills the tables of ranges from what ``number`` and ``attribute.calls`` left."""
    db.execute(read_sql("load_ranges.sql", "ingest.nsys"))
    _find_paths(db)
    db.execute(read_sql("insert_ranges.sql", "ingest.nsys"))


def lanes(ranges: list[tuple[int, int, int]]) -> dict[int, int]:
    """The first lane in which each range nests with the earlier ones: (id, start, end) -> {id: lane}, lanes from 0.

    Args:
        ranges: in the order in which they get their lanes; within a lane of equal starts the longer one first.
    """
    found: dict[int, int] = {}
    placed: list[list[tuple[int, int]]] = []
    for number, start, end in ranges:
        lane = next((i for i, others in enumerate(placed) if not _crosses(others, start, end)), len(placed))
        if lane == len(placed):
            placed.append([])
        while placed[lane] and placed[lane][-1][1] <= start:
            placed[lane].pop()
        placed[lane].append((start, end))
        found[number] = lane
    return found


def _crosses(open_ranges: list[tuple[int, int]], start: int, end: int) -> bool:
    return any(begin < start < last < end for begin, last in open_ranges)


def _spread_crossing(db: duckdb.DuckDBPyConnection) -> bool:
    """Gives ranges of threads on which some cross a lane in which they nest; push/pop ranges come first."""
    threads = db.execute("SELECT DISTINCT tid FROM nested WHERE e > parent_e").fetchall()
    if not threads:
        return False
    moved: dict[int, int] = {}
    for (tid,) in threads:
        after = 0
        for pushed in ("pushed", "NOT pushed"):
            rows = db.execute(f"SELECT id, s, e FROM span WHERE tid = {tid} AND {pushed} ORDER BY s, e DESC, id")
            chosen = lanes(rows.fetchall())
            moved |= {number: lane + after for number, lane in chosen.items()}
            after += max(chosen.values(), default=-1) + 1
    ids, lane_of = list(moved), list(moved.values())  # as texts: the first bound parameter costs an import of pandas
    db.execute(f"""
        CREATE OR REPLACE TEMP TABLE moved AS
        SELECT unnest('{ids}'::BIGINT[]) AS id, unnest('{lane_of}'::INTEGER[]) AS lane
    """)
    db.execute("UPDATE span SET lane = moved.lane FROM moved WHERE moved.id = span.id")
    return True


def _find_parents(db: duckdb.DuckDBPyConnection) -> None:
    """The tightest range around each on its thread, whatever its lane; the table ``parent``."""
    db.execute("""
        CREATE OR REPLACE TEMP TABLE parent AS SELECT id, parent_id FROM nested;
        CREATE OR REPLACE TEMP TABLE thing AS
        SELECT id AS thing, span.tid, other.lane, s, e
        FROM span JOIN (SELECT DISTINCT tid, lane FROM span) AS other
            ON other.tid = span.tid AND other.lane <> span.lane
    """)
    if place(db, "thing", "around", among_ranges=True):
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
    # Of no length: few, so they are compared with every range of their thread.
    db.execute("""
        INSERT INTO parent
        SELECT one.id, arg_min(up.id, (up.e - up.s, -up.id))
        FROM opened AS one LEFT JOIN opened AS up ON up.tid = one.tid AND up.s <= one.s AND up.e >= one.e
            AND up.end_tid IS NULL AND (up.e > up.s OR up.id < one.id)
        WHERE one.e = one.s AND one.end_tid IS NULL GROUP BY one.id
    """)
    db.execute("INSERT INTO parent SELECT id, NULL FROM opened ANTI JOIN parent USING (id)")


def _find_paths(db: duckdb.DuckDBPyConnection) -> None:
    """Paths level by level; the table ``path_of`` holds the path of each range."""
    db.execute("""
        CREATE OR REPLACE TEMP TABLE path_of (id BIGINT, path_id INTEGER, level INTEGER);
        CREATE OR REPLACE TEMP TABLE member AS
        SELECT id, parent_id, s, name FROM parent JOIN opened USING (id) JOIN range_name USING (name_id)
        WHERE e >= s
    """)
    level, known = 0, -1
    while known < count_rows(db, "path_of"):
        known = count_rows(db, "path_of")
        above = f"JOIN path_of AS up ON up.id = parent_id AND up.level = {level - 1}" if level else ""
        path_id, only = ("up.path_id", "") if level else ("NULL::INTEGER", "WHERE parent_id IS NULL")
        db.execute(f"""
            CREATE OR REPLACE TEMP TABLE found AS
            SELECT member.id, name, s, {path_id} AS above FROM member {above} {only};
            INSERT INTO range_path
            SELECT (SELECT coalesce(max(path_id), 0) FROM range_path)
                    + row_number() OVER (ORDER BY first, above, one.name),
                above, {level}, one.name, coalesce(up.path || '/', '') || replace(one.name, '/', '\\/')
            FROM (SELECT above, name, min(s) AS first FROM found GROUP BY above, name) AS one
            LEFT JOIN range_path AS up ON up.path_id = above;
            INSERT INTO path_of
            SELECT id, path_id, {level} FROM found JOIN range_path
                ON range_path.name = found.name AND parent_id IS NOT DISTINCT FROM above AND level = {level}
        """)
        level += 1
