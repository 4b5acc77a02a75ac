"""Bins of events against a count by hand, and levels of detail against the events themselves."""

from collections import Counter

import duckdb
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from profiledb.timeline import binning_sql
from profiledb.timeline import bins as bins_of_a_tile

Event = tuple[int, int, int, int]  # lane, row, begin, end
Item = tuple[int, int, int, int, int, int]  # lane, row, begin, end, events, busy

DB = duckdb.connect()
DB.execute("SET threads = 1")


@st.composite
def rows_of_events(draw: st.DrawFn) -> list[Event]:
    """Events of up to three rows, those of a row without overlap, short and long, some without length."""
    events = []
    for row in range(draw(st.integers(1, 3))):
        at = draw(st.integers(-3000, 3000))
        for gap, length in draw(
            st.lists(
                st.tuples(
                    st.one_of(st.just(0), st.integers(0, 40), st.integers(0, 5000)),
                    st.one_of(st.just(0), st.integers(0, 40), st.integers(0, 9000)),
                ),
                max_size=40,
            )
        ):
            at += gap
            events.append((row % 2, row, at, at + length))
            at += length
    return events


def bins(events: list[Event], z: int, source: list[Item] | None = None) -> list[Item]:
    """The items of events, or of items, in bins of 2^z ns."""
    if source is None:
        rows = [(lane, row, s, e, 1, e - s, n, n, e - s) for n, (lane, row, s, e) in enumerate(events)]
    else:
        rows = [(*item, 0, 0, item[3] - item[2] if item[4] else -1) for item in source]
    if not rows:
        return []
    values = f"SELECT * FROM (VALUES {', '.join(map(str, rows))}) AS x ({binning_sql.SOURCE})"
    base = min(event[2] for event in events) >> z << z
    query = binning_sql.build_binning(values, 1 << z, base)
    found = DB.execute(f"SELECT lane, row, s, e, n, busy FROM ({query}) ORDER BY ALL").fetchall()
    columns = np.array(sorted(rows), dtype=np.int64).T
    again = bins_of_a_tile.make_items(dict(zip(bins_of_a_tile.NAMES, columns, strict=True)), z, base)
    told = zip(*(again[name].tolist() for name in ("lane", "row", "s", "e", "n", "busy")), strict=True)
    assert sorted(told) == found
    return found


def pixels(parts: list[tuple[int, int, int, int, int]], z: int) -> Counter[tuple[int, int, int]]:
    """Busy time of each row in each bin, from parts (lane, row, begin, end, busy): one from edge to edge as it says."""
    busy: Counter[tuple[int, int, int]] = Counter()
    for lane, row, start, end, time in parts:
        if time != end - start:
            assert (start >> z) == (end - 1) >> z, "only what lies in one bin may be busy for a part of it"
            busy[lane, row, start >> z] += time
            continue
        for at in range(start >> z, (max(end, start + 1) - 1 >> z) + 1):
            busy[lane, row, at] += max(0, min(end, (at + 1) << z) - max(start, at << z))
    return +busy


@settings(deadline=None, max_examples=60)
@given(rows_of_events(), st.integers(0, 13))
def test_every_bin_is_as_busy_as_its_events(events: list[Event], z: int) -> None:
    items = bins(events, z)
    drawn = pixels([(lane, row, s, e, busy) for lane, row, s, e, _, busy in items], z)
    assert drawn == pixels([(lane, row, s, e, e - s) for lane, row, s, e in events], z)
    assert all(time <= 1 << z for time in drawn.values())


@settings(deadline=None, max_examples=60)
@given(rows_of_events(), st.integers(0, 13))
def test_every_event_counts_once_where_it_begins(events: list[Event], z: int) -> None:
    counted: Counter[tuple[int, int, int]] = Counter()
    for lane, row, s, _, n, _ in bins(events, z):
        counted[lane, row, s >> z] += n
    assert +counted == Counter((lane, row, s >> z) for lane, row, s, _ in events)


@settings(deadline=None, max_examples=40)
@given(rows_of_events(), st.integers(0, 13))
def test_long_and_lonely_events_keep_their_times(events: list[Event], z: int) -> None:
    begun = Counter((lane, row, s >> z) for lane, row, s, e in events if e - s < 1 << z)
    own = [event for event in events if event[3] - event[2] >= 1 << z or begun[event[0], event[1], event[2] >> z] == 1]
    items = bins(events, z)
    assert sorted(item[:4] for item in items if item[4] == 1) == sorted(own)
    assert all(item[2] % (1 << z) == 0 and item[3] - item[2] == 1 << z for item in items if item[4] > 1)


@settings(deadline=None, max_examples=40)
@given(rows_of_events(), st.integers(0, 9), st.integers(0, 4))
def test_a_level_is_as_exact_as_the_events(events: list[Event], z: int, coarser: int) -> None:
    assert bins(events, z + coarser, bins(events, z)) == bins(events, z + coarser)


def test_a_bin_is_called_after_its_longest_event() -> None:
    rows = "(0, 0, 0, 10, 1, 10, 7, 70, 10), (0, 0, 20, 50, 1, 30, 8, 80, 30), (0, 0, 60, 61, 1, 1, 9, 90, 1)"
    query = binning_sql.build_binning(f"SELECT * FROM (VALUES {rows}) AS x ({binning_sql.SOURCE})", 64, 0)
    assert DB.execute(f"SELECT name, ref, d, n FROM ({query})").fetchall() == [(8, 80, 30, 3)]
