"""The kinds of work on which CPU and GPU are compared: their inputs, computations and outputs.

A size n is the rows and columns of a matrix. Each kind is written once for NumPy and CuPy, which share an interface,
and once for PyTorch; all read parts of the same two matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
HEAD = 64
"""Most numbers in a head of attention."""
TAPS = 5
"""Rows and columns of the kernel of the convolution."""
NONZEROS = 32
"""Most nonzeros in a row of the sparse matrix."""


@dataclass(frozen=True)
class Kind:
    """A kind of work on matrices of n rows and columns."""

    name: str
    inputs: Callable[[Array, Array], tuple[Array, ...]]
    """Returns the contiguous inputs, from two (n, n) matrices of numbers from 0 to 1."""
    result: Callable[[int], tuple[int, ...]]
    """Shape of the output."""
    arrays: Callable[..., None]
    """(numpy or cupy, inputs, out): computes into ``out``."""
    torch: Callable[..., Any]
    """(torch, inputs, out): launches, and returns the future result."""
    flops: Callable[[int], int | None]
    """Floating-point operations, a multiply-add is two; None for work that counts none."""
    is_complex: bool = False

    def choose_dtype(self, input_type: np.dtype[Any]) -> np.dtype[Any]:
        """Return the type of the output for a type of the inputs."""
        return np.result_type(input_type, np.complex64) if self.is_complex else input_type


def _use_both(a: Array, b: Array) -> tuple[Array, ...]:
    return a, b


def _use_first(a: Array, _: Array) -> tuple[Array, ...]:
    return (a,)


def _make_square(n: int) -> tuple[int, ...]:
    return n, n


def _add(xp: Any, inputs: Sequence[Any], out: Any) -> None:
    xp.add(*inputs, out=out)


def _multiply(xp: Any, inputs: Sequence[Any], out: Any) -> None:
    xp.matmul(*inputs, out=out)


def _sum_array(xp: Any, inputs: Sequence[Any], out: Any) -> None:
    xp.sum(inputs[0], out=out)


def _compute_gelu(xp: Any, inputs: Sequence[Any], out: Any) -> None:
    """The approximation by tanh, nine operations a number."""
    (x,) = inputs
    scale = math.sqrt(2 / math.pi)
    xp.multiply(x, 0.5 * (1 + xp.tanh(scale * (x + 0.044715 * x * x * x))), out=out)


def _convolve_image(_: Any, inputs: Sequence[Any], out: Any) -> None:
    """Convolve by adding the shifted image per tap, without a signal library."""
    image, taps = inputs
    rows, columns = out.shape
    out[...] = 0
    for row in range(taps.shape[0]):
        for column in range(taps.shape[1]):
            out += image[row : row + rows, column : column + columns] * taps[row, column]


def _sort_array(_: Any, inputs: Sequence[Any], out: Any) -> None:
    out[...] = inputs[0]
    out.sort()


def _transform_array(xp: Any, inputs: Sequence[Any], out: Any) -> None:
    out[...] = xp.fft.rfft2(inputs[0])


def _attend_heads(xp: Any, inputs: Sequence[Any], out: Any) -> None:
    query, key, value = inputs
    scores = query @ key.T / math.sqrt(query.shape[1])
    weights = xp.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    xp.matmul(weights, value, out=out)


def _run_sparse(xp: Any, inputs: Sequence[Any], out: Any) -> None:
    values, columns, _, vector = inputs
    xp.sum(values * vector[columns], axis=1, out=out)


def _run_sparse_torch(torch: Any, inputs: Sequence[Any], out: Any) -> Any:
    values, columns, rows, vector = inputs
    matrix = torch.sparse_csr_tensor(
        rows, columns.reshape(-1), values.reshape(-1), size=(len(vector), len(vector)), check_invariants=False
    )
    return torch.mv(matrix, vector, out=out)


def _make_sparse(a: Array, b: Array) -> tuple[Array, ...]:
    """Return values and columns of the nonzeros of each row, the start of each row, and a vector."""
    n = len(a)
    many = min(NONZEROS, n)
    columns = np.sort(np.argpartition(b[:, : 4 * many], many - 1, axis=1)[:, :many], axis=1) * max(1, n // (4 * many))
    return np.ascontiguousarray(a[:, :many]), columns, np.arange(n + 1) * many, np.ascontiguousarray(b[0])


def _make_heads(a: Array, b: Array) -> tuple[Array, ...]:
    head = min(HEAD, len(a))
    return tuple(np.ascontiguousarray(part[:, :head]) for part in (a, b, a[::-1]))


def _make_image(a: Array, b: Array) -> tuple[Array, ...]:
    taps = min(TAPS, len(a))
    return a, np.ascontiguousarray(b[:taps, :taps])


def _make_valid_shape(n: int) -> tuple[int, ...]:
    return _make_square(n - min(TAPS, n) + 1)


KINDS = {
    kind.name: kind
    for kind in (
        Kind("vector_add", _use_both, _make_square, _add, lambda t, x, out: t.add(*x, out=out), lambda n: n * n),
        Kind("matmul", _use_both, _make_square, _multiply, lambda t, x, out: t.matmul(*x, out=out), lambda n: 2 * n**3),
        Kind("reduction", _use_first, lambda _: (), _sum_array, lambda _, x, __: x[0].sum(), lambda n: n * n),
        Kind(
            "elementwise", _use_first, _make_square, _compute_gelu,
            lambda t, x, _: t.nn.functional.gelu(x[0], approximate="tanh"), lambda n: 9 * n * n,
        ),
        Kind(
            "convolution", _make_image, _make_valid_shape, _convolve_image,
            lambda t, x, _: t.nn.functional.conv2d(x[0][None, None], x[1][None, None])[0, 0],
            lambda n: 2 * math.prod(_make_valid_shape(n)) * min(TAPS, n) ** 2,
        ),
        Kind(
            "sort", lambda a, _: (a.reshape(-1),), lambda n: (n * n,), _sort_array,
            lambda t, x, _: t.sort(x[0]).values, lambda _: None,
        ),
        Kind(
            "fft", _use_first, lambda n: (n, n // 2 + 1), _transform_array, lambda t, x, _: t.fft.rfft2(x[0]),
            lambda n: int(2.5 * n * n * math.log2(n * n)), is_complex=True,
        ),
        Kind(
            "attention", _make_heads, lambda n: (n, min(HEAD, n)), _attend_heads,
            lambda t, x, _: t.nn.functional.scaled_dot_product_attention(*(part[None, None] for part in x))[0, 0],
            lambda n: 4 * n * n * min(HEAD, n),
        ),
        Kind(
            "sparse", _make_sparse, lambda n: (n,), _run_sparse, _run_sparse_torch, lambda n: 2 * n * min(NONZEROS, n),
        ),
    )
}  # fmt: skip
"""Every kind by its name. The FFT counts 2.5 N log2 N of N real numbers, as FFTW's benchmark does."""
BASIC = ("vector_add", "matmul", "reduction")
"""Kinds that every library here supports."""
