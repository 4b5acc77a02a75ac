"""The workload `idle`: a training loop with bookkeeping on the host in every step.

`--mode host_bound` reads the loss with .item() in every step and does the bookkeeping while the GPU waits; `fixed`
leaves the losses on the GPU until the end, so that the host runs ahead and the GPU always has work.

Ranges (the steps in `warmup` look the same):

    warmup        step_N                                       read_all_losses (fixed, after the last step)
                    forward_mlp
                    backward_mlp
                    update_weights
                    read_loss_item (host_bound)
                    host_bookkeeping
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from .ranges import HOST, TRANSFER, annotate
from .record import note
from .steps import add_plan_options, count_flops, parse_plan, run_for_average
from .torch_device import add_device_option, choose_device, describe


def make_mlp(width: int, layers: int) -> nn.Sequential:
    """Return `layers` square layers of `width`, with ReLU between them."""
    modules: list[nn.Module] = []
    for _ in range(layers):
        modules += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*modules[:-1])


class Loop:
    """A network that learns to reproduce its input, and the losses so far."""

    def __init__(self, device: torch.device, width: int, layers: int, batch: int, reads_each: bool) -> None:
        self.network = make_mlp(width, layers).to(device)
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.1)
        self.inputs = torch.randn(batch, width, device=device)
        self.reads_each = reads_each
        self.losses: list[float] = []
        self.unread: list[Tensor] = []

    def step(self) -> None:
        """Train on the batch once and store the loss."""
        with annotate("forward_mlp"):
            loss = nn.functional.mse_loss(self.network(self.inputs), self.inputs)
        with annotate("backward_mlp"):
            self.optimizer.zero_grad()
            torch.autograd.backward(loss)
        with annotate("update_weights"):
            self.optimizer.step()
        if self.reads_each:
            with annotate("read_loss_item", TRANSFER):
                self.losses.append(loss.item())
        else:
            self.unread.append(loss.detach())
        with annotate("host_bookkeeping", HOST):
            keep_books()

    def read(self) -> list[float]:
        """Return all losses, copying those still on the GPU at once."""
        if self.unread:
            with annotate("read_all_losses", TRANSFER):
                self.losses += torch.stack(self.unread).tolist()
            self.unread = []
        return self.losses


def keep_books(numbers: int = 12_000) -> float:
    """Compute some statistics in plain Python between steps, about 2 ms."""
    history = [((index * 7919) % 10007) / 10007 for index in range(numbers)]
    return statistics.median(history) + max(history) - min(history)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this workload."""
    add_device_option(parser)
    parser.add_argument("--mode", choices=("host_bound", "fixed"), default="host_bound", help="default: host_bound")
    parser.add_argument("--width", type=int, help="width of a layer (default: 2048 on cuda, 64 on the CPU)")
    parser.add_argument("--layers", type=int, default=4, help="number of layers (default: 4)")
    parser.add_argument("--batch", type=int, help="samples per batch (default: 2048 on cuda, 32 on the CPU)")
    add_plan_options(parser, warmup=3, steps=20)


def run(options: argparse.Namespace) -> Iterator[str]:
    """Run the steps and report their duration and the loss."""
    device, plan = choose_device(options.device), parse_plan(options)
    on_gpu = device.type == "cuda"
    width, batch = options.width or (2048 if on_gpu else 64), options.batch or (2048 if on_gpu else 32)
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("highest")  # float32 stays float32, not TF32
    loop = Loop(device, width, options.layers, batch, reads_each=options.mode == "host_bound")
    note(
        precision="fp32",
        shapes={"inputs": [batch, width], "layer": [width, width], "layers": options.layers},
        flops_per_step=count_flops(lambda: make_mlp(width, options.layers), (batch, width), training=True),
    )
    yield f"idle {options.mode}, {describe(device)}: {options.layers} layers of {width}, batch {batch}"
    seconds = run_for_average(loop.step, plan, device, last=loop.read)
    losses = loop.read()
    learned = f", loss {losses[0]:.4f} to {losses[-1]:.4f}" if losses else ""
    yield f"{plan.steps} steps, average {seconds * 1e3:.3f} ms{learned}"
