"""Changes to copies and memory sets."""

from dataclasses import replace

import numpy as np

from profiledb.replay.graph import (
    LAUNCH_NS,
    NEAR_NS,
    STREAM_WAITS,
    Graph,
    mask_kinds,
)
from profiledb.replay.part import Part, find_after_reads, find_following, find_led, keep_other_waits, remove_operations
from profiledb.replay.recording import COPY, MEMSET, Integers

FEW_BYTES = 64
"""A copy to the host of at most this many bytes reads a scalar."""
STAGING_RATE = 5.0
"""Bytes per ns at which one thread copies data into memory that it has not touched before. Cores reach 5 to 15."""


def pinned_copies(graph: Graph, part: Part, _: str) -> Graph | None:
    """Make copies from pageable memory to the GPU as fast as from pinned memory, and asynchronous.

    They take as long as large copies from pinned memory of the recording, or else as the GPU's link allows.
    """
    return _pin_copies(graph, part, _measure_pinned_rate(graph) or graph.recording.link_rate)


def pinned_copies_cautious(graph: Graph, part: Part, _: str) -> Graph | None:
    """Keep their time if the recording has no copies from pinned memory."""
    return _pin_copies(graph, part, _measure_pinned_rate(graph))


def _pin_copies(graph: Graph, part: Part, rate: float) -> Graph | None:
    calls, operations = graph.recording.calls, graph.recording.operations
    copies = np.flatnonzero(operations.from_host & operations.pageable & part.operations & (operations.call >= 0))
    if not len(copies):
        return None
    cost = graph.cost.copy()
    of = operations.call[copies]
    cost[of] = np.minimum(cost[of], LAUNCH_NS)
    after_copy = find_following(calls.start, of, mask_kinds(calls, STREAM_WAITS) & part.calls, graph.chain)
    cost[after_copy] = 0
    asynchronous = np.zeros(len(calls), np.bool_)
    asynchronous[of] = asynchronous[after_copy] = True
    launch_lag = graph.launch_lag.copy()
    launch_lag[copies] = np.minimum(launch_lag[copies], LAUNCH_NS)
    return replace(
        graph, cost=cost, length=_copy_at_rate(graph, copies, rate), launch_lag=launch_lag,
        waits=keep_other_waits(graph, asynchronous),
    )  # fmt: skip


def _copy_at_rate(graph: Graph, copies: Integers, rate: float) -> Integers:
    """Return the lengths of operations if these copies move so many bytes per ns; 0 leaves them as they are."""
    length = graph.length.copy()
    if rate:
        took = (graph.recording.operations.bytes[copies] / rate).astype(np.int64) + LAUNCH_NS
        length[copies] = np.minimum(length[copies], took)
    return length


def _measure_pinned_rate(graph: Graph) -> float:
    """Return the rate of large copies from pinned memory to the GPU in bytes per ns, or 0 if the recording has none."""
    operations = graph.recording.operations
    large = operations.from_host & ~operations.pageable & (operations.bytes >= 1 << 20)
    took = graph.length[large]
    return float(np.median(operations.bytes[large] / np.maximum(took, 1))) if large.any() else 0.0


def overlapped_copies(graph: Graph, part: Part, _: str) -> Graph | None:
    """Copy from pinned memory in streams of their own, beside kernels and copies of the other direction.

    A kernel waits for the copy from the host before it in its stream, a copy to the host for the kernel before it.
    Copies of one direction follow each other. The host waits for none of them.
    """
    return _overlap_copies(graph, part, _measure_pinned_rate(graph) or graph.recording.link_rate)


def overlapped_copies_cautious(graph: Graph, part: Part, _: str) -> Graph | None:
    """Keep their time if the recording has no copies from pinned memory."""
    return _overlap_copies(graph, part, _measure_pinned_rate(graph))


def _overlap_copies(graph: Graph, part: Part, rate: float) -> Graph | None:
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
    following = find_after_reads(graph, of) & mask_kinds(calls, STREAM_WAITS) & part.calls
    cost[of] = np.minimum(cost[of], LAUNCH_NS)
    cost[following] = 0
    launch_lag = graph.launch_lag.copy()
    launch_lag[large] = np.minimum(launch_lag[large], LAUNCH_NS)
    return replace(
        graph, length=_copy_at_rate(graph, np.flatnonzero(large & operations.pageable), rate), stream_before=before,
        after=after, other_lag=other_lag, stream_lag=stream_lag, launch_lag=launch_lag,
        cost=cost, waits=keep_other_waits(graph, of | following),
    )  # fmt: skip


def without_memsets(graph: Graph, part: Part, _: str) -> Graph | None:
    """Skip memory sets, such as zeroing gradients: neither the call nor the operation takes time."""
    return remove_operations(graph, (graph.recording.operations.kind == MEMSET) & part.operations)


def data_on_gpu(graph: Graph, part: Part, value: str) -> Graph | None:
    """Skip copies between host and GPU, as if the data stayed there, and the host's work to stage it.

    That is the host's work that leads to a copy to the GPU, for as long as a thread needs to move the data.
    """
    changed = data_on_gpu_cautious(graph, part, value)
    if changed is None:
        return None
    operations = graph.recording.operations
    staged = np.zeros(len(graph.chain), np.float64)
    copies = operations.from_host & (operations.bytes > FEW_BYTES) & part.operations & (operations.call >= 0)
    np.add.at(staged, operations.call[copies], operations.bytes[copies] / STAGING_RATE)
    led = find_led(graph)
    gap = np.maximum(changed.gap, 0)
    mine = (led >= 0) & (staged[led] > 0)
    took = np.bincount(led[mine], gap[mine], minlength=len(gap))
    left = 1 - np.minimum(1.0, staged / np.maximum(took, 1))
    shorter = np.where(mine & (gap > 0), np.rint(gap * left[led]), changed.gap).astype(np.int64)
    return replace(changed, gap=shorter)


def data_on_gpu_cautious(graph: Graph, part: Part, _: str) -> Graph | None:
    """Skip the copies alone."""
    operations = graph.recording.operations
    between = (operations.from_host | operations.to_host) & (operations.bytes > FEW_BYTES) & part.operations
    return remove_operations(graph, between)
