"""The tasks of a queue and the backends that run them."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

from .task_kinds import KINDS
from .tasks import Bench
from .tasks_cpu import compute_with_numpy
from .tasks_gpu import GpuBackend


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
    """The tasks, the backends, and their results."""

    def __init__(self, items: Sequence[Item], gpu: GpuBackend | None) -> None:
        self.items = items
        self.gpu = gpu
        tasks = [name for name in KINDS if any(item.task == name for item in items)]
        self.benches = {
            precision: Bench(
                sorted({item.size for item in items if item.precision == precision}), compute_with_numpy, gpu, tasks,
                precision, suffix=f"_{precision}",
            )
            for precision in sorted({item.precision for item in items})
        }  # fmt: skip

    def warm_up(self) -> None:
        """Run every task once on every device and compare the results with NumPy's."""
        for bench in self.benches.values():
            bench.step(sorted({size for _, size in bench.inputs}))
            bench.rows.clear()

    def count_bytes(self) -> dict[str, dict[str, int]]:
        """Return the result of Bench.count_bytes for all precisions."""
        result: dict[str, dict[str, int]] = {}
        for bench in self.benches.values():
            for name, of in bench.count_bytes().items():
                result.setdefault(name, {}).update(of)
        return result

    def run_item(self, item: Item, device: str) -> float:
        """Run a task and return its seconds, copies included."""
        bench = self.benches[item.precision]
        started = time.perf_counter()
        if device == "gpu" and self.gpu:
            bench.run_on_gpu(self.gpu, KINDS[item.task], item.size)
        else:
            bench.run_on_cpu(KINDS[item.task], item.size)
        seconds = time.perf_counter() - started
        bench.rows.clear()
        return seconds


def draw_items(
    count: int, tasks: Sequence[str], sizes: Sequence[int], precisions: Sequence[str], seed: int
) -> list[Item]:
    """Return a queue: kind, size and precision are drawn independently."""
    draw = random.Random(seed)  # noqa: S311 - a queue, no secret
    return [Item(draw.choice(tasks), draw.choice(sizes), draw.choice(precisions)) for _ in range(count)]
