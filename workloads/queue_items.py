"""The tasks of a queue, and who works on them."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

from workloads.task_kinds import KINDS
from workloads.tasks import Bench
from workloads.tasks_cpu import by_numpy
from workloads.tasks_gpu import GpuBackend


@dataclass(frozen=True)
class Item:
    """A task in the queue."""

    task: str
    size: int
    precision: str

    @property
    def label(self) -> str:
        """Its name in ranges and logs."""
        return f"{self.task}_{self.precision}"


class Queue:
    """The tasks, who works on them, and what came of it."""

    def __init__(self, items: Sequence[Item], gpu: GpuBackend | None) -> None:
        self.items = items
        self.gpu = gpu
        tasks = [name for name in KINDS if any(item.task == name for item in items)]
        self.benches = {
            precision: Bench(
                sorted({item.size for item in items if item.precision == precision}), by_numpy, gpu, tasks, precision,
                suffix=f"_{precision}",
            )
            for precision in sorted({item.precision for item in items})
        }  # fmt: skip

    def warm_up(self) -> None:
        """Run every task once on every device, and compare the results with NumPy's."""
        for bench in self.benches.values():
            bench.step(sorted({size for _, size in bench.inputs}))
            bench.rows.clear()

    def bytes_by_task(self) -> dict[str, dict[str, int]]:
        """Return what Bench.bytes_by_task does, of all precisions."""
        found: dict[str, dict[str, int]] = {}
        for bench in self.benches.values():
            for name, of in bench.bytes_by_task().items():
                found.setdefault(name, {}).update(of)
        return found

    def work(self, item: Item, device: str) -> float:
        """Work on a task; returns the seconds that it took, copies included."""
        bench = self.benches[item.precision]
        started = time.perf_counter()
        if device == "gpu" and self.gpu:
            bench.on_gpu(self.gpu, KINDS[item.task], item.size)
        else:
            bench.on_cpu(KINDS[item.task], item.size)
        seconds = time.perf_counter() - started
        bench.rows.clear()
        return seconds


def draw_items(
    count: int, tasks: Sequence[str], sizes: Sequence[int], precisions: Sequence[str], seed: int
) -> list[Item]:
    """Return a queue: kind, size and precision are drawn each by itself."""
    draw = random.Random(seed)  # noqa: S311 - a queue, no secret
    return [Item(draw.choice(tasks), draw.choice(sizes), draw.choice(precisions)) for _ in range(count)]
