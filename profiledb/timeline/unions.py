"""Union the intervals of several lanes, each lane by itself, without a window function in SQL."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
NEVER = -(1 << 63)
"""An end before all times."""


def find_latest_ends(segments: Numbers, ends: Numbers, carried: Numbers | None = None) -> Numbers:
    """Return the latest end of all intervals before each one in its segment; ``NEVER`` for the first.

    Args:
        segments: segment number of each interval, ascending.
        ends: ends of the intervals, in each segment ordered by start.
        carried: latest end so far by segment number; updated.
    """
    n = len(ends)
    before = np.full(n, NEVER, dtype=np.int64)
    if not n:
        return before
    order = np.argsort(ends, kind="stable")
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    # ranks instead of times: a later segment exceeds every earlier one, and no sum exceeds 64 bits
    place = np.cumsum(np.diff(segments, prepend=segments[0]) != 0)
    top = ends[order][np.maximum.accumulate(place * n + rank) - place * n]
    same = segments[1:] == segments[:-1]
    before[1:][same] = top[:-1][same]
    if carried is not None:
        before = np.maximum(before, carried[segments])
        last = np.append(~same, True)
        np.maximum.at(carried, segments[last], top[last])
    return before


def find_new_parts(starts: Numbers, ends: Numbers, before: Numbers) -> tuple[Numbers, Numbers]:
    """Return start and end of the part that each interval adds to those before it; these parts do not overlap."""
    begin = np.minimum(np.maximum(starts, before), np.maximum(ends, starts))
    return begin, np.maximum(ends, begin)
