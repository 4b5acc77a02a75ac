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

warpdeck.profiling.power_log says what NAME.nvml.csv holds.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

from warpdeck.profiling.power_log import GPUMonitor, write_csv

from .iterations import capture_window, import_torch_with_gpu, time_iterations
from .ranges import COMPUTE, OVERHEAD, STRUCTURE, RangeSink, Sinks, annotate, choose_sink, send_to
from .record import (
    TIMINGS_HEADER,
    TRACE_SUFFIX,
    note,
    open_window,
    read_prefix,
    record_run,
)

__all__ = ["Capture", "GPUMonitor", "auto_profile", "profiled"]

P = ParamSpec("P")
R = TypeVar("R")


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
        def run_profiled(*args: P.args, **kwargs: P.kwargs) -> R:
            path = Path(prefix) if prefix else read_prefix() or Path(function.__name__)
            with GPUMonitor(path, interval_s):
                result, seconds = time_iterations(lambda: function(*args, **kwargs), warmup, iterations)
            rows = [(function.__name__, step, value) for step, value in enumerate(seconds)]
            write_csv(path.with_name(path.name + ".timings.csv"), TIMINGS_HEADER, rows)
            return result

        return run_profiled

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
    """Capture the body, and leave files called `name` with a suffix each; `Capture.step` goes around a step.

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
    prefix = read_prefix() or Path(name)
    with record_run(prefix, command=sys.argv, tool=tool), GPUMonitor(prefix), ExitStack() as stack:
        if tool == "torch":
            options = {"record_shapes": shapes, "with_stack": stacks, "with_modules": modules, "profile_memory": memory}
            stack.enter_context(_trace_process(prefix, options | {"with_flops": flops}, nvtx=nvtx))
            stack.enter_context(open_window())
        else:
            stack.enter_context(capture_window(import_torch_with_gpu()))
        yield Capture()


@contextmanager
def _trace_process(prefix: Path, extras: dict[str, Any], *, nvtx: bool) -> Iterator[None]:
    from .torch_recorder import TorchSink, record_trace  # here: it imports torch

    sinks: list[RangeSink] = [TorchSink(), *([choose_sink()] if nvtx else [])]
    with record_trace(prefix.with_name(prefix.name + TRACE_SUFFIX), extras), send_to(Sinks(sinks)):
        yield
