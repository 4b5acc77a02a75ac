"""Correct the model's predictions for load: an added wait for every run, and a factor.

A program that shares a GPU waits for the other's turn at every synchronization, however short its own work is, and gets
a share of the time for longer work. A model learned on a free GPU has neither. Both are learned from the runs of this
program, by least squares of the relative error, with older runs forgotten.
"""

from __future__ import annotations

from math import exp

from ..learning.plain import Estimate
from .readings import Reading

FORGET = 0.98
"""Weight of a run relative to the next one."""
USUAL_S = 1e-3
"""A wait that weighs as much as a factor of one before any run."""
MOST = 4.0
"""Largest counted ratio of a run to its prediction: beyond it, chance decided."""


BUSY_PCT = 50.0
"""Utilization by others from which on a GPU is shared."""


def estimate_at_clock(estimate: Estimate, reading: Reading | None) -> float:
    """Return the seconds on a GPU. If it runs below its highest clock, for example at its power limit, kernels take
    longer."""
    clock, most = (reading.sm_clock_mhz, reading.sm_clock_max_mhz) if reading else (None, None)
    if not reading or not clock or not most or (reading.utilization_pct or 0.0) < BUSY_PCT:
        return estimate.gpu_s
    return estimate.gpu_s + (max(1.0, most / clock) - 1) * estimate.compute_s


class Correction:
    """Wait (seconds) and factor of the runs on a device under a load; ``doubt`` runs outweigh the first guess."""

    def __init__(self, factor: float = 1.0, doubt: float = 20.0) -> None:
        self.wait_s = 0.0
        self.factor = factor
        self._guess = factor
        self._doubt = doubt
        self._n = self._u = self._uu = self._r = self._ur = 0.0

    def __call__(self, predicted_s: float) -> float:
        """Return the seconds that a run will take under this load."""
        return self.wait_s + self.factor * predicted_s

    def learn(self, predicted_s: float, took_s: float) -> None:
        """Learn from the duration of a run and the model's prediction."""
        u = 1 / predicted_s
        ratio = min(took_s, MOST * self(predicted_s)) * u
        self._n = FORGET * self._n + 1
        self._u = FORGET * self._u + u
        self._uu = FORGET * self._uu + u * u
        self._r = FORGET * self._r + ratio
        self._ur = FORGET * self._ur + u * ratio
        uu, n = self._uu + self._doubt / USUAL_S**2, self._n + self._doubt
        r = self._r + self._doubt * self._guess
        wait = (self._ur * n - self._u * r) / (uu * n - self._u**2)
        self.wait_s = max(wait, 0.0)
        self.factor = max((r - self._u * self.wait_s) / n, 0.05)


class Own:
    """The recent share of time in which this program's own kernels ran on a GPU."""

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._busy_s = 0.0
        self._at_s = 0.0

    def add(self, now_s: float, busy_s: float) -> None:
        """Record that kernels ran for a time that ends now."""
        self._busy_s = self._busy_s * exp(-(now_s - self._at_s) / self._window_s) + busy_s
        self._at_s = now_s

    def compute_share(self, now_s: float) -> float:
        """Return the share, from 0 to 1."""
        return min(1.0, self._busy_s * exp(-(now_s - self._at_s) / self._window_s) / self._window_s)
