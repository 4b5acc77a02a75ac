"""What each range ran on the GPU: from the begin of its first operation to the end of its last one, in both modes.

An operation counts in every range around its call. It is added up where it is innermost; the sums of a range are then
those over its numbers from ``pre`` to ``post``, so that no operation is joined with all its ranges.

Time that operations share is found without one sweep a range, too. Take the operations that run on a GPU at a moment,
in the order of the numbers of their innermost ranges: what two neighbors share counts once too often in the innermost
range around both, and in all ranges around that one. These moments are added up there, and again from pre to post.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Mapping

import duckdb

from ingest.derive.innermost import climb
from ingest.derive.launches import repeats
from profiledb.report.schema import count_rows

MODES = ("thread", "process")
BATCH = 100_000
_BLOCK = 10
"""Binary digits of the numbers of ranges that ``Neighbors`` keeps in one list."""


def sweep(db: duckdb.DuckDBPyConnection) -> None:
    """Makes ``operation``: all that ran on a GPU, with the end that what began before it had reached there, and the
    begin of the next. Fills ``busy`` from it, as ``selection.views.busy`` tells the same of a selection."""
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
    """Fills ``projection``; needs ``operation`` of ``sweep``, and ``nested`` of ``nesting.number``."""
    if not db.execute("SELECT 1 FROM nested LIMIT 1").fetchone():
        return
    db.execute("""
        CREATE OR REPLACE TEMP TABLE shared AS  -- operations during which another one ran on the same GPU
        SELECT * FROM operation WHERE start_ns < reached OR end_ns > next_ns
    """)
    launches = _launches(db)
    for mode in MODES:
        if mode == "process" and _modes_agree(db):
            db.execute("INSERT INTO projection SELECT * REPLACE ('process' AS mode) FROM projection")
            break
        db.execute(f"CREATE OR REPLACE TEMP TABLE part AS {_sums(mode, launches)}")
        _find_shared_time(db, mode)
        _add_up(db, mode)


def _modes_agree(db: duckdb.DuckDBPyConnection) -> bool:
    """Whether no thread drives another one that launched anything."""
    differ = "WHERE thread_range IS DISTINCT FROM process_range"
    query = f"SELECT 1 FROM operation {differ} UNION ALL SELECT 1 FROM call_range {differ} LIMIT 1"
    return db.execute(query).fetchone() is None


def _launches(db: duckdb.DuckDBPyConnection) -> str:
    """SQL that counts calls; where each call launched one operation, as usual, that is a count of rows."""
    return "count(DISTINCT call_id)" if repeats(db, "operation", "call_id") else "count(*)"


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


def _find_shared_time(db: duckdb.DuckDBPyConnection, mode: str) -> None:
    """Makes ``twice`` (pre, ns): the time that counts once too often in a range and in all around it."""
    db.execute(f"""
        CREATE OR REPLACE TEMP TABLE swept AS
        SELECT pre, device_id, start_ns, end_ns, max(end_ns) OVER of_range AS last_ns,
            max(end_ns) OVER (of_range ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
        FROM ({_held(mode, "shared")}) SEMI JOIN nested USING (pre)
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
        climb(db, "pair", "r.post >= thing.other")
        db.execute("INSERT INTO twice SELECT pre, ns FROM pair")
    db.execute("DROP TABLE swept; DROP TABLE piece; DROP TABLE IF EXISTS pair")


def _pair_neighbors(db: duckdb.DuckDBPyConnection) -> None:
    """Makes ``pair`` (pre, other, ns): how long two ranges were neighbors among those that run something on a GPU."""
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
            _insert(db, running.take())
    _insert(db, running.take())
    db.execute("DROP TABLE moment")


def _insert(db: duckdb.DuckDBPyConnection, pairs: Mapping[tuple[int, int], int]) -> None:
    """Adds rows to ``pair``; as texts, because the first bound parameter costs an import of pandas."""
    lists = [[pre for pre, _ in pairs], [other for _, other in pairs], list(pairs.values())]
    columns = ", ".join(f"unnest('{values}'::BIGINT[])" for values in lists)
    db.execute(f"INSERT INTO pair SELECT {columns}")


class Neighbors:
    """Numbers in order, to which some are added and from which some are taken as time goes on.

    ``pairs`` adds up how long (ns) two numbers were neighbors; of those that still are, the moment from which on is
    taken off, so that parts of the sums can be taken out at any time.
    """

    def __init__(self) -> None:
        self.pairs: dict[tuple[int, int], int] = defaultdict(int)
        self._blocks: dict[int, list[int]] = {}
        self._keys: list[int] = []

    def take(self) -> dict[tuple[int, int], int]:
        """The sums since the last time."""
        taken, self.pairs = self.pairs, defaultdict(int)
        return {pair: ns for pair, ns in taken.items() if ns}

    def begin(self, number: int, t: int) -> None:
        """Adds a number, which must not be there, at the moment t."""
        key = number >> _BLOCK
        block = self._blocks.get(key)
        if block is None:
            block = self._blocks[key] = []
            insort(self._keys, key)
        insort(block, number)
        self._change(number, key, -t)

    def end(self, number: int, t: int) -> None:
        """Takes a number out at the moment t."""
        key = number >> _BLOCK
        self._change(number, key, t)
        block = self._blocks[key]
        block.remove(number)
        if not block:
            del self._blocks[key]
            self._keys.remove(key)

    def _change(self, number: int, key: int, t: int) -> None:
        """Counts t for the number and its neighbors, and against the two of them, between which it stands."""
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
    """Adds the sums of a mode to ``projection``: of each range those over its numbers from pre to post.

    Ranges of a depth have numbers of a size, which take less room: they are written one after the other.
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
