"""Changes to speeds and sizes: a faster link, another precision, another batch size."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.replay.gpus import read_gpus
from profiledb.replay.graph import Graph
from profiledb.replay.part import HOST_WORK_NS, Part, measure_waits, require_nodes
from profiledb.replay.recording import COPY, KERNEL, Flags, Integers

LEAST_TIMES, MOST_TIMES = 0.001, 1_000_000.0
"""Bounds of factors that a question may assume."""
LEAST_COLLECTIVES = 0.1
"""Minimum fraction of the time of operations in collectives for which a faster link needs all ranks."""
FULL_WAVES = 4
"""Number of waves of blocks from which a kernel takes longer in proportion to its blocks."""
MOST_FIXED_NS = 5_000
"""A kernel without work takes 2 to 5 µs."""
FREE_VECTORS = 16
"""How many times as many vectors a product takes as long with: 128 operations for each element of the matrix are below
the ridge of GPUs since 2017."""
FP64_BITS = 64
PRECISIONS = {"fp32": 32, "tf32": 32, "bf16": 16, "fp16": 16, "fp8": 8}
"""Precisions of matrix products below FP64, the widest first, with the bits of their numbers in memory."""
_FIXED = frozenset({"optimizer", "communication"})
"""Classes of kernels whose work does not depend on the batch."""


def parse_times(change: str, value: str) -> tuple[float]:
    """Return a factor."""
    try:
        factor = float(value)
    except ValueError:
        factor = 0.0
    if not LEAST_TIMES <= factor <= MOST_TIMES:
        raise AnalysisError(f"{change} takes a factor from {LEAST_TIMES:g} to {MOST_TIMES:,.0f}, such as 2.")
    return (factor,)


def faster_link(graph: Graph, part: Part, value: str) -> Graph | None:
    """Move data between host and GPU, and between ranks, so many times as fast.

    A transfer takes a fixed time, that of the shortest of its kind in the recording, and the time of its data. Copies
    from pageable memory keep their time, because the host copies, too.
    """
    return _speed_up_link(graph, part, value, pageable=False)


def faster_link_hopeful(graph: Graph, part: Part, value: str) -> Graph | None:
    """Speed up copies from pageable memory, too."""
    return _speed_up_link(graph, part, value, pageable=True)


def _speed_up_link(graph: Graph, part: Part, value: str, *, pageable: bool) -> Graph | None:
    (times,) = parse_times("faster_link", value)
    operations, length = graph.recording.operations, graph.length.copy()
    collectives = operations.in_class("communication") & part.operations
    if not graph.partners and length[collectives].sum() > LEAST_COLLECTIVES * length[part.operations].sum():
        raise NotCapturedError(
            "This report holds one rank, so it does not tell how much of its collectives is waiting for the others.",
            why="Import the reports of the other ranks under names such as train_rank0 and train_rank1.",
        )
    waits = measure_waits(graph)
    copies = (operations.kind == COPY) & part.operations & (pageable | ~operations.pageable)
    kinds = [copies & operations.to_host, copies & operations.from_host]
    if graph.partners:
        in_groups = np.zeros(len(length), np.bool_)
        in_groups[[j for group in graph.partners for j in group]] = True
        kinds.append(collectives & in_groups)
    for mine in kinds:
        if mine.any():
            took = np.maximum(length[mine] - waits[mine], 0)
            fixed = int(took.min())
            length[mine] = waits[mine] + fixed + ((took - fixed) / times).astype(np.int64)
    return replace(graph, length=length) if np.any(length != graph.length) else None


def parse_precision(value: str) -> tuple[str]:
    """Return a precision of matrix products in lower case."""
    if value.lower() not in PRECISIONS:
        raise AnalysisError(f"precision takes one of {', '.join(PRECISIONS)}.")
    return (value.lower(),)


def precision(graph: Graph, part: Part, value: str) -> Graph | None:
    """Compute matrix products in a narrower precision: as many times as fast as its peak is higher.

    A product takes a fixed time and the time of its arithmetic; with vectors, that of its data. Kernels that compute
    several products for each of their own need one in the narrower precision.
    """
    return _change_precision(graph, part, value, lambda _, ratio: ratio)


def precision_cautious(graph: Graph, part: Part, value: str) -> Graph | None:
    """Limit products by memory: they are only as many times as fast as their numbers are shorter."""
    return _change_precision(graph, part, value, lambda narrower, _: narrower)


def precision_hopeful(graph: Graph, part: Part, value: str) -> Graph | None:
    """Speed up kernels that CUDA cores need for the same products, too, such as FFTs of convolutions."""
    return _change_precision(graph, part, value, lambda _, ratio: ratio, unknown=True)


def list_precisions(graph: Graph, part: Part) -> list[str]:
    """Return the next precision for most of the time of products."""
    operations, peaks = graph.recording.operations, graph.recording.peaks
    took = {one: int(graph.length[operations.in_precision(one) & part.operations].sum()) for one in PRECISIONS}
    most = max(took, key=took.__getitem__)
    following = {"fp32": "tf32", "tf32": "bf16", "fp16": "fp8"}.get(most, "")
    return [following] if took[most] and following in peaks and most in peaks else []


def _change_precision(
    graph: Graph, part: Part, value: str, speed_up: Callable[[float, float], float], *, unknown: bool = False
) -> Graph | None:
    wanted, fixed = _find_peak(graph, part, value)
    operations, peaks, length = graph.recording.operations, graph.recording.peaks, graph.length.copy()
    for name, bits in PRECISIONS.items():
        ratio = peaks[wanted] / peaks[name] if name in peaks else 1.0
        mine = operations.in_precision(name) & part.operations
        if unknown and name == "fp32" and mine.any():
            mine |= operations.in_class("convolution") & operations.in_precision("") & part.operations
        if ratio > 1 and bits >= PRECISIONS[wanted] and mine.any():
            for passes in {kernel.passes for kernel in operations.kernels}:
                some = mine & operations.in_passes(passes)
                _speed_up_products(graph, length, some, fixed, bits / PRECISIONS[wanted], ratio * passes, speed_up)
    return replace(graph, length=length) if np.any(length != graph.length) else None


def without_fp64(graph: Graph, part: Part, value: str) -> Graph | None:
    """Compute products in FP64 in a narrower precision, and other kernels in FP64 with numbers of its size.

    Products are as many times as fast as the peak is higher, those with vectors and other kernels as their numbers are
    shorter, all beyond their fixed time.
    """
    return _replace_fp64(graph, part, value, lambda _, ratio: ratio)


def without_fp64_cautious(graph: Graph, part: Part, value: str) -> Graph | None:
    """Limit products by memory, too, and compute those of TF32 on CUDA cores: frameworks use TF32 only if asked."""
    value = "fp32" if value.lower() == "tf32" else value
    return _replace_fp64(graph, part, value, lambda narrower, _: narrower)


def list_without_fp64(graph: Graph, part: Part) -> list[str]:
    """Return the next precision for products if any kernel computes in FP64."""
    operations, peaks = graph.recording.operations, graph.recording.peaks
    slow = (operations.in_precision("fp64") | operations.in_precision("double")) & part.operations
    return [one for one in ("tf32", "fp32") if one in peaks][:1] if slow.any() else []


def _replace_fp64(graph: Graph, part: Part, value: str, speed_up: Callable[[float, float], float]) -> Graph | None:
    wanted, fixed = _find_peak(graph, part, value)
    operations, peaks, length = graph.recording.operations, graph.recording.peaks, graph.length.copy()
    narrower = FP64_BITS / PRECISIONS[wanted]
    _speed_up(length, operations.in_precision("double") & part.operations, fixed, narrower)
    ratio = peaks[wanted] / peaks["fp64"] if "fp64" in peaks else 1.0
    if ratio > 1:
        products = operations.in_precision("fp64") & part.operations
        _speed_up_products(graph, length, products, fixed, narrower, ratio, speed_up)
    return replace(graph, length=length) if np.any(length != graph.length) else None


def _find_peak(graph: Graph, part: Part, value: str) -> tuple[str, int]:
    """Return a precision whose peak this GPU has, and the fixed time of kernels in ns."""
    (wanted,) = parse_precision(value)
    require_nodes(graph, part)
    if wanted not in graph.recording.peaks:
        raise NotCapturedError(f"The peak of this GPU in {wanted.upper()} is unknown, or it has none.")
    kernels = part.operations & (graph.recording.operations.kind == KERNEL)
    return wanted, find_fixed_time(graph.length[kernels])


def find_fixed_time(length: Integers) -> int:
    """Return the fixed part of a kernel's time: that of the shortest kernel, ``MOST_FIXED_NS`` at most."""
    return min(int(length.min()), MOST_FIXED_NS) if len(length) else 0


def _speed_up(length: Integers, chosen: Flags, fixed: int, times: float) -> None:
    """Divide the time of the chosen operations by ``times``, except for their fixed part."""
    moved = np.maximum(length[chosen] - fixed, 0)
    length[chosen] -= (moved * (1 - 1 / times)).astype(np.int64)


def _speed_up_products(
    graph: Graph,
    length: Integers,
    products: Flags,
    fixed: int,
    narrower: float,
    ratio: float,
    speed_up: Callable[[float, float], float],
) -> None:
    """Divide the time of products as ``speed_up`` says; memory limits those with vectors."""
    of_vectors = graph.recording.operations.with_vectors()
    _speed_up(length, products & ~of_vectors, fixed, min(ratio, speed_up(narrower, ratio)))
    _speed_up(length, products & of_vectors, fixed, min(ratio, narrower))


def parse_gpu(value: str) -> tuple[str]:
    """Return the name of another GPU as the table has it."""
    names = [name for name in read_gpus() if name.lower() == value.lower()]
    if not names:
        raise AnalysisError(f"another_gpu takes one of {', '.join(read_gpus())}.")
    return (names[0],)


def another_gpu(graph: Graph, part: Part, value: str) -> Graph | None:
    """Run kernels on another GPU: products by the ratio of the peaks of their precision, others by that of the memory.

    A kernel takes a fixed time and that of its arithmetic or its data.
    """
    return _change_gpu(graph, part, value, lambda known, of_memory, _: known or of_memory)


def another_gpu_cautious(graph: Graph, part: Part, value: str) -> Graph | None:
    """Limit each kernel by the weaker side of the other GPU: the arithmetic of products, or memory."""
    return _change_gpu(graph, part, value, lambda known, of_memory, ratios: min(known or ratios[0], of_memory))


def another_gpu_hopeful(graph: Graph, part: Part, value: str) -> Graph | None:
    """Limit each kernel by the stronger side of the other GPU."""
    return _change_gpu(graph, part, value, lambda known, of_memory, ratios: max(known or ratios[-1], of_memory))


def _change_gpu(
    graph: Graph, part: Part, value: str, speed_up: Callable[[float, float, list[float]], float]
) -> Graph | None:
    """``speed_up`` gets the ratio of a kernel's precision (0 if unknown), that of the memory, and those of all
    precisions, the lowest first."""
    (wanted,) = parse_gpu(value)
    recording, length = graph.recording, graph.length.copy()
    require_nodes(graph, part)
    if not recording.bandwidth:
        raise NotCapturedError("This report lacks the bandwidth of the GPU's memory, which kernels are compared by.")
    other, peaks = read_gpus()[wanted], recording.peaks
    of_memory = other.bandwidth / recording.bandwidth
    ratios = {one: other.peaks[one] / peaks[one] for one in PRECISIONS if one in other.peaks and one in peaks}
    every = sorted(ratios.values()) or [of_memory]
    kernels = part.operations & (recording.operations.kind == KERNEL)
    fixed = find_fixed_time(length[kernels])
    for precision_name in {kernel.precision for kernel in recording.operations.kernels}:
        mine = kernels & recording.operations.in_precision(precision_name)
        times = speed_up(ratios.get(precision_name, 0.0), of_memory, every)
        length[mine] = fixed + (np.maximum(length[mine] - fixed, 0) / times).astype(np.int64)
    return replace(graph, length=length) if np.any(length != graph.length) else None


def batch(graph: Graph, part: Part, value: str) -> Graph | None:
    """Compute so many times the items in each step; the length is that for as many items as before.

    Kernels grow with their number of blocks: up to ``FULL_WAVES`` waves of blocks on all multiprocessors by the number
    of waves, then in proportion, beyond their fixed time. Products with a vector or a few read their matrix once for up
    to ``FREE_VECTORS`` times as many. Copies from the host grow in proportion. So does host code of ``HOST_WORK_NS`` or
    more in one piece, which prepares data. Launches, the framework's time between them, optimizers and collectives
    stay.
    """
    return _enlarge_batch(graph, part, value, per_multiprocessor=1)


def batch_cautious(graph: Graph, part: Part, value: str) -> Graph | None:
    """Grow all kernels in proportion."""
    return _enlarge_batch(graph, part, value, per_multiprocessor=0)


def batch_hopeful(graph: Graph, part: Part, value: str) -> Graph | None:
    """Place two blocks on a multiprocessor at once."""
    return _enlarge_batch(graph, part, value, per_multiprocessor=2)


def _enlarge_batch(graph: Graph, part: Part, value: str, *, per_multiprocessor: int) -> Graph | None:
    (times,) = parse_times("batch", value)
    operations, length = graph.recording.operations, graph.length.copy()
    if not part.steps:
        raise NotCapturedError("No steps tell what a batch is.", why="Mark each step with an NVTX range, step_N.")
    require_nodes(graph, part)
    ours = part.operations & (operations.kind == KERNEL)
    if not graph.recording.multiprocessors or not operations.blocks[ours].all():
        raise NotCapturedError("This report lacks the number of blocks or of multiprocessors, which kernels grow by.")
    fixed_classes = np.zeros(len(length), np.bool_)
    for name in _FIXED:
        fixed_classes |= operations.in_class(name)
    kernels = ours & ~fixed_classes
    copies = operations.from_host & part.operations
    if not kernels.any():
        return None
    fixed = find_fixed_time(length[kernels])
    grown = _compute_growth(operations.blocks[kernels], graph.recording.multiprocessors * per_multiprocessor, times)
    if per_multiprocessor:
        grown[operations.with_vectors()[kernels]] = max(1.0, times / FREE_VECTORS)
    length[kernels] = fixed + ((length[kernels] - fixed) * grown).astype(np.int64)
    length[copies] = (length[copies] * times).astype(np.int64)
    gap = np.where(part.calls & (graph.gap >= HOST_WORK_NS), graph.gap * times, graph.gap).astype(np.int64)
    return replace(graph, length=length, gap=gap, items=graph.items * times)


def _compute_growth(blocks: Integers, at_once: int, times: float) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    if not at_once:
        return np.full(len(blocks), times)
    before, after = np.ceil(blocks / at_once), np.ceil(blocks * times / at_once)
    return np.where(before > FULL_WAVES, times, after / before)
