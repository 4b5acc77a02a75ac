"""The tasks as plain loops that numba compiles; `prange` spreads a loop over all cores."""

from __future__ import annotations

from collections.abc import Sequence

import numba  # type: ignore[import-not-found, import-untyped, unused-ignore]
import numpy as np
from numba import prange

from .task_kinds import Array, Kind


@numba.njit(parallel=True)
def add(a: Array, b: Array, out: Array) -> None:
    """Add two matrices."""
    for row in prange(a.shape[0]):
        for column in range(a.shape[1]):
            out[row, column] = a[row, column] + b[row, column]


@numba.njit(parallel=True, fastmath=True)
def multiply(a: Array, b: Array, out: Array) -> None:
    """Multiply two matrices into `out`, which holds zeros; the innermost loop runs along rows."""
    for row in prange(a.shape[0]):
        for inner in range(a.shape[1]):
            factor = a[row, inner]
            for column in range(b.shape[1]):
                out[row, column] += factor * b[inner, column]


@numba.njit(parallel=True, fastmath=True)
def sum_matrix(a: Array) -> float:
    """Return the sum of a matrix, in double precision."""
    result = 0.0
    for row in prange(a.shape[0]):
        of_row = 0.0
        for column in range(a.shape[1]):
            of_row += np.float64(a[row, column])
        result += of_row
    return result


def compute_with_numba(kind: Kind, inputs: Sequence[Array], out: Array) -> None:
    """Compute a task into `out`, which holds zeros."""
    if kind.name == "vector_add":
        add(*inputs, out)
    elif kind.name == "matmul":
        multiply(*inputs, out)
    else:
        out[...] = sum_matrix(*inputs)
