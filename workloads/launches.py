"""The workload `launches`: a thousand kernels so small that launching one takes longer than running it.

`--mode tiny` launches them one by one; `--mode graph` replays them as one CUDA graph. Both compute the same.

Ranges (the steps in `warmup` look the same): `launch_tiny_kernels` or `replay_graph`, then `wait_for_kernels`, in
`step_N`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from .cuda_graph import capture_graph
from .errors import WorkloadError
from .ranges import OVERHEAD, annotate
from .record import note
from .steps import add_plan_options, parse_plan, run_for_average
from .torch_device import add_device_option, choose_device, describe, wait_for


def launch_tiny_kernels(values: Tensor, kernels: int) -> Tensor:
    """Add 1 and halve, repeatedly, one kernel each; return `values`, changed in place."""
    for number in range(kernels):
        if number % 2:
            values.mul_(0.5)
        else:
            values.add_(1.0)
    return values


def compute_expected(start: float, kernels: int) -> float:
    """Return the result of `launch_tiny_kernels` for one number."""
    for number in range(kernels):
        start = start * 0.5 if number % 2 else start + 1
    return start


def make_step(mode: str, values: Tensor, kernels: int) -> Callable[[], None]:
    """Return the step of a mode: `kernels` kernels on `values`."""

    def launch_one_by_one() -> None:
        with annotate("launch_tiny_kernels"):
            launch_tiny_kernels(values, kernels)
        with annotate("wait_for_kernels", OVERHEAD):
            wait_for(values.device)

    if mode == "tiny":
        return launch_one_by_one
    if values.device.type != "cuda":
        raise WorkloadError("CUDA graphs need a GPU: run with --mode tiny.")
    graph, _ = capture_graph(lambda: launch_tiny_kernels(values, kernels))

    def replay() -> None:
        with annotate("replay_graph"):
            graph.replay()
        with annotate("wait_for_kernels", OVERHEAD):
            wait_for(values.device)

    return replay


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this workload."""
    add_device_option(parser)
    parser.add_argument("--mode", choices=("tiny", "graph"), default="tiny", help="default: tiny")
    parser.add_argument("--kernels", type=int, default=500, help="kernels per step (default: 500)")
    parser.add_argument("--elements", type=int, default=1024, help="elements per kernel (default: 1024)")
    add_plan_options(parser, warmup=2, steps=6)


def run(options: argparse.Namespace) -> Iterator[str]:
    """Run the steps, then check the result of a last one on zeros."""
    if min(options.kernels, options.elements) < 1:
        raise WorkloadError("--kernels and --elements must be at least 1.")
    device, plan = choose_device(options.device), parse_plan(options)
    values = torch.zeros(options.elements, device=device)
    step = make_step(options.mode, values, options.kernels)
    note(
        precision="fp32",
        shapes={"values": [options.elements]},
        kernels_per_step=options.kernels,
        flops_per_step=options.kernels * options.elements,
    )
    yield f"launches {options.mode}, {describe(device)}: {options.kernels} kernels on {options.elements} numbers"
    seconds = run_for_average(step, plan, device)
    values.zero_()
    step()
    if abs(float(values.mean()) - compute_expected(0.0, options.kernels)) > 1e-4:
        raise WorkloadError("launches computed something wrong.")
    yield f"{plan.steps} steps, average {seconds * 1e3:.3f} ms"
