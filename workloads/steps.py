"""Iterations of a workload: some before the capture window, a warm-up in it, and the measured steps."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from .errors import WorkloadError
from .ranges import OVERHEAD, STRUCTURE, NoSink, annotate, send_to
from .torch_device import capture_window, wait_for


@dataclass(frozen=True)
class Plan:
    """Numbers of iterations, and which of them a profiler sees."""

    prime: int
    """Before the capture window: initializes library handles and modules."""
    warmup: int
    """In the window, in the range `warmup`: recorded, but not to be measured."""
    steps: int
    """In the window, in `step_0`, `step_1`, ...: the measurement."""

    @property
    def iterations(self) -> int:
        """Return the number of all iterations."""
        return self.prime + self.warmup + self.steps


def add_plan_options(parser: argparse.ArgumentParser, prime: int = 1, warmup: int = 3, steps: int = 5) -> None:
    """Add --prime, --warmup and --steps with these defaults."""
    parser.add_argument(
        "--prime", type=int, default=prime, help=f"iterations before the capture window (default: {prime})"
    )
    parser.add_argument(
        "--warmup", type=int, default=warmup, help=f"iterations in the range `warmup` (default: {warmup})"
    )
    parser.add_argument("--steps", type=int, default=steps, help=f"measured steps (default: {steps})")


def parse_plan(options: argparse.Namespace) -> Plan:
    """Return the plan of the options."""
    if min(options.prime, options.warmup, options.steps) < 0:
        raise WorkloadError("--prime, --warmup and --steps cannot be negative.")
    return Plan(options.prime, options.warmup, options.steps)


def run_plan(step: Callable[[], object], plan: Plan, device: torch.device) -> list[float]:
    """Run the iterations of `plan` and return each measured step's seconds on the host.

    This includes all of the GPU's work if a step ends by reading a result back.
    """
    return _run_steps(step, plan, device)[0]


def run_for_average(
    step: Callable[[], object], plan: Plan, device: torch.device, last: Callable[[], object] | None = None
) -> float:
    """Run the iterations of `plan`, and `last` after them; return the average seconds of a step.

    The time includes all launched work, whether the steps waited for it or not.
    """
    return _run_steps(step, plan, device, last)[1] / max(plan.steps, 1)


def _run_steps(
    step: Callable[[], object], plan: Plan, device: torch.device, last: Callable[[], object] | None = None
) -> tuple[list[float], float]:
    for _ in range(plan.prime):
        step()
    with capture_window(device):
        if plan.warmup:
            with annotate("warmup", OVERHEAD):
                for _ in range(plan.warmup):
                    step()
                wait_for(device)
        started = time.perf_counter()
        seconds = [_time_step(step, f"step_{number}") for number in range(plan.steps)]
        if last:
            last()
        wait_for(device)
        return seconds, time.perf_counter() - started


def _time_step(step: Callable[[], object], name: str) -> float:
    started = time.perf_counter()
    with annotate(name, STRUCTURE):
        step()
    return time.perf_counter() - started


def count_flops(make_model: Callable[[], nn.Module], shape: Sequence[int], *, training: bool, integers: int = 0) -> int:
    """Count the floating-point operations of matrix products and convolutions in a step; a multiply-add is two.

    Nothing is computed: model and inputs have shapes and no data. `integers` > 0: inputs are numbers below it.
    """
    with torch.device("meta"):
        model = make_model()
        inputs = torch.zeros(tuple(shape), dtype=torch.int64) if integers else torch.empty(tuple(shape))
    counter = FlopCounterMode(display=False)
    with counter, send_to(NoSink()):
        if training:
            outputs: Tensor = model(inputs)
            torch.autograd.backward(outputs.sum())
        else:
            with torch.no_grad():
                model(inputs)
    return int(counter.get_total_flops())
