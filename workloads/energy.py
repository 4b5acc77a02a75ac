"""The workload `energy`: the same samples through the same layers, in batches of several sizes, and the cost of each.

A layer is one matrix product with a large weight: in small batches the GPU spends its time reading weights, in large
ones computing. A step sends all samples through once, batch by batch; steps repeat for --seconds, because power is
measured some ten times a second.

Ranges: `batch_N` holds `step_K`, and each of those one matrix product a layer and batch. `warmup` comes first.

Leaves NAME.energy.csv (batch, samples, seconds, joules, joules_per_sample) and NAME.nvml.csv beside the report. Joules
are those of all GPUs that NVML shows, idle power included; empty without a GPU.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from warpdeck.profiling.power_log import write_csv

from .errors import WorkloadError
from .monitor import GPUMonitor
from .ranges import OVERHEAD, STRUCTURE, annotate
from .record import make_path, note
from .torch_device import add_device_option, capture_window, choose_device, describe, wait_for

HEADER = ("batch", "samples", "seconds", "joules", "joules_per_sample")


@dataclass(frozen=True)
class Measured:
    """Measurements of one batch size."""

    batch: int
    samples: int
    seconds: float
    joules: float | None

    @property
    def joules_per_sample(self) -> float | None:
        """Energy of a sample; None without a GPU."""
        return None if self.joules is None else self.joules / self.samples

    def make_row(self) -> tuple[float | None, ...]:
        """Return the values of HEADER."""
        return self.batch, self.samples, self.seconds, self.joules, self.joules_per_sample


class Layers:
    """Square weights, and samples on the device."""

    def __init__(self, width: int, layers: int, samples: int, device: torch.device) -> None:
        precision = torch.bfloat16 if device.type == "cuda" else torch.float32
        draw = partial(torch.randn, device=device, dtype=precision)
        self.weights: list[Tensor] = [draw(width, width) / width**0.5 for _ in range(layers)]
        self.samples: Tensor = draw(samples, width)

    def step(self, batch: int) -> Tensor:
        """Send all samples through in batches and return the last batch."""
        hidden = self.samples[:batch]
        for first in range(0, len(self.samples), batch):
            hidden = self.samples[first : first + batch]
            for weight in self.weights:
                hidden = hidden @ weight
        return hidden


def measure(layers: Layers, batch: int, least_seconds: float, monitor: GPUMonitor) -> Measured:
    """Repeat steps for at least `least_seconds` and return the measurements."""
    device = layers.samples.device
    before, started, steps = monitor.joules_now(), time.perf_counter(), 0
    with annotate(f"batch_{batch}", STRUCTURE):
        while not steps or time.perf_counter() - started < least_seconds:
            with annotate(f"step_{steps}"):
                layers.step(batch)
                wait_for(device)
            steps += 1
    seconds, after = time.perf_counter() - started, monitor.joules_now()
    joules = None if before is None or after is None else after - before
    return Measured(batch, steps * len(layers.samples), seconds, joules)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this workload."""
    add_device_option(parser)
    parser.add_argument(
        "--batches", metavar="N,...", help="batch sizes (default: 1,8,64,512 on cuda, 1,8,64 on the CPU)"
    )
    parser.add_argument("--samples", type=int, help="samples per step (default: 512 on cuda, 64 on the CPU)")
    parser.add_argument("--width", type=int, help="width of a layer (default: 32768 on cuda, 128 on the CPU)")
    parser.add_argument("--layers", type=int, default=2, help="number of layers (default: 2)")
    parser.add_argument("--seconds", type=float, help="seconds per batch size (default: 1.5 on cuda, 0.05 on the CPU)")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Measure each batch size and report the cost of a sample."""
    device = choose_device(options.device)
    on_gpu = device.type == "cuda"
    samples, width = options.samples or (512 if on_gpu else 64), options.width or (32768 if on_gpu else 128)
    least_seconds = options.seconds or (1.5 if on_gpu else 0.05)
    batches = parse_batches(options.batches or ("1,8,64,512" if on_gpu else "1,8,64"), samples)
    torch.manual_seed(0)
    layers = Layers(width, options.layers, samples, device)
    precision = "bf16" if on_gpu else "fp32"
    note(
        precision=precision,
        shapes={"samples": [samples, width], "weight": [width, width], "layers": options.layers, "batches": batches},
        flops_per_step=2 * samples * width**2 * options.layers,
        items_per_step={"samples": samples},
    )
    yield f"energy, {precision}, {describe(device)}: {samples} samples, {options.layers} layers of {width}"
    for batch in batches:
        layers.step(batch)  # loads the kernels of each shape
    log = make_path("")
    with GPUMonitor(log) as monitor, capture_window(device):
        with annotate("warmup", OVERHEAD):
            layers.step(max(batches))
            wait_for(device)
        measured = [measure(layers, batch, least_seconds, monitor) for batch in batches]
    if log:
        write_csv(log.with_name(log.name + ".energy.csv"), HEADER, [one.make_row() for one in measured])
    for one in measured:
        energy = "unknown" if one.joules_per_sample is None else f"{one.joules_per_sample * 1e3:.3f} mJ"
        yield f"batch {one.batch}: {one.seconds / one.samples * 1e6:.2f} µs and {energy} a sample"


def parse_batches(batches: str, samples: int) -> list[int]:
    """Return the sizes of `--batches`, in the order given."""
    words = batches.split(",")
    if not all(part.isdecimal() and 0 < int(part) <= samples for part in words):
        raise WorkloadError(
            f"--batches must be numbers from 1 to {samples} (--samples) with commas between, and {batches!r} is not."
        )
    return list(dict.fromkeys(int(part) for part in words))
