"""Attribute the critical path to the ranges that its calls and host code lie in."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from profiledb.replay.critical_path import HOST, Segment
from profiledb.replay.recording import Integers, Recording


def sum_by_range(
    segments: Iterable[Segment], recording: Recording, ranges: Mapping[str, Integers], drivers: Mapping[int, int]
) -> Counter[str]:
    """Return the time of a recorded path by the name of the innermost range, in ns; "" is outside of all.

    Host code belongs to the range that is open meanwhile, anything else to the one around its call. On threads that
    another one drives, ranges of that one hold what lies outside of their own (docs/attribution.md).

    Args:
        segments: the path.
        recording: its calls.
        ranges: rows of thread, start and end by name.
        drivers: threads that work for another one, and that thread.
    """
    nests = _nest_ranges(ranges)
    calls, took = recording.calls, Counter[str]()
    for one in segments:
        thread = recording.threads[int(calls.thread[one.call])] if one.call >= 0 else -1
        chosen = [nests[tid] for tid in (thread, drivers.get(thread, -1)) if tid in nests]
        if one.kind == HOST:
            for name, ns in _split_time(chosen, one.begin_ns, one.end_ns):
                took[name] += ns
        else:
            moment = int(calls.start[one.call]) if one.call >= 0 else one.begin_ns
            took[next(filter(None, (nest.find(moment) for nest in chosen)), "")] += one.ns
    return took


class _Nest:
    """The ranges of a thread as moments, from each of which on one range is the innermost."""

    def __init__(self, rows: list[tuple[int, int, str]]) -> None:
        rows.sort(key=lambda row: (row[0], -row[1]))
        self.names = [name for *_, name in rows]
        starts, ends = (np.array([row[place] for row in rows], np.int64) for place in range(2))
        edges = np.unique(np.concatenate([starts, ends]))
        self.owner = np.full(len(edges), -1, np.int64)
        low, high = np.searchsorted(edges, starts).tolist(), np.searchsorted(edges, ends).tolist()
        for number, (first, last) in enumerate(zip(low, high, strict=True)):
            self.owner[first:last] = number
        self.edges: list[int] = edges.tolist()

    def find(self, moment: int) -> str:
        """Return the name of the innermost range at a moment, or ""."""
        at = bisect_right(self.edges, moment) - 1
        return self._name(at)

    def split(self, begin: int, end: int) -> Iterator[tuple[int, int, str]]:
        """Yield the parts of an interval, each with the name of the innermost range or ""."""
        at = bisect_right(self.edges, begin) - 1
        while begin < end:
            until = min(end, self.edges[at + 1]) if at + 1 < len(self.edges) else end
            yield begin, until, self._name(at)
            begin, at = until, at + 1

    def _name(self, at: int) -> str:
        return self.names[self.owner[at]] if at >= 0 and self.owner[at] >= 0 else ""


def _nest_ranges(ranges: Mapping[str, Integers]) -> dict[int, _Nest]:
    rows: dict[int, list[tuple[int, int, str]]] = {}
    for name, spans in ranges.items():
        for thread, begin, end in spans.tolist():
            rows.setdefault(thread, []).append((begin, end, name))
    return {thread: _Nest(mine) for thread, mine in rows.items()}


def _split_time(nests: list[_Nest], begin: int, end: int) -> Iterator[tuple[str, int]]:
    """Yield names and times of the parts of an interval by the first nest that has a range there."""
    if not nests:
        yield "", end - begin
        return
    for low, high, name in nests[0].split(begin, end):
        if name or len(nests) == 1:
            yield name, high - low
        else:
            yield from _split_time(nests[1:], low, high)
