"""Lanes of crossing ranges, and neighbors among numbers, against a plain computation."""

from collections import defaultdict
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.derive.lanes import Lanes, limit_lanes
from ingest.derive.projection import Neighbors

RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 60)), max_size=120)


def first_fit(ranges: list[tuple[int, int]]) -> list[int]:
    """The first lane in which each range crosses none of the earlier ones; (start, end)."""
    lanes: list[list[tuple[int, int]]] = []
    found = []
    for start, end in ranges:

        def crosses(others: list[tuple[int, int]], start: int = start, end: int = end) -> bool:
            return any(begin < start < last < end for begin, last in others)

        lane = next((i for i, others in enumerate(lanes) if not crosses(others)), len(lanes))
        if lane == len(lanes):
            lanes.append([])
        lanes[lane].append((start, end))
        found.append(lane)
    return found


@given(RANGES)
@settings(max_examples=500, deadline=None)
def test_each_range_gets_the_first_lane_in_which_it_nests(drawn: list[tuple[int, int]]) -> None:
    ranges = sorted(((start, start + length) for start, length in drawn), key=lambda one: (one[0], -one[1]))
    lanes = Lanes()
    assert [lanes.add(start, end) for start, end in ranges] == first_fit(ranges)
    assert lanes.count == max(first_fit(ranges), default=-1) + 1


@given(
    st.dictionaries(st.integers(0, 9), st.tuples(st.integers(1, 50), st.integers(0, 50)), min_size=1),
    st.integers(0, 900),
)
def test_as_many_lanes_as_there_is_time_for(threads: dict[int, tuple[int, int]], most: int) -> None:
    counts = {tid: count for tid, (count, _) in threads.items()}
    looked_up = {tid: things for tid, (_, things) in threads.items()}

    def pairs(limit: int) -> int:
        return sum(min(counts[tid], limit) * looked_up[tid] for tid in counts)

    limit = limit_lanes(counts, looked_up, most)
    assert limit == 1 or pairs(limit) <= most
    assert limit == max(counts.values()) or pairs(limit + 1) > most


@given(st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 40), st.integers(1, 40)), max_size=60))
@settings(max_examples=300, deadline=None)
def test_neighbors_share_the_time_during_which_they_are(drawn: list[tuple[int, int, int]]) -> None:
    pieces = {number: (start, start + length) for number, start, length in drawn}
    moments = sorted(
        [(start, 1, number) for number, (start, _) in pieces.items()] + [(end, 0, n) for n, (_, end) in pieces.items()]
    )
    running, found = Neighbors(), defaultdict[tuple[int, int], int](int)
    for place, (t, begins, number) in enumerate(moments):
        (running.begin if begins else running.end)(number, t)
        if place % 7 == 0:  # whenever it is asked
            for pair, ns in running.take().items():
                found[pair] += ns
    for pair, ns in running.take().items():
        found[pair] += ns
    expected = defaultdict[tuple[int, int], int](int)
    for t in range(100):
        there = sorted(number for number, (start, end) in pieces.items() if start <= t < end)
        for pair in pairwise(there):
            expected[pair] += 1
    assert {pair: ns for pair, ns in found.items() if ns} == expected
