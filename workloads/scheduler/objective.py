"""Compare devices by time, energy, or a mix of both.

Energy is that of the GPUs, which NVML counts: on the GPU the learned energy of the task, on the CPU the idle power of
the GPUs meanwhile. Nothing here meters the host; ``host_w`` gives its power if known, and counts for both.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from ..errors import WorkloadError
from ..learning.plain import Estimate


@dataclass(frozen=True)
class Objective:
    """Compares time ** (1 - weight) * energy ** weight; a geometric mean needs no price of a joule in seconds.

    Args:
        weight: 0 is time alone, 1 energy alone, 0.5 the product of both.
        idle_w: idle power of the GPUs; None if it was not learned.
        host_w: additional power of the host while this program works.

    Raises:
        WorkloadError: a weight outside 0 to 1, or a power below 0.
    """

    weight: float = 0.0
    idle_w: float | None = None
    host_w: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1 or self.host_w < 0:
            raise WorkloadError("energy_weight must be from 0 to 1, and host_w 0 or more.")

    def __call__(self, estimate: Estimate, cpu_s: float, gpu_s: float) -> tuple[str, str]:
        """Return the better device and the reason, from the predicted seconds of a task under the present load."""
        faster = "gpu" if gpu_s < cpu_s else "cpu"
        words = f"{faster.upper()} faster by the model"
        if not self.weight:
            return faster, words
        if estimate.gpu_joules is None or self.idle_w is None:
            return faster, f"{words}, energy not learned"
        cpu_j = (self.idle_w + self.host_w) * cpu_s
        gpu_j = estimate.gpu_joules + self.host_w * gpu_s
        gain = (1 - self.weight) * log(cpu_s / gpu_s) + self.weight * log(max(cpu_j, 1e-12) / max(gpu_j, 1e-12))
        better = "gpu" if gain > 0 else "cpu"
        return better, f"{better.upper()} better by {'energy' if self.weight == 1 else 'time and energy'}"
