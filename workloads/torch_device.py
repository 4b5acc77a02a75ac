"""Choose the device, and mark the window that a profiler records."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .errors import WorkloadError
from .record import open_window

# PyTorch has no annotation for this one.
_cudart: Callable[[], Any] = torch.cuda.cudart


def choose_device(name: str | None) -> torch.device:
    """Return the device called `name` (cpu or cuda); without a name the GPU if there is one, else the CPU."""
    has_gpu = torch.cuda.is_available()
    if name == "cuda" and not has_gpu:
        raise WorkloadError("PyTorch sees no CUDA device here: run with --device cpu.")
    return torch.device(name or ("cuda" if has_gpu else "cpu"))


def describe(device: torch.device) -> str:
    """Return the vendor's name of the device."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"


def wait_for(device: torch.device) -> None:
    """Wait until everything launched on `device` has finished."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


@contextmanager
def capture_window(device: torch.device) -> Iterator[None]:
    """Mark the window that `nsys --capture-range=cudaProfilerApi` and `ncu --profile-from-start off` record.

    Launches are asynchronous: without the waits the window would hold kernels of earlier work and lose its own last
    ones. On the CPU there is nothing to mark. Other recorders of this run (`workloads.record`) get the same window.
    """
    if device.type != "cuda":
        with open_window():
            yield
        return
    runtime = _cudart()
    wait_for(device)
    runtime.cudaProfilerStart()
    try:
        with open_window():
            yield
            wait_for(device)
    finally:
        wait_for(device)
        runtime.cudaProfilerStop()


def add_device_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), help="device to run on (default: cuda if PyTorch sees a GPU, else cpu)"
    )
