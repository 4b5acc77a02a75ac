"""The workload `streams`: chunks of data travel to the GPU, are multiplied there, and travel back.

`--mode serial`: from pageable memory, one after the other on one stream. `--mode overlapped`: from page-locked memory,
each chunk on one of several streams, so that the copies of one run during the kernels of another.

Ranges (the steps in `warmup` look the same):

    warmup        step_N
                    chunk_I
                      upload_chunk, multiply_chunk, download_chunk
                    wait_for_chunks
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .errors import WorkloadError
from .ranges import OVERHEAD, STRUCTURE, TRANSFER, annotate
from .record import note
from .steps import add_plan_options, parse_plan, run_for_average
from .torch_device import add_device_option, choose_device, describe, wait_for


@dataclass(frozen=True)
class Shape:
    """Amount of work in a step."""

    chunks: int
    rows: int
    """Rows of a chunk: rows x width of float32."""
    width: int
    """The weight is width x width."""

    def count_flops(self) -> int:
        """Count the floating-point operations of a step; a multiply-add is two."""
        return 2 * self.chunks * self.rows * self.width**2


class Pipeline:
    """Chunks on the host, and memory for each of them on the device."""

    def __init__(self, shape: Shape, device: torch.device, streams: int) -> None:
        """Put the chunks on `streams` streams in turn, from page-locked memory; 0: on the current one, pageable."""
        pinned = streams > 0 and device.type == "cuda"
        count, size = shape.chunks, (shape.rows, shape.width)
        self.inputs = [torch.randn(size).pin_memory() if pinned else torch.randn(size) for _ in range(count)]
        self.outputs = [torch.empty(size, pin_memory=pinned) for _ in range(count)]
        self.on_device = [torch.empty(size, device=device) for _ in range(count)]
        self.products = [torch.empty(size, device=device) for _ in range(count)]
        self.weight = torch.randn(shape.width, shape.width, device=device) / shape.width**0.5
        self.device = device
        make_stream: Callable[[], Any] = torch.cuda.Stream
        self.streams = [make_stream() for _ in range(streams)] if pinned else []

    def step(self) -> None:
        """Send all chunks through."""
        for number in range(len(self.inputs)):
            with annotate(f"chunk_{number}", STRUCTURE), self.choose_stream(number):
                with annotate("upload_chunk", TRANSFER):
                    self.on_device[number].copy_(self.inputs[number], non_blocking=True)
                with annotate("multiply_chunk"):
                    torch.matmul(self.on_device[number], self.weight, out=self.products[number])
                with annotate("download_chunk", TRANSFER):
                    self.outputs[number].copy_(self.products[number], non_blocking=bool(self.streams))
        with annotate("wait_for_chunks", OVERHEAD):
            wait_for(self.device)

    def choose_stream(self, number: int) -> AbstractContextManager[object]:
        """Return the stream of a chunk as a context."""
        if not self.streams:
            return nullcontext()
        chosen: AbstractContextManager[object] = torch.cuda.stream(self.streams[number % len(self.streams)])
        return chosen

    def check(self) -> None:
        """Compare the last returned chunk with the product computed on the host."""
        expected: Tensor = self.inputs[-1].double() @ self.weight.cpu().double()
        error = float((self.outputs[-1].double() - expected).norm() / expected.norm())
        if not error < 1e-4:
            raise WorkloadError(f"streams computed something wrong: relative error {error:.1e}, at most 1e-4.")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this workload."""
    add_device_option(parser)
    parser.add_argument("--mode", choices=("serial", "overlapped"), default="serial", help="default: serial")
    parser.add_argument("--streams", type=int, default=4, help="streams of overlapped (default: 4)")
    parser.add_argument("--chunks", type=int, default=8, help="chunks per step (default: 8)")
    parser.add_argument("--rows", type=int, help="rows of a chunk (default: 2048 on cuda, 64 on the CPU)")
    parser.add_argument("--width", type=int, help="columns of a chunk (default: 4096 on cuda, 64 on the CPU)")
    add_plan_options(parser, warmup=2, steps=6)


def run(options: argparse.Namespace) -> Iterator[str]:
    """Run the steps and check the returned chunks."""
    device, plan = choose_device(options.device), parse_plan(options)
    on_gpu = device.type == "cuda"
    shape = Shape(options.chunks, options.rows or (2048 if on_gpu else 64), options.width or (4096 if on_gpu else 64))
    if options.chunks < 1 or options.streams < 1:
        raise WorkloadError("--chunks and --streams must be at least 1.")
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("highest")  # float32 stays float32, not TF32
    pipeline = Pipeline(shape, device, options.streams if options.mode == "overlapped" else 0)
    chunk_bytes = 4 * shape.rows * shape.width
    note(
        precision="fp32",
        shapes={"chunk": [shape.rows, shape.width], "weight": [shape.width, shape.width], "chunks": shape.chunks},
        flops_per_step=shape.count_flops(),
        copied_bytes_per_step=2 * shape.chunks * chunk_bytes,
    )
    yield f"streams {options.mode}, {describe(device)}: {shape.chunks} chunks of {chunk_bytes / 1e6:.1f} MB"
    seconds = run_for_average(pipeline.step, plan, device)
    if plan.iterations:
        pipeline.check()
    yield f"{plan.steps} steps, average {seconds * 1e3:.2f} ms"
