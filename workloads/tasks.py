"""The workload `tasks`: vector addition, matrix multiplication and reduction on CPU and GPU, over several sizes.

A size is the rows and columns of a matrix; additions and reductions work on as many numbers as such a matrix has.

Ranges (the step in `warmup` looks the same, with the smallest size only; colors say what the time goes to):

    warmup        step_N
                    matmul_1024/cpu     allocate, compute
                    matmul_1024/gpu     allocate, to_device, compute, to_host
                    check_result

A part ends when its work has finished. Leaves NAME.tasks.csv (task, size, device, part, seconds) beside the report, or
where --csv says; a row a part and step.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from workloads.errors import WorkloadError
from workloads.ranges import ALLOCATION, COMPUTE, HOST, OVERHEAD, STRUCTURE, TRANSFER, annotate
from workloads.record import beside, note, write_csv
from workloads.tasks_cpu import CPU_BACKENDS, Array, CpuBackend, make_cpu
from workloads.tasks_gpu import GPU_BACKENDS, GpuBackend, choose_gpu

TASKS = ("vector_add", "matmul", "reduction")
HEADER = ("task", "size", "device", "part", "seconds")
TOLERANCE = 1e-4


class Bench:
    """Two matrices of each size, who works on them, and the times so far."""

    def __init__(self, sizes: list[int], cpu: CpuBackend, gpu: GpuBackend | None) -> None:
        random = np.random.default_rng(0)
        self.inputs = {size: (draw(random, size), draw(random, size)) for size in sizes}
        self.references = {(task, size): reference(task, *self.inputs[size]) for task in TASKS for size in sizes}
        self.cpu = cpu
        self.gpu = gpu
        self.rows: list[tuple[str, int, str, str, float]] = []

    def step(self, sizes: list[int]) -> None:
        """Run every task on every device, at each of `sizes`."""
        for task in TASKS:
            for size in sizes:
                self.check(task, size, self.on_cpu(task, size))
                if self.gpu:
                    self.check(task, size, self.on_gpu(self.gpu, task, size))

    def on_cpu(self, task: str, size: int) -> Array:
        """Run a task on the CPU; returns its result."""
        a, b = self.inputs[size]
        with annotate(f"{task}_{size}/cpu", HOST):
            with self.part(task, size, "cpu", "allocate", ALLOCATION):
                out = np.zeros(() if task == "reduction" else (size, size), np.float32)
            with self.part(task, size, "cpu", "compute", HOST):
                self.cpu(task, a, b, out)
        return out

    def on_gpu(self, gpu: GpuBackend, task: str, size: int) -> Array:
        """Run a task on the GPU; returns its result on the host."""
        with annotate(f"{task}_{size}/gpu"):
            with self.part(task, size, "gpu", "allocate", ALLOCATION):
                a, b, out = gpu.allocate(size)
            with self.part(task, size, "gpu", "to_device", TRANSFER):
                gpu.to_device(self.inputs[size][0], a)
                if task != "reduction":
                    gpu.to_device(self.inputs[size][1], b)
                gpu.wait()
            with self.part(task, size, "gpu", "compute", COMPUTE):
                result = gpu.compute(task, a, b, out)
                gpu.wait()
            with self.part(task, size, "gpu", "to_host", TRANSFER):
                return gpu.to_host(result)

    @contextmanager
    def part(self, task: str, size: int, device: str, part: str, color: int) -> Iterator[None]:
        """Put a range around the body and keep how long it took."""
        with annotate(part, color):
            started = time.perf_counter()
            yield
            self.rows.append((task, size, device, part, time.perf_counter() - started))

    def check(self, task: str, size: int, result: Array) -> None:
        """Compare a result with what NumPy computes; a wrong one ends the run."""
        with annotate("check_result", OVERHEAD):
            expected = self.references[task, size]
            error = float(np.linalg.norm(result - expected) / np.linalg.norm(expected))
        if not error <= TOLERANCE:  # NaN is wrong, too
            raise WorkloadError(f"{task}_{size} computed something wrong: relative error {error:.1e}.")


def draw(random: np.random.Generator, size: int) -> Array:
    """Return numbers from 0 to 1, (size, size) of float32."""
    return random.random((size, size), dtype=np.float32)


def reference(task: str, a: Array, b: Array) -> Array:
    """Compute a task with NumPy; sums in float64."""
    if task == "vector_add":
        return a + b
    return a @ b if task == "matmul" else np.asarray(a.sum(dtype=np.float64))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this workload."""
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), help="cpu: the CPU alone (default: both if there is a GPU)"
    )
    parser.add_argument(
        "--sizes", metavar="N,...", help="sizes of the tasks (default: 256,1024,4096 with a GPU, 64,256 without)"
    )
    parser.add_argument("--cpu", choices=CPU_BACKENDS, default="numpy", help="library on the CPU (default: numpy)")
    parser.add_argument("--gpu", choices=GPU_BACKENDS, default="torch", help="library on the GPU (default: torch)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="file for the times (default: beside the report)")
    parser.add_argument("--warmup", type=int, default=1, help="iterations in the range `warmup` (default: 1)")
    parser.add_argument("--steps", type=int, default=3, help="measured steps (default: 3)")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Run the tasks once for nothing, then in the capture window; say the median of each and write the CSV."""
    gpu = choose_gpu(options.gpu, options.device)
    sizes = chosen_sizes(options.sizes or ("256,1024,4096" if gpu else "64,256"))
    bench = Bench(sizes, make_cpu(options.cpu), gpu)
    note(
        precision="fp32",
        shapes={"sizes": sizes},
        backends={"cpu": options.cpu, "gpu": options.gpu if gpu else None},
        flops_by_task={f"{task}_{size}": flops(task, size) for task in TASKS for size in sizes},
    )
    who = f"{options.cpu} and {options.gpu}" if gpu else f"{options.cpu} without a GPU"
    yield f"tasks, {who}: sizes {', '.join(map(str, sizes))}"
    bench.step(sizes)  # compiles, and loads libraries
    with window_of(gpu):
        if options.warmup:
            with annotate("warmup", OVERHEAD):
                for _ in range(options.warmup):
                    bench.step(sizes[:1])
        bench.rows.clear()
        for number in range(options.steps):
            with annotate(f"step_{number}", STRUCTURE):
                bench.step(sizes)
    path = options.csv or beside(".tasks.csv")
    if path:
        write_csv(path, HEADER, bench.rows)
    yield from summary(bench.rows)


def summary(rows: list[tuple[str, int, str, str, float]]) -> Iterator[str]:
    """Say the fastest compute of each task, size and device."""
    best: dict[tuple[str, int, str], float] = {}
    for task, size, device, part, seconds in rows:
        if part == "compute":
            best[task, size, device] = min(seconds, best.get((task, size, device), seconds))
    for (task, size, device), seconds in best.items():
        speed = flops(task, size) / seconds / 1e9
        yield f"{task}_{size}/{device}: {seconds * 1e3:.3f} ms, {speed:,.1f} GFLOP/s"


def flops(task: str, size: int) -> int:
    """Return the floating-point operations of a task; a multiply-add is two."""
    return 2 * size**3 if task == "matmul" else size**2


@contextmanager
def window_of(gpu: GpuBackend | None) -> Iterator[None]:
    """Go around what a profiler records."""
    from workloads.record import window

    with gpu.capture_window() if gpu else window():
        yield


def chosen_sizes(sizes: str) -> list[int]:
    """Return the sizes of `--sizes`, the smallest first."""
    parts = sizes.split(",")
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise WorkloadError(f"--sizes must be numbers with commas between them, as in 256,1024, and {sizes!r} is not.")
    return sorted({int(part) for part in parts})
