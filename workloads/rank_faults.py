"""`torchrun --nproc-per-node 2 -m workloads.rank_faults NAME [--mended]`: several GPUs, with one fault or without it.

As in `workloads.faults`, `--mended` is the smallest change that removes the fault, `step_N` is a range around each
timed step, and rank 0 ends with one line of JSON. Without a GPU the ranks use the CPU, which only tests that the
program runs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from .layers import DEVICE, make_layers, open_nvtx_range

WARMUP = 3
Step = Callable[[int], None]
Build = Callable[[bool], Step]
FAULTS: dict[str, Build] = {}
"""Functions that build the step of each fault; the argument tells whether the fault is mended."""
GPU = DEVICE.type == "cuda"
SMALLER = 1 if GPU else 64
"""Divisor of sizes: on the CPU the programs only have to run."""


def fault(build: Build) -> Build:
    """Register a fault under the name of its function."""
    FAULTS[build.__name__] = build
    return build


def make_rows(count: int, width: int) -> Tensor:
    """Make a batch of `count` rows."""
    return torch.randn(count // SMALLER, width // SMALLER, device=DEVICE, dtype=torch.bfloat16)


def make_adam(network: nn.Module) -> torch.optim.Optimizer:
    """Make the optimizer of a network, in one kernel on a GPU."""
    return torch.optim.AdamW(network.parameters(), fused=GPU)


def train(network: nn.Module, optimizer: torch.optim.Optimizer, inputs: Tensor) -> None:
    """Train once to reproduce the inputs."""
    with open_nvtx_range("forward"):
        loss = nn.functional.mse_loss(network(inputs), inputs)
    with open_nvtx_range("backward"):
        optimizer.zero_grad()
        torch.autograd.backward(loss)
    with open_nvtx_range("optimizer"):
        optimizer.step()


@fault
def small_buckets(mended: bool) -> Step:
    """Reduce gradients in buckets of 0.1 MB instead of 25 MB."""
    network = DistributedDataParallel(make_layers(512 // SMALLER, 96), bucket_cap_mb=25 if mended else 0.1)
    optimizer, inputs = make_adam(network), make_rows(2048, 512)
    return lambda _: train(network, optimizer, inputs)


@fault
def unused_parameters_searched(mended: bool) -> Step:
    """Look for unused parameters in each step, although all of them are used."""
    network = DistributedDataParallel(make_layers(256 // SMALLER, 200), find_unused_parameters=not mended)
    optimizer, inputs = make_adam(network), make_rows(1024, 256)
    return lambda _: train(network, optimizer, inputs)


@fault
def uneven_batches(mended: bool) -> Step:
    """Shard a model (FSDP) over ranks of which the last one has twice as many rows as the first."""
    from torch.distributed.fsdp import fully_shard

    network = make_layers(4096 // SMALLER, 8)
    for part in network:
        if isinstance(part, nn.Linear):
            fully_shard(part)
    fully_shard(network)
    optimizer = torch.optim.AdamW(network.parameters(), fused=GPU)
    inputs = make_rows(12_288 if mended else 8192 * (1 + dist.get_rank()), 4096)
    return lambda _: train(network, optimizer, inputs)


@fault
def one_microbatch(mended: bool) -> Step:
    """Send the batch of a pipeline of two stages as one microbatch; mended, as eight."""
    stage, rank, count = make_layers(4096 // SMALLER, 6), dist.get_rank(), 8 if mended else 1
    pieces = make_rows(16_384, 4096).chunk(count)

    def forward(piece: Tensor) -> tuple[Tensor, Tensor]:
        if rank == 0:
            out = stage(piece)
            dist.send(out.detach(), 1)
            return piece, out
        given = torch.empty_like(piece)
        dist.recv(given, 0)
        return given, stage(given.requires_grad_())

    def backward(given: Tensor, out: Tensor) -> None:
        if rank == 0:
            gradient = torch.empty_like(out)
            dist.recv(gradient, 1)
            out.backward(gradient)  # type: ignore[no-untyped-call]
            return
        out.float().square().mean().backward()  # type: ignore[no-untyped-call]
        assert given.grad is not None
        dist.send(given.grad, 0)

    def step(_: int) -> None:
        passed = []
        for piece in pieces:
            with open_nvtx_range("forward_microbatch"):
                passed.append(forward(piece))
        for given, out in passed:
            with open_nvtx_range("backward_microbatch"):
                backward(given, out)
        stage.zero_grad()

    return step


@fault
def late_rank(mended: bool) -> Step:
    """Make the batches of the last rank on the CPU, so that the others wait for it in each all-reduce."""
    network = DistributedDataParallel(make_layers(2048 // SMALLER, 8))
    optimizer, inputs = make_adam(network), make_rows(4096, 2048)

    def step(_: int) -> None:
        if not mended and dist.get_rank() == dist.get_world_size() - 1:
            with open_nvtx_range("augment"):
                sum(((index * 7919) % 10007) / 10007 for index in range(60_000 // SMALLER))
        train(network, optimizer, inputs)

    return step


@fault
def reduced_at_the_end(mended: bool) -> Step:
    """Reduce each gradient by itself after backward, instead of while it runs."""
    inner = make_layers(4096 // SMALLER, 8)
    network: nn.Module = DistributedDataParallel(inner) if mended else inner
    optimizer, inputs = make_adam(network), make_rows(4096, 4096)

    def step(_: int) -> None:
        with open_nvtx_range("forward"):
            loss = nn.functional.mse_loss(network(inputs), inputs)
        with open_nvtx_range("backward"):
            optimizer.zero_grad()
            torch.autograd.backward(loss)
        if not mended:
            with open_nvtx_range("reduce"):
                for one in network.parameters():
                    assert one.grad is not None
                    dist.all_reduce(one.grad)
        with open_nvtx_range("optimizer"):
            optimizer.step()

    return step


@fault
def activations_through_host(mended: bool) -> Step:
    """Pass a tensor to the next GPU through host memory instead of from GPU to GPU; rank 0 drives both."""
    other = torch.device("cuda", 1) if GPU else DEVICE
    first, second, inputs = (
        make_layers(4096 // SMALLER, 4),
        make_layers(4096 // SMALLER, 4).to(other),
        make_rows(8192, 4096),
    )

    def step(_: int) -> None:
        if dist.get_rank():
            return
        with torch.no_grad():
            middle = first(inputs)
            with open_nvtx_range("hand_over"):
                middle = middle.to(other) if mended else middle.cpu().to(other)
            second(middle)

    return step


def finish() -> None:
    """Wait until all ranks have done all their work."""
    if GPU:
        torch.cuda.synchronize()
    dist.barrier()


def run(name: str, steps: int, *, mended: bool) -> int:
    """Run the steps of a fault and return the nanoseconds of those after the warm-up."""
    step = FAULTS[name](mended)
    for number in range(WARMUP):
        with open_nvtx_range("warmup"):
            step(number)
    finish()
    began = time.perf_counter_ns()
    for number in range(steps):
        with open_nvtx_range(f"step_{number}"):
            step(number)
    finish()
    return time.perf_counter_ns() - began


def main(words: Sequence[str] | None = None) -> int:
    """Run one fault as a rank; rank 0 prints its duration."""
    parser = argparse.ArgumentParser(prog="torchrun -m workloads.rank_faults", description=__doc__)
    parser.add_argument("name", nargs="?", choices=sorted(FAULTS))
    parser.add_argument("--mended", action="store_true")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args(words)
    if options.list or not options.name:
        print("\n".join(f"{name}: {build.__doc__}" for name, build in FAULTS.items()))
        return 0
    if GPU:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if GPU else "gloo")
    try:
        ns = run(options.name, options.steps, mended=options.mended)
        if dist.get_rank() == 0:
            print(json.dumps({"fault": options.name, "mended": options.mended, "steps": options.steps, "ns": ns}))
    finally:
        dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
