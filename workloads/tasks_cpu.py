"""The tasks of the workload `tasks` on the CPU: by NumPy, or by loops that numba compiles and runs on all cores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.errors import WorkloadError

Array = NDArray[Any]
CpuBackend = Callable[[str, Array, Array, Array], None]
"""Computes a task of two matrices into the last argument."""
CPU_BACKENDS = ("numpy", "numba")


def make_cpu(name: str) -> CpuBackend:
    """Return the backend called `name`."""
    if name == "numpy":
        return by_numpy
    try:
        from workloads.tasks_numba import by_numba
    except ImportError as error:
        raise WorkloadError(f"--cpu numba needs numba, which does not work here ({error}): use numpy.") from error
    return by_numba


def by_numpy(task: str, a: Array, b: Array, out: Array) -> None:
    """Compute a task with NumPy."""
    if task == "vector_add":
        np.add(a, b, out=out)
    elif task == "matmul":
        np.matmul(a, b, out=out)
    else:
        np.sum(a, out=out)
