"""The workload `kernels`: kernels of known behavior, one launch each, in a range of its own name.

Ranges: one a kernel, called as the kernel (`vector_add`, `gemm_fp64`, ...). A range ends when the kernel has finished.
Each kernel runs once before the capture window, which pays for compiling and library handles.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from .command_line import choose_names
from .errors import WorkloadError
from .kernel_cases import CASES, LARGE, SMALL, Case, Sizes
from .ranges import annotate
from .torch_device import capture_window, choose_device, describe, wait_for


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this workload."""
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), help="device to run on (default: cuda if PyTorch sees a GPU, else cpu)"
    )
    parser.add_argument("--only", metavar="NAME,...", help=f"kernels to run (default: {','.join(CASES)})")
    parser.add_argument(
        "--size", choices=("small", "large"), help="size of the data (default: large on cuda, small on the CPU)"
    )
    parser.add_argument("--floats", type=int, help="floats in an array, a power of two from 8192 on (default: by size)")
    parser.add_argument("--iterations", type=int, help="multiply-adds in a chain, a multiple of 16 (default: by size)")
    parser.add_argument("--matrix", type=int, help="rows and columns of a matrix (default: by size)")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Run each kernel once to warm up and once in the capture window, and check the results."""
    names = choose_names(options.only, CASES, "kernel")
    device = choose_device(options.device)
    sizes = choose_sizes(options, device)
    torch.manual_seed(0)
    yield f"kernels, {describe(device)}: {', '.join(names)}"
    cases = {name: CASES[name](sizes, device) for name in names}
    for case in cases.values():
        case.compute()
    results: dict[str, tuple[Tensor, float]] = {}
    with capture_window(device):
        for name, case in cases.items():
            results[name] = time_case(name, case, device)
    for name, (result, seconds) in results.items():
        yield report(name, cases[name], result, seconds)


def time_case(name: str, case: Case, device: torch.device) -> tuple[Tensor, float]:
    """Run `case` in the range `name` and return its result and its seconds."""
    started = time.perf_counter()
    with annotate(name):
        result = case.compute()
        wait_for(device)
    return result, time.perf_counter() - started


def report(name: str, case: Case, result: Tensor, seconds: float) -> str:
    """Check a result and return a line about its speed; a wrong result ends the run."""
    error = case.compute_error(result)
    if not error <= case.tolerance:  # NaN is wrong, too
        raise WorkloadError(f"{name} computed something wrong: relative error {error:.1e}, at most {case.tolerance:g}.")
    speed = f"{case.bytes / seconds / 1e9:,.0f} GB/s, {case.operations / seconds / 1e12:,.2f} TFLOP/s"
    return f"{name}: {seconds * 1e3:.3f} ms, {speed}, relative error {error:.1e}"


def choose_sizes(options: argparse.Namespace, device: torch.device) -> Sizes:
    """Return the sizes of `--size`, overridden by sizes given one by one."""
    size = options.size or ("large" if device.type == "cuda" else "small")
    overrides = {
        name: getattr(options, name)
        for name in ("floats", "iterations", "matrix")
        if getattr(options, name) is not None
    }
    sizes = replace(LARGE if size == "large" else SMALL, **overrides)
    if sizes.floats < 8192 or sizes.floats & (sizes.floats - 1):
        raise WorkloadError(f"--floats must be a power of two from 8192 on, and {sizes.floats} is not.")
    if sizes.iterations < 16 or sizes.iterations % 16:
        raise WorkloadError(f"--iterations must be a multiple of 16, and {sizes.iterations} is not.")
    if sizes.matrix < 1:
        raise WorkloadError(f"--matrix must be at least 1, and {sizes.matrix} is not.")
    return sizes
