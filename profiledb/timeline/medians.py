"""Medians of durations, exact: buckets say between which two durations each lies, and only such events are read."""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np

from profiledb.timeline import events
from profiledb.timeline.counted import Counted
from profiledb.timeline.store import LaneInfo, Opened
from profiledb.timeline.unions import Numbers


@dataclass(frozen=True)
class Wanted:
    """A median: the mean of the events at two places among those of ``low`` to ``high`` ns, in their order."""

    low: int
    high: int
    places: tuple[int, int]

    def of(self, ns: Numbers) -> float:
        """The median from the durations of all events between the two."""
        if self.low == self.high:
            return float(self.low)
        found = np.partition(ns, sorted(set(self.places)))
        return (int(found[self.places[0]]) + int(found[self.places[1]])) / 2


def medians(
    cursor: duckdb.DuckDBPyConnection, opened: Opened, lanes: Sequence[LaneInfo], low: int, high: int, counted: Counted
) -> tuple[dict[int, float], float | None]:
    """The median duration of the events of each lane that begin in an area, and that of all."""
    rows = counted.buckets()
    if not len(rows):
        return {}, None
    found = _of_read(counted)
    summed = np.unique(counted.stored[:, 0])
    wanted = {int(lane): _wanted(rows[rows[:, 0] == lane]) for lane in summed}
    total = _wanted(_together(rows))
    lane, ns = _between(
        cursor, opened, [one for one in lanes if one.id in wanted], low, high, [*wanted.items(), (None, total)]
    )
    for number, one in wanted.items():
        found[number] = one.of(ns[(lane == number) & (ns >= one.low) & (ns <= one.high)])
    plain = counted.ns[~np.isin(counted.lane, summed)]
    everything = np.concatenate([ns, plain])
    return found, total.of(everything[(everything >= total.low) & (everything <= total.high)])


def _of_read(counted: Counted) -> dict[int, float]:
    """Medians of lanes all of whose events were read; wrong for the others."""
    order = np.lexsort((counted.ns, counted.lane))
    lane, ns = counted.lane[order], counted.ns[order]
    lanes, first, count = np.unique(lane, return_index=True, return_counts=True)
    low, high = ns[first + (count - 1) // 2], ns[first + count // 2]
    return {one: (a + b) / 2 for one, a, b in zip(lanes.tolist(), low.tolist(), high.tolist(), strict=True)}


def _together(rows: Numbers) -> Numbers:
    """The buckets of all lanes as those of one."""
    buckets, place = np.unique(rows[:, 1], return_inverse=True)
    count = np.zeros(len(buckets), dtype=np.int64)
    low, high = np.full(len(buckets), (1 << 63) - 1), np.full(len(buckets), -(1 << 63))
    np.add.at(count, place, rows[:, 2])
    np.minimum.at(low, place, rows[:, 3])
    np.maximum.at(high, place, rows[:, 4])
    return np.column_stack([np.zeros_like(buckets), buckets, count, low, high])


def _wanted(rows: Numbers) -> Wanted:
    """Where the median lies among buckets in their order."""
    until = np.cumsum(rows[:, 2])
    count = int(until[-1])
    first, last = (int(np.searchsorted(until, place, side="right")) for place in ((count - 1) // 2, count // 2))
    before = int(until[first - 1]) if first else 0
    return Wanted(int(rows[first, 3]), int(rows[last, 4]), ((count - 1) // 2 - before, count // 2 - before))


def _between(
    cursor: duckdb.DuckDBPyConnection, opened: Opened, lanes: Sequence[LaneInfo], low: int, high: int,
    wanted: Sequence[tuple[int | None, Wanted]],
) -> tuple[Numbers, Numbers]:  # fmt: skip
    """Lane and duration of the events of lanes that one of these needs."""
    conditions = [
        f"(ns BETWEEN {one.low} AND {one.high}" + (f" AND lane = {lane})" if lane is not None else ")")
        for lane, one in wanted
        if one.low < one.high
    ]
    if not lanes or not conditions:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    window = f"SELECT lane::BIGINT AS lane, s, e - s AS ns FROM ({events.sql(opened, lanes, low, high)})"
    rows = cursor.execute(
        f"SELECT lane, ns FROM ({window}) WHERE s >= {low} AND ({' OR '.join(conditions)})"
    ).fetchnumpy()
    return np.asarray(rows["lane"]), np.asarray(rows["ns"])
