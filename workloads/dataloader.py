"""The workload `dataloader`: training of an image classifier, with a loader that is in the way or not.

`--mode starved`: the main process prepares every image, in pageable memory, while the GPU waits. `--mode fixed`: worker
processes prepare batches ahead, in page-locked memory, and copies overlap.

Ranges (the steps in `warmup` look the same):

    warmup        step_N
                    next_batch
                      transform_image          (starved: one an image)
                    copy_to_device
                    forward_classifier
                    backward_classifier
                    update_classifier
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from .errors import WorkloadError
from .images import Classifier, Images
from .ranges import TRANSFER, annotate
from .record import note
from .steps import add_plan_options, count_flops, parse_plan, run_for_average
from .torch_device import add_device_option, choose_device, describe, wait_for


def make_loader(mode: str, images: Images, batch: int, workers: int, device: torch.device) -> DataLoader[Any]:
    """Return the loader of a mode: batches (images, classes)."""
    if mode == "starved":
        return DataLoader(images, batch_size=batch, num_workers=0)
    return DataLoader(
        images,
        batch_size=batch,
        num_workers=workers,
        prefetch_factor=4,
        persistent_workers=True,
        pin_memory=device.type == "cuda",
    )


class Training:
    """A classifier, its optimizer and its batches."""

    def __init__(self, batches: Iterator[list[Tensor]], width: int, device: torch.device) -> None:
        self.network = Classifier(width).to(device)
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.01, momentum=0.9)
        self.batches = batches
        self.device = device
        self.loss: Tensor | None = None

    def step(self) -> None:
        """Train on the next batch; the loss stays on the device."""
        with annotate("next_batch", TRANSFER):
            images, classes = next(self.batches)
        with annotate("copy_to_device", TRANSFER):
            images = images.to(self.device, non_blocking=True)
            classes = classes.to(self.device, non_blocking=True)
        with annotate("forward_classifier"):
            loss = nn.functional.cross_entropy(self.network(images), classes)
        with annotate("backward_classifier"):
            self.optimizer.zero_grad()
            torch.autograd.backward(loss)
        with annotate("update_classifier"):
            self.optimizer.step()
        self.loss = loss.detach()


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this workload."""
    workers = max(2, min(12, (os.cpu_count() or 2) - 2))
    add_device_option(parser)
    parser.add_argument("--mode", choices=("starved", "fixed"), default="starved", help="default: starved")
    parser.add_argument(
        "--workers", type=int, default=workers, help=f"loader processes of fixed (default here: {workers})"
    )
    parser.add_argument("--batch", type=int, help="images per batch (default: 64 on cuda, 8 on the CPU)")
    parser.add_argument("--pixels", type=int, help="width and height of an image (default: 128 on cuda, 16 on the CPU)")
    parser.add_argument("--width", type=int, help="channels of the first layer (default: 192 on cuda, 4 on the CPU)")
    add_plan_options(parser, warmup=2, steps=8)


def run(options: argparse.Namespace) -> Iterator[str]:
    """Run the steps and report their duration."""
    device, plan = choose_device(options.device), parse_plan(options)
    on_gpu = device.type == "cuda"
    batch, pixels = options.batch or (64 if on_gpu else 8), options.pixels or (128 if on_gpu else 16)
    width = options.width or (192 if on_gpu else 4)
    if options.workers < 1:
        raise WorkloadError("--workers must be at least 1.")
    torch.manual_seed(0)
    note(
        precision="fp32",
        shapes={"images": [batch, 3, pixels, pixels], "width": width},
        items_per_step={"images": batch},
        flops_per_step=count_flops(lambda: Classifier(width), (batch, 3, pixels, pixels), training=True),
    )
    yield f"dataloader {options.mode}, {describe(device)}: {batch} images of {pixels} x {pixels}"
    images = Images(batch * plan.iterations, pixels)
    batches = iter(make_loader(options.mode, images, batch, options.workers, device))
    training = Training(batches, width, device)
    seconds = run_for_average(training.step, plan, device)
    wait_for(device)
    loss = "" if training.loss is None else f", loss {float(training.loss):.4f}"
    yield f"{plan.steps} steps, average {seconds * 1e3:.2f} ms{loss}"
