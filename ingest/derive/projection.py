"""Project ranges onto the GPU: from the start of a range's first operation to the end of its last one, in both modes.

An operation counts in every range around its call. It is added to its innermost range; the sums of a range are then
those over its numbers from ``pre`` to ``post``, so that no operation is joined with all its ranges.

Overlap of operations needs no sweep per range, either. Order the operations that run on a GPU at a moment by the
numbers of their innermost ranges: the overlap of two neighbors counts once too often in the innermost range around
both, and in all ranges around that one. These times are added up there, and again from pre to post.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Mapping

import duckdb

from ingest.derive.innermost import climb_ranges
from ingest.derive.launches import has_repeats
from profiledb.report.schema import count_rows

MODES = ("thread", "process")
BATCH = 100_000
_BLOCK = 10
"""Binary digits of the numbers of ranges in one list of ``Neighbors``."""


def sweep(db: duckdb.DuckDBPyConnection) -> None:
    """Create ``operation``: all GPU work, each with the latest end of earlier work and the start of the next. Fill
    ``busy`` from it, as ``selection.views.busy`` computes it for a selection."""
    db.execute("""
        CREATE OR REPLACE TEMP TABLE operation AS
        SELECT *, max(end_ns) OVER (by_time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached,
            lead(start_ns) OVER by_time AS next_ns
        FROM (
            SELECT call_id, thread_range, process_range, device_id, start_ns, end_ns, end_ns - start_ns AS kernel_ns
            FROM kernel
            UNION ALL SELECT call_id, thread_range, process_range, device_id, start_ns, end_ns, 0 FROM memop
            UNION ALL SELECT call_id, thread_range, process_range, device_id, start_ns, end_ns, 0 FROM graph_launch
        )
        WINDOW by_time AS (PARTITION BY device_id ORDER BY start_ns);
        INSERT INTO busy
        SELECT device_id, start_ns,
            coalesce(lead(reached) OVER (PARTITION BY device_id ORDER BY start_ns), last_ns) AS end_ns
        FROM operation
        JOIN (SELECT device_id, max(end_ns) AS last_ns FROM operation GROUP BY device_id) USING (device_id)
        WHERE reached IS NULL OR start_ns > reached
        ORDER BY device_id, start_ns
    """)


def project(db: duckdb.DuckDBPyConnection) -> None:
    """Fill ``projection``; needs ``operation`` of ``sweep`` and ``nested`` of ``nesting.number_ranges``."""
    if not db.execute("SELECT 1 FROM nested LIMIT 1").fetchone():
        return
    db.execute("""
        CREATE OR REPLACE TEMP TABLE shared AS  -- operations during which another one ran on the same GPU
        SELECT * FROM operation WHERE start_ns < reached OR end_ns > next_ns
    """)
    launches = _select_launches(db)
    for mode in MODES:
        if mode == "process" and _do_modes_agree(db):
            db.execute("INSERT INTO projection SELECT * REPLACE ('process' AS mode) FROM projection")
            break
        db.execute(f"CREATE OR REPLACE TEMP TABLE part AS {_select_sums(mode, launches)}")
        _find_shared_time(db, mode)
        _add_up(db, mode)


def _do_modes_agree(db: duckdb.DuckDBPyConnection) -> bool:
    """Return True if no thread drives another one that launched anything."""
    differ = "WHERE thread_range IS DISTINCT FROM process_range"
    query = f"SELECT 1 FROM operation {differ} UNION ALL SELECT 1 FROM call_range {differ} LIMIT 1"
    return db.execute(query).fetchone() is None


def _select_launches(db: duckdb.DuckDBPyConnection) -> str:
    """Return SQL that counts calls; if each call launched one operation, as usual, it counts rows."""
    return "count(DISTINCT call_id)" if has_repeats(db, "operation", "call_id") else "count(*)"


def _select_held(mode: str, operations: str) -> str:
    """Return SQL for operations with each innermost range (``pre``) around their call."""
    columns = "call_id, device_id, start_ns, end_ns, kernel_ns"
    return f"""
        SELECT {mode}_range AS pre, {columns} FROM {operations} WHERE {mode}_range IS NOT NULL
        UNION ALL
        SELECT further.{mode}_range, {columns} FROM call_range AS further JOIN {operations} USING (call_id)
        WHERE further.{mode}_range IS NOT NULL
    """


def _select_sums(mode: str, launches: str) -> str:
    return f"""
        SELECT pre, min(start_ns) AS start_ns, max(end_ns) AS end_ns, {launches} AS launches, count(*) AS operations,
            sum(end_ns - start_ns)::BIGINT AS operation_ns, sum(kernel_ns)::BIGINT AS kernel_ns
        FROM ({_select_held(mode, "operation")}) GROUP BY pre
    """


def _find_shared_time(db: duckdb.DuckDBPyConnection, mode: str) -> None:
    """Create ``twice`` (pre, ns): the time that counts once too often in a range and in all around it."""
    db.execute(f"""
        CREATE OR REPLACE TEMP TABLE swept AS
        SELECT pre, device_id, start_ns, end_ns, max(end_ns) OVER of_range AS last_ns,
            max(end_ns) OVER (of_range ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
        FROM ({_select_held(mode, "shared")}) SEMI JOIN nested USING (pre)
        WINDOW of_range AS (PARTITION BY pre, device_id);
        CREATE OR REPLACE TEMP TABLE twice AS
        SELECT pre, sum(greatest(0, least(end_ns, reached) - start_ns))::BIGINT AS ns
        FROM swept WHERE reached > start_ns GROUP BY pre;
        CREATE OR REPLACE TEMP TABLE piece AS  -- the union of the operations of each innermost range, by GPU
        SELECT pre, device_id, start_ns,
            coalesce(lead(reached) OVER (PARTITION BY pre, device_id ORDER BY start_ns), last_ns) AS end_ns
        FROM swept WHERE reached IS NULL OR start_ns > reached;
        CREATE OR REPLACE TEMP TABLE piece AS  -- those during which there was one of another range
        SELECT * FROM piece WHERE end_ns > start_ns
        WINDOW by_time AS (PARTITION BY device_id ORDER BY start_ns)
        QUALIFY start_ns < max(end_ns) OVER (by_time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
            OR end_ns > lead(start_ns) OVER by_time
    """)
    if db.execute("SELECT 1 FROM piece LIMIT 1").fetchone():
        _pair_neighbors(db)
        db.execute("""
            INSERT INTO twice SELECT pre, ns FROM pair JOIN nested USING (pre) WHERE other <= post;
            DELETE FROM pair USING nested WHERE nested.pre = pair.pre AND other <= post
        """)
        climb_ranges(db, "pair", "r.post >= thing.other")
        db.execute("INSERT INTO twice SELECT pre, ns FROM pair")
    db.execute("DROP TABLE swept; DROP TABLE piece; DROP TABLE IF EXISTS pair")


def _pair_neighbors(db: duckdb.DuckDBPyConnection) -> None:
    """Create ``pair`` (pre, other, ns): how long two ranges were neighbors among those with work on a GPU."""
    db.execute("""
        CREATE OR REPLACE TEMP TABLE pair (pre BIGINT, other BIGINT, ns BIGINT);
        CREATE OR REPLACE TEMP TABLE moment AS
        SELECT pre, t, begins, row_number() OVER (ORDER BY device_id, t, begins) - 1 AS place FROM (
            SELECT device_id, start_ns AS t, true AS begins, pre FROM piece
            UNION ALL SELECT device_id, end_ns, false, pre FROM piece
        )
    """)
    running = Neighbors()
    for first in range(0, count_rows(db, "moment"), BATCH):
        rows = db.execute(f"""
            SELECT pre, t, begins FROM moment WHERE place BETWEEN {first} AND {first + BATCH - 1} ORDER BY place
        """)
        for pre, t, begins in rows.fetchall():
            (running.begin if begins else running.end)(pre, t)
        if len(running.pairs) > BATCH:
            _insert_pairs(db, running.take())
    _insert_pairs(db, running.take())
    db.execute("DROP TABLE moment")


def _insert_pairs(db: duckdb.DuckDBPyConnection, pairs: Mapping[tuple[int, int], int]) -> None:
    """Add rows to ``pair`` as text, because the first bound parameter imports pandas."""
    lists = [[pre for pre, _ in pairs], [other for _, other in pairs], list(pairs.values())]
    columns = ", ".join(f"unnest('{values}'::BIGINT[])" for values in lists)
    db.execute(f"INSERT INTO pair SELECT {columns}")


class Neighbors:
    """Ordered set of numbers that are added and removed over time.

    ``pairs`` adds up how long (ns) two numbers were neighbors; for current neighbors the starting moment is subtracted,
    so that partial sums can be taken at any time.
    """

    def __init__(self) -> None:
        self.pairs: dict[tuple[int, int], int] = defaultdict(int)
        self._blocks: dict[int, list[int]] = {}
        self._keys: list[int] = []

    def take(self) -> dict[tuple[int, int], int]:
        """Return the sums since the last call."""
        sums, self.pairs = self.pairs, defaultdict(int)
        return {pair: ns for pair, ns in sums.items() if ns}

    def begin(self, number: int, t: int) -> None:
        """Add a number, which must not be present, at the moment t."""
        key = number >> _BLOCK
        block = self._blocks.get(key)
        if block is None:
            block = self._blocks[key] = []
            insort(self._keys, key)
        insort(block, number)
        self._change_pairs(number, key, -t)

    def end(self, number: int, t: int) -> None:
        """Remove a number at the moment t."""
        key = number >> _BLOCK
        self._change_pairs(number, key, t)
        block = self._blocks[key]
        block.remove(number)
        if not block:
            del self._blocks[key]
            self._keys.remove(key)

    def _change_pairs(self, number: int, key: int, t: int) -> None:
        """Add t to the number's pairs with its neighbors, and subtract it from the pair of those two."""
        block, place = self._blocks[key], bisect_left(self._blocks[key], number)
        at = bisect_left(self._keys, key)
        before = block[place - 1] if place else self._blocks[self._keys[at - 1]][-1] if at else None
        last = place + 1 == len(block)
        after = block[place + 1] if not last else None
        if last and at + 1 < len(self._keys):
            after = self._blocks[self._keys[at + 1]][0]
        if before is not None:
            self.pairs[before, number] += t
        if after is not None:
            self.pairs[number, after] += t
        if before is not None and after is not None:
            self.pairs[before, after] -= t


def _add_up(db: duckdb.DuckDBPyConnection, mode: str) -> None:
    """Add the sums of a mode to ``projection``: for each range those over its numbers from pre to post.

    Ranges of one depth have numbers of similar size, which take less space: they are written one after the other.
    """
    db.execute(f"""
        INSERT INTO projection BY NAME
        WITH own AS (
            SELECT nested.pre, post, depth, id, part.* EXCLUDE (pre), ns
            FROM nested LEFT JOIN part USING (pre)
            LEFT JOIN (SELECT pre, sum(ns)::BIGINT AS ns FROM twice GROUP BY pre) AS twice USING (pre)
        ), total AS (
            SELECT id, pre, depth, min(start_ns) OVER inside AS start_ns, max(end_ns) OVER inside AS end_ns,
                sum(launches) OVER inside AS launches, sum(operations) OVER inside AS operations,
                sum(operation_ns) OVER inside AS operation_ns, sum(kernel_ns) OVER inside AS kernel_ns,
                sum(ns) OVER inside AS twice_ns
            FROM own WINDOW inside AS (ORDER BY pre ROWS BETWEEN CURRENT ROW AND post - pre FOLLOWING)
        )
        SELECT '{mode}' AS mode, id AS range_id, start_ns, end_ns, launches::BIGINT AS launches,
            operations::BIGINT AS operations, operation_ns::BIGINT AS operation_ns, kernel_ns::BIGINT AS kernel_ns,
            (operation_ns - coalesce(twice_ns, 0))::BIGINT AS busy_ns
        FROM total WHERE operations IS NOT NULL ORDER BY depth, pre
    """)
