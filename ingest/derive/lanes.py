"""Spread the crossing ranges of a thread over lanes within which they nest."""

import heapq
import math
from collections.abc import Mapping

import duckdb

MOST = 3_000_000
"""Most pairs of a lane and a thing looked up in it (call, range), over all threads with crossing ranges."""
FEWEST = 8
"""Lanes that each thread gets, however many things are looked up in them."""

CALLS = ("staged_api_call", "staged_osrt_call", "staged_openmp_event")
_BATCH = 100_000


class Lanes:
    """Assigns each range the first lane in which it nests with the earlier ones; lanes count from 0.

    A lane takes a range if its innermost open range encloses it, or if none is open. A binary tree over the ends of the
    innermost open ranges finds the first such lane: inner nodes hold the largest end below.
    """

    def __init__(self) -> None:
        self._size = 1
        self._reach: list[float] = [0, 0]
        self._open: list[list[int]] = []
        self._ends: list[tuple[int, int]] = []

    def add(self, start: int, end: int) -> int:
        """Place a range; ranges come by start, the longer first among equal starts."""
        while self._ends and self._ends[0][0] <= start:
            _, lane = heapq.heappop(self._ends)
            self._open[lane].pop()
            self._set_reach(lane, self._open[lane][-1] if self._open[lane] else math.inf)
        lane = self._find_first(end)
        self._open[lane].append(end)
        heapq.heappush(self._ends, (end, lane))
        self._set_reach(lane, end)
        return lane

    @property
    def count(self) -> int:
        """Return the number of lanes."""
        return len(self._open)

    def _find_first(self, end: int) -> int:
        if self._reach[1] < end:
            self._add_lane()
        node = 1
        while node < self._size:
            node = 2 * node if self._reach[2 * node] >= end else 2 * node + 1
        return node - self._size

    def _add_lane(self) -> None:
        lane = len(self._open)
        self._open.append([])
        if lane == self._size:
            leaves = self._reach[self._size :]
            self._size *= 2
            self._reach = [0] * self._size + leaves + [0] * len(leaves)
            for node in range(self._size - 1, 0, -1):
                self._reach[node] = max(self._reach[2 * node], self._reach[2 * node + 1])
        self._set_reach(lane, math.inf)

    def _set_reach(self, lane: int, reach: float) -> None:
        node = lane + self._size
        self._reach[node] = reach
        while node > 1:
            node //= 2
            self._reach[node] = max(self._reach[2 * node], self._reach[2 * node + 1])


def spread_lanes(db: duckdb.DuckDBPyConnection) -> bool:
    """Give ranges of threads with crossing ranges a lane in which they nest; push/pop ranges come first.

    Changes ``span`` if ``nested``, which was computed from it, shows that ranges cross. If there are so many lanes that
    lookups in all of them would take minutes, the ranges of the last ones move to ``beyond``.

    Returns:
        Whether any ranges cross.
    """
    db.execute("CREATE OR REPLACE TEMP TABLE crossed AS SELECT DISTINCT tid FROM nested WHERE e > parent_e")
    if not db.execute("SELECT 1 FROM crossed LIMIT 1").fetchone():
        return False
    lane_counts = _place_ranges(db)
    limit = max(FEWEST, limit_lanes(lane_counts, _count_lookups(db), MOST))
    db.execute(f"""
        UPDATE span SET lane = moved.lane FROM moved WHERE moved.id = span.id;
        INSERT INTO beyond SELECT id FROM span WHERE lane >= {limit};
        DELETE FROM span WHERE lane >= {limit}
    """)
    return True


def _place_ranges(db: duckdb.DuckDBPyConnection) -> dict[int, int]:
    """Fill ``moved`` (id, lane) and return the number of lanes by thread."""
    spans = db.execute("""
        SELECT tid, pushed, id, s, e FROM span SEMI JOIN crossed USING (tid) ORDER BY tid, pushed DESC, s, e DESC, id
    """).fetchnumpy()
    placed = spans["id"].copy()
    counts: dict[int, int] = {}
    group, lanes, before = None, Lanes(), 0
    for first in range(0, len(placed), _BATCH):
        part = slice(first, first + _BATCH)
        rows = zip(*(spans[name][part].tolist() for name in ("tid", "pushed", "s", "e")), strict=True)
        for number, (tid, pushed, start, end) in enumerate(rows, first):
            if group != (tid, pushed):
                group, lanes, before = (tid, pushed), Lanes(), counts.get(tid, 0)
            placed[number] = before + lanes.add(start, end)
            counts[tid] = before + lanes.count
    db.register("placed lanes", {"id": spans["id"], "lane": placed})
    db.execute('CREATE OR REPLACE TEMP TABLE moved AS SELECT id, lane::INTEGER AS lane FROM "placed lanes"')
    db.unregister("placed lanes")
    return counts


def _count_lookups(db: duckdb.DuckDBPyConnection) -> dict[int, int]:
    """Count by thread with crossing ranges the things that are looked up in each of its lanes: ranges, and all calls of
    its process, because it may drive the other threads."""
    calls = " UNION ALL ".join(f"SELECT global_tid AS tid FROM {table}" for table in CALLS)
    rows = db.execute(f"""
        WITH called AS (SELECT tid // 16777216 AS process, count(*) AS n FROM ({calls}) GROUP BY process)
        SELECT tid, count(*) + coalesce(any_value(n), 0)
        FROM span SEMI JOIN crossed USING (tid) LEFT JOIN called ON process = tid // 16777216 GROUP BY tid
    """)
    return dict(rows.fetchall())


def limit_lanes(counts: Mapping[int, int], looked_up: Mapping[int, int], most: int) -> int:
    """Return the largest number of lanes, at least one, with at most ``most`` pairs to look up.

    Args:
        counts: lanes by thread.
        looked_up: things that are looked up in each lane, by thread.
    """

    def pairs(limit: int) -> int:
        return sum(min(count, limit) * looked_up[tid] for tid, count in counts.items())

    low, high = 1, max(counts.values())
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if pairs(middle) <= most else (low, middle - 1)
    return low
