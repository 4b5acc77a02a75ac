"""Find which operations of GPUs, in one report or in several of a run, are one collective of a communicator.

Few captures name the communicator. NCCL runs the operations of one in order in a stream of its own, and they end on all
its GPUs together: within microseconds, while those of other communicators drift apart by a step's time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from profiledb.replay.recording import Flags, Integers, Operations

TOGETHER_NS = 100_000
"""Maximum time between the ends of a collective on two GPUs, in ns."""
LEAST_TOGETHER = 0.9
"""Minimum fraction of the operations of two streams that end together for both to serve one communicator."""


@dataclass(frozen=True)
class Series:
    """The collectives of a stream, by start: of which rank and GPU, their places in its operations, names and ends."""

    rank: int
    device: int
    places: Integers
    names: list[str]
    end: Integers


@dataclass(frozen=True)
class Matched:
    """Series of one communicator each, and the shift of the times of each rank to the clock of its ``clock``.

    Ranks with the same number in ``clock`` are on one clock; of others nothing is known.
    """

    communicators: list[list[Series]]
    shift_ns: list[int]
    clock: list[int]

    def list_operations(self) -> list[Integers]:
        """Return for each communicator its collectives as rows, a column for each series, where they end together."""
        operations = []
        for members in self.communicators:
            ends = np.stack([one.end + self.shift_ns[one.rank] for one in members])
            operations.append(np.stack([one.places for one in members], axis=1)[np.ptp(ends, axis=0) <= TOGETHER_NS])
        return operations


def keep_overlapping(operations: Operations, rows: Integers) -> list[tuple[int, ...]]:
    """Return the rows whose operations all run at once for some time."""
    overlap = operations.start[rows].max(axis=1) < operations.end[rows].min(axis=1)
    return [tuple(one) for one in rows[overlap].tolist()]


def list_series(operations: Operations, chosen: Flags, rank: int = 0) -> list[Series]:
    """Return the series of the chosen collectives."""
    sends = operations.in_class("communication") & chosen
    series = []
    for stream in np.unique(operations.stream[sends]):
        mine = np.flatnonzero(sends & (operations.stream == stream))
        names = [operations.kernels[code].name for code in operations.name[mine].tolist()]
        series.append(Series(rank, int(operations.device[mine[0]]), mine, names, operations.end[mine]))
    return series


def match(series: Sequence[Series], ranks: int) -> Matched:
    """Match series of the same operations that end together, those first that differ least."""
    links = []
    for a, b in combinations(range(len(series)), 2):
        one, other = series[a], series[b]
        if (one.rank, one.device) != (other.rank, other.device) and is_alike(one, other):
            apart = one.end - other.end
            ahead = int(np.median(apart))
            off = np.abs(apart - ahead)
            if np.mean(off <= TOGETHER_NS) >= LEAST_TOGETHER:
                links.append((float(np.percentile(off, 100 * LEAST_TOGETHER)), a, b, ahead))
    shift, clock, group = [0] * ranks, list(range(ranks)), list(range(len(series)))
    for _, a, b, ahead in sorted(links):
        first, second = series[a].rank, series[b].rank
        off_ns = shift[first] + ahead - shift[second]
        if clock[first] == clock[second] and abs(off_ns) > TOGETHER_NS:
            continue
        members = [(one.rank, one.device) for one, of in zip(series, group, strict=True) if of in (group[a], group[b])]
        if group[a] != group[b] and len(members) > len({*members}):
            continue
        group = [group[a] if of == group[b] else of for of in group]
        if clock[first] != clock[second]:
            moved = clock[second]
            for rank in range(ranks):
                if clock[rank] == moved:
                    shift[rank], clock[rank] = shift[rank] + off_ns, clock[first]
    communicators = [
        [one for one, of in zip(series, group, strict=True) if of == number] for number in sorted({*group})
    ]
    return Matched([one for one in communicators if len(one) > 1], [one - shift[0] for one in shift], clock)


def is_alike(one: Series, other: Series) -> bool:
    """Return True if both are the same operations."""
    return one.names == other.names
