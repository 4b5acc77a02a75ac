"""The part of a recording that changes apply to, and the removal of operations and waits from it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from profiledb.errors import NotCapturedError
from profiledb.replay.graph import Graph
from profiledb.replay.recording import GRAPH, Flags, Floats, Integers, Recording

HOST_WORK_NS = 500_000
"""Host work between two launches that takes longer than this, in ns, is more than the framework's overhead."""
MOST_HIDDEN = 0.1
"""Maximum fraction of the time of operations in CUDA graphs without their nodes for a change of kernels to be told."""


@dataclass(frozen=True)
class Part:
    """The part of a recording that a change applies to.

    Attributes:
        calls: the calls that start in it.
        operations: the operations that these calls launched.
        ranges: the ranges by name, as rows of thread, start and end, in ns of the capture.
        steps: the number of steps that it consists of; 0 if nothing tells.
        operators: the names of the ranges that are operators of a framework.
        drivers: the threads that work for another one, each with that thread.
        profiler: what the profiler did meanwhile, as rows of thread, start and end.
        roofs: reads the fractions of its time that each operation takes at its roof, two for ``Roofs.find``.
        recomputed: reads which operations compute activations again.
    """

    calls: Flags
    operations: Flags
    ranges: Mapping[str, Integers]
    steps: int = 0
    operators: frozenset[str] = frozenset()
    drivers: Mapping[int, int] = field(default_factory=dict)
    profiler: Integers = field(default_factory=lambda: np.empty((0, 3), np.int64))
    roofs: Callable[[], tuple[Floats, Floats]] = lambda: (np.empty(0), np.empty(0))
    recomputed: Callable[[], Flags] = lambda: np.empty(0, np.bool_)


def cut_part(graph: Graph, part: Part, begin_ns: int, end_ns: int) -> Part:
    """Return the calls that start between two moments of a part, with the operations that they launch."""
    start = graph.recording.calls.start
    calls = part.calls & (start >= begin_ns) & (start < end_ns)
    ranges = {name: spans[(spans[:, 1] >= begin_ns) & (spans[:, 1] < end_ns)] for name, spans in part.ranges.items()}
    return replace(
        part, calls=calls, operations=part.operations & find_launched(graph.recording, calls),
        ranges={name: spans for name, spans in ranges.items() if len(spans)},
    )  # fmt: skip


def require_nodes(graph: Graph, part: Part) -> None:
    """Raise NotCapturedError if many kernels of the part are hidden in CUDA graphs that were traced as a whole."""
    length, kind = graph.length[part.operations], graph.recording.operations.kind[part.operations]
    if length[kind == GRAPH].sum() > MOST_HIDDEN * length.sum():
        raise NotCapturedError(
            "This report has CUDA graphs as a whole, without their kernels.",
            command="nsys profile --cuda-graph-trace=node ...",
        )


def remove_operations(graph: Graph, gone: Flags) -> Graph | None:
    """Return the graph in which these operations and their launches take no time; None if there are none."""
    if not gone.any():
        return None
    cost, length = graph.cost.copy(), graph.length.copy()
    launch_lag, stream_lag = graph.launch_lag.copy(), graph.stream_lag.copy()
    removed = mask_launching(graph, gone)
    cost[removed], length[gone] = 0, 0
    for lag in (launch_lag, stream_lag):
        lag[gone] = np.minimum(lag[gone], 0)
    waits = keep_other_waits(graph, removed)
    return replace(graph, cost=cost, length=length, launch_lag=launch_lag, stream_lag=stream_lag, waits=waits)


def mask_launching(graph: Graph, operations: Flags) -> Flags:
    """Return the calls that launch some of these operations and no other. A CUDA graph launches many at once."""
    of = graph.recording.operations.call
    launching, others = (np.zeros(len(graph.chain), np.bool_) for _ in range(2))
    launching[of[operations & (of >= 0)]] = True
    others[of[~operations & (of >= 0)]] = True
    return launching & ~others


def find_calls(graph: Graph, spans: Integers) -> Flags:
    """Return the calls that start in ranges, given as rows of thread, start and end."""
    start = graph.recording.calls.start
    inside = np.zeros(len(start), np.bool_)
    for thread in np.unique(spans[:, 0]).tolist():
        ours = spans[spans[:, 0] == thread]
        begun = np.searchsorted(np.sort(ours[:, 1]), start, "right")
        inside |= graph.recording.calls_of(thread) & (begun > np.searchsorted(np.sort(ours[:, 2]), start, "left"))
    return inside


def find_launched(recording: Recording, calls: Flags) -> Flags:
    """Return the operations that these calls launched."""
    of = recording.operations.call
    launched = np.zeros(len(of), np.bool_)
    launched[of >= 0] = calls[of[of >= 0]]
    return launched


def find_waiting(graph: Graph) -> Flags:
    """Return the calls that wait for an operation."""
    waiting = np.zeros(len(graph.chain), np.bool_)
    waiting[[*graph.waits, *graph.queued]] = True
    return waiting


def measure_waits(graph: Graph) -> Integers:
    """Return how long each collective waits for the last rank, as recorded."""
    start = graph.recording.operations.start
    waits = np.zeros(len(start), np.int64)
    for group in graph.partners:
        members = list(group)
        waits[members] = start[members].max() - start[members]
    return waits


def keep_other_waits(graph: Graph, calls: Flags) -> dict[int, tuple[int, ...]]:
    """Return the waits of all other calls."""
    return {i: awaited for i, awaited in graph.waits.items() if not calls[i]}


def find_following(start: Integers, calls: Integers, wanted: Flags, chain: Integers) -> Integers:
    """Return the call right after each of these in its chain, if it is one of the wanted calls."""
    following = []
    for one in np.unique(chain[calls]):
        mine = np.flatnonzero(chain == one)
        at = np.searchsorted(start[mine], start[calls[chain[calls] == one]], "right")
        after = mine[at[at < len(mine)]]
        following.append(after[wanted[after]])
    return np.concatenate(following) if following else np.empty(0, np.int64)


def find_led(graph: Graph) -> Integers:
    """Return, for each call, the call that it leads to: the next one of its chain that launches or waits, or itself.

    A framework's work before a launch includes small calls, such as cuKernelGetName. The last calls of a chain lead
    to none (-1).
    """
    led = np.full(len(graph.chain), -1, np.int64)
    ends = find_waiting(graph)
    of = graph.recording.operations.call
    ends[of[of >= 0]] = True
    for one in np.unique(graph.chain):
        mine = np.flatnonzero(graph.chain == one)
        at = np.flatnonzero(ends[mine])
        following = np.searchsorted(at, np.arange(len(mine)))
        known = following < len(at)
        led[mine[known]] = mine[at[following[known]]]
    return led


def shorten_leads(graph: Graph, calls: Flags, most_ns: Integers | int) -> Integers:
    """Return the gaps, in which the host's own work that leads to these calls takes at most so long.

    ``most_ns`` may differ by call. Pieces of ``HOST_WORK_NS`` or more stay: they are not the framework's.
    """
    led, short = _find_short_leads(graph)
    gap, share = graph.gap.copy(), np.minimum(1.0, most_ns / np.maximum(_sum_leads(graph, led, short), 1))
    chosen = short & calls[led]
    gap[chosen] = (gap[chosen] * share[led[chosen]]).astype(np.int64)
    return gap


def measure_leads(graph: Graph) -> Integers:
    """Return the host's own work that leads to each call, in pieces below ``HOST_WORK_NS``."""
    return _sum_leads(graph, *_find_short_leads(graph))


def _find_short_leads(graph: Graph) -> tuple[Integers, Flags]:
    """Return the call that each gap leads to, and which gaps are pieces of the framework's work."""
    led = find_led(graph)
    return led, (led >= 0) & (graph.gap > 0) & (graph.gap < HOST_WORK_NS)


def _sum_leads(graph: Graph, led: Integers, short: Flags) -> Integers:
    return np.bincount(led[short], graph.gap[short], minlength=len(graph.gap)).astype(np.int64)


def order_launched(graph: Graph) -> Integers:
    """Return the operations whose calls are known, by chain and call."""
    of = graph.recording.operations.call
    launched = np.flatnonzero(of >= 0)
    return launched[np.lexsort((of[launched], graph.chain[of[launched]]))]


def find_after_reads(graph: Graph, reads: Flags) -> Flags:
    """Return the calls right after these on their chain."""
    after = np.zeros(len(reads), np.bool_)
    of = np.flatnonzero(reads)
    if len(of):
        after[find_following(graph.recording.calls.start, of, ~reads, graph.chain)] = True
    return after
