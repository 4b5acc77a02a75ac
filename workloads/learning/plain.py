"""What was learned of one machine in plain Python: a scheduler has microseconds, and a call of NumPy costs several.

The times are those of the model, sum by sum; nothing is interpolated (tests hold both together to nine digits).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log

LEAST = 1e-9
Costs = tuple[float, float, float, float]
"""Seconds, or joules, of a call, a row, a byte and an operation."""
Law = tuple[float, float, float, float]
"""Logarithm of the bytes at size 1 and its slope by log(size), and the same of the operations."""


@dataclass(frozen=True)
class Estimate:
    """What a task will take: seconds on the CPU, on the GPU with copies, and computing there; bytes in and out; energy
    of the GPUs where it runs there, None where it was not learned.
    """

    cpu_s: float
    gpu_s: float
    compute_s: float
    moved_bytes: float
    gpu_joules: float | None = None


class Line:
    """The times of one task in one precision on one machine, by size."""

    def __init__(
        self, sizes: Sequence[float], laws: Sequence[Law], costs: tuple[Costs, Costs, Costs | None, Costs | None]
    ) -> None:
        """Take the measured sizes, ascending, a law for each stretch between two of them, and costs by target."""
        self.largest = sizes[-1]
        self.costs = costs
        self._bounds = [log(size) for size in sizes[1:-1]]
        self._laws = list(laws)

    def __call__(self, size: float) -> Estimate:
        """Return what a size will take."""
        at = log(size)
        moved_1, moved_slope, work_1, work_slope = self._laws[bisect_right(self._bounds, at)]
        moved, work = exp(moved_1 + moved_slope * at), exp(work_1 + work_slope * at)
        cpu, gpu, compute, energy = self.costs
        gpu_s = _sum(gpu, size, moved, work)
        return Estimate(
            _sum(cpu, size, moved, work), gpu_s, _sum(compute, size, moved, work) if compute else gpu_s, moved,
            _sum(energy, size, moved, work) if energy else None,
        )  # fmt: skip


def laws(known: Sequence[Sequence[float]]) -> list[Law]:
    """Return the laws between successive rows of size, bytes and operations; of one row what it says, at any size."""
    if len(known) == 1:
        return [(log(known[0][1]), 0.0, log(known[0][2]), 0.0)]
    return [
        (*_through(low[0], low[1], high[0], high[1]), *_through(low[0], low[2], high[0], high[2]))
        for low, high in pairwise(known)
    ]


def _through(x0: float, y0: float, x1: float, y1: float) -> tuple[float, float]:
    slope = (log(y1) - log(y0)) / (log(x1) - log(x0))
    return log(y0) - slope * log(x0), slope


def _sum(costs: Costs, size: float, moved: float, work: float) -> float:
    call, row, byte, operation = costs
    return max(call + row * size + byte * moved + operation * work, LEAST)
