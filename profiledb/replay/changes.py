"""Changes to a program. Each edits the graph of a recording within a part of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from profiledb.errors import AnalysisError
from profiledb.replay.collective_changes import balanced_ranks, merged_collectives, overlapped_collectives, parse_count
from profiledb.replay.graph import (
    DEVICE_WAITS,
    GRAPH_LAUNCHES,
    LAUNCH_NS,
    NEAR_NS,
    STREAM_WAITS,
    Graph,
    graph_nodes,
    named,
)  # fmt: skip
from profiledb.replay.part import HOST_WORK_NS, Part, only_launching, require_nodes, without, without_waits_of
from profiledb.replay.recording import COPY, GRAPH, KERNEL, MEMSET, Flags, Integers
from profiledb.replay.speed_changes import (
    LEAST_TIMES,
    MOST_TIMES,
    batch,
    batch_cautious,
    batch_hopeful,
    faster_link,
    faster_link_hopeful,
    parse_times,
)  # fmt: skip

FEW_BYTES = 64
"""A copy to the host of at most this many bytes reads a scalar."""
LEAST_WAITS = 5
"""Minimum number of waits of a name from which the framework's time around them is told."""
MOST_WORKERS = 1_024
LEAST_FUSED = 8
"""Minimum number of kernels of an optimizer from which it counts as not fused."""
IN_GRAPH_NS = 1_000
"""Upper bound of the lag between two kernels of a CUDA graph, in ns."""
_ALLOCATIONS = frozenset({
    "cudaMalloc", "cudaFree", "cuMemAlloc", "cuMemFree", "cudaMallocManaged", "cuMemCreate", "cuMemMap", "cuMemUnmap",
    "cuMemSetAccess", "cuMemAddressReserve", "cuMemAddressFree", "cuMemRelease", "cudaHostAlloc", "cudaFreeHost",
    "cudaMallocHost", "hipMalloc", "hipFree",
})  # fmt: skip


Apply = Callable[[Graph, Part, str], Graph | None]


_COMPILED = frozenset({"elementwise", "reduction", "normalization", "softmax", "copy"})
"""Classes of kernels that compilers such as torch.compile fuse."""


@dataclass(frozen=True)
class Change:
    """A change. ``apply`` returns the changed graph, or None if the change has no effect.

    It raises NotCapturedError if the recording does not tell what the change depends on.

    Attributes:
        name: its name on the command line.
        title: its title on pages, a format of the parsed value.
        assumes: the assumption that it makes, in a sentence or two.
        value: the meaning of its value; empty if it takes none.
        values: the values to try if the user names no change.
        parse: splits a value into its parts, or raises AnalysisError.
        cautious: applies it with the assumptions under which it saves least.
        hopeful: applies it with those under which it saves most.
    """

    name: str
    title: str
    assumes: str
    apply: Apply
    value: str = ""
    values: Callable[[Graph, Part], list[str]] = lambda _graph, _part: [""]
    parse: Callable[[str], tuple[Any, ...]] = lambda value: (value,)
    cautious: Apply | None = None
    hopeful: Apply | None = None

    def describe(self, value: str) -> str:
        """Return the title with a value."""
        return self.title.format(*self.parse(value))


def without_waits(graph: Graph, part: Part, _: str) -> Graph | None:
    """Remove all waits of the host for the GPU. Results of a few bytes are read later, all at once."""
    return _without_waits(graph, part, part.calls)


def without_waits_hopeful(graph: Graph, part: Part, _: str) -> Graph | None:
    """Remove what the framework does to read results, too."""
    return _without_waits(graph, part, part.calls, unread=True)


def without_waits_in(graph: Graph, part: Part, value: str) -> Graph | None:
    """Remove the waits in a range."""
    spans = part.ranges.get(value)
    if spans is None:
        return None
    return _without_waits(graph, part, part.calls & _calls_in(graph, spans))


def _calls_in(graph: Graph, spans: Integers) -> Flags:
    """Return the calls that start in ranges, given as rows of thread, start and end."""
    start = graph.recording.calls.start
    inside = np.zeros(len(start), np.bool_)
    for thread in np.unique(spans[:, 0]).tolist():
        ours = spans[spans[:, 0] == thread]
        begun = np.searchsorted(np.sort(ours[:, 1]), start, "right")
        inside |= graph.recording.calls_of(thread) & (begun > np.searchsorted(np.sort(ours[:, 2]), start, "left"))
    return inside


def without_range(graph: Graph, part: Part, value: str) -> Graph | None:
    """Skip a range: its host code, its calls, and the operations that they launch."""
    spans = part.ranges.get(value)
    if spans is None:
        return None
    changed = host_code(graph, part, value) or graph
    calls = _calls_in(graph, spans) & part.calls
    of = graph.recording.operations.call
    gone = np.zeros(len(of), np.bool_)
    gone[of >= 0] = calls[of[of >= 0]]
    changed = without(changed, gone) or changed
    cost = np.where(calls, 0, changed.cost)
    changed = replace(changed, cost=cost, waits=without_waits_of(changed, calls))
    return None if changed.cost is graph.cost else changed


def _without_waits(graph: Graph, part: Part, chosen: Flags, *, unread: bool = False) -> Graph | None:
    calls, operations = graph.recording.calls, graph.recording.operations
    few = (operations.kind == COPY) & operations.to_host & (operations.bytes <= FEW_BYTES) & part.operations
    reads = np.zeros(len(calls), np.bool_)
    reads[operations.call[few]] = True
    reads &= chosen
    waits = chosen & (named(calls, DEVICE_WAITS | STREAM_WAITS) & ~named(calls, _ALLOCATIONS))
    kept = without_waits_of(graph, waits | reads)
    if len(kept) == len(graph.waits):
        return None
    cost = graph.cost.copy()
    cost[reads] = 0 if unread else np.minimum(cost[reads], LAUNCH_NS)
    cost[waits] = 0
    wrapped = waits | reads if unread else waits & ~_after_reads(graph, reads)
    return replace(graph, cost=cost, waits=kept, gap=_without_wrappers(graph, wrapped))


def _after_reads(graph: Graph, reads: Flags) -> Flags:
    """Return the calls right after these on their chain."""
    found = np.zeros(len(reads), np.bool_)
    of = np.flatnonzero(reads)
    if len(of):
        found[_follows(graph.recording.calls.start, of, ~reads, graph.chain)] = True
    return found


def _without_wrappers(graph: Graph, waits: Flags) -> Integers:
    """Return the gaps without what the framework does around each of these waits.

    That is at least the least host time around any wait of the name (its 5th percentile), beyond the median gap of a
    chain. Reading a result keeps its time, because it is still read.
    """
    calls, gap = graph.recording.calls, graph.gap.copy()
    for one in np.unique(graph.chain[waits]):
        mine = np.flatnonzero(graph.chain == one)
        at = np.flatnonzero(waits[mine][:-1])
        usual = int(np.median(np.maximum(graph.gap[mine], 0)))
        for name in np.unique(calls.name[mine[at]]):
            here = at[calls.name[mine[at]] == name]
            if len(here) < LEAST_WAITS:
                continue
            before, after = (np.maximum(graph.gap[mine[here + step]], 0) for step in (0, 1))
            wrapper = max(0, int(np.percentile(before + after, 5)) - usual)
            first = np.minimum(before, wrapper)
            gap[mine[here]] -= first
            gap[mine[here + 1]] -= np.minimum(after, wrapper - first)
    return gap


def pinned_copies(graph: Graph, part: Part, _: str) -> Graph | None:
    """Make copies from pageable memory to the GPU as fast as from pinned memory, and asynchronous.

    They take as long as large copies from pinned memory of the recording, or else as the GPU's link allows.
    """
    return _pinned_copies(graph, part, _pinned_rate(graph) or graph.recording.link_rate)


def pinned_copies_cautious(graph: Graph, part: Part, _: str) -> Graph | None:
    """Keep their time if the recording has no copies from pinned memory."""
    return _pinned_copies(graph, part, _pinned_rate(graph))


def _pinned_copies(graph: Graph, part: Part, rate: float) -> Graph | None:
    calls, operations = graph.recording.calls, graph.recording.operations
    copies = np.flatnonzero(operations.from_host & operations.pageable & part.operations & (operations.call >= 0))
    if not len(copies):
        return None
    cost = graph.cost.copy()
    of = operations.call[copies]
    cost[of] = np.minimum(cost[of], LAUNCH_NS)
    after_copy = _follows(calls.start, of, named(calls, STREAM_WAITS) & part.calls, graph.chain)
    cost[after_copy] = 0
    asynchronous = np.zeros(len(calls), np.bool_)
    asynchronous[of] = asynchronous[after_copy] = True
    launch_lag = graph.launch_lag.copy()
    launch_lag[copies] = np.minimum(launch_lag[copies], LAUNCH_NS)
    return replace(
        graph, cost=cost, length=_at_rate(graph, copies, rate), launch_lag=launch_lag,
        waits=without_waits_of(graph, asynchronous),
    )  # fmt: skip


def _at_rate(graph: Graph, copies: Integers, rate: float) -> Integers:
    """Return the lengths of operations if these copies move so many bytes per ns; 0 leaves them as they are."""
    length = graph.length.copy()
    if rate:
        took = (graph.recording.operations.bytes[copies] / rate).astype(np.int64) + LAUNCH_NS
        length[copies] = np.minimum(length[copies], took)
    return length


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
    return _less_host_code(graph, part, value, 1.0)


def _parse_workers(value: str) -> tuple[str, int]:
    """Return the range and the number of workers of RANGE:N."""
    name, _, count = value.rpartition(":")
    if not name or not count.isascii() or not count.isdigit() or not 2 <= int(count[:9]) <= MOST_WORKERS:
        raise AnalysisError(f"workers takes RANGE:N, such as augment:8, with 2 to {MOST_WORKERS} workers.")
    return name, int(count)


def workers(graph: Graph, part: Part, value: str) -> Graph | None:
    """Divide the host's own work in a range by a number of workers."""
    name, count = _parse_workers(value)
    return _less_host_code(graph, part, name, 1 - 1 / count)


def _less_host_code(graph: Graph, part: Part, name: str, share: float) -> Graph | None:
    spans = part.ranges.get(name)
    calls = graph.recording.calls
    if spans is None or not len(calls):
        return None
    gap, end = graph.gap.copy(), calls.start
    begin = end - np.maximum(gap, 0)
    for one in np.unique(spans[:, 0]):
        ours = graph.recording.calls_of(int(one))
        if not ours.any():  # a framework whose other threads launch, as JAX does
            ours = _busiest(graph, int(one))
        if not ours.any():
            continue
        chain = graph.chain[int(np.argmax(ours))]
        mine = np.flatnonzero((graph.chain == chain) & (gap > 0))
        covered = _covered(spans[spans[:, 0] == one, 1:], begin[mine], end[mine])
        gap[mine] -= (np.where(end[mine] >= _begin(part, calls.start), covered, 0) * share).astype(np.int64)
    return replace(graph, gap=gap) if np.any(gap != graph.gap) else None


def _busiest(graph: Graph, thread: int) -> Flags:
    """Return the calls of the thread of the same process with the most calls."""
    threads, calls = graph.recording.threads, graph.recording.calls
    counts = np.bincount(calls.thread, minlength=len(threads))
    own = [place for place, one in enumerate(threads) if one >> 24 == thread >> 24]
    return np.equal(calls.thread, max(own, key=counts.__getitem__, default=-1))


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
    require_nodes(graph, part)
    if not chosen.any():
        return None
    length = graph.length.copy()
    length[chosen] = (length[chosen] / times).astype(np.int64)
    return replace(graph, length=length)


def fused_elementwise(graph: Graph, part: Part, _: str) -> Graph | None:
    """Fuse consecutive elementwise kernels of a stream into one that takes as long as the longest of them."""
    return _fused(graph, part, frozenset({"elementwise"}))


def compiled(graph: Graph, part: Part, value: str) -> Graph | None:
    """Fuse consecutive kernels that a compiler fuses, and launch what is left from generated code.

    The fused kernel takes as long as the longest of them, because data is read and written once. Generated code takes
    up to ``LAUNCH_NS`` before each launch.
    """
    fused = compiled_cautious(graph, part, value)
    if fused is None:
        return None
    of = graph.recording.operations.call
    launches = np.zeros(len(graph.chain), np.bool_)
    launches[of[part.operations & (of >= 0)]] = True
    gap = fused.gap.copy()
    shorter = launches & (gap > 0) & (gap < HOST_WORK_NS)
    gap[shorter] = np.minimum(gap[shorter], LAUNCH_NS)
    return replace(fused, gap=gap)


def compiled_cautious(graph: Graph, part: Part, _: str) -> Graph | None:
    """Keep the framework's time before what is left."""
    return _fused(graph, part, _COMPILED)


def compiled_hopeful(graph: Graph, part: Part, value: str) -> Graph | None:
    """Launch what is left as CUDA graphs."""
    fused = compiled_cautious(graph, part, value)
    return None if fused is None else cuda_graph(fused, part, "") or fused


def _fused(graph: Graph, part: Part, classes: frozenset[str]) -> Graph | None:
    require_nodes(graph, part)
    operations = graph.recording.operations
    mine = np.zeros(len(operations), np.bool_)
    for name in classes:
        mine |= operations.in_class(name)
    mine &= part.operations
    gone = np.zeros(len(operations), np.bool_)
    for stream in np.unique(operations.stream[mine]):
        order = np.flatnonzero(operations.stream == stream)
        row = np.cumsum(~mine[order])[mine[order]]
        members = order[mine[order]]
        # Of each row all go but the longest, or the first of the longest.
        longest = np.lexsort((members, -graph.length[members], row))
        first = np.diff(row[longest], prepend=-1) != 0
        gone[members[longest[~first]]] = True
    changed = without(graph, gone)
    if changed is None:
        return None
    gap = graph.gap.copy()
    of = only_launching(graph, gone)
    gap[of] = np.minimum(gap[of], 0)
    return replace(changed, gap=gap)


def fused_optimizer(graph: Graph, part: Part, value: str) -> Graph | None:
    """Do in one kernel what a range of an optimizer does in many.

    Each operation beyond the fixed time of the shortest one moves its share of the data. A fused optimizer reads and
    writes each tensor once: AdamW seven times in all, where its formula by single operations takes 28. Launches shrink
    to a twentieth, as in PyTorch (lists of up to 48 tensors for a kernel).
    """
    return _fused_optimizer(graph, part, value, moved=0.25, launched=0.05)


def fused_optimizer_cautious(graph: Graph, part: Part, value: str) -> Graph | None:
    """Move all the data as before, and keep a fifth of the host's time."""
    return _fused_optimizer(graph, part, value, moved=1.0, launched=0.2)


def fused_optimizer_hopeful(graph: Graph, part: Part, value: str) -> Graph | None:
    """Leave nothing to the host."""
    return _fused_optimizer(graph, part, value, moved=0.2, launched=0.0)


def _fused_optimizer(graph: Graph, part: Part, value: str, *, moved: float, launched: float) -> Graph | None:
    spans = part.ranges.get(value)
    calls, operations = graph.recording.calls, graph.recording.operations
    if spans is None:
        return None
    gap, cost, length = graph.gap.copy(), graph.cost.copy(), graph.length.copy()
    stream_lag, launch_lag = graph.stream_lag.copy(), graph.launch_lag.copy()
    changed = False
    kernels = np.flatnonzero(part.operations & (operations.kind == KERNEL) & (operations.call >= 0))
    kernels = kernels[np.argsort(operations.call[kernels], kind="stable")]
    for thread, begin, end in spans.tolist():
        low, high = np.searchsorted(calls.start, [begin, end])
        inside = low + np.flatnonzero(graph.recording.calls_of(thread)[low:high])
        first, last = np.searchsorted(operations.call[kernels], [low, high])
        mine = kernels[first:last]
        mine = mine[np.isin(operations.call[mine], inside)]
        if len(mine) < LEAST_FUSED:
            continue
        fixed = int(length[mine].min())
        length[mine[0]] = fixed + int((length[mine] - fixed).sum() * moved)
        length[mine[1:]] = 0
        for lag in (stream_lag, launch_lag):
            lag[mine[1:]] = np.minimum(lag[mine[1:]], 0)
        free = inside[~np.isin(inside, [*graph.waits])]
        cost[free] = (cost[free] * launched).astype(np.int64)
        shrunk = free[gap[free] > 0]
        gap[shrunk] = (gap[shrunk] * launched).astype(np.int64)
        changed = True
    if not changed:
        return None
    return replace(graph, gap=gap, cost=cost, length=length, stream_lag=stream_lag, launch_lag=launch_lag)


def _optimizers(graph: Graph, part: Part) -> list[str]:
    return [name for name in part.ranges if "optim" in name.lower() and fused_optimizer(graph, part, name)][:2]


def overlapped_copies(graph: Graph, part: Part, _: str) -> Graph | None:
    """Copy from pinned memory in streams of their own, beside kernels and copies of the other direction.

    A kernel waits for the copy from the host before it in its stream, a copy to the host for the kernel before it.
    Copies of one direction follow each other. The host waits for none of them.
    """
    return _overlapped_copies(graph, part, _pinned_rate(graph) or graph.recording.link_rate)


def overlapped_copies_cautious(graph: Graph, part: Part, _: str) -> Graph | None:
    """Keep their time if the recording has no copies from pinned memory."""
    return _overlapped_copies(graph, part, _pinned_rate(graph))


def _overlapped_copies(graph: Graph, part: Part, rate: float) -> Graph | None:
    operations, calls = graph.recording.operations, graph.recording.calls
    large = (operations.kind == COPY) & (operations.bytes > FEW_BYTES) & part.operations
    up, down = large & operations.from_host, large & operations.to_host
    if not up.any() and not down.any():
        return None
    before, after, other_lag = graph.stream_before.copy(), dict(graph.after), dict(graph.other_lag)
    stream_lag, cost = graph.stream_lag.copy(), graph.cost.copy()
    for device in np.unique(operations.device[large]):
        for mine in (up, down):
            copies = np.flatnonzero(mine & (operations.device == device))
            before[copies] = np.concatenate([[-1], copies[:-1]])[: len(copies)]
            stream_lag[copies] = np.minimum(stream_lag[copies], NEAR_NS)
    for stream in np.unique(operations.stream[large]):
        mine = np.flatnonzero(operations.stream == stream)
        moved = large[mine]
        rest = mine[~moved]
        before[rest] = np.concatenate([[-1], rest[:-1]])[: len(rest)]
        last = np.maximum.accumulate(np.where(up[mine], np.arange(len(mine)), -1))
        work = np.maximum.accumulate(np.where(moved, -1, np.arange(len(mine))))
        for place in np.flatnonzero(~moved & (last >= 0)).tolist():
            if work[place - 1] < last[place] and mine[place] not in after:  # the first one after the copy
                after[int(mine[place])], other_lag[int(mine[place])] = int(mine[last[place]]), NEAR_NS
        for place in np.flatnonzero(down[mine] & (work >= 0)).tolist():
            after[int(mine[place])], other_lag[int(mine[place])] = int(mine[work[place]]), NEAR_NS
    of = np.zeros(len(calls), np.bool_)
    of[operations.call[large]] = True
    following = _after_reads(graph, of) & named(calls, STREAM_WAITS) & part.calls
    cost[of] = np.minimum(cost[of], LAUNCH_NS)
    cost[following] = 0
    launch_lag = graph.launch_lag.copy()
    launch_lag[large] = np.minimum(launch_lag[large], LAUNCH_NS)
    return replace(
        graph, length=_at_rate(graph, np.flatnonzero(large & operations.pageable), rate), stream_before=before,
        after=after, other_lag=other_lag, stream_lag=stream_lag, launch_lag=launch_lag,
        cost=cost, waits=without_waits_of(graph, of | following),
    )  # fmt: skip


def without_allocations(graph: Graph, part: Part, _: str) -> Graph | None:
    """Allocate memory before the part: calls that allocate or free it take no time and wait for nothing."""
    gone = named(graph.recording.calls, _ALLOCATIONS) & part.calls
    if not gone.any():
        return None
    cost = np.where(gone, 0, graph.cost)
    return replace(graph, cost=cost, waits=without_waits_of(graph, gone))


def without_memsets(graph: Graph, part: Part, _: str) -> Graph | None:
    """Skip memory sets, such as zeroing gradients: neither the call nor the operation takes time."""
    return without(graph, (graph.recording.operations.kind == MEMSET) & part.operations)


def data_on_gpu(graph: Graph, part: Part, _: str) -> Graph | None:
    """Skip copies between host and GPU, as if the data stayed there."""
    operations = graph.recording.operations
    between = (operations.from_host | operations.to_host) & (operations.bytes > FEW_BYTES) & part.operations
    return without(graph, between)


def _unchanged(_graph: Graph, _part: Part, _: str) -> None:
    """Save nothing: kernels beside collectives may take longer by as much as is hidden."""


def _merged(graph: Graph, part: Part) -> list[str]:
    """Return a number to try if there are many collectives."""
    count = int((graph.recording.operations.in_class("communication") & part.operations).sum())
    return ["8"] if count >= 16 * max(1, part.steps) else []


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
            "Nothing on the host needs a result before the end, and the program's work around each wait stays.",
            without_waits, hopeful=without_waits_hopeful,
        ),
        Change(
            "pinned_copies", "Copies to the GPU come from pinned memory, asynchronously",
            "Copies take as long as those from pinned memory in this capture, or else as the GPU's PCIe link allows;"
            " nothing waits for them.",
            pinned_copies, cautious=pinned_copies_cautious,
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
            "fused_elementwise", "Consecutive elementwise kernels are one",
            "The fused kernel takes as long as the longest of them.", fused_elementwise,
        ),
        Change(
            "compiled", "A compiler fuses kernels between matrix products",
            "Elementwise kernels, reductions, normalizations, softmax and casts that follow each other take as long as"
            f" the longest of them, and the host needs {LAUNCH_NS / 1e3:g} µs before each launch.",
            compiled, cautious=compiled_cautious, hopeful=compiled_hopeful,
        ),
        Change(
            "without_allocations", "Memory is allocated once",
            "The allocator has the memory of each step from the step before.", without_allocations,
        ),
        Change(
            "without_waits_in", "The host does not wait for the GPU in {}",
            "Nothing on the host needs a result before the end, and the work around each wait stays.",
            without_waits_in, "a range", lambda _graph, _part: [],
        ),
        Change(
            "without_range", "The program skips {}",
            "Nothing else needs its results: its host code, calls, kernels and copies are gone.", without_range,
            "a range", lambda _graph, _part: [],
        ),
        Change(
            "workers", "Non-CUDA code in {} runs in {} workers",
            "The work divides among cores that nothing else needs; calls and kernels stay.", workers, "RANGE:N",
            lambda _graph, _part: [], _parse_workers,
        ),
        Change(
            "fused_optimizer", "One kernel does what {} does",
            "It moves a quarter of the data, and a twentieth of the launches is left.", fused_optimizer, "a range",
            _optimizers, cautious=fused_optimizer_cautious, hopeful=fused_optimizer_hopeful,
        ),
        Change(
            "overlapped_copies", "Copies from pinned memory run beside kernels",
            "There are buffers for all copies under way. A kernel waits for the copy before it in its stream, a copy to"
            " the host for the kernel before it.",
            overlapped_copies, cautious=overlapped_copies_cautious,
        ),
        Change(
            "balanced_ranks", "All ranks have the same work",
            "Each has the mean of their host work, and of the time of their kernels and copies.", balanced_ranks,
        ),
        Change(
            "overlapped_collectives", "Collectives run while the gradients of other layers are computed",
            "The data of each is ready at its share of the last two thirds of the kernels before a row of collectives.",
            overlapped_collectives, cautious=_unchanged,
        ),
        Change(
            "merged_collectives", "{} collectives are one",
            "The fixed time and the launch of all but the last go; the data moves with the last.", merged_collectives,
            "the number that one replaces", _merged, parse_count,
        ),
        Change(
            "faster_link", "Data moves {:g} times as fast between host and GPU and between ranks",
            "The fixed time of a transfer stays, and so does that of copies from pageable memory.", faster_link,
            "a factor", lambda _graph, _part: ["2"], lambda value: parse_times("faster_link", value),
            hopeful=faster_link_hopeful,
        ),
        Change(
            "batch", "Each step computes {:g} times the items",
            "Kernels grow with their waves of blocks; long pieces of host code by the factor; launches, optimizer and"
            " collectives stay. The time is that for as many items as before.",
            batch, "a factor", lambda _graph, part: ["2"] * bool(part.steps), lambda value: parse_times("batch", value),
            batch_cautious, batch_hopeful,
        ),
        Change("without_memsets", "Memory is not set", "Nothing reads it before it is written.", without_memsets),
        Change(
            "data_on_gpu", "Data stays on the GPU",
            "It is there already, as in the step before, and nothing on the host needs results of more than"
            f" {FEW_BYTES} bytes.",
            data_on_gpu,
        ),
        Change(
            "faster_kernels", "Kernels of {} run {:g} times as fast",
            "Their host work and all other kernels stay as they are.", faster_kernels, "CLASS:TIMES or TEXT:TIMES",
            _classes, _parse_speedup,
        ),
    )
}  # fmt: skip
"""All changes by name, in the order of the documentation."""
VERSION = 2
"""The version of the changes and the prediction model. Stored predictions of another version are recomputed."""
