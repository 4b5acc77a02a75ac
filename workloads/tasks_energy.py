"""Repeats each task on the GPU for so long that a power log beside it tells what one repetition costs.

NVML counts energy some ten times a second, so that a task of a millisecond has none of its own in the log; a thousand
of them, one after the other, have.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from workloads.ranges import COMPUTE, annotate
from workloads.tasks import Bench
from workloads.tasks_gpu import GpuBackend

PART = "repeated"
Row = tuple[str, int, str, str, float, int, int]
"""Task, size, none, PART, seconds of all, begin (CLOCK_REALTIME, ns), repetitions: more columns than times have."""


def repeated(bench: Bench, gpu: GpuBackend, least_s: float) -> Iterator[Row]:
    """Repeat each task and size for `least_s` seconds at least; a row each."""
    for kind in bench.kinds:
        for size in sorted({size for task, size in bench.inputs if task == kind.name}):
            rows, count = len(bench.rows), 0
            started_ns, started = time.time_ns(), time.perf_counter()
            with annotate(f"{kind.name}_{size}/{PART}", COMPUTE):
                while time.perf_counter() - started < least_s:
                    bench.on_gpu(gpu, kind, size)
                    count += 1
            yield kind.name, size, "none", PART, time.perf_counter() - started, started_ns, count
            del bench.rows[rows:]
