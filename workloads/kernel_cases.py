"""Cases of the workload `kernels`: their computation, their inputs, and the check of their results.

On the GPU a case is one launch of the kernel of its name in kernels.cu, or one matrix product of PyTorch. On the CPU
PyTorch computes the same. Both are compared with a reference in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from .cuda_source import launch

THREADS = 256
CHAINS = 8
"""Chains of multiply-adds per thread of compute_heavy."""
BRANCHES = 16


@dataclass(frozen=True)
class Sizes:
    """Amount of work of the cases."""

    floats: int
    """Floats in each array that streams through memory; reduction reads four times as many."""
    iterations: int
    """Multiply-adds of each chain; a multiple of 16."""
    matrix: int
    """Rows and columns of the matrices."""


SMALL = Sizes(floats=2**16, iterations=64, matrix=128)
LARGE = Sizes(floats=2**28, iterations=4096, matrix=8192)


@dataclass(frozen=True)
class Case:
    """One kernel with its inputs."""

    compute: Callable[[], Tensor]
    """One launch; on the GPU it returns before the result exists."""
    compare: Callable[[Tensor], tuple[Tensor, Tensor]]
    """Returns two vectors of float64 for a result that should agree, the second from the reference."""
    tolerance: float
    """Greatest relative error, in the Euclidean norm."""
    bytes: int = 0
    """Bytes that must be read and written."""
    operations: int = 0
    """Floating-point operations; a multiply-add is two."""

    def compute_error(self, result: Tensor) -> float:
        """Return the relative error of `result`."""
        actual, expected = self.compare(result)
        return float((actual - expected).norm() / expected.norm())


def make_vector_add(sizes: Sizes, device: torch.device) -> Case:
    """Add two arrays."""
    a, b, total = (torch.rand(sizes.floats, device=device) for _ in range(3))

    def compute() -> Tensor:
        if device.type == "cpu":
            return a + b
        launch("vector_add", sizes.floats // 4 // THREADS, THREADS, (a, b, total, sizes.floats // 4))
        return total

    return Case(compute, lambda result: (result.double(), a.double() + b.double()), 1e-6, bytes=12 * sizes.floats)


def make_reduction(sizes: Sizes, device: torch.device) -> Case:
    """Sum an array; one sum a block, which takes every `blocks`-th piece of 1024 floats."""
    count = 4 * sizes.floats
    blocks = min(4096, count // (4 * THREADS))
    values, sums = torch.rand(count, device=device), torch.empty(blocks, device=device)
    pieces = values.view(-1, blocks, 4 * THREADS)

    def compute() -> Tensor:
        if device.type == "cpu":
            return pieces.sum(dim=(0, 2))
        launch("reduction", blocks, THREADS, (values, sums, count // 4))
        return sums

    def compare(result: Tensor) -> tuple[Tensor, Tensor]:
        return result.double(), pieces.sum(dim=(0, 2), dtype=torch.float64)

    return Case(compute, compare, 1e-5, bytes=4 * count, operations=count)


def make_compute_heavy(sizes: Sizes, device: torch.device) -> Case:
    """Run eight chains of multiply-adds a thread. Four full waves of blocks on the GPU."""
    blocks = 4 * count_resident_blocks(device)
    start = torch.rand(blocks * THREADS, device=device)
    out = torch.empty_like(start)

    def compute() -> Tensor:
        if device.type == "cpu":
            steps = torch.full((CHAINS, 1), 1 / 4096)
            return run_chains(start + torch.arange(CHAINS)[:, None], steps, sizes.iterations).sum(dim=0)
        launch("compute_heavy", blocks, THREADS, (start, out, sizes.iterations))
        return out

    def compare(result: Tensor) -> tuple[Tensor, Tensor]:
        offsets = torch.arange(CHAINS, device=device)[:, None]
        ends = 1 + (start.double() + offsets - 1) * (1 - 1 / 4096) ** sizes.iterations
        return result.double(), ends.sum(dim=0)

    operations = 2 * CHAINS * sizes.iterations * start.numel()
    return Case(compute, compare, 1e-3, bytes=8 * start.numel(), operations=operations)


def make_coalesced(sizes: Sizes, device: torch.device) -> Case:
    """Copy an array, neighboring threads reading neighboring floats."""
    values = torch.rand(sizes.floats, device=device)
    out = torch.empty_like(values)

    def compute() -> Tensor:
        if device.type == "cpu":
            return values.clone()
        launch("coalesced", sizes.floats // THREADS, THREADS, (values, out, sizes.floats))
        return out

    return Case(compute, lambda result: (result.double(), values.double()), 0.0, bytes=8 * sizes.floats)


def make_uncoalesced(sizes: Sizes, device: torch.device) -> Case:
    """Copy the same number of floats, neighboring threads reading 32 floats apart."""
    values = torch.rand(sizes.floats, device=device)
    out = torch.empty_like(values)

    def compute() -> Tensor:
        if device.type == "cpu":
            return values.view(-1, 32).t().flatten()
        launch("uncoalesced", sizes.floats // THREADS, THREADS, (values, out, sizes.floats))
        return out

    def compare(result: Tensor) -> tuple[Tensor, Tensor]:
        back = result.view(32, -1).t().flatten()
        return back.double(), values.double()

    return Case(compute, compare, 0.0, bytes=8 * sizes.floats)


def make_low_occupancy(sizes: Sizes, device: torch.device) -> Case:
    """Reverse tiles so large that two blocks of 64 threads fill the shared memory of an SM.

    Of each half 2 KiB are left: 1 KiB a block is CUDA's own.
    """
    shared_bytes = 4096
    if device.type == "cuda":
        shared_bytes = torch.cuda.get_device_properties(device).shared_memory_per_multiprocessor // 2 - 2048
    tile = shared_bytes // 4
    tiles = sizes.floats // tile
    values = torch.rand(tiles * tile, device=device)
    out = torch.empty_like(values)

    def compute() -> Tensor:
        if device.type == "cpu":
            return values.view(tiles, tile).flip(1).flatten()
        launch("low_occupancy", tiles, 64, (values, out, tile), shared_bytes)
        return out

    def compare(result: Tensor) -> tuple[Tensor, Tensor]:
        back = result.view(tiles, tile).flip(1).flatten()
        return back.double(), values.double()

    return Case(compute, compare, 0.0, bytes=8 * values.numel())


def make_divergent(sizes: Sizes, device: torch.device) -> Case:
    """Run one chain of multiply-adds a thread, two threads of a warp at a time."""
    blocks = count_resident_blocks(device)
    start = torch.rand(blocks * THREADS, device=device)
    out = torch.empty_like(start)
    steps = (torch.arange(blocks * THREADS, device=device) % BRANCHES + 1) / 4096

    def compute() -> Tensor:
        if device.type == "cpu":
            return run_chains(start, steps, sizes.iterations)
        launch("divergent", blocks, THREADS, (start, out, sizes.iterations))
        return out

    def compare(result: Tensor) -> tuple[Tensor, Tensor]:
        return result.double(), 1 + (start.double() - 1) * (1 - steps.double()) ** sizes.iterations

    operations = 2 * sizes.iterations * start.numel()
    return Case(compute, compare, 1e-3, bytes=8 * start.numel(), operations=operations)


def make_gemm(sizes: Sizes, device: torch.device, precision: torch.dtype, tolerance: float) -> Case:
    """Multiply two square matrices, checked by their effect on a vector: (A B) v = A (B v)."""
    torch.set_float32_matmul_precision("highest")  # float32 stays float32, not TF32
    shape = (sizes.matrix, sizes.matrix)
    a, b = (torch.randn(shape, device=device).to(precision) for _ in range(2))
    out = torch.empty(shape, device=device, dtype=precision)

    def compare(result: Tensor) -> tuple[Tensor, Tensor]:
        vector = torch.randn(sizes.matrix, device=device, dtype=torch.float64)
        return result.double() @ vector, a.double() @ (b.double() @ vector)

    return Case(
        lambda: torch.matmul(a, b, out=out),
        compare,
        tolerance,
        bytes=3 * out.numel() * out.element_size(),
        operations=2 * sizes.matrix**3,
    )


CASES: dict[str, Callable[[Sizes, torch.device], Case]] = {
    "vector_add": make_vector_add,
    "reduction": make_reduction,
    "compute_heavy": make_compute_heavy,
    "coalesced": make_coalesced,
    "uncoalesced": make_uncoalesced,
    "low_occupancy": make_low_occupancy,
    "divergent": make_divergent,
    "gemm_fp64": lambda sizes, device: make_gemm(sizes, device, torch.float64, 1e-12),
    "gemm_fp32": lambda sizes, device: make_gemm(sizes, device, torch.float32, 1e-5),
    "gemm_bf16": lambda sizes, device: make_gemm(sizes, device, torch.bfloat16, 1e-2),
}


def run_chains(start: Tensor, steps: Tensor, iterations: int) -> Tensor:
    """Move `start` toward 1 by `steps` of the way, `iterations` times, in the precision of `start`."""
    value = start
    for _ in range(iterations):
        value = value * (1 - steps) + steps
    return value


def count_resident_blocks(device: torch.device) -> int:
    """Return how many blocks of 256 threads run at once if 2048 threads fit an SM; a few on the CPU."""
    if device.type == "cpu":
        return 4
    return 8 * int(torch.cuda.get_device_properties(device).multi_processor_count)
