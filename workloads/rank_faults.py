"""`torchrun --nproc-per-node 2 -m workloads.rank_faults NAME [--mended]`: several GPUs, with one fault or without it.

As in `workloads.faults`, `--mended` is the smallest change that takes the fault out, `step_N` is a range around each
step that is timed, and rank 0 ends with one line of JSON. Without a GPU the ranks use the CPU, which shows nothing but
that the program runs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from workloads import layers as gpu

WARMUP = 3
Step = Callable[[int], None]
Build = Callable[[bool], Step]
FAULTS: dict[str, Build] = {}
"""What makes the step of each fault; its argument says whether the fault is mended."""
GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if GPU else "cpu")
SMALLER = 1 if GPU else 64
"""What sizes are divided by: on the CPU the programs only have to run."""


def fault(build: Build) -> Build:
    """Enter a fault under the name of its function."""
    FAULTS[build.__name__] = build
    return build


def named(name: str) -> AbstractContextManager[None]:
    """Return a range of NVTX, which needs a GPU."""
    return gpu.named(name) if GPU else nullcontext()


def layers(width: int, count: int) -> nn.Sequential:
    """Make square layers with GELU between them."""
    size = width // SMALLER
    parts = [part for _ in range(count) for part in (nn.Linear(size, size), nn.GELU())]
    return nn.Sequential(*parts).to(DEVICE, torch.bfloat16)


def rows(count: int, width: int) -> Tensor:
    """Make a batch of `count` rows."""
    return torch.randn(count // SMALLER, width // SMALLER, device=DEVICE, dtype=torch.bfloat16)


def adam(network: nn.Module) -> torch.optim.Optimizer:
    """Make the optimizer of a network, in one kernel on a GPU."""
    return torch.optim.AdamW(network.parameters(), fused=GPU)


def train(network: nn.Module, optimizer: torch.optim.Optimizer, inputs: Tensor) -> None:
    """Learn to give back the inputs."""
    with named("forward"):
        loss = nn.functional.mse_loss(network(inputs), inputs)
    with named("backward"):
        optimizer.zero_grad()
        torch.autograd.backward(loss)
    with named("optimizer"):
        optimizer.step()


@fault
def small_buckets(mended: bool) -> Step:
    """Reduce gradients in buckets of 0.1 MB instead of 25 MB."""
    network = DistributedDataParallel(layers(512, 96), bucket_cap_mb=25 if mended else 0.1)
    optimizer, inputs = adam(network), rows(2048, 512)
    return lambda _: train(network, optimizer, inputs)


@fault
def unused_parameters_searched(mended: bool) -> Step:
    """Look for unused parameters in each step, although all of them are used."""
    network = DistributedDataParallel(layers(256, 200), find_unused_parameters=not mended)
    optimizer, inputs = adam(network), rows(1024, 256)
    return lambda _: train(network, optimizer, inputs)


@fault
def uneven_batches(mended: bool) -> Step:
    """Shard a model (FSDP) over ranks of which the last one has twice as many rows as the first."""
    from torch.distributed.fsdp import fully_shard

    network = layers(4096, 8)
    for part in network:
        if isinstance(part, nn.Linear):
            fully_shard(part)
    fully_shard(network)
    optimizer = torch.optim.AdamW(network.parameters(), fused=GPU)
    inputs = rows(12_288 if mended else 8192 * (1 + dist.get_rank()), 4096)
    return lambda _: train(network, optimizer, inputs)


@fault
def one_microbatch(mended: bool) -> Step:
    """Send the batch of a pipeline of two stages as one microbatch; as eight, mended."""
    stage, rank, count = layers(4096, 6), dist.get_rank(), 8 if mended else 1
    pieces = rows(16_384, 4096).chunk(count)

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
            with named("forward_microbatch"):
                passed.append(forward(piece))
        for given, out in passed:
            with named("backward_microbatch"):
                backward(given, out)
        stage.zero_grad()

    return step


@fault
def late_rank(mended: bool) -> Step:
    """Have the last rank make its batches on the CPU, so that the others wait for it in each all-reduce."""
    network = DistributedDataParallel(layers(2048, 8))
    optimizer, inputs = adam(network), rows(4096, 2048)

    def step(_: int) -> None:
        if not mended and dist.get_rank() == dist.get_world_size() - 1:
            with named("augment"):
                sum(((index * 7919) % 10007) / 10007 for index in range(60_000 // SMALLER))
        train(network, optimizer, inputs)

    return step


@fault
def reduced_at_the_end(mended: bool) -> Step:
    """Reduce each gradient by itself after backward, instead of while it runs."""
    inner = layers(4096, 8)
    network: nn.Module = DistributedDataParallel(inner) if mended else inner
    optimizer, inputs = adam(network), rows(4096, 4096)

    def step(_: int) -> None:
        with named("forward"):
            loss = nn.functional.mse_loss(network(inputs), inputs)
        with named("backward"):
            optimizer.zero_grad()
            torch.autograd.backward(loss)
        if not mended:
            with named("reduce"):
                for one in network.parameters():
                    assert one.grad is not None
                    dist.all_reduce(one.grad)
        with named("optimizer"):
            optimizer.step()

    return step


@fault
def activations_through_host(mended: bool) -> Step:
    """Hand a tensor to the next GPU through the host's memory, instead of from GPU to GPU; rank 0 drives both."""
    there = torch.device("cuda", 1) if GPU else DEVICE
    first, second, inputs = layers(4096, 4), layers(4096, 4).to(there), rows(8192, 4096)

    def step(_: int) -> None:
        if dist.get_rank():
            return
        with torch.no_grad():
            middle = first(inputs)
            with named("hand_over"):
                middle = middle.to(there) if mended else middle.cpu().to(there)
            second(middle)

    return step


def finish() -> None:
    """Wait until all ranks have done all their work."""
    if GPU:
        torch.cuda.synchronize()
    dist.barrier()


def run(name: str, steps: int, *, mended: bool) -> int:
    """Run the steps of a fault; return the nanoseconds of those after the warm-up."""
    step = FAULTS[name](mended)
    for number in range(WARMUP):
        with named("warmup"):
            step(number)
    finish()
    began = time.perf_counter_ns()
    for number in range(steps):
        with named(f"step_{number}"):
            step(number)
    finish()
    return time.perf_counter_ns() - began


def main(words: Sequence[str] | None = None) -> int:
    """Run one fault as a rank; rank 0 says how long it took."""
    parser = argparse.ArgumentParser(prog="torchrun -m workloads.rank_faults", description=__doc__)
    parser.add_argument("name", nargs="?", choices=sorted(FAULTS))
    parser.add_argument("--mended", action="store_true")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args(words)
    if given.list or not given.name:
        print("\n".join(f"{name}: {build.__doc__}" for name, build in FAULTS.items()))
        return 0
    if GPU:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if GPU else "gloo")
    try:
        ns = run(given.name, given.steps, mended=given.mended)
        if dist.get_rank() == 0:
            print(json.dumps({"fault": given.name, "mended": given.mended, "steps": given.steps, "ns": ns}))
    finally:
        dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
