"""Choose the part of a report to replay: the steps that count, else its steady part, else all of it."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import duckdb
import numpy as np
import pandas as pd

from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.query import answer_store
from profiledb.replay.recording import Integers

LEAST_IN_STEPS = 0.5
"""Minimum fraction of a capture in its steps for them to stand for it where start-up does not."""
_STEPS = """
SELECT range_id, global_tid, start_ns, end_ns FROM "range"
WHERE range_id IN (SELECT unnest(?::BIGINT[])) AND end_ns IS NOT NULL ORDER BY start_ns
"""
_EXTENT = """
SELECT coalesce(min(start_ns), 0), coalesce(max(end_ns), 0)
FROM (SELECT start_ns, end_ns FROM api_call UNION ALL SELECT start_ns, end_ns FROM kernel
    UNION ALL SELECT start_ns, end_ns FROM memop)
"""
_COUNT = """
SELECT (SELECT count(*) FROM kernel WHERE start_ns BETWEEN $begin AND $end)
    + (SELECT count(*) FROM memop WHERE start_ns BETWEEN $begin AND $end)
    + (SELECT count(*) FROM graph_launch WHERE start_ns BETWEEN $begin AND $end)
"""
_STARTS = """
SELECT start_ns FROM kernel UNION ALL SELECT start_ns FROM memop UNION ALL SELECT start_ns FROM graph_launch
"""
_BUSIEST = """
SELECT global_tid FROM api_call WHERE end_ns >= $begin AND start_ns <= $end
GROUP BY global_tid ORDER BY count(*) DESC, global_tid LIMIT 1
"""
_RANGES = """
SELECT name, global_tid, start_ns, end_ns FROM "range" JOIN range_name USING (name_id)
WHERE end_ns > ? AND start_ns < ? AND global_tid IS NOT NULL ORDER BY start_ns
"""
_MOST_RANGES = 200_000
_OPERATORS = """
SELECT DISTINCT name FROM operator JOIN "range" USING (range_id) JOIN range_name USING (name_id)
"""
_PROFILER = """
SELECT global_tid, start_ns, end_ns FROM profiler_overhead
WHERE end_ns > ? AND start_ns < ? AND end_ns > start_ns AND global_tid IS NOT NULL
"""
_DRIVERS = "SELECT global_tid, arg_max(driver_tid, share_pct) FROM thread_driver GROUP BY global_tid"


@dataclass(frozen=True)
class Window:
    """The replayed part of a recording: its bounds on a thread and those of its steps by number, in ns.

    ``represents_ns`` is the time of all that it stands for: of all steps that count, if it has some of them. It
    ``repeats`` unless it is a part of a program of which nothing is known.
    """

    begin_ns: int
    end_ns: int
    thread: int
    steps: dict[int, tuple[int, int]]
    represents_ns: int = 0
    repeats: bool = False


def bound_steps(steps: Mapping[int, tuple[int, int, int]]) -> Window:
    """Return the window of steps, given as thread, start and end by number."""
    begin, end = min(begin for _, begin, _ in steps.values()), max(end for *_, end in steps.values())
    thread = next(iter(steps.values()))[0]
    return Window(begin, end, thread, {number: one[1:] for number, one in steps.items()}, end - begin, repeats=True)


def choose_window(library: Library, report_id: str, db: duckdb.DuckDBPyConnection, most: int) -> Window:
    """Return the steps that count (those in the middle if there are many), or else the steady part, or else all."""
    steps, steady = read_steps(library, report_id, db), pd.DataFrame()
    with suppress(NotCapturedError):
        steady = answer_store.run(library, report_id, "steady_part", {})
    begin, end = db.execute(_EXTENT).fetchone() or (0, 0)
    if len(steady) and not steps:
        (origin,) = db.execute("SELECT coalesce(any_value(start_ns), 0) FROM report").fetchone() or (0,)
        begin, end = (origin + int(steady[name][0]) for name in ("from_ns", "to_ns"))
    window = bound_steps(steps) if steps else None
    if window and (len(steady) or window.end_ns - window.begin_ns >= LEAST_IN_STEPS * (end - begin)):
        starts = np.sort(np.ma.getdata(db.execute(_STARTS).fetchnumpy()["start_ns"]))
        counts = {number: int(np.diff(np.searchsorted(starts, span))[0]) for number, (_, *span) in steps.items()}
        chosen = bound_steps({number: steps[number] for number in _choose_middle_steps(counts, most)})
        return replace(chosen, represents_ns=window.represents_ns)
    bounded = _bound_window(db, most, begin, end)
    return replace(bounded, represents_ns=end - begin, repeats=True) if len(steady) else bounded


def _bound_window(db: duckdb.DuckDBPyConnection, most: int, begin: int, end: int) -> Window:
    """Return a part without steps of at most so many operations."""
    while (count := _count_operations(db, begin, end)) > most:
        end = begin + (end - begin) * most // (count + 1)
    busiest = db.execute(_BUSIEST, {"begin": begin, "end": end}).fetchone()
    return Window(begin, end, busiest[0] if busiest else -1, {}, end - begin)


def read_steps(library: Library, report_id: str, db: duckdb.DuckDBPyConnection) -> dict[int, tuple[int, int, int]]:
    """Return thread, start and end of the steps that count, by number, on the thread of the first of them."""
    try:
        steps = answer_store.run(library, report_id, "iterations", {"rank": 1})
    except NotCapturedError:
        return {}
    steps = steps[~steps["is_warmup"].astype(bool)]
    numbers = dict(zip(steps["range_id"].tolist(), steps["number"].tolist(), strict=True))
    rows = db.execute(_STEPS, [list(numbers)]).fetchall()
    return {numbers[row[0]]: row[1:] for row in rows if row[1] == rows[0][1]}


def _count_operations(db: duckdb.DuckDBPyConnection, begin: int, end: int) -> int:
    (count,) = db.execute(_COUNT, {"begin": begin, "end": end}).fetchone() or (0,)
    return int(count)


def _choose_middle_steps(counts: Mapping[int, int], most: int) -> list[int]:
    """Return as many steps around the middle one as there may be operations, at least one."""
    numbers = list(counts)
    low = high = len(numbers) // 2
    total = counts[numbers[low]]
    while high - low + 1 < len(numbers):
        wider = low - 1 if low and (low + high >= len(numbers) - 1 or high == len(numbers) - 1) else high + 1
        if total + counts[numbers[wider]] > most:
            break
        total, low, high = total + counts[numbers[wider]], min(low, wider), max(high, wider)
    return numbers[low : high + 1]


def read_ranges(db: duckdb.DuckDBPyConnection, window: Window) -> Mapping[str, Integers]:
    rows = db.execute(_RANGES, [window.begin_ns, window.end_ns]).fetchmany(_MOST_RANGES)
    own = set(window.steps.values())
    ranges: dict[str, list[tuple[int, int, int]]] = {}
    for name, tid, begin, end in rows:
        if (begin, end) not in own and begin >= window.begin_ns:
            ranges.setdefault(name, []).append((tid, begin, end))
    return {name: np.array(spans, np.int64) for name, spans in ranges.items()}


def read_operators(db: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Return the names of the ranges that are operators of a framework."""
    return frozenset(name for (name,) in db.execute(_OPERATORS).fetchall())


def read_profiler(db: duckdb.DuckDBPyConnection, window: Window) -> Integers:
    """Return the profiler's own work on known threads, as rows of thread, start and end."""
    rows = db.execute(_PROFILER, [window.begin_ns, window.end_ns]).fetchmany(_MOST_RANGES)
    return np.array(rows, np.int64).reshape(-1, 3)


def read_drivers(db: duckdb.DuckDBPyConnection) -> dict[int, int]:
    """Return the threads that work for another one, each with that thread."""
    return dict(db.execute(_DRIVERS).fetchall())
