"""The tasks of the workload `tasks` on the CPU: by NumPy, or by loops that numba compiles and runs on all cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .errors import WorkloadError
from .task_kinds import Array, Kind

CpuBackend = Callable[[Kind, Sequence[Array], Array], None]
"""Computes a task from its inputs into the last argument."""
CPU_BACKENDS = ("numpy", "numba")


def make_cpu(name: str) -> CpuBackend:
    """Return the backend called `name`."""
    if name == "numpy":
        return compute_with_numpy
    try:
        from .tasks_numba import compute_with_numba
    except ImportError as error:
        raise WorkloadError(f"--cpu numba needs numba, which does not work here ({error}): use numpy.") from error
    return compute_with_numba


def compute_with_numpy(kind: Kind, inputs: Sequence[Array], out: Array) -> None:
    """Compute a task with NumPy."""
    kind.arrays(np, inputs, out)
