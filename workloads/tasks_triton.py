"""The tasks as Triton kernels on float32 tensors. With TRITON_INTERPRET=1 they run on the CPU, as the tests do.

Triton compiles the source of a kernel, annotations included, so kernels cannot have Python types.
"""

# ruff: noqa: ANN001, ANN201
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

from __future__ import annotations

import torch
import triton  # type: ignore[import-not-found, import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch import Tensor

BLOCK = 1024
TILE = 64
DEPTH = 32


@triton.jit
def add_kernel(a, b, out, count, block: tl.constexpr):
    """Add `block` numbers of a and b."""
    at = tl.program_id(0) * block + tl.arange(0, block)
    inside = at < count
    tl.store(out + at, tl.load(a + at, mask=inside) + tl.load(b + at, mask=inside), mask=inside)


@triton.jit
def sum_kernel(values, sums, count, block: tl.constexpr):
    """Sum `block` numbers into one."""
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(sums + tl.program_id(0), tl.sum(tl.load(values + at, mask=at < count, other=0.0), axis=0))


@triton.jit
def multiply_kernel(a, b, out, size, tile: tl.constexpr, depth: tl.constexpr):
    """Compute a tile of the product of two square matrices."""
    rows = tl.program_id(0) * tile + tl.arange(0, tile)
    columns = tl.program_id(1) * tile + tl.arange(0, tile)
    sums = tl.zeros((tile, tile), dtype=tl.float32)
    for first in range(0, size, depth):
        inner = first + tl.arange(0, depth)
        left = tl.load(
            a + rows[:, None] * size + inner[None, :],
            mask=(rows[:, None] < size) & (inner[None, :] < size),
            other=0.0,
        )
        right = tl.load(
            b + inner[:, None] * size + columns[None, :],
            mask=(inner[:, None] < size) & (columns[None, :] < size),
            other=0.0,
        )
        sums += tl.dot(left, right, input_precision="ieee")
    tl.store(
        out + rows[:, None] * size + columns[None, :],
        sums,
        mask=(rows[:, None] < size) & (columns[None, :] < size),
    )


def add(a: Tensor, b: Tensor, out: Tensor) -> Tensor:
    """Add two tensors into `out`."""
    add_kernel[(triton.cdiv(a.numel(), BLOCK),)](a, b, out, a.numel(), BLOCK)
    return out


def multiply(a: Tensor, b: Tensor, out: Tensor) -> Tensor:
    """Multiply two square matrices into `out`."""
    size = a.shape[0]
    tiles = triton.cdiv(size, TILE)
    multiply_kernel[(tiles, tiles)](a, b, out, size, TILE, DEPTH)
    return out


def sum_tensor(a: Tensor) -> Tensor:
    """Return the sum of a tensor, in passes that each leave a 1024th of the numbers, until one is left."""
    values = a.reshape(-1)
    while values.numel() > 1:
        sums = torch.empty(triton.cdiv(values.numel(), BLOCK), device=a.device)
        sum_kernel[(sums.numel(),)](values, sums, values.numel(), BLOCK)
        values = sums
    return values[0]
