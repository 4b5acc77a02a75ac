"""A log of power, clocks, temperature and memory beside a report, timings of iterations, and captures in code.

    with GPUMonitor("run/training"):            # writes run/training.nvml.csv
        train()

    @auto_profile(warmup=3, iterations=10)      # also writes training_step.timings.csv
    def training_step(): ...

    with profiled("run/training", stacks=True, memory=True) as capture:     # writes run/training.pt.trace.json.gz, too
        for batch in loader:
            with capture.step(), capture.range("forward"):                  # step_0, step_1, ...
                loss = model(batch)

`profiled` leaves what `python -m workloads profile --tool torch` does. With tool="nsys" the same program opens the
window of `nsys profile --capture-range=cudaProfilerApi` instead: its ranges are the same, so that Warpdeck can link the
two reports.

NAME.nvml.csv has a row a reading and GPU: `time_ns` (CLOCK_REALTIME, nanoseconds since 1970, as in a report's session
start), `elapsed_s` (seconds since the monitor started), `device` (index), `uuid` (its identity), and
workloads.nvml.READINGS. What a GPU does
not tell is empty. Without a GPU the monitor says so once, writes nothing and does nothing.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, ParamSpec, TypeVar

from . import nvml
from .iterations import capture_window, time_iterations, torch_with_gpu
from .ranges import COMPUTE, OVERHEAD, STRUCTURE, RangeSink, Sinks, annotate, default_sink, send_to
from .record import (
    TIMINGS_HEADER,
    TRACE_SUFFIX,
    note,
    prefix_from_environment,
    recording,
    window,
    write_csv,
)

HEADER = ("time_ns", "elapsed_s", "device", "uuid", *nvml.READINGS)
COLUMN = {name: index for index, name in enumerate(HEADER)}

Row = tuple[float | int | str | None, ...]
P = ParamSpec("P")
R = TypeVar("R")


@functools.cache
def say_that_there_is_no_gpu() -> None:
    """Report it once per process."""
    print("No GPU that NVML can read: power and clocks are not logged.", file=sys.stderr)


class GPUMonitor:
    """Reads every GPU at a set rate in its own thread while its body runs."""

    def __init__(
        self, prefix: str | Path | None = None, interval_s: float = 0.02, devices: Sequence[int] | None = None
    ) -> None:
        """Write PREFIX.nvml.csv at the end (nothing if `prefix` is None) for `devices`, by default all."""
        self.prefix = None if prefix is None else Path(prefix)
        self.interval_s = interval_s
        self.rows: list[Row] = []
        """Rows of the file: one per reading and GPU."""
        self.devices = list(range(nvml.gpu_count()) if devices is None else devices)
        self._uuids = {device: nvml.uuid(device) for device in self.devices}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read_until_stopped, name="GPUMonitor", daemon=True)
        self._start_ns = 0

    def __enter__(self) -> GPUMonitor:
        self._start_ns = time.time_ns()
        if self.devices:
            self.read()
            self._thread.start()
        else:
            say_that_there_is_no_gpu()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.devices:
            return
        self._stop.set()
        self._thread.join()
        self.read()
        if self.prefix:
            self.write(self.prefix.with_name(self.prefix.name + ".nvml.csv"))

    def write(self, path: Path, device: int | None = None) -> None:
        """Write the readings so far, of one GPU if `device` is given; nothing without readings."""
        rows = [row for row in self.rows if device in (None, row[COLUMN["device"]])]
        if rows:
            write_csv(path, HEADER, rows)

    def read(self) -> None:
        """Take one reading of each GPU now."""
        for device in self.devices:
            now_ns = time.time_ns()
            elapsed_s = (now_ns - self._start_ns) / 1e9
            self.rows.append((now_ns, elapsed_s, device, self._uuids[device], *nvml.read(device)))

    def _read_until_stopped(self) -> None:
        while not self._stop.wait(self.interval_s):
            self.read()

    def joules_now(self) -> float | None:
        """Return the sum of the GPUs' energy counters in joules; None without counters."""
        column = nvml.READINGS.index("energy_mj")
        counters = [nvml.read(device)[column] for device in self.devices]
        if not counters or None in counters:
            return None
        return sum(counter for counter in counters if counter is not None) / 1000


def auto_profile(
    warmup: int = 3, iterations: int = 10, prefix: str | Path | None = None, interval_s: float = 0.02
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function run `warmup` times in the range `warmup` and `iterations` times in `step_0`, `step_1`, ...

    It returns the last result. The window of `nsys --capture-range=cudaProfilerApi` goes around all of it. Beside the
    report that WORKLOADS_RECORD names, or at `prefix`, or at the function's name in the current folder, it leaves
    NAME.nvml.csv and NAME.timings.csv: label (the function's name), step, seconds, by CUDA events where PyTorch sees a
    GPU, else by Python's clock.
    """
    if warmup < 0 or iterations < 1:
        raise ValueError("auto_profile needs warmup >= 0 and iterations >= 1")

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def profiled(*args: P.args, **kwargs: P.kwargs) -> R:
            path = Path(prefix) if prefix else prefix_from_environment() or Path(function.__name__)
            with GPUMonitor(path, interval_s):
                result, seconds = time_iterations(lambda: function(*args, **kwargs), warmup, iterations)
            rows = [(function.__name__, step, value) for step, value in enumerate(seconds)]
            write_csv(path.with_name(path.name + ".timings.csv"), TIMINGS_HEADER, rows)
            return result

        return profiled

    return decorate


class Capture:
    """Wraps parts of the body of `profiled`; use its methods on the same thread."""

    def __init__(self) -> None:
        self.steps = 0
        """Steps started so far."""

    def step(self) -> AbstractContextManager[None]:
        """Wrap one step: `step_0`, `step_1`, ..., which the pages find."""
        self.steps += 1
        return annotate(f"step_{self.steps - 1}", STRUCTURE)

    def warmup(self) -> AbstractContextManager[None]:
        """Wrap the work before the measured steps; the pages exclude it."""
        return annotate("warmup", OVERHEAD)

    def range(self, name: str) -> AbstractContextManager[None]:
        """Wrap a part of a step."""
        return annotate(name, COMPUTE)

    def note(self, **facts: object) -> None:
        """Add facts to the meta.json, such as flops_per_step=... or precision="bf16"."""
        note(**facts)


@contextmanager
def profiled(
    name: str | Path,
    tool: Literal["torch", "nsys"] = "torch",
    *,
    shapes: bool = True,
    stacks: bool = False,
    modules: bool = False,
    memory: bool = False,
    flops: bool = False,
    nvtx: bool = True,
) -> Iterator[Capture]:
    """Capture the body, and leave files called `name` with a suffix each; steps are what `Capture.step` goes around.

    Args:
        name: path without suffix; under `python -m workloads profile` that of its report.
        tool: `torch` writes a trace of the PyTorch profiler; `nsys` opens and closes the window that nsys records.
        shapes: input shapes of operators, of the PyTorch profiler as all that follows.
        stacks: Python stacks, which cost much time.
        modules: modules by name; part of `stacks` in PyTorch since 2.0.
        memory: allocations of tensors.
        flops: FLOPs of matrix products and convolutions.
        nvtx: besides the trace's own ranges, the same as NVTX.
    """
    prefix = prefix_from_environment() or Path(name)
    with recording(prefix, command=sys.argv, tool=tool), GPUMonitor(prefix), ExitStack() as stack:
        if tool == "torch":
            options = {"record_shapes": shapes, "with_stack": stacks, "with_modules": modules, "profile_memory": memory}
            stack.enter_context(_traced(prefix, options | {"with_flops": flops}, nvtx=nvtx))
            stack.enter_context(window())
        else:
            stack.enter_context(capture_window(torch_with_gpu()))
        yield Capture()


@contextmanager
def _traced(prefix: Path, extras: dict[str, Any], *, nvtx: bool) -> Iterator[None]:
    from .torch_recorder import TorchSink, record_trace  # here: it imports torch

    sinks: list[RangeSink] = [TorchSink(), *([default_sink()] if nvtx else [])]
    with record_trace(prefix.with_name(prefix.name + TRACE_SUFFIX), extras), send_to(Sinks(sinks)):
        yield
