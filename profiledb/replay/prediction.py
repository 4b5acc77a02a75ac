"""How long a program would take with a change, and how sure that is."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np

from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.library.library import Library
from profiledb.query import analysis, answer_store
from profiledb.replay import critical_path, graph, recording, simulation
from profiledb.replay.changes import CHANGES, Change, Part
from profiledb.replay.graph import Graph
from profiledb.replay.recording import Integers
from profiledb.replay.simulation import Replayed

MOST_ERROR_PCT = 3.0
"""A report whose unchanged replay is further off than this share of its length is not replayed."""
MODEL_ERROR = 0.15
"""Share by which the saving of a change is off: Daydream (USENIX ATC 2020) measured errors up to 15 %."""
LEAST_SAVING_PCT = 0.5
"""A change that saves less is not listed unless somebody names it."""
MOST_ORPHANS = 0.05
"""Share of kernels without the call that launched them, at most."""
MOST_OPERATIONS = 400_000
"""Operations that are replayed: a longer program repeats itself, and steps in its middle tell as much."""
_STEPS = """
SELECT global_tid, start_ns, end_ns FROM "range"
WHERE range_id IN (SELECT unnest(?::BIGINT[])) AND end_ns IS NOT NULL ORDER BY start_ns
"""
_EXTENT = """
SELECT min(start_ns), max(end_ns)
FROM (SELECT start_ns, end_ns FROM api_call UNION ALL SELECT start_ns, end_ns FROM kernel
    UNION ALL SELECT start_ns, end_ns FROM memop)
"""
_COUNT = """
SELECT (SELECT count(*) FROM kernel WHERE start_ns BETWEEN $begin AND $end)
    + (SELECT count(*) FROM memop WHERE start_ns BETWEEN $begin AND $end)
    + (SELECT count(*) FROM graph_launch WHERE start_ns BETWEEN $begin AND $end)
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


@dataclass(frozen=True)
class Predicted:
    """The part of a program with changes: lengths in ns, with an interval of about 95 %.

    ``next`` is the largest part of the critical path with the changes: a kind, and its share of the length in percent.
    """

    changes: tuple[tuple[str, str], ...]
    title: str
    assumes: str
    predicted_ns: int
    low_ns: int
    high_ns: int
    next: str
    next_pct: float


@dataclass(frozen=True)
class WhatIf:
    """Predictions for a part of a report. ``error_pct`` is how far off its unchanged replay is."""

    begin_ns: int
    end_ns: int
    steps: int
    baseline_ns: int
    replayed_ns: int
    error_pct: float
    path: list[critical_path.Piece]
    predictions: list[Predicted]


@dataclass(frozen=True)
class Window:
    """The part of a recording that is replayed: its bounds on a thread, and those of its steps, in ns of the capture."""

    begin_ns: int
    end_ns: int
    thread: int
    steps: list[tuple[int, int]]


def predict(library: Library, report_id: str, wanted: Sequence[tuple[str, str]] = ()) -> WhatIf:
    """Predict the effect of changes, each alone and all together; without any, of all that apply, the best first.

    Args:
        library: holds the report.
        report_id: the report.
        wanted: names of changes with their values, empty for none.

    Raises:
        AnalysisError: a change does not exist, or has no or a wrong value.
        NotCapturedError: the report has no calls or no operations, or its replay is too far off.
    """
    changes = [_known(name, value) for name, value in wanted]
    with library.cursor(report_id) as db:
        window = _window(library, report_id, db)
        recorded = recording.read(db, window.begin_ns, window.end_ns)
        _check(recorded)
        ranges = _ranges(db, window)
    built = graph.build(recorded)
    original = simulation.replay(built)
    part = _part(built, window, ranges)
    baseline = _length(built, window, original)
    replayed = _length(built, window, simulation.replay(typical(built)))
    error = 100 * abs(replayed - baseline) / baseline if baseline else 0.0
    if error > MOST_ERROR_PCT:
        raise NotCapturedError(
            f"The replay of this report is {error:.0f} % off.",
            why="Operations begin long after everything that is known to hold them back; streams of other processes,"
            " or events between streams, may be the reason.",
        )
    steps = _step_lengths(built, window, original)
    tries = [[one] for one in changes] or [
        [(change, value)] for change in CHANGES.values() for value in change.values(built, part)
    ]
    if len(changes) > 1:
        tries.append(changes)
    found = [
        one for one in (_predicted(built, part, window, baseline, error, steps, chosen) for chosen in tries) if one
    ]
    if not changes:
        found = [one for one in found if baseline - one.predicted_ns > LEAST_SAVING_PCT / 100 * baseline]
        found.sort(key=lambda one: one.predicted_ns)
    path = critical_path.pieces(built, original, window.begin_ns, _end(built, window, original))
    return WhatIf(
        window.begin_ns, window.end_ns, len(window.steps), baseline, replayed, error, path, found
    )  # fmt: skip


def _known(name: str, value: str) -> tuple[Change, str]:
    if name not in CHANGES:
        raise AnalysisError(f"There is no change {name!r}.", hint=f"Changes: {', '.join(CHANGES)}.")
    change = CHANGES[name]
    if bool(value) != bool(change.value):
        wants = f"takes {change.value}: {name}=..." if change.value else "takes no value"
        raise AnalysisError(f"The change {name} {wants}.")
    if name == "faster_kernels":
        _check_times(value)
    return change, value


def _check_times(value: str) -> None:
    wanted, _, times = value.rpartition(":")
    try:
        right = bool(wanted) and 0 < float(times) < float("inf")
    except ValueError:
        right = False
    if not right:
        raise AnalysisError("faster_kernels takes CLASS:TIMES, such as matmul:2.")


def _check(recorded: recording.Recording) -> None:
    calls, operations = recorded.calls, recorded.operations
    if not len(operations):
        raise NotCapturedError("Nothing ran on a GPU, so there is nothing to replay.")
    if not len(calls):
        raise NotCapturedError(
            "This report has no CUDA calls, so nothing tells what launched its kernels.",
            command="nsys profile --trace=cuda,nvtx ...",
        )
    kernels = operations.kind == recording.KERNEL
    orphans = np.count_nonzero(kernels & (operations.call < 0)) / max(1, np.count_nonzero(kernels))
    if orphans > MOST_ORPHANS:
        raise NotCapturedError(
            f"The calls that launched {100 * orphans:.0f} % of the kernels are missing, so the report cannot be replayed.",
            why="Capture a shorter part of the program: events were lost, or the capture began after the launches.",
        )


def _window(library: Library, report_id: str, db: duckdb.DuckDBPyConnection) -> Window:
    """Return the steady part of the program, or all of it if nothing repeats; of a long one, steps in its middle."""
    spans = _steps(library, report_id, db)
    if spans:
        spans = _middle(spans, [_count(db, begin, end) for _, begin, end in spans])
        return Window(spans[0][1], max(end for *_, end in spans), spans[0][0], [one[1:] for one in spans])
    begin, end = _extent(library, report_id, db)
    while (count := _count(db, begin, end)) > MOST_OPERATIONS:
        end = begin + (end - begin) * MOST_OPERATIONS // (count + 1)
    busiest = db.execute(_BUSIEST, {"begin": begin, "end": end}).fetchone()
    return Window(begin, end, busiest[0] if busiest else -1, [])


def _steps(library: Library, report_id: str, db: duckdb.DuckDBPyConnection) -> list[tuple[int, int, int]]:
    """Return thread, begin and end of the steps that count, on the thread that has the first of them."""
    try:
        if not len(answer_store.run(library, report_id, "steady_part", {})):
            return []
        steps = analysis.run(library, report_id, "iterations", {"rank": 1})
    except NotCapturedError:
        return []
    ids = steps.loc[~steps["is_warmup"].astype(bool), "range_id"].tolist()
    rows = db.execute(_STEPS, [ids]).fetchall()
    return [row for row in rows if row[0] == rows[0][0]]


def _extent(library: Library, report_id: str, db: duckdb.DuckDBPyConnection) -> tuple[int, int]:
    with suppress(NotCapturedError):
        steady = answer_store.run(library, report_id, "steady_part", {})
        if len(steady):
            (origin,) = db.execute("SELECT coalesce(any_value(start_ns), 0) FROM report").fetchone() or (0,)
            return origin + int(steady["from_ns"][0]), origin + int(steady["to_ns"][0])
    begin, end = db.execute(_EXTENT).fetchone() or (None, None)
    return begin or 0, end or 0


def _count(db: duckdb.DuckDBPyConnection, begin: int, end: int) -> int:
    (count,) = db.execute(_COUNT, {"begin": begin, "end": end}).fetchone() or (0,)
    return int(count)


def _middle(spans: list[tuple[int, int, int]], counts: list[int]) -> list[tuple[int, int, int]]:
    """Return as many steps around the middle one as hold ``MOST_OPERATIONS``, at least one."""
    low = high = len(spans) // 2
    total = counts[low]
    while high - low + 1 < len(spans):
        wider = low - 1 if low and (low + high >= len(spans) - 1 or high == len(spans) - 1) else high + 1
        if total + counts[wider] > MOST_OPERATIONS:
            break
        total, low, high = total + counts[wider], min(low, wider), max(high, wider)
    return spans[low : high + 1]


def _ranges(db: duckdb.DuckDBPyConnection, window: Window) -> Mapping[str, Integers]:
    rows = db.execute(_RANGES, [window.begin_ns, window.end_ns]).fetchmany(_MOST_RANGES)
    own = set(window.steps)
    found: dict[str, list[tuple[int, int, int]]] = {}
    for name, tid, begin, end in rows:
        if (begin, end) not in own and begin >= window.begin_ns:
            found.setdefault(name, []).append((tid, begin, end))
    return {name: np.array(spans, np.int64) for name, spans in found.items()}


def _part(built: Graph, window: Window, ranges: Mapping[str, Integers]) -> Part:
    calls, operations = built.recording.calls, built.recording.operations
    inside = (calls.start >= window.begin_ns) & (calls.start < window.end_ns)
    launched = operations.call >= 0
    ours = np.zeros(len(operations), np.bool_)
    ours[launched] = inside[operations.call[launched]]
    return Part(inside, ours, ranges)


def typical(built: Graph) -> Graph:
    """Return the graph with the lag that operations of each kind usually have, and what calls usually add to a wait.

    A replay of it shows how much of the length is explained by what waits for what, rather than by recorded times.
    """
    operations, calls = built.recording.operations, built.recording.calls
    lag = built.lag.copy()
    begun = np.where(operations.call >= 0, calls.start[operations.call], 0)
    follows = built.stream_before >= 0
    by_stream = follows & (operations.end[built.stream_before] > begun)
    for kind in np.unique(operations.kind):
        for streamed in (True, False):
            chosen = (operations.kind == kind) & (by_stream == streamed) & (lag > 0)
            if chosen.any():
                lag[chosen] = int(np.median(lag[chosen]))
    by_name: dict[int, list[int]] = {}
    for i, rest in built.after_wait.items():
        by_name.setdefault(int(calls.name[i]), []).append(rest)
    usual = {name: int(np.median(rests)) for name, rests in by_name.items()}
    return replace(built, lag=lag, after_wait={i: usual[int(calls.name[i])] for i in built.after_wait})


def _moments(built: Graph, window: Window, replayed: Replayed, times: Integers) -> Integers:
    """Return when the thread of the window comes to moments of the recording in a replay."""
    calls = built.recording.calls
    threads = built.recording.threads
    ours = np.flatnonzero(calls.thread == threads.index(window.thread)) if window.thread in threads else ()
    chain = built.chain[ours[0] if len(ours) else 0]
    mine = np.flatnonzero(built.chain == chain)
    at = np.searchsorted(calls.start[mine], times, "right") - 1
    begins, ends = np.array(replayed.call_begin)[mine], np.array(replayed.call_end)[mine]
    here = np.maximum(at, 0)
    inside = times <= calls.end[mine][here]
    moment = np.where(
        inside, np.minimum(begins[here] + times - calls.start[mine][here], ends[here]),
        ends[here] + times - calls.end[mine][here],
    )  # fmt: skip
    following = np.minimum(at + 1, len(mine) - 1)
    moment = np.where((at + 1 < len(mine)) & ~inside, np.minimum(moment, begins[following]), moment)
    first = times - calls.start[mine][0] + begins[0]
    return np.where(at < 0, first, moment)


def _end(built: Graph, window: Window, replayed: Replayed) -> int:
    """Return when the host has left the window and its last operation has ended."""
    calls, operations = built.recording.calls, built.recording.operations
    host = int(_moments(built, window, replayed, np.array([window.end_ns]))[0])
    launched = operations.call >= 0
    inside = np.zeros(len(operations), np.bool_)
    begun = calls.start[operations.call[launched]]
    inside[launched] = (begun >= window.begin_ns) & (begun < window.end_ns)
    return max(host, int(np.array(replayed.end)[inside].max(initial=host)))


def _length(built: Graph, window: Window, replayed: Replayed) -> int:
    begin = int(_moments(built, window, replayed, np.array([window.begin_ns]))[0])
    return _end(built, window, replayed) - begin


def _step_lengths(built: Graph, window: Window, replayed: Replayed) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return from the begin of each step to that of the next one."""
    begins = np.array([begin for begin, _ in window.steps] + [window.end_ns] * bool(window.steps), np.int64)
    return np.diff(_moments(built, window, replayed, begins)).astype(np.float64)


def _predicted(
    built: Graph, part: Part, window: Window, baseline: int, error: float,
    before: np.ndarray[Any, np.dtype[np.float64]], chosen: Sequence[tuple[Change, str]],
) -> Predicted | None:  # fmt: skip
    changed = built
    for change, value in chosen:
        edited = change.apply(changed, part, value)
        if edited is None and len(chosen) == 1:
            return None
        changed = edited or changed
    replayed = simulation.replay(changed)
    length = _length(changed, window, replayed)
    saving = baseline - length
    spread = 0.0
    if len(before) > 2:
        gained = before - _step_lengths(changed, window, replayed)
        spread = 1.96 * float(np.std(gained, ddof=1)) * len(gained) ** 0.5
    off = (spread**2 + (MODEL_ERROR * saving) ** 2) ** 0.5 + error / 100 * baseline
    begin = int(_moments(changed, window, replayed, np.array([window.begin_ns]))[0])
    kinds: dict[str, int] = {}
    for piece in critical_path.pieces(changed, replayed, begin, begin + length):
        kinds[piece.kind] = kinds.get(piece.kind, 0) + piece.ns
    largest = max(kinds, key=lambda kind: kinds[kind]) if kinds else ""
    return Predicted(
        tuple((change.name, value) for change, value in chosen),
        "; ".join(_title(change, value) for change, value in chosen),
        " ".join(change.assumes for change, _ in chosen),
        length, max(0, int(length - off)), int(length + off), largest,
        100 * kinds[largest] / length if largest and length else 0.0,
    )  # fmt: skip


def _title(change: Change, value: str) -> str:
    if change.name == "faster_kernels":
        wanted, _, times = value.rpartition(":")
        value = f"of {wanted} {float(times):g} times"
    return change.title.replace("{value}", value)
