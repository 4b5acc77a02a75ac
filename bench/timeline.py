"""Lay copies of one training step out in time, thousands at once: every array is (steps, things of a step)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.step import Step

Times = NDArray[np.int64]

_MIN_GAP_NS = 1_200  # between calls: wide enough for the edges of eight nested ranges on both sides
_EDGE_NS = 60
_LAUNCH_LATENCY_NS = 1_900
_KERNEL_GAP_NS = 700
_BETWEEN_STEPS_NS = 15_000
_MAX_DEPTH = 8


@dataclass(frozen=True)
class Batch:
    """Some steps in absolute nanoseconds: starts and ends of calls, operations and ranges."""

    first_step: int
    call_start: Times
    call_end: Times
    op_start: Times
    op_end: Times
    range_start: Times
    range_end: Times
    end_ns: int

    @property
    def steps(self) -> int:
        """Number of steps in the batch."""
        return len(self.call_start)


class StepClock:
    """Draws the times of a step's copies from a seeded generator."""

    def __init__(self, step: Step) -> None:
        self._call_ns = np.array([call.mean_ns for call in step.calls], dtype=np.float64)
        self._op_ns = np.array([operation.mean_ns for operation in step.operations], dtype=np.float64)
        self._op_call = np.array([operation.call for operation in step.operations])
        self._side = np.array([operation.side for operation in step.operations])
        self._first = np.array([item.first_call for item in step.ranges])
        self._last = np.array([item.last_call for item in step.ranges])
        self._edge = np.array([(_MAX_DEPTH - item.depth) * _EDGE_NS for item in step.ranges])

    def lay_out(self, rng: np.random.Generator, first_step: int, steps: int, start_ns: int) -> Batch:
        """Return `steps` copies from `start_ns` on; the first steps of a process are slow, as in real programs."""
        slow = 1 + 3 * np.exp(-np.arange(first_step, first_step + steps) / 1.5)[:, None]
        call_ns = self._draw(rng, self._call_ns, 0.3, steps, slow)
        gap_ns = _MIN_GAP_NS + rng.exponential(900, call_ns.shape).astype(np.int64)
        call_end = np.cumsum(call_ns + gap_ns, axis=1)
        call_start = call_end - call_ns
        op_start, op_end = self._run(self._draw(rng, self._op_ns, 0.08, steps, slow), call_start, call_ns)
        # The last call waits for the GPU.
        call_end[:, -1] = np.maximum(call_end[:, -1], op_end.max(axis=1) + _LAUNCH_LATENCY_NS)
        length = call_end[:, -1] + _BETWEEN_STEPS_NS
        offset = (start_ns + np.cumsum(length) - length)[:, None]
        return Batch(
            first_step,
            call_start + offset,
            call_end + offset,
            op_start + offset,
            op_end + offset,
            call_start[:, self._first] - self._edge + offset,
            call_end[:, self._last] + self._edge + offset,
            int(start_ns + length.sum()),
        )

    @staticmethod
    def _draw(
        rng: np.random.Generator, mean: NDArray[np.float64], sigma: float, steps: int, slow: NDArray[np.float64]
    ) -> Times:
        factor = rng.standard_normal((steps, len(mean)), dtype=np.float32) * np.float32(sigma)
        np.exp(factor, out=factor)
        return np.maximum(200, mean * factor * slow).astype(np.int64)

    def _run(self, op_ns: Times, call_start: Times, call_ns: Times) -> tuple[Times, Times]:
        """Return starts and ends: a stream runs one operation at a time, each no earlier than its launch allows."""
        launched = call_start[:, self._op_call] + call_ns[:, self._op_call] * 7 // 10 + _LAUNCH_LATENCY_NS
        busy = np.where(self._side, 0, op_ns + _KERNEL_GAP_NS)
        before = np.cumsum(busy, axis=1) - busy
        start = before + np.maximum.accumulate(launched - before, axis=1)
        return start, start + op_ns
