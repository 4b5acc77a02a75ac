"""The workload `tasks`: the same work on CPU and GPU, over several sizes (kinds of work: task_kinds.py).

A size is the rows and columns of a matrix; what works on plain numbers has as many as such a matrix.

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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from warpdeck.profiling.power_log import write_csv

from .errors import WorkloadError
from .ranges import ALLOCATION, COMPUTE, HOST, OVERHEAD, STRUCTURE, TRANSFER, annotate
from .record import make_path, note
from .task_kinds import BASIC, KINDS, Array, Kind
from .tasks_cpu import CPU_BACKENDS, CpuBackend, make_cpu
from .tasks_gpu import GPU_BACKENDS, GpuBackend, choose_gpu

HEADER = ("task", "size", "device", "part", "seconds")
ENERGY_HEADER = ("time_ns", "repetitions")
"""Further columns of tasks that were repeated to measure their energy."""
REPEATED = "repeated"
EnergyRow = tuple[str, int, str, str, float, int, int]
"""Task, size, none, REPEATED, total seconds, start (CLOCK_REALTIME, ns), repetitions."""
PRECISIONS: dict[str, tuple[np.dtype[Any], float]] = {
    "fp32": (np.dtype(np.float32), 1e-4),
    "fp64": (np.dtype(np.float64), 1e-10),
}
"""Type of the numbers, and the tolerated relative difference from NumPy's results."""


class Bench:
    """Inputs of each task and size, the backends, and the times so far."""

    def __init__(
        self,
        sizes: Sequence[int],
        cpu: CpuBackend,
        gpu: GpuBackend | None,
        tasks: Sequence[str] = BASIC,
        precision: str = "fp32",
        suffix: str = "",
    ) -> None:
        self.suffix = suffix  # follows the name of a task in its ranges
        random = np.random.default_rng(0)
        self.dtype, self.tolerance = PRECISIONS[precision]
        self.kinds = [KINDS[task] for task in tasks]
        matrices = {size: (draw(random, size, self.dtype), draw(random, size, self.dtype)) for size in sizes}
        self.inputs = {(kind.name, size): kind.inputs(*matrices[size]) for kind in self.kinds for size in sizes}
        self.references = {
            (kind.name, size): compute_reference(kind, self.inputs[kind.name, size], self.make_output(kind, size))
            for kind in self.kinds
            for size in sizes
        }
        self.cpu = cpu
        self.gpu = gpu
        self.rows: list[tuple[str, int, str, str, float]] = []

    def make_output(self, kind: Kind, size: int) -> Array:
        """Return zeros of the shape of a result."""
        out: Array = np.zeros(kind.result(size), kind.choose_dtype(self.dtype))
        return out

    def count_bytes(self) -> dict[str, dict[str, int]]:
        """Return the bytes to the GPU and back of each task and size, and those back alone."""
        names = {(task, size): f"{task}{self.suffix}_{size}" for task, size in self.inputs}
        back = {names[key]: array.nbytes for key, array in self.references.items()}
        input_bytes = {names[key]: sum(array.nbytes for array in inputs) for key, inputs in self.inputs.items()}
        both = {name: input_bytes[name] + back[name] for name in back}
        return {"bytes_by_task": both, "result_bytes_by_task": back}

    def step(self, sizes: Sequence[int]) -> None:
        """Run every task on every device, at each of `sizes`."""
        for kind in self.kinds:
            for size in sizes:
                self.check(kind.name, size, self.run_on_cpu(kind, size))
                if self.gpu:
                    self.check(kind.name, size, self.run_on_gpu(self.gpu, kind, size))

    def run_on_cpu(self, kind: Kind, size: int) -> Array:
        """Run a task on the CPU and return its result."""
        task = kind.name
        with annotate(f"{task}{self.suffix}_{size}/cpu", HOST):
            with self.time_part(task, size, "cpu", "allocate", ALLOCATION):
                out = self.make_output(kind, size)
            with self.time_part(task, size, "cpu", "compute", HOST):
                self.cpu(kind, self.inputs[task, size], out)
        return out

    def run_on_gpu(self, gpu: GpuBackend, kind: Kind, size: int) -> Array:
        """Run a task on the GPU and return its result on the host."""
        task = kind.name
        inputs, result = self.inputs[task, size], self.references[task, size]
        with annotate(f"{task}{self.suffix}_{size}/gpu"):
            with self.time_part(task, size, "gpu", "allocate", ALLOCATION):
                arrays, out = [gpu.allocate(array) for array in inputs], gpu.allocate(result)
            with self.time_part(task, size, "gpu", "to_device", TRANSFER):
                for array, device in zip(inputs, arrays, strict=True):
                    gpu.to_device(array, device)
                gpu.wait()
            with self.time_part(task, size, "gpu", "compute", COMPUTE):
                computed = gpu.compute(kind, arrays, out)
                gpu.wait()
            with self.time_part(task, size, "gpu", "to_host", TRANSFER):
                return gpu.to_host(computed)

    @contextmanager
    def time_part(self, task: str, size: int, device: str, part: str, color: int) -> Iterator[None]:
        """Put a range around the body and record its duration."""
        with annotate(part, color):
            started = time.perf_counter()
            yield
            self.rows.append((task, size, device, part, time.perf_counter() - started))

    def check(self, task: str, size: int, result: Array) -> None:
        """Compare a result with NumPy's; a wrong one ends the run."""
        with annotate("check_result", OVERHEAD):
            expected = self.references[task, size]
            error = float(np.linalg.norm(result - expected) / np.linalg.norm(expected))
        if not error <= self.tolerance:  # NaN is wrong, too
            raise WorkloadError(f"{task}_{size} computed something wrong: relative error {error:.1e}.")


def draw(random: np.random.Generator, size: int, dtype: np.dtype[Any]) -> Array:
    """Return numbers from 0 to 1, (size, size)."""
    return random.random((size, size), dtype=dtype)


def compute_reference(kind: Kind, inputs: Sequence[Array], out: Array) -> Array:
    """Compute a task with NumPy into `out`; a sum in float64."""
    if kind.name == "reduction":
        return np.asarray(inputs[0].sum(dtype=np.float64))
    kind.arrays(np, inputs, out)
    return out


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this workload."""
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), help="cpu: the CPU alone (default: both if there is a GPU)"
    )
    parser.add_argument(
        "--sizes", metavar="N,...", help="sizes of the tasks (default: 256,1024,4096 with a GPU, 64,256 without)"
    )
    parser.add_argument(
        "--tasks", metavar="NAME,...", help=f"kinds of work: {', '.join(KINDS)} or all (default: {','.join(BASIC)})"
    )
    parser.add_argument("--precision", choices=tuple(PRECISIONS), default="fp32", help="data type (default: fp32)")
    parser.add_argument("--cpu", choices=CPU_BACKENDS, default="numpy", help="library on the CPU (default: numpy)")
    parser.add_argument("--gpu", choices=GPU_BACKENDS, default="torch", help="library on the GPU (default: torch)")
    parser.add_argument(
        "--energy-seconds", type=float, default=0, metavar="S",
        help="after the measured steps repeat each task on the GPU for S seconds, for the power log (default: 0)",
    )  # fmt: skip
    parser.add_argument("--csv", type=Path, metavar="FILE", help="file for the times (default: beside the report)")
    parser.add_argument("--warmup", type=int, default=1, help="iterations in the range `warmup` (default: 1)")
    parser.add_argument("--steps", type=int, default=3, help="measured steps (default: 3)")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Run the tasks once to warm up, then in the capture window; report the median of each and write the CSV."""
    gpu = choose_gpu(options.gpu, options.device)
    sizes = parse_sizes(options.sizes or ("256,1024,4096" if gpu else "64,256"))
    tasks = parse_tasks(options)
    bench = Bench(sizes, make_cpu(options.cpu), gpu, tasks, options.precision)
    note(
        precision=options.precision,
        shapes={"sizes": sizes},
        backends={"cpu": options.cpu, "gpu": options.gpu if gpu else None},
        flops_by_task=count_flops_by_task(tasks, sizes),
        **bench.count_bytes(),
    )
    who = f"{options.cpu} and {options.gpu}" if gpu else f"{options.cpu} without a GPU"
    yield f"tasks, {who}: sizes {', '.join(map(str, sizes))}"
    bench.step(sizes)  # compiles, and loads libraries
    with open_capture_window(gpu):
        if options.warmup:
            with annotate("warmup", OVERHEAD):
                for _ in range(options.warmup):
                    bench.step(sizes[:1])
        bench.rows.clear()
        for number in range(options.steps):
            with annotate(f"step_{number}", STRUCTURE):
                bench.step(sizes)
    path = options.csv or make_path(".tasks.csv")
    least_s = options.energy_seconds
    energy = list(repeat_for_energy(bench, bench.gpu, least_s)) if least_s and bench.gpu else []
    if path:
        write_csv(path, (*HEADER, *(ENERGY_HEADER if energy else ())), [*pad_rows(bench.rows, bool(energy)), *energy])
    yield from summarize_rows(bench.rows)


def repeat_for_energy(bench: Bench, gpu: GpuBackend, least_s: float) -> Iterator[EnergyRow]:
    """Repeat each task and size on the GPU for at least `least_s` seconds, and yield a row each.

    NVML counts energy some ten times a second, so the power log tells the energy of a thousand repetitions of a
    millisecond, not of a single one.
    """
    for kind in bench.kinds:
        for size in sorted({size for task, size in bench.inputs if task == kind.name}):
            rows, count = len(bench.rows), 0
            started_ns, started = time.time_ns(), time.perf_counter()
            with annotate(f"{kind.name}_{size}/{REPEATED}", COMPUTE):
                while time.perf_counter() - started < least_s:
                    bench.run_on_gpu(gpu, kind, size)
                    count += 1
            yield kind.name, size, "none", REPEATED, time.perf_counter() - started, started_ns, count
            del bench.rows[rows:]


def pad_rows(rows: Sequence[Sequence[object]], pad: bool) -> list[tuple[object, ...]]:
    """Return rows, extended by empty ENERGY_HEADER columns if ``pad`` is set."""
    return [(*row, *((None,) * len(ENERGY_HEADER) if pad else ())) for row in rows]


def summarize_rows(rows: list[tuple[str, int, str, str, float]]) -> Iterator[str]:
    """Yield the fastest compute time of each task, size and device."""
    best: dict[tuple[str, int, str], float] = {}
    for task, size, device, part, seconds in rows:
        if part == "compute":
            best[task, size, device] = min(seconds, best.get((task, size, device), seconds))
    for (task, size, device), seconds in best.items():
        flops = KINDS[task].flops(size)
        speed = f", {flops / seconds / 1e9:,.1f} GFLOP/s" if flops else ""
        yield f"{task}_{size}/{device}: {seconds * 1e3:.3f} ms{speed}"


def count_flops_by_task(tasks: Sequence[str], sizes: Sequence[int]) -> dict[str, int]:
    """Return the operations of each task and size that counts them."""
    counts = {f"{task}_{size}": KINDS[task].flops(size) for task in tasks for size in sizes}
    return {name: flops for name, flops in counts.items() if flops is not None}


@contextmanager
def open_capture_window(gpu: GpuBackend | None) -> Iterator[None]:
    """Wrap the work that a profiler records."""
    from .record import open_window

    with gpu.capture_window() if gpu else open_window():
        yield


def parse_sizes(sizes: str) -> list[int]:
    """Return the sizes of `--sizes` in ascending order."""
    words = sizes.split(",")
    if not all(part.isdecimal() and int(part) > 0 for part in words):
        raise WorkloadError(f"--sizes must be numbers with commas between them, as in 256,1024, and {sizes!r} is not.")
    return sorted({int(part) for part in words})


def parse_tasks(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the names of `--tasks`, in the order of KINDS."""
    if options.tasks is None:
        return BASIC
    names = set(KINDS) if options.tasks == "all" else set(options.tasks.split(","))
    if unknown := names - set(KINDS):
        raise WorkloadError(f"--tasks must be of {', '.join(KINDS)}, and {min(unknown)!r} is not.")
    if (options.cpu == "numba" or options.gpu == "triton") and (more := names - set(BASIC)):
        raise WorkloadError(f"numba and triton have {', '.join(BASIC)} here, and not {min(more)}.")
    return tuple(name for name in KINDS if name in names)
