"""Match two sequences of kernels: pure functions of the kernels of two reports.

Two profilers cannot record one run together, so times and correlation ids differ, while a stream runs the same kernels
in the same order. The sequence of each stream is cut into pieces at the steps of the program's loop. A piece matches a
piece of the other report, on the same GPU and stream, that runs the same kernels in the same order: of several that of
the same step, else the first. So a trace of a few steps covers a whole run. If a step differs a little from the one of
its name, kernels match from both ends up to the first difference, and those in between have no pair. If it differs
much, it is another step: training begins with the kernels of inference.

Every kernel is looked at a fixed number of times, so a million take seconds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
LEAST = 0.9
"""Share of the kernels of the longer of two steps that both begin or end with, from which the steps are the same."""
NONE = -1
"""The step of a kernel outside steps; the pair of a kernel that the other report lacks."""


@dataclass(frozen=True)
class Side:
    """The kernels of a report, stream by stream in order of time.

    Args:
        names: a number per kernel, equal for the same kernel in both reports.
        lanes: process, GPU and stream of each kernel, one row per kernel.
        steps: a number per kernel, equal for a step of the same name in both reports, or NONE.
    """

    names: Numbers
    lanes: Numbers
    steps: Numbers

    def without_steps(self) -> "Side":
        """Return the same kernels, cut at streams only."""
        return Side(self.names, self.lanes, np.full_like(self.steps, NONE))


@dataclass(frozen=True)
class Piece:
    """Adjacent kernels of a stream from ``low`` to before ``high``; ``place`` identifies them in both reports."""

    lane: tuple[int, int]
    place: tuple[str, int]
    low: int
    high: int


def match_sides(ours: Side, theirs: Side) -> Numbers:
    """Return the position of each of our kernels in theirs, or NONE: by steps, or by whole streams if that matches
    more.
    """
    by_steps, at_once = _pair_operations(ours, theirs), _pair_operations(ours.without_steps(), theirs.without_steps())
    return by_steps if np.count_nonzero(by_steps >= 0) >= np.count_nonzero(at_once >= 0) else at_once


def _pair_operations(ours: Side, theirs: Side) -> Numbers:
    places = np.full(len(ours.names), NONE, dtype=np.int64)
    streams = _pair_streams(ours, theirs)
    same: dict[tuple[tuple[int, int], bytes], dict[tuple[str, int], Piece]] = {}
    named: dict[tuple[tuple[int, int], tuple[str, int]], Piece] = {}
    for piece in cut_pieces(theirs):
        same.setdefault((piece.lane, theirs.names[piece.low : piece.high].tobytes()), {}).setdefault(piece.place, piece)
        named.setdefault((piece.lane, piece.place), piece)
    for piece in cut_pieces(ours):
        lane = streams.get(piece.lane, piece.lane)
        own = ours.names[piece.low : piece.high]
        if alike := same.get((lane, own.tobytes())):
            low = alike.get(piece.place, next(iter(alike.values()))).low
            places[piece.low : piece.high] = np.arange(low, low + len(own))
        elif other := named.get((lane, piece.place)):
            begin, end = _count_equal_ends(own, theirs.names[other.low : other.high])
            if begin + end < LEAST * max(len(own), other.high - other.low):
                continue
            places[piece.low : piece.low + begin] = np.arange(other.low, other.low + begin)
            places[piece.high - end : piece.high] = np.arange(other.high - end, other.high)
    return places


def cut_pieces(side: Side) -> Iterator[Piece]:
    """Yield the sequences of the streams, cut where a step begins or ends.

    Kernels outside steps are identified by the step before them, at the start of a stream by the one after.
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


def _pair_streams(ours: Side, theirs: Side) -> dict[tuple[int, int], tuple[int, int]]:
    """Pair our streams whose numbers they lack with theirs that we lack, by GPU and in order."""
    here, there = _list_lanes(ours), _list_lanes(theirs)
    pairs: dict[tuple[int, int], tuple[int, int]] = {}
    for gpu in {gpu for gpu, _ in here}:
        more, others = ([one for one in ones if one[0] == gpu] for ones in (here, there))
        pairs |= zip([o for o in more if o not in others], [o for o in others if o not in more], strict=False)
    return pairs


def _list_lanes(side: Side) -> Sequence[tuple[int, int]]:
    return [(int(gpu), int(stream)) for gpu, stream in np.unique(side.lanes[:, 1:], axis=0)]


def _count_equal_ends(one: Numbers, other: Numbers) -> tuple[int, int]:
    """Count the equal elements from the start, and of the rest from the end."""
    length = min(len(one), len(other))
    begin = _count_equal(one[:length], other[:length])
    return begin, _count_equal(one[::-1][: length - begin], other[::-1][: length - begin])


def _count_equal(one: Numbers, other: Numbers) -> int:
    differs = np.flatnonzero(one != other)
    return int(differs[0]) if len(differs) else len(one)
