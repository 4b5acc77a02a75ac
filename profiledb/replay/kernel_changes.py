"""Changes to kernels and to the way that they are launched: graphs, fusion, speed."""

from dataclasses import replace

import numpy as np

from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.replay.graph import (
    GRAPH_LAUNCHES,
    LAUNCH_NS,
    Graph,
    mask_graph_nodes,
    mask_kinds,
)
from profiledb.replay.part import HOST_WORK_NS, Part, mask_launching, remove_operations, require_nodes, shorten_leads
from profiledb.replay.recording import GRAPH, KERNEL, Flags
from profiledb.replay.speed_changes import LEAST_TIMES, MOST_TIMES, find_fixed_time

LEAST_FUSED = 8
"""Minimum number of kernels of an optimizer from which it counts as not fused."""
NEAR_ROOF = 0.8
"""Fraction of its roof from which a kernel counts as near it."""
ALL = "all"
"""Value of a change that concerns all kernels."""
IN_GRAPH_NS = 1_000
"""Upper bound of the lag between two kernels of a CUDA graph, in ns."""
_COMPILED = frozenset({"elementwise", "reduction", "normalization", "softmax", "copy"})
"""Classes of kernels that compilers such as torch.compile fuse."""


def cuda_graph(graph: Graph, part: Part, _: str) -> Graph | None:
    """Launch the part through CUDA graphs. Long pieces of host work and waits stay."""
    operations, calls = graph.recording.operations, graph.recording.calls
    ours = part.operations & ~mask_graph_nodes(graph.recording) & (operations.kind != GRAPH)
    launches = np.zeros(len(calls), np.bool_)
    launches[operations.call[ours]] = True
    if launches.sum() < 2:
        return None
    free = part.calls & ~mask_kinds(calls, GRAPH_LAUNCHES)
    free[list(graph.waits)] = False
    gap, cost = graph.gap.copy(), graph.cost.copy()
    launch_lag, stream_lag = graph.launch_lag.copy(), graph.stream_lag.copy()
    gap[free & (gap < HOST_WORK_NS)] = 0
    cost[free] = 0
    for lag in (launch_lag, stream_lag):
        lag[ours] = np.minimum(lag[ours], IN_GRAPH_NS)
    queued = {i: j for i, j in graph.queued.items() if not free[i]}
    return replace(graph, gap=gap, cost=cost, launch_lag=launch_lag, stream_lag=stream_lag, queued=queued)


def parse_speedup(value: str) -> tuple[str, float]:
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
    wanted, times = parse_speedup(value)
    chosen = _find_kernels(graph, part, wanted)
    require_nodes(graph, part)
    if not chosen.any():
        return None
    length = graph.length.copy()
    length[chosen] = (length[chosen] / times).astype(np.int64)
    return replace(graph, length=length)


def _find_kernels(graph: Graph, part: Part, wanted: str) -> Flags:
    """Return the kernels of a class, or with a text in their names."""
    operations = graph.recording.operations
    named_so = [code for code, kernel in enumerate(operations.kernels) if wanted in kernel.name]
    chosen: Flags = operations.in_class(wanted) | ((operations.kind == KERNEL) & np.isin(operations.name, named_so))
    chosen &= part.operations
    return chosen


def kernels_at_roof(graph: Graph, part: Part, value: str) -> Graph | None:
    """Let kernels use the busiest unit of the GPU at its peak, as far as a measurement or a model of shapes knows them.

    A kernel takes a fixed time and its share at the roof of the rest.
    """
    return _reach_roof(graph, part, value, 1.0)


def kernels_at_roof_cautious(graph: Graph, part: Part, value: str) -> Graph | None:
    """Reach ``NEAR_ROOF`` of it."""
    return _reach_roof(graph, part, value, NEAR_ROOF)


def kernels_at_roof_hopeful(graph: Graph, part: Part, value: str) -> Graph | None:
    """Do nothing but the arithmetic and the traffic of the device memory."""
    return _reach_roof(graph, part, value, 1.0, least=True)


def _reach_roof(graph: Graph, part: Part, value: str, reached: float, *, least: bool = False) -> Graph | None:
    shares = part.roofs()[least] / reached
    kernels = part.operations & (graph.recording.operations.kind == KERNEL)
    chosen = kernels if value == ALL else _find_kernels(graph, part, value)
    if not chosen.any():
        return None
    chosen = chosen & ~np.isnan(shares)
    if not chosen.any():
        raise NotCapturedError(
            "Nothing tells how far these kernels are from their roof.",
            why="Link a report of Nsight Compute (warpdeck link), or record the shapes of operators in a trace.",
        )
    length = graph.length.copy()
    fixed = find_fixed_time(length[kernels])
    length[chosen] = fixed + ((length[chosen] - fixed) * np.minimum(1.0, shares[chosen])).astype(np.int64)
    return replace(graph, length=length) if np.any(length != graph.length) else None


def name_kernels(value: str) -> tuple[str]:
    """Return the kernels of CLASS, TEXT or all as words."""
    return ("All kernels" if value == ALL else f"Kernels of {value}",)


def list_roofs(_graph: Graph, part: Part) -> list[str]:
    """Return all kernels if something tells of the roof of some."""
    return [ALL] if not np.isnan(part.roofs()[0]).all() else []


def fused_elementwise(graph: Graph, part: Part, _: str) -> Graph | None:
    """Fuse consecutive elementwise kernels of a stream into one that takes as long as the longest of them."""
    return _fuse_kernels(graph, part, frozenset({"elementwise"}))


def compiled(graph: Graph, part: Part, value: str) -> Graph | None:
    """Fuse consecutive kernels that a compiler fuses, and launch the remaining ones from generated code.

    The fused kernel takes as long as the longest of them, because data is read and written once. Generated code takes
    up to ``LAUNCH_NS`` before each launch.
    """
    fused = compiled_cautious(graph, part, value)
    if fused is None:
        return None
    of = graph.recording.operations.call
    launches = np.zeros(len(graph.chain), np.bool_)
    launches[of[part.operations & (of >= 0)]] = True
    return replace(fused, gap=shorten_leads(fused, launches, LAUNCH_NS))


def compiled_cautious(graph: Graph, part: Part, _: str) -> Graph | None:
    """Keep the framework's time before the remaining kernels."""
    return _fuse_kernels(graph, part, _COMPILED)


def compiled_hopeful(graph: Graph, part: Part, value: str) -> Graph | None:
    """Launch the remaining kernels as CUDA graphs."""
    fused = compiled_cautious(graph, part, value)
    return None if fused is None else cuda_graph(fused, part, "") or fused


def _fuse_kernels(graph: Graph, part: Part, classes: frozenset[str]) -> Graph | None:
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
    changed = remove_operations(graph, gone)
    if changed is None:
        return None
    return replace(changed, gap=shorten_leads(graph, mask_launching(graph, gone), 0))


def fused_optimizer(graph: Graph, part: Part, value: str) -> Graph | None:
    """Replace the many kernels of an optimizer's range by one.

    Beyond its fixed time, each operation moves its share of the data. A fused optimizer reads and writes each tensor
    once: AdamW seven times in all, where its formula by single operations takes 28. Launches shrink to a twentieth, as
    in PyTorch (lists of up to 48 tensors for a kernel).
    """
    return _fuse_optimizer(graph, part, value, moved=0.25, launched=0.05)


def fused_optimizer_cautious(graph: Graph, part: Part, value: str) -> Graph | None:
    """Move all the data as before, and keep a fifth of the host's time."""
    return _fuse_optimizer(graph, part, value, moved=1.0, launched=0.2)


def fused_optimizer_hopeful(graph: Graph, part: Part, value: str) -> Graph | None:
    """Leave nothing to the host."""
    return _fuse_optimizer(graph, part, value, moved=0.2, launched=0.0)


def _fuse_optimizer(graph: Graph, part: Part, value: str, *, moved: float, launched: float) -> Graph | None:
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
        fixed = find_fixed_time(length[mine])
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


def list_optimizers(graph: Graph, part: Part) -> list[str]:
    return [name for name in part.ranges if "optim" in name.lower() and fused_optimizer(graph, part, name)][:2]


def list_classes(graph: Graph, part: Part) -> list[str]:
    """Return the three kernel classes with the most time, each at twice the speed."""
    operations = graph.recording.operations
    took: dict[str, int] = {}
    for code, kernel in enumerate(operations.kernels):
        chosen = (operations.name == code) & part.operations
        took[kernel.class_] = took.get(kernel.class_, 0) + int(graph.length[chosen].sum())
    return [f"{class_}:2" for class_ in sorted(took, key=lambda one: -took[one])[:3] if class_ and took[class_]]
