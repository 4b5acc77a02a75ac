"""Programs of several ranks, one GPU each; on a CPU they only run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program, wait

WIDTH = 1024 // SMALL


@contextmanager
def join_group() -> Iterator[None]:
    """Join the process group on this rank's GPU."""
    if ON_GPU:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if ON_GPU else "gloo")
    try:
        yield
    finally:
        dist.destroy_process_group()


def meet() -> None:
    """Wait until all ranks have done all work."""
    wait()
    dist.barrier()


def make_encoder(layers: int, width: int = WIDTH) -> nn.Module:
    """Return layers of a transformer."""
    layer = nn.TransformerEncoderLayer(width, 8, 4 * width, 0.0, batch_first=True)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).to(DEVICE, torch.bfloat16)


def make_texts(count: int, length: int, width: int = WIDTH) -> Tensor:
    """Return embedded texts of one length."""
    return torch.randn(count, length // SMALL, width, device=DEVICE, dtype=torch.bfloat16)


def learn(network: nn.Module, optimizer: torch.optim.Optimizer, batch: Tensor) -> None:
    """Do one step of a training."""
    with annotate("fwd"):
        loss = network(batch).float().square().mean()
    with annotate("bwd"):
        optimizer.zero_grad()
        torch.autograd.backward(loss)
    with annotate("opt"):
        optimizer.step()


@program("uneven_batches")
def long_texts(loop: Loop, mended: bool) -> None:
    """Give the last rank texts three times as long as the first; mended, both get the mean."""
    network = DistributedDataParallel(make_encoder(8))
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
    batch = make_texts(16, 1024 if mended else 512 * (1 + 2 * dist.get_rank()))
    loop.name = "global batch {}"
    for _ in loop:
        learn(network, optimizer, batch)


@program("small_buckets")
def thin_layers(loop: Loop, mended: bool) -> None:
    """Reduce the gradients of a deep network of thin layers in buckets of 64 KB."""
    parts = [part for _ in range(120) for part in (nn.Linear(640 // SMALL, 640 // SMALL), nn.SiLU())]
    inner = nn.Sequential(*parts).to(DEVICE)
    network = DistributedDataParallel(inner, bucket_cap_mb=25 if mended else 0.064)
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3, momentum=0.9)
    batch = torch.randn(1024, 640 // SMALL, device=DEVICE)
    loop.name = "sgd step {}"
    for _ in loop:
        learn(network, optimizer, batch)


@program("unused_parameters_searched")
def many_heads(loop: Loop, mended: bool) -> None:
    """Search for unused parameters of a model with many heads, all of which are used."""

    class Heads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk = nn.Linear(256, 256)
            self.heads = nn.ModuleList(nn.Sequential(nn.LayerNorm(256), nn.Linear(256, 8)) for _ in range(200))

        def forward(self, x: Tensor) -> Tensor:
            x = functional.relu(self.trunk(x))
            return torch.cat([head(x) for head in self.heads], 1)

    network = DistributedDataParallel(Heads().to(DEVICE), find_unused_parameters=not mended)
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3, foreach=True)
    batch = torch.randn(2048 // SMALL, 256, device=DEVICE)
    loop.name = "multitask {}"
    for _ in loop:
        learn(network, optimizer, batch)


@program("reduced_at_the_end")
def own_all_reduce(loop: Loop, mended: bool) -> None:
    """Reduce the gradients of each layer when backward is over; mended, while it goes on."""
    network = nn.Sequential(*(nn.Linear(3072 // SMALL, 3072 // SMALL) for _ in range(12))).to(DEVICE)
    torch.backends.cuda.matmul.allow_tf32 = True
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
    batch = torch.randn(6144 // SMALL, 3072 // SMALL, device=DEVICE)
    works: list[dist.Work] = []
    if mended:
        for one in network.parameters():
            one.register_post_accumulate_grad_hook(  # type: ignore[no-untyped-call]
                lambda one: works.append(dist.all_reduce(one.grad, async_op=True))
            )
    loop.name = "local update {}"
    for _ in loop:
        with annotate("loss"):
            loss = functional.mse_loss(network(batch), batch)
        with annotate("grads"):
            optimizer.zero_grad()
            torch.autograd.backward(loss)
        with annotate("average"):
            if not mended:
                for one in network.parameters():
                    dist.all_reduce(one.grad)
            for work in works:
                work.wait()
            works.clear()
        optimizer.step()


@program("communication_on_compute_stream")
def halves_of_layers(loop: Loop, mended: bool) -> None:
    """Sum up the halves of each layer of two microbatches on the stream that computes; mended, beside the other one."""
    width = 6144 // SMALL
    weights = [torch.randn(width, width, device=DEVICE, dtype=torch.bfloat16) * 0.01 for _ in range(8)]
    halves = [torch.randn(4096 // SMALL, width, device=DEVICE, dtype=torch.bfloat16) for _ in range(2)]
    loop.name = "forward pass {}"
    with torch.inference_mode():
        for _ in loop:
            passed = list(halves)
            works: list[dist.Work | None] = [None, None]
            for weight in weights:
                for half in (0, 1):
                    with annotate("row_parallel"):
                        if (work := works[half]) is not None:
                            work.wait()
                        passed[half] = functional.gelu(passed[half]) @ weight
                        works[half] = dist.all_reduce(passed[half], async_op=mended)
            for work in works:
                if work is not None:
                    work.wait()


@program("one_microbatch")
def gpipe(loop: Loop, mended: bool) -> None:
    """Run PyTorch's GPipe schedule with a single microbatch; mended, with eight."""
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    rank, count = dist.get_rank(), 8 if mended else 1
    batch = make_texts(16, 1024)
    stage = PipelineStage(make_encoder(4), rank, dist.get_world_size(), choose_own_device())
    schedule = ScheduleGPipe(stage, count, loss_fn=lambda made, wanted: (made - wanted).float().square().mean())
    optimizer = torch.optim.SGD(stage.submod.parameters(), lr=1e-3)
    loop.name = "minibatch {}"
    for _ in loop:
        with annotate("schedule"):
            optimizer.zero_grad()
            if rank == 0:
                schedule.step(batch)
            else:
                schedule.step(target=batch, losses=[])
        with annotate("weights"):
            optimizer.step()


def choose_own_device() -> torch.device:
    return torch.device("cuda", torch.cuda.current_device()) if ON_GPU else DEVICE


@program("late_rank")
def metrics_of_first_rank(loop: Loop, mended: bool) -> None:
    """Compute metrics in Python on the first rank after each step, while the others wait for it."""
    network = DistributedDataParallel(make_encoder(6))
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
    batch = make_texts(8, 512)
    loop.name = "train {}"
    for number in loop:
        learn(network, optimizer, batch)
        if not mended and dist.get_rank() == 0:
            with annotate("metrics"):
                sorted((index * 7 + number) % 1009 for index in range(150_000))


@program("uneven_batches")
def sharded_texts(loop: Loop, mended: bool) -> None:
    """Shard a network with FSDP2 and give the last rank texts twice as long; mended, both get the mean."""
    from torch.distributed.fsdp import fully_shard

    network = make_encoder(8)
    for layer in network.modules():
        if isinstance(layer, nn.TransformerEncoderLayer):
            fully_shard(layer)
    fully_shard(network)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4)
    last = dist.get_rank() == dist.get_world_size() - 1
    batch = make_texts(16, 768 if mended else 1024 if last else 512)
    loop.name = "sharded step {}"
    for _ in loop:
        learn(network, optimizer, batch)


@program("late_rank")
def columns_and_rows(loop: Loop, mended: bool) -> None:
    """Split layers over ranks by DTensor, while the first rank writes a report in Python in each step."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh(DEVICE.type, (dist.get_world_size(),))
    layers = [nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)) for _ in range(12)]
    network = nn.Sequential(*layers).to(DEVICE, torch.bfloat16)
    for layer in network:
        parallelize_module(layer, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-4)
    batch = make_texts(8, 1024)
    loop.name = "split step {}"
    for number in loop:
        learn(network, optimizer, batch)
        if not mended and dist.get_rank() == 0:
            with annotate("report"):
                sorted((index * 7 + number) % 1009 for index in range(100_000))
