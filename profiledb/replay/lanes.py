"""A step of a replay as two lanes, host and GPU, for a small picture."""

from dataclasses import dataclass

import numpy as np

from profiledb.replay.critical_path import CALLS, HOST, name_kind
from profiledb.replay.graph import Graph
from profiledb.replay.part import find_waiting
from profiledb.replay.recording import Flags, Floats, Integers
from profiledb.replay.simulation import Replayed

SLICES = 300
"""Number of equal slices of a step; each shows the kind that takes most of its time."""
WAITS = "synchronization"


@dataclass(frozen=True)
class Stretch:
    """A stretch of a lane, from the start of the step in ns; ``kind`` is one of the critical path, or waits."""

    begin_ns: int
    end_ns: int
    kind: str


@dataclass(frozen=True)
class Lanes:
    """The lanes of a step that takes ``length_ns``."""

    length_ns: int
    host: list[Stretch]
    gpu: list[Stretch]


def draw(graph: Graph, replayed: Replayed, begin_ns: int, end_ns: int, calls: Flags, operations: Flags) -> Lanes:
    """Draw the time between two moments of a replay: these calls with the host's work between, and operations."""
    call_begin, call_end = np.array(replayed.call_begin, np.int64), np.array(replayed.call_end, np.int64)
    waits, gap = find_waiting(graph), np.maximum(graph.gap, 0)
    host = {
        HOST: (call_begin[calls] - gap[calls], call_begin[calls]),
        WAITS: (call_begin[calls & waits], call_end[calls & waits]),
        CALLS: (call_begin[calls & ~waits], call_end[calls & ~waits]),
    }
    begin, end = np.array(replayed.begin, np.int64), np.array(replayed.end, np.int64)
    recorded = graph.recording.operations
    gpu = {}
    kinds = np.array([name_kind(recorded, j) for j in np.flatnonzero(operations).tolist()], object)
    for kind in sorted({*kinds.tolist()}):
        gpu[kind] = (begin[operations][kinds == kind], end[operations][kinds == kind])
    return Lanes(
        end_ns - begin_ns, *(_cut_slices(intervals, begin_ns, end_ns) for intervals in (host, gpu))
    )  # fmt: skip


def _cut_slices(intervals: dict[str, tuple[Integers, Integers]], begin_ns: int, end_ns: int) -> list[Stretch]:
    """Return stretches of the kind that takes most of each slice; none where all kinds take less than half."""
    edges = np.linspace(0, end_ns - begin_ns, SLICES + 1)
    covered = {
        kind: np.diff(_sum_until(begin - begin_ns, edges) - _sum_until(end - begin_ns, edges))
        for kind, (begin, end) in intervals.items()
    }
    if not covered:
        return []
    kinds, taken = [*covered], np.stack([*covered.values()])
    most = np.where(taken.sum(axis=0) * 2 >= edges[1] - edges[0], taken.argmax(axis=0), -1)
    bounds = np.flatnonzero(np.diff(most, prepend=-2, append=-2))
    at = np.rint(edges).astype(np.int64).tolist()
    return [
        Stretch(at[low], at[high], kinds[most[low]])
        for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        if most[low] >= 0
    ]


def _sum_until(moments: Integers, edges: Floats) -> Floats:
    """Return for each edge the sum of the times since all moments before it."""
    ordered = np.sort(moments).astype(np.float64)
    count = np.searchsorted(ordered, edges)
    total = np.concatenate([[0.0], np.cumsum(ordered)])
    return np.asarray(count * edges - total[count])
