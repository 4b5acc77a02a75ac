"""Kernels for `workloads.faults`: a matrix product in Triton whose tiles fill an SM, and a reversal in CUDA.

Triton compiles the source of a kernel, annotations included, so kernels cannot have Python types.
"""

# ruff: noqa: ANN001, ANN201
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

from __future__ import annotations

import torch
import triton  # type: ignore[import-not-found, import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch import Tensor

ROWS, COLUMNS, DEPTH = 128, 256, 64
"""The tile of a block: with three stages in shared memory, 144 KiB, an SM has room for one."""

REVERSE = """
// Reverse each tile by way of shared memory.
extern "C" __global__ void reverse_tiles(const float *in, float *out, int tile) {
    extern __shared__ float held[];
    const long long first = (long long)blockIdx.x * tile;
    for (int i = threadIdx.x; i < tile; i += blockDim.x) held[i] = in[first + i];
    __syncthreads();
    for (int i = threadIdx.x; i < tile; i += blockDim.x) out[first + i] = held[tile - 1 - i];
}
"""


@triton.jit
def tiled_product(a, b, out, depth, columns, rows_tile: tl.constexpr, columns_tile: tl.constexpr, step: tl.constexpr):
    """Compute a tile of the product of two matrices whose sides are multiples of the tile's."""
    row = tl.program_id(0) * rows_tile + tl.arange(0, rows_tile)
    column = tl.program_id(1) * columns_tile + tl.arange(0, columns_tile)
    sums = tl.zeros((rows_tile, columns_tile), dtype=tl.float32)
    for first in range(0, depth, step):
        inner = first + tl.arange(0, step)
        left = tl.load(a + row[:, None] * depth + inner[None, :])
        right = tl.load(b + inner[:, None] * columns + column[None, :])
        sums = tl.dot(left, right, sums)
    tl.store(out + row[:, None] * columns + column[None, :], sums.to(tl.bfloat16))


def multiply(a: Tensor, b: Tensor, out: Tensor) -> None:
    """Multiply two matrices in BF16 into `out`, one block per tile."""
    grid = (a.shape[0] // ROWS, b.shape[1] // COLUMNS)
    tiled_product[grid](a, b, out, a.shape[1], b.shape[1], ROWS, COLUMNS, DEPTH, num_warps=8, num_stages=3)


def make_reversal(tile: int, threads: int):
    """Return a function that reverses the tiles of a tensor into another one, with a block of `threads` for each."""
    kernel = torch.cuda._compile_kernel(REVERSE, "reverse_tiles")  # noqa: SLF001 - public from PyTorch 2.10 on
    kernel.set_shared_memory_config(4 * tile)

    def reverse(tensor: Tensor, out: Tensor) -> None:
        kernel((tensor.numel() // tile, 1, 1), (threads, 1, 1), [tensor, out, tile], shared_mem=4 * tile)

    return reverse
