"""Changes to a program. Each edits the graph of a recording within a part of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from profiledb.errors import AnalysisError
from profiledb.replay.collective_changes import balanced_ranks, merged_collectives, overlapped_collectives, parse_count
from profiledb.replay.copy_changes import (
    FEW_BYTES,
    data_on_gpu,
    data_on_gpu_cautious,
    overlapped_copies,
    overlapped_copies_cautious,
    pinned_copies,
    pinned_copies_cautious,
    without_memsets,
)
from profiledb.replay.graph import (
    LAUNCH_NS,
    Graph,
    mask_kinds,
)  # fmt: skip
from profiledb.replay.kernel_changes import (
    compiled,
    compiled_cautious,
    compiled_hopeful,
    cuda_graph,
    faster_kernels,
    fused_elementwise,
    fused_optimizer,
    fused_optimizer_cautious,
    fused_optimizer_hopeful,
    kernels_at_roof,
    kernels_at_roof_cautious,
    kernels_at_roof_hopeful,
    list_classes,
    list_optimizers,
    list_roofs,
    name_kernels,
    parse_speedup,
)
from profiledb.replay.part import (
    HOST_WORK_NS,
    Part,
    find_calls,
    find_launched,
    find_waiting,
    keep_other_waits,
    remove_operations,
)
from profiledb.replay.recomputation import without_recomputation, without_recomputation_cautious
from profiledb.replay.recording import Flags, Integers
from profiledb.replay.speed_changes import (
    another_gpu,
    another_gpu_cautious,
    another_gpu_hopeful,
    batch,
    batch_cautious,
    batch_hopeful,
    faster_link,
    faster_link_hopeful,
    list_precisions,
    list_without_fp64,
    parse_gpu,
    parse_precision,
    parse_times,
    precision,
    precision_cautious,
    precision_hopeful,
    without_fp64,
    without_fp64_cautious,
)  # fmt: skip
from profiledb.replay.wait_changes import without_waits, without_waits_by, without_waits_cautious, without_waits_in

MOST_WORKERS = 1_024


Apply = Callable[[Graph, Part, str], Graph | None]


@dataclass(frozen=True)
class Change:
    """A change. ``apply`` returns the changed graph, or None if the change has no effect.

    It raises NotCapturedError if the recording lacks the data that the change depends on.

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


def without_range(graph: Graph, part: Part, value: str) -> Graph | None:
    """Skip a range: its host code, its calls, and the operations that they launch."""
    spans = part.ranges.get(value)
    if spans is None:
        return None
    changed = host_code(graph, part, value) or graph
    calls = find_calls(graph, spans) & part.calls
    changed = remove_operations(changed, find_launched(graph.recording, calls)) or changed
    cost = np.where(calls, 0, changed.cost)
    changed = replace(changed, cost=cost, waits=keep_other_waits(changed, calls))
    return None if changed.cost is graph.cost else changed


def host_code(graph: Graph, part: Part, value: str) -> Graph | None:
    """Remove the host's own work in a range; its calls and kernels stay."""
    return _shorten_host_code(graph, part, value, 1.0)


def _parse_workers(value: str) -> tuple[str, int]:
    """Return the range and the number of workers of RANGE:N."""
    name, _, count = value.rpartition(":")
    if not name or not count.isascii() or not count.isdigit() or not 2 <= int(count[:9]) <= MOST_WORKERS:
        raise AnalysisError(f"workers takes RANGE:N, such as augment:8, with 2 to {MOST_WORKERS} workers.")
    return name, int(count)


def workers(graph: Graph, part: Part, value: str) -> Graph | None:
    """Divide the host's own work in a range by a number of workers."""
    name, count = _parse_workers(value)
    return _shorten_host_code(graph, part, name, 1 - 1 / count)


def _shorten_host_code(graph: Graph, part: Part, name: str, share: float) -> Graph | None:
    spans = part.ranges.get(name)
    calls = graph.recording.calls
    if spans is None or not len(calls):
        return None
    gap, end = graph.gap.copy(), calls.start
    begin = end - np.maximum(graph.recorded_gap, 0)  # also of work of which another change has removed some
    for one in np.unique(spans[:, 0]):
        ours = graph.recording.calls_of(int(one))
        if not ours.any():  # a framework whose other threads launch, as JAX does
            ours = _find_busiest_thread(graph, int(one))
        if not ours.any():
            continue
        chain = graph.chain[int(np.argmax(ours))]
        mine = np.flatnonzero((graph.chain == chain) & (gap > 0))
        covered = _measure_covered(spans[spans[:, 0] == one, 1:], begin[mine], end[mine])
        removed = (np.where(end[mine] >= _find_begin(part, calls.start), covered, 0) * share).astype(np.int64)
        gap[mine] -= np.minimum(removed, gap[mine])
    return replace(graph, gap=gap) if np.any(gap != graph.gap) else None


def _find_busiest_thread(graph: Graph, thread: int) -> Flags:
    """Return the calls of the thread of the same process with the most calls."""
    threads, calls = graph.recording.threads, graph.recording.calls
    counts = np.bincount(calls.thread, minlength=len(threads))
    own = [place for place, one in enumerate(threads) if one >> 24 == thread >> 24]
    return np.equal(calls.thread, max(own, key=counts.__getitem__, default=-1))


def _find_begin(part: Part, start: Integers) -> int:
    return int(start[part.calls][0]) if part.calls.any() else 0


def _measure_covered(spans: Integers, begin: Integers, end: Integers) -> Integers:
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


def _list_ranges(graph: Graph, part: Part) -> list[str]:
    """Return the ranges of the part with the most host work, at most five."""
    took = {}
    for name in part.ranges:
        changed = host_code(graph, part, name)
        if changed is not None:
            took[name] = int((graph.gap - changed.gap).sum())
    return sorted(took, key=lambda name: -took[name])[:5]


def without_allocations(graph: Graph, part: Part, _: str) -> Graph | None:
    """Allocate memory before the part: calls that allocate or free it take no time and wait for nothing."""
    gone = mask_kinds(graph.recording.calls, ("allocation", "free", "waiting free")) & part.calls
    if not gone.any():
        return None
    cost = np.where(gone, 0, graph.cost)
    return replace(graph, cost=cost, waits=keep_other_waits(graph, gone))


def without_profiler(graph: Graph, part: Part, _: str) -> Graph | None:
    """Remove the time that the report records as the profiler's own, from host code and from calls that do not wait."""
    calls, gap, cost = graph.recording.calls, graph.gap.copy(), graph.cost.copy()
    waiting = find_waiting(graph)
    for thread in np.unique(part.profiler[:, 0]).tolist():
        ours = np.flatnonzero(graph.recording.calls_of(thread) & part.calls)
        spans = part.profiler[part.profiler[:, 0] == thread, 1:]
        start = calls.start[ours]
        gap[ours] -= _measure_covered(spans, start - np.maximum(gap[ours], 0), start)
        cost[ours] -= np.where(waiting[ours], 0, _measure_covered(spans, start, calls.end[ours]))
    if np.array_equal(gap, graph.gap) and np.array_equal(cost, graph.cost):
        return None
    return replace(graph, gap=gap, cost=cost)


def _save_nothing(_graph: Graph, _part: Part, _: str) -> None:
    """Save nothing: kernels beside collectives may take longer by as much as is hidden."""


def _list_merge_counts(graph: Graph, part: Part) -> list[str]:
    """Return a number to try if there are many collectives."""
    count = int((graph.recording.operations.in_class("communication") & part.operations).sum())
    return ["8"] if count >= 16 * max(1, part.steps) else []


CHANGES = {
    change.name: change
    for change in (
        Change(
            "without_waits", "The host does not wait for the GPU",
            "Nothing on the host needs a result before the end, and the program's work around each wait stays. Results"
            " of a few bytes are read later, many at once.",
            without_waits, cautious=without_waits_cautious,
        ),
        Change(
            "pinned_copies", "Copies to the GPU come from pinned memory, asynchronously",
            "Copies take as long as those from pinned memory in this capture, or else as the GPU's PCIe link allows;"
            " nothing waits for them.",
            pinned_copies, cautious=pinned_copies_cautious,
        ),
        Change(
            "host_code", "Non-CUDA code in {} takes no time",
            "Other threads or processes do it in time; calls and kernels stay.", host_code, "a range", _list_ranges,
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
            "without_recomputation", "Activations are kept, not computed again",
            "Memory has room for them. Where a stretch that runs again begins and ends, the host's work before a launch"
            " is as long as usual.",
            without_recomputation, cautious=without_recomputation_cautious,
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
            "without_waits_by", "{} does not wait for the GPU",
            "Nothing on the host needs a result before the end, and the work around each wait stays.",
            without_waits_by, "a call", lambda _graph, _part: [],
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
            list_optimizers, cautious=fused_optimizer_cautious, hopeful=fused_optimizer_hopeful,
        ),
        Change(
            "overlapped_copies", "Copies from pinned memory run beside kernels",
            "There are buffers for all copies under way. A kernel waits for the copy before it in its stream, a copy to"
            " the host for the kernel before it.",
            overlapped_copies, cautious=overlapped_copies_cautious,
        ),
        Change(
            "balanced_ranks", "All ranks have the same work",
            "Each has the mean of their host work and, between two collectives, of the time of kernels and copies.",
            balanced_ranks,
        ),
        Change(
            "overlapped_collectives", "Collectives run while the gradients of other layers are computed",
            "The data of each is ready at its share of the last two thirds of the kernels before a row of collectives.",
            overlapped_collectives, cautious=_save_nothing,
        ),
        Change(
            "merged_collectives", "{} collectives are one",
            "The fixed time and the launch of all but the last go; the data moves with the last.", merged_collectives,
            "the number that one replaces", _list_merge_counts, parse_count,
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
        Change(
            "precision", "Matrix products compute in {}",
            "They are as many times as fast as the GPU's peak is higher, beyond the fixed time of a kernel.",
            precision, "a precision", list_precisions, lambda value: (parse_precision(value)[0].upper(),),
            precision_cautious, precision_hopeful,
        ),
        Change(
            "without_fp64", "Kernels in FP64 compute in {}",
            "Products are as many times as fast as the GPU's peak is higher, other kernels as their numbers are"
            " shorter, beyond the fixed time of a kernel.",
            without_fp64, "a precision", list_without_fp64, lambda value: (parse_precision(value)[0].upper(),),
            without_fp64_cautious,
        ),
        Change(
            "another_gpu", "Kernels run on {}",
            "Products are as many times as fast as the peak of their precision is higher, other kernels as the memory"
            " is faster, beyond the fixed time of a kernel. The host and all links stay.",
            another_gpu, "a GPU", lambda _graph, _part: [], parse_gpu, another_gpu_cautious, another_gpu_hopeful,
        ),
        Change(
            "without_profiler", "The profiler does nothing meanwhile",
            "Time that the report records as the profiler's own on a thread goes. What each call costs the profiler is"
            " not recorded, so it stays.",
            without_profiler,
        ),
        Change("without_memsets", "Memory is not set", "Nothing reads it before it is written.", without_memsets),
        Change(
            "data_on_gpu", "Data stays on the GPU",
            "It is there already, as in the step before: the host stages none, and needs no results of more than"
            f" {FEW_BYTES} bytes.",
            data_on_gpu, cautious=data_on_gpu_cautious,
        ),
        Change(
            "faster_kernels", "Kernels of {} run {:g} times as fast",
            "Their host work and all other kernels stay as they are.", faster_kernels, "CLASS:TIMES or TEXT:TIMES",
            list_classes, parse_speedup,
        ),
        Change(
            "kernels_at_roof", "{} run at their roof",
            "Kernels that Nsight Compute measured keep their busiest unit busy all the time; those of operators do the"
            " FLOPs or move the bytes of their shapes at the GPU's peak. The fixed time of a kernel stays, and so"
            " do kernels of which nothing is known.",
            kernels_at_roof, "CLASS, TEXT or all", list_roofs, name_kernels, cautious=kernels_at_roof_cautious,
            hopeful=kernels_at_roof_hopeful,
        ),
    )
}  # fmt: skip
"""All changes by name, in the order of the documentation."""
