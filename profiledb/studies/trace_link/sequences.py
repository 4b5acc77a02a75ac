"""Which kernels of two orders are the same: pure functions of the kernels of two reports.

Two profilers cannot record one run together, so times and correlation ids differ, while a stream runs the same kernels
in the same order. The order of each stream is cut into pieces at the steps of the program's loop. A piece is the piece
of the other report, on the same GPU and stream, that runs the same kernels, all of them and in the same order: of
several that of the same step, else the first. So a trace of a few steps tells of a whole run. Where a step differs a
little from that of its name, kernels are the same from both ends on up to the first that is not; what lies between is
no pair. Where it differs much, it is another step: training begins with what inference runs.

Every kernel is looked at a fixed number of times, so a million take seconds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
LEAST = 0.9
"""Share of the kernels of the longer one of two steps that both begin or end with, for these to be the same."""
NONE = -1
"""The step of a kernel that lies in none; the pair of one that the other report lacks."""


@dataclass(frozen=True)
class Side:
    """The kernels of a report, stream by stream in the order of time.

    Args:
        names: a number per kernel, in both reports the same for the same kernel.
        lanes: process, GPU and stream of each, a row a kernel.
        steps: a number per kernel, in both reports the same for a step of the same name, or NONE.
    """

    names: Numbers
    lanes: Numbers
    steps: Numbers

    def without_steps(self) -> "Side":
        """The same, cut at streams only."""
        return Side(self.names, self.lanes, np.full_like(self.steps, NONE))


@dataclass(frozen=True)
class Piece:
    """Neighbors of a stream from ``low`` to before ``high``; ``place`` is what they are called in both reports."""

    lane: tuple[int, int]
    place: tuple[str, int]
    low: int
    high: int


def pairs(ours: Side, theirs: Side) -> Numbers:
    """The place of each of our kernels in theirs, or NONE: by steps, or by whole streams where that finds more."""
    by_steps, at_once = _pairs(ours, theirs), _pairs(ours.without_steps(), theirs.without_steps())
    return by_steps if np.count_nonzero(by_steps >= 0) >= np.count_nonzero(at_once >= 0) else at_once


def _pairs(ours: Side, theirs: Side) -> Numbers:
    found = np.full(len(ours.names), NONE, dtype=np.int64)
    streams = _streams(ours, theirs)
    same: dict[tuple[tuple[int, int], bytes], dict[tuple[str, int], Piece]] = {}
    named: dict[tuple[tuple[int, int], tuple[str, int]], Piece] = {}
    for piece in pieces(theirs):
        same.setdefault((piece.lane, theirs.names[piece.low : piece.high].tobytes()), {}).setdefault(piece.place, piece)
        named.setdefault((piece.lane, piece.place), piece)
    for piece in pieces(ours):
        lane = streams.get(piece.lane, piece.lane)
        own = ours.names[piece.low : piece.high]
        if alike := same.get((lane, own.tobytes())):
            low = alike.get(piece.place, next(iter(alike.values()))).low
            found[piece.low : piece.high] = np.arange(low, low + len(own))
        elif other := named.get((lane, piece.place)):
            begin, end = _ends(own, theirs.names[other.low : other.high])
            if begin + end < LEAST * max(len(own), other.high - other.low):
                continue
            found[piece.low : piece.low + begin] = np.arange(other.low, other.low + begin)
            found[piece.high - end : piece.high] = np.arange(other.high - end, other.high)
    return found


def pieces(side: Side) -> Iterator[Piece]:
    """The orders of the streams, cut where a step begins or ends.

    What lies in no step is called by the step before it, at the begin of a stream by the one after it.
    """
    if not len(side.names):
        return
    lane = (side.lanes[1:] != side.lanes[:-1]).any(axis=1)
    cuts = np.flatnonzero(lane | (side.steps[1:] != side.steps[:-1])) + 1
    lows, highs = np.append(0, cuts), np.append(cuts, len(side.names))
    begins = np.append(True, lane[cuts - 1])
    steps = side.steps[lows]
    for number, (low, high) in enumerate(zip(lows.tolist(), highs.tolist(), strict=True)):
        place = ("in", int(steps[number]))
        if steps[number] == NONE and not begins[number]:
            place = ("after", int(steps[number - 1]))
        elif steps[number] == NONE and number + 1 < len(lows) and not begins[number + 1]:
            place = ("before", int(steps[number + 1]))
        yield Piece((int(side.lanes[low, 1]), int(side.lanes[low, 2])), place, low, high)


def _streams(ours: Side, theirs: Side) -> dict[tuple[int, int], tuple[int, int]]:
    """Streams of ours whose number theirs lack, by GPU one after the other with those that ours lack."""
    here, there = _lanes(ours), _lanes(theirs)
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for gpu in {gpu for gpu, _ in here}:
        more, others = ([one for one in ones if one[0] == gpu] for ones in (here, there))
        found |= zip([o for o in more if o not in others], [o for o in others if o not in more], strict=False)
    return found


def _lanes(side: Side) -> Sequence[tuple[int, int]]:
    return [(int(gpu), int(stream)) for gpu, stream in np.unique(side.lanes[:, 1:], axis=0)]


def _ends(one: Numbers, other: Numbers) -> tuple[int, int]:
    """How many are equal from the begin on, and of the rest from the end on."""
    length = min(len(one), len(other))
    begin = _equal(one[:length], other[:length])
    return begin, _equal(one[::-1][: length - begin], other[::-1][: length - begin])


def _equal(one: Numbers, other: Numbers) -> int:
    differs = np.flatnonzero(one != other)
    return int(differs[0]) if len(differs) else len(one)
