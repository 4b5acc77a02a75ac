"""Evaluate the model of one machine in plain Python: a scheduler has microseconds, and a call of NumPy costs several.

The times equal those of the model, sum by sum, without interpolation (tests compare both to nine digits).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log

LEAST = 1e-9
LARGE = 33e6
"""Bytes from which on a result goes to memory that is mapped anew each time, so that its pages cost more than the copy:
glibc takes what is larger than 32 MiB from no heap (M_MMAP_THRESHOLD in mallopt(3))."""
Costs = tuple[float, float, float, float, float]
"""Seconds, or joules, of a call, a row, a byte, an operation, and the extra cost of a byte of a large result."""
Law = tuple[float, float, float, float, float, float]
"""Logarithm of the bytes at size 1 and its slope by log(size), the same of the operations and of the result."""


@dataclass(frozen=True)
class Estimate:
    """Prediction for a task: seconds on the CPU, on the GPU with copies, and computing there; bytes in and out; energy
    of the GPUs if it runs there, None if that was not learned."""

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
        """Return the prediction for a size."""
        at = log(size)
        moved_1, moved_slope, work_1, work_slope, result_1, slope = self._laws[bisect_right(self._bounds, at)]
        moved, work = exp(moved_1 + moved_slope * at), exp(work_1 + work_slope * at)
        large = count_large_result(exp(result_1 + slope * at))
        cpu, gpu, compute, energy = self.costs
        gpu_s = _sum_costs(gpu, size, moved, work, large)
        return Estimate(
            _sum_costs(cpu, size, moved, work, large), gpu_s,
            _sum_costs(compute, size, moved, work, large) if compute else gpu_s, moved,
            _sum_costs(energy, size, moved, work, large) if energy else None,
        )  # fmt: skip


def fit_laws(known: Sequence[Sequence[float]]) -> list[Law]:
    """Return the laws between successive rows of size, bytes, operations and result; for a single row a constant."""
    if len(known) == 1:
        return [(log(known[0][1]), 0.0, log(known[0][2]), 0.0, log(known[0][3]), 0.0)]
    return [
        (*_fit_line(low, high, 1), *_fit_line(low, high, 2), *_fit_line(low, high, 3)) for low, high in pairwise(known)
    ]


def _fit_line(low: Sequence[float], high: Sequence[float], column: int) -> tuple[float, float]:
    slope = (log(high[column]) - log(low[column])) / (log(high[0]) - log(low[0]))
    return log(low[column]) - slope * log(low[0]), slope


def count_large_result(result: float) -> float:
    """Return the bytes of a result that count twice because it is large."""
    return result if result >= LARGE else 0.0


def _sum_costs(costs: Costs, size: float, moved: float, work: float, large: float) -> float:
    call, row, byte, operation, result_byte = costs
    return max(call + row * size + byte * moved + operation * work + result_byte * large, LEAST)
