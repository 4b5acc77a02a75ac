"""Sums over the events of lanes in an area: events one by one at its edges, stored sums in between."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np

from profiledb.timeline import events, sums, unions
from profiledb.timeline.open_timeline import LaneInfo, Lanes
from profiledb.timeline.unions import Numbers


@dataclass(frozen=True)
class Part:
    """Lanes, and the bins of 2^z ns between two times that lie entirely in the area; without bins, all of it is
    read.
    """

    lanes: Sequence[LaneInfo]
    z: int = 0
    whole: tuple[int, int] | None = None


@dataclass
class EventCounts:
    """Events that reach into an area.

    ``lane``, ``name`` and ``ns`` (their whole durations) are of events that were read. Others are in ``stored``: lane,
    bucket, count, shortest and longest (rows ordered by lane and bucket), and in ``by_name``: lane, name, count, ns.
    ``outside`` holds lane, name and the time before and after the area of events that reach over its edges.
    """

    lane: Numbers
    name: Numbers
    ns: Numbers
    busy: dict[int, int]
    stored: Numbers
    by_name: Numbers
    outside: Numbers

    def names(self, lanes: Collection[LaneInfo]) -> Numbers:
        """Return name, count and time inside the area of each name in some lanes, ordered by name."""
        rows = self._stack_rows()
        rows = rows[np.isin(rows[:, 0], [lane.id for lane in lanes])]
        return _sum_by_key(rows[:, 1], rows[:, 2], rows[:, 3] - rows[:, 4])

    def by_lane(self) -> dict[int, tuple[int, int, int]]:
        """Return of each lane the count, the summed duration, and the time inside the area."""
        rows = self._stack_rows()
        sums = _sum_by_key(rows[:, 0], rows[:, 2], rows[:, 3], rows[:, 3] - rows[:, 4])
        return {lane: (count, ns, inside) for lane, count, ns, inside in sums.tolist()}

    def _stack_rows(self) -> Numbers:
        """Return lane, name, count, duration and time outside the area, in any number of rows a name."""
        read, cut = np.zeros(len(self.ns), dtype=np.int64), np.zeros(len(self.outside), dtype=np.int64)
        return np.concatenate(
            [
                np.column_stack([self.lane, self.name, read + 1, self.ns, read]),
                np.column_stack([self.by_name, np.zeros(len(self.by_name), dtype=np.int64)]),
                np.column_stack([self.outside[:, :2], cut, cut, self.outside[:, 2]]),
            ]
        )

    def buckets(self) -> Numbers:
        """Return lane, bucket, count, shortest and longest, ordered by lane and bucket."""
        order = np.lexsort((self.ns, self.lane))
        lane, ns = self.lane[order], self.ns[order]
        bucket = sums.find_buckets(ns).astype(np.int64)
        read = np.column_stack([lane, bucket, np.ones(len(ns), dtype=np.int64), ns, ns])
        rows = np.concatenate([_merge_rows(read), self.stored])
        return _merge_rows(rows[np.lexsort((rows[:, 1], rows[:, 0]))])


def count_events(
    cursor: duckdb.DuckDBPyConnection, opened: Lanes, lanes: Sequence[LaneInfo], low: int, high: int
) -> EventCounts:
    """Sum the events of lanes that reach into the time from ``low`` to ``high`` (ns), and the busy time in between."""
    nothing = np.empty(0, dtype=np.int64)
    counts = EventCounts(
        nothing, nothing, nothing, {}, *(np.empty((0, width), dtype=np.int64) for width in (5, 4, 3))
    )  # fmt: skip
    for part in split_lanes(lanes, low, high):
        if part.whole:
            first, last = part.whole
            _add_from_sums(cursor, part, counts)
            _add_events(cursor, opened, part.lanes, (low, first), counts, before=low)
            _add_events(cursor, opened, part.lanes, (last, high), counts, after=high)
        else:
            _add_events(cursor, opened, part.lanes, (low, high), counts, before=low, after=high)
    return counts


def split_lanes(lanes: Sequence[LaneInfo], low: int, high: int) -> Iterator[Part]:
    """Group the lanes by the bins that their stored sums cover."""
    plain = []
    for z in {lane.sum_z for lane in lanes}:
        mine = [lane for lane in lanes if lane.sum_z == z]
        if z is None or -(-low >> z) >= high >> z:
            plain += mine
        else:
            yield Part(mine, z, (-(-low >> z) << z, high >> z << z))
    if plain:
        yield Part(plain)


def _add_from_sums(cursor: duckdb.DuckDBPyConnection, part: Part, counts: EventCounts) -> None:
    assert part.whole is not None
    first, last = (edge >> part.z for edge in part.whole)
    which = f"{events.build_condition('lane', [lane.id for lane in part.lanes])} AND bin >= {first} AND bin < {last}"
    names = _read_numbers(
        cursor, f"SELECT lane, name, sum(n)::BIGINT, sum(ns)::BIGINT FROM name_sum WHERE {which} GROUP BY ALL"
    )
    lengths = _read_numbers(
        cursor,
        f"SELECT lane, bucket, sum(n)::BIGINT, min(low), max(high) FROM length_sum WHERE {which} GROUP BY ALL"
        " ORDER BY lane, bucket",
    )
    busy = cursor.execute(f"SELECT lane, sum(ns)::BIGINT FROM busy_sum WHERE {which} GROUP BY lane").fetchall()
    counts.by_name = np.concatenate([counts.by_name, names]) if len(names) else counts.by_name
    counts.stored = np.concatenate([counts.stored, lengths]) if len(lengths) else counts.stored
    _add_busy(counts, busy)


def _add_events(
    cursor: duckdb.DuckDBPyConnection,
    opened: Lanes,
    lanes: Sequence[LaneInfo],
    window: tuple[int, int],
    counts: EventCounts,
    before: int | None = None,
    after: int | None = None,
) -> None:
    """Add the events that start in a window.

    Args:
        cursor, opened, lanes: the timeline and the lanes to read.
        window: start and end, ns; may be empty.
        counts: the sums to add them to.
        before: the start of the area, if the window begins there: events that reach over it count, too.
        after: its end, if the window ends there: what lies behind it is outside.
    """
    low, high = window
    query = events.build_events_query(opened, lanes, low, high)
    rows = cursor.execute(f"SELECT lane::BIGINT AS lane, name::BIGINT AS name, s, e FROM ({query})").fetchnumpy()
    lane, name, s, e = (np.asarray(rows[column]) for column in ("lane", "name", "s", "e"))
    counted = s >= low if before is None else (s >= low) | (e > low)
    counts.lane = np.concatenate([counts.lane, lane[counted]])
    counts.name = np.concatenate([counts.name, name[counted]])
    counts.ns = np.concatenate([counts.ns, (e - s)[counted]])
    outside = np.zeros(len(s), dtype=np.int64)
    if before is not None:
        outside += np.where(counted, np.maximum(before - s, 0), 0)
    if after is not None:
        outside += np.maximum(e - after, 0)
    over = outside > 0
    counts.outside = np.concatenate([counts.outside, np.column_stack([lane[over], name[over], outside[over]])])
    order = np.lexsort((s, lane))
    lane, s, e = lane[order], np.maximum(s[order], low), np.minimum(e[order], high)
    begin, end = unions.find_new_parts(s, e, unions.find_latest_ends(lane, e))
    _add_busy(counts, _sum_by_key(lane, end - begin).tolist())


def _add_busy(counts: EventCounts, rows: Sequence[Sequence[int]]) -> None:
    for lane, ns in rows:
        counts.busy[lane] = counts.busy.get(lane, 0) + ns


def _sum_by_key(key: Numbers, *values: Numbers) -> Numbers:
    """Sum by key: one row per key, one column per value."""
    keys, place = np.unique(key, return_inverse=True)
    columns = [keys]
    for value in values:
        total = np.zeros(len(keys), dtype=np.int64)
        np.add.at(total, place, value)
        columns.append(total)
    return np.column_stack(columns)


def _merge_rows(rows: Numbers) -> Numbers:
    """Merge adjacent rows of the same lane and bucket."""
    if not len(rows):
        return rows
    first = np.flatnonzero(np.append(True, (np.diff(rows[:, :2], axis=0) != 0).any(axis=1)))
    return np.column_stack(
        [
            rows[first, 0], rows[first, 1], np.add.reduceat(rows[:, 2], first),
            np.minimum.reduceat(rows[:, 3], first), np.maximum.reduceat(rows[:, 4], first),
        ]
    )  # fmt: skip


def _read_numbers(cursor: duckdb.DuckDBPyConnection, query: str) -> Numbers:
    """Return the answer of a query as one array of integers."""
    columns = cursor.execute(query).fetchnumpy().values()
    return np.column_stack([np.asarray(column, dtype=np.int64) for column in columns])
