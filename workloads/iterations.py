"""Time the iterations of any function, by CUDA events if PyTorch sees a GPU, else by Python's clock."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from .ranges import OVERHEAD, STRUCTURE, annotate
from .record import open_window

R = TypeVar("R")


def time_iterations(function: Callable[[], R], warmup: int, iterations: int) -> tuple[R, list[float]]:
    """Run `function` in `warmup` and then in `step_N`; return the last result and the seconds of each step."""
    torch = import_torch_with_gpu()
    with capture_window(torch):
        if warmup:
            with annotate("warmup", OVERHEAD):
                for _ in range(warmup):
                    function()
        measured = [time_call(function, f"step_{number}", torch) for number in range(iterations)]
    return measured[-1][0], [seconds() for _, seconds in measured]


def time_call(function: Callable[[], R], name: str, torch: Any | None) -> tuple[R, Callable[[], float]]:
    """Run `function` in the range `name`; return its result and a function for its seconds once the GPU is done."""
    with annotate(name, STRUCTURE):
        if torch is None:
            started = time.perf_counter()
            result = function()
            seconds = time.perf_counter() - started
            return result, lambda: seconds
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        result = function()
        after.record()
        return result, lambda: float(before.elapsed_time(after)) / 1000  # events count in milliseconds


def import_torch_with_gpu() -> Any | None:
    """Return torch if it is installed and sees a GPU."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    return torch if torch.cuda.is_available() else None


def capture_window(torch: Any | None) -> AbstractContextManager[object]:
    """Return the window that a profiler records, on the current GPU or, without `torch`, on the CPU."""
    if torch is None:
        return open_window()
    from .torch_device import capture_window as on_device

    return on_device(torch.device("cuda"))
