"""The time that stretches of several lanes cover, each lane by itself, without a window in SQL."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
NEVER = -(1 << 63)
"""An end before all times."""


def reached(segments: Numbers, ends: Numbers, carried: Numbers | None = None) -> Numbers:
    """The latest end of all stretches before each one in its segment; ``NEVER`` for the first.

    Args:
        segments: number of the segment of each stretch, ascending.
        ends: ends of the stretches, in each segment in the order of their begins.
        carried: the latest end so far by number of segment; it is brought up to date.
    """
    n = len(ends)
    before = np.full(n, NEVER, dtype=np.int64)
    if not n:
        return before
    order = np.argsort(ends, kind="stable")
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    # ranks instead of times: a later segment outbids every earlier one, and no sum leaves 64 bits
    place = np.cumsum(np.diff(segments, prepend=segments[0]) != 0)
    top = ends[order][np.maximum.accumulate(place * n + rank) - place * n]
    same = segments[1:] == segments[:-1]
    before[1:][same] = top[:-1][same]
    if carried is not None:
        before = np.maximum(before, carried[segments])
        last = np.append(~same, True)
        np.maximum.at(carried, segments[last], top[last])
    return before


def fresh(starts: Numbers, ends: Numbers, before: Numbers) -> tuple[Numbers, Numbers]:
    """Begin and end of what each stretch adds to those before it; these parts do not overlap."""
    begin = np.minimum(np.maximum(starts, before), np.maximum(ends, starts))
    return begin, np.maximum(ends, begin)
