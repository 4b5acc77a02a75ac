"""Changes to a program. Each edits the graph of a recording within a part of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from profiledb.errors import AnalysisError
from profiledb.replay.graph import DEVICE_WAITS, GRAPH_LAUNCHES, LAUNCH_NS, STREAM_WAITS, Graph, graph_nodes, named
from profiledb.replay.recording import COPY, GRAPH, KERNEL, MEMSET, Flags, Integers

FEW_BYTES = 64
"""A copy to the host of at most this many bytes reads a scalar."""
HOST_WORK_NS = 500_000
"""Host work between two launches that takes longer than this, in ns, is more than the framework's overhead."""
IN_GRAPH_NS = 1_000
"""Upper bound of the lag between two kernels of a CUDA graph, in ns."""
LEAST_TIMES, MOST_TIMES = 0.001, 1_000_000.0
"""Bounds of the speedup of kernels that a question may assume."""
_ALLOCATIONS = frozenset({
    "cudaMalloc", "cudaFree", "cuMemAlloc", "cuMemFree", "cudaMallocManaged", "cuMemCreate", "cuMemMap", "cuMemUnmap",
    "cuMemSetAccess", "cuMemAddressReserve", "cuMemAddressFree", "cuMemRelease", "cudaHostAlloc", "cudaFreeHost",
    "cudaMallocHost", "hipMalloc", "hipFree",
})  # fmt: skip


@dataclass(frozen=True)
class Part:
    """The part of a recording that a change applies to.

    Attributes:
        calls: the calls that start in it.
        operations: the operations that these calls launched.
        ranges: the ranges by name, as rows of thread, start and end, in ns of the capture.
    """

    calls: Flags
    operations: Flags
    ranges: Mapping[str, Integers]


@dataclass(frozen=True)
class Change:
    """A change. ``apply`` returns the changed graph, or None if the change has no effect.

    Attributes:
        name: its name on the command line.
        title: its title on pages, a format of the parsed value.
        assumes: the assumption that it makes, in a sentence or two.
        value: the meaning of its value; empty if it takes none.
        values: the values to try if the user names no change.
        parse: splits a value into its parts, or raises AnalysisError.
    """

    name: str
    title: str
    assumes: str
    apply: Callable[[Graph, Part, str], Graph | None]
    value: str = ""
    values: Callable[[Graph, Part], list[str]] = lambda _graph, _part: [""]
    parse: Callable[[str], tuple[Any, ...]] = lambda value: (value,)

    def describe(self, value: str) -> str:
        """Return the title with a value."""
        return self.title.format(*self.parse(value))


def without_waits(graph: Graph, part: Part, _: str) -> Graph | None:
    """Remove all waits of the host for the GPU. Results of a few bytes are read later, all at once."""
    calls, operations = graph.recording.calls, graph.recording.operations
    few = (operations.kind == COPY) & operations.to_host & (operations.bytes <= FEW_BYTES) & part.operations
    reads = np.zeros(len(calls), np.bool_)
    reads[operations.call[few]] = True
    waits = part.calls & (named(calls, DEVICE_WAITS | STREAM_WAITS) & ~named(calls, _ALLOCATIONS))
    kept = _without_waits(graph, waits | reads)
    if len(kept) == len(graph.waits):
        return None
    cost = graph.cost.copy()
    cost[reads] = np.minimum(cost[reads], LAUNCH_NS)
    cost[waits] = 0
    return replace(graph, cost=cost, waits=kept)


def _without_waits(graph: Graph, calls: Flags) -> dict[int, tuple[int, ...]]:
    """Return the waits of all other calls."""
    return {i: awaited for i, awaited in graph.waits.items() if not calls[i]}


def pinned_copies(graph: Graph, part: Part, _: str) -> Graph | None:
    """Make copies from pageable memory to the GPU as fast as from pinned memory, and asynchronous."""
    calls, operations = graph.recording.calls, graph.recording.operations
    copies = np.flatnonzero(operations.from_host & operations.pageable & part.operations)
    if not len(copies):
        return None
    cost, length = graph.cost.copy(), graph.length.copy()
    of = operations.call[copies]
    cost[of] = np.minimum(cost[of], LAUNCH_NS)
    rate = _pinned_rate(graph)
    if rate:
        length[copies] = np.minimum(length[copies], (operations.bytes[copies] / rate).astype(np.int64) + LAUNCH_NS)
    after_copy = _follows(calls.start, of, named(calls, STREAM_WAITS) & part.calls, graph.chain)
    cost[after_copy] = 0
    asynchronous = np.zeros(len(calls), np.bool_)
    asynchronous[of] = asynchronous[after_copy] = True
    launch_lag = graph.launch_lag.copy()
    launch_lag[copies] = np.minimum(launch_lag[copies], LAUNCH_NS)
    waits = _without_waits(graph, asynchronous)
    return replace(graph, cost=cost, length=length, launch_lag=launch_lag, waits=waits)


def _pinned_rate(graph: Graph) -> float:
    """Return the rate of large copies from pinned memory to the GPU in bytes per ns, or 0 if the recording has none."""
    operations = graph.recording.operations
    large = operations.from_host & ~operations.pageable & (operations.bytes >= 1 << 20)
    took = graph.length[large]
    return float(np.median(operations.bytes[large] / np.maximum(took, 1))) if large.any() else 0.0


def _follows(start: Integers, calls: Integers, wanted: Flags, chain: Integers) -> Integers:
    """Return the call right after each of these in its chain, if it is one of the wanted calls."""
    found = []
    for one in np.unique(chain[calls]):
        mine = np.flatnonzero(chain == one)
        at = np.searchsorted(start[mine], start[calls[chain[calls] == one]], "right")
        after = mine[at[at < len(mine)]]
        found.append(after[wanted[after]])
    return np.concatenate(found) if found else np.empty(0, np.int64)


def host_code(graph: Graph, part: Part, value: str) -> Graph | None:
    """Remove the host's own work in a range; its calls and kernels stay."""
    spans = part.ranges.get(value)
    calls = graph.recording.calls
    if spans is None or not len(calls):
        return None
    gap, end = graph.gap.copy(), calls.start
    begin = end - np.maximum(gap, 0)
    for one in np.unique(spans[:, 0]):
        ours = graph.recording.calls_of(int(one))
        if not ours.any():
            continue
        chain = graph.chain[int(np.argmax(ours))]
        mine = np.flatnonzero((graph.chain == chain) & (gap > 0))
        covered = _covered(spans[spans[:, 0] == one, 1:], begin[mine], end[mine])
        gap[mine] -= np.where((end[mine] >= _begin(part, calls.start)), covered, 0)
    return replace(graph, gap=gap) if np.any(gap != graph.gap) else None


def _begin(part: Part, start: Integers) -> int:
    return int(start[part.calls][0]) if part.calls.any() else 0


def _covered(spans: Integers, begin: Integers, end: Integers) -> Integers:
    """Return the time in each interval that the union of the spans covers."""
    spans = spans[np.argsort(spans[:, 0])]
    until = np.maximum.accumulate(spans[:, 1])
    low = np.maximum(spans[:, 0], np.concatenate([[spans[0, 0]], until[:-1]]))
    keep = low < until
    low, high = low[keep], until[keep]
    total = np.concatenate([[0], np.cumsum(high - low)])

    def before(moment: Integers) -> Integers:
        at = np.searchsorted(low, moment, "right")
        inside = np.where(at > 0, np.minimum(moment, high[np.maximum(at - 1, 0)]) - low[np.maximum(at - 1, 0)], 0)
        return np.where(at > 0, total[np.maximum(at - 1, 0)] + inside, 0)

    return before(end) - before(begin)


def _ranges(graph: Graph, part: Part) -> list[str]:
    """Return the ranges of the part with the most host work, at most five."""
    took = {}
    for name in part.ranges:
        changed = host_code(graph, part, name)
        if changed is not None:
            took[name] = int((graph.gap - changed.gap).sum())
    return sorted(took, key=lambda name: -took[name])[:5]


def cuda_graph(graph: Graph, part: Part, _: str) -> Graph | None:
    """Launch the part through CUDA graphs. Long pieces of host work and waits stay."""
    operations, calls = graph.recording.operations, graph.recording.calls
    ours = part.operations & ~graph_nodes(graph.recording) & (operations.kind != GRAPH)
    launches = np.zeros(len(calls), np.bool_)
    launches[operations.call[ours]] = True
    if launches.sum() < 2:
        return None
    free = part.calls & ~named(calls, GRAPH_LAUNCHES)
    free[list(graph.waits)] = False
    gap, cost = graph.gap.copy(), graph.cost.copy()
    launch_lag, stream_lag = graph.launch_lag.copy(), graph.stream_lag.copy()
    gap[free & (gap < HOST_WORK_NS)] = 0
    cost[free] = 0
    for lag in (launch_lag, stream_lag):
        lag[ours] = np.minimum(lag[ours], IN_GRAPH_NS)
    queued = {i: j for i, j in graph.queued.items() if not free[i]}
    return replace(graph, gap=gap, cost=cost, launch_lag=launch_lag, stream_lag=stream_lag, queued=queued)


def _parse_speedup(value: str) -> tuple[str, float]:
    """Return the class or text, and the factor, of CLASS:TIMES."""
    wanted, _, times = value.rpartition(":")
    try:
        factor = float(times)
    except ValueError:
        factor = 0.0
    if not wanted or not LEAST_TIMES <= factor <= MOST_TIMES:
        raise AnalysisError(
            f"faster_kernels takes CLASS:TIMES, such as matmul:2, with {LEAST_TIMES:g} to {MOST_TIMES:,.0f} times."
        )
    return wanted, factor


def faster_kernels(graph: Graph, part: Part, value: str) -> Graph | None:
    """Speed up kernels of a class, or with a text in their names, by a factor."""
    wanted, times = _parse_speedup(value)
    operations = graph.recording.operations
    named_so = [code for code, name in enumerate(operations.names) if wanted in name]
    chosen = operations.in_class(wanted) | ((operations.kind == KERNEL) & np.isin(operations.name, named_so))
    chosen &= part.operations
    if not chosen.any():
        return None
    length = graph.length.copy()
    length[chosen] = (length[chosen] / times).astype(np.int64)
    return replace(graph, length=length)


def fused_elementwise(graph: Graph, part: Part, _: str) -> Graph | None:
    """Fuse consecutive elementwise kernels of a stream into one that takes as long as the longest of them."""
    operations = graph.recording.operations
    mine = operations.in_class("elementwise") & part.operations
    gone = np.zeros(len(operations), np.bool_)
    for stream in np.unique(operations.stream[mine]):
        order = np.flatnonzero(operations.stream == stream)
        chain = np.cumsum(~mine[order])
        for one in np.unique(chain[mine[order]]):
            members = order[(chain == one) & mine[order]]
            if len(members) < 2:
                continue
            gone[members[members != members[np.argmax(graph.length[members])]]] = True
    changed = _without(graph, gone)
    if changed is None:
        return None
    gap = graph.gap.copy()
    of = _only_launching(graph, gone)
    gap[of] = np.minimum(gap[of], 0)
    return replace(changed, gap=gap)


def without_allocations(graph: Graph, part: Part, _: str) -> Graph | None:
    """Allocate memory before the part: calls that allocate or free it take no time and wait for nothing."""
    gone = named(graph.recording.calls, _ALLOCATIONS) & part.calls
    if not gone.any():
        return None
    cost = np.where(gone, 0, graph.cost)
    return replace(graph, cost=cost, waits=_without_waits(graph, gone))


def without_memsets(graph: Graph, part: Part, _: str) -> Graph | None:
    """Skip memory sets, such as zeroing gradients: neither the call nor the operation takes time."""
    return _without(graph, (graph.recording.operations.kind == MEMSET) & part.operations)


def data_on_gpu(graph: Graph, part: Part, _: str) -> Graph | None:
    """Skip copies from the host to the GPU, as if the data were already there."""
    operations = graph.recording.operations
    from_host = operations.from_host & (operations.bytes > FEW_BYTES) & part.operations
    return _without(graph, from_host)


def _without(graph: Graph, gone: Flags) -> Graph | None:
    if not gone.any():
        return None
    cost, length = graph.cost.copy(), graph.length.copy()
    launch_lag, stream_lag = graph.launch_lag.copy(), graph.stream_lag.copy()
    removed = _only_launching(graph, gone)
    cost[removed], length[gone] = 0, 0
    for lag in (launch_lag, stream_lag):
        lag[gone] = np.minimum(lag[gone], 0)
    waits = _without_waits(graph, removed)
    return replace(graph, cost=cost, length=length, launch_lag=launch_lag, stream_lag=stream_lag, waits=waits)


def _only_launching(graph: Graph, operations: Flags) -> Flags:
    """Return the calls that launch some of these operations and no other. A CUDA graph launches many at once."""
    of = graph.recording.operations.call
    found, others = (np.zeros(len(graph.chain), np.bool_) for _ in range(2))
    found[of[operations & (of >= 0)]] = True
    others[of[~operations & (of >= 0)]] = True
    return found & ~others


def _classes(graph: Graph, part: Part) -> list[str]:
    """Return the three kernel classes with the most time, each at twice the speed."""
    operations = graph.recording.operations
    took: dict[str, int] = {}
    for code, class_ in enumerate(operations.classes):
        chosen = (operations.name == code) & part.operations
        took[class_] = took.get(class_, 0) + int(graph.length[chosen].sum())
    return [f"{class_}:2" for class_ in sorted(took, key=lambda one: -took[one])[:3] if class_ and took[class_]]


CHANGES = {
    change.name: change
    for change in (
        Change(
            "without_waits", "The host does not wait for the GPU",
            "Nothing on the host needs a result before the end, and the work around each wait stays.", without_waits,
        ),
        Change(
            "pinned_copies", "Copies to the GPU come from pinned memory, asynchronously",
            "Copies take as long as those of pinned memory in this capture, or as they did; nothing waits for them.",
            pinned_copies,
        ),
        Change(
            "host_code", "Non-CUDA code in {} takes no time",
            "Other threads or processes do it in time; calls and kernels stay.", host_code, "a range", _ranges,
        ),
        Change(
            "cuda_graph", "CUDA graphs launch the steps",
            f"Shapes repeat and no kernel depends on the host. Waits stay, and so does non-CUDA code of"
            f" {HOST_WORK_NS / 1e6:g} ms or more in one piece.",
            cuda_graph,
        ),
        Change(
            "fused_elementwise", "Elementwise kernels that follow each other are one",
            "The fused kernel takes as long as the longest of them.", fused_elementwise,
        ),
        Change(
            "without_allocations", "Memory is allocated once",
            "The allocator has the memory of each step from the step before.", without_allocations,
        ),
        Change("without_memsets", "Memory is not set", "Nothing reads it before it is written.", without_memsets),
        Change(
            "data_on_gpu", "Data is not copied to the GPU", "It is there already, as in the step before.", data_on_gpu,
        ),
        Change(
            "faster_kernels", "Kernels of {} run {:g} times as fast",
            "Their host work and all other kernels stay as they are.", faster_kernels, "CLASS:TIMES or TEXT:TIMES",
            _classes, _parse_speedup,
        ),
    )
}  # fmt: skip
"""All changes by name, in the order of the documentation."""
VERSION = 1
"""The version of the changes and the prediction model. Stored predictions of another version are recomputed."""
