"""Trainings on two GPUs as banks and publishers write them, one GPU for each rank, to judge the rules: written by
somebody who knew the labels of the faults and had read no rule.
"""

from __future__ import annotations

import zlib
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from bench.fault_programs.courses import pin
from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program
from bench.fault_programs.models import UNet
from bench.fault_programs.services import iterate_without_ranges
from bench.fault_programs.training import learn


@program("uneven_batches")
def press_archive(loop: Loop, mended: bool) -> None:
    """Give each rank eight pages of a newspaper of its own, one with three times as many pictures; mended, of both."""
    side, rank, ranks = 256 // SMALL, dist.get_rank(), dist.get_world_size()
    pictures = [9 if at % 2 == 0 else 3 for at in range(ranks)]  # on a page of each newspaper
    papers = range(ranks) if mended else [rank] * ranks
    own = sum(8 // ranks * pictures[paper] for paper in papers)
    inner: Any = UNet(4, tuple(one // SMALL for one in (64, 128, 256, 512))).to(DEVICE)
    network = DistributedDataParallel(inner.to(memory_format=torch.channels_last))
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)
    scans = torch.rand(2, own, 3, side, side, device=DEVICE)
    parts = torch.randint(4, (own, side, side), device=DEVICE)
    for number in iterate_without_ranges(loop):
        batch = scans[number % 2].contiguous(memory_format=torch.channels_last)
        with torch.autocast(DEVICE.type, torch.bfloat16):
            scores = network(batch)
        learn(optimizer, functional.cross_entropy(scores.float(), parts))


class Residual(nn.Module):
    """Two layers around which the input goes."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        return torch.add(x, self.inner(x))


@program("reduced_at_the_end")
def bond_prices(loop: Loop, mended: bool) -> None:
    """Give DistributedDataParallel one bucket for all gradients, for fewer messages; mended, many, as by default."""
    width = 2048 // SMALL
    inner = nn.Sequential(*(Residual(width) for _ in range(16))).to(DEVICE)
    network = DistributedDataParallel(inner, bucket_cap_mb=25 if mended else 8192, gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3, fused=ON_GPU)
    quotes, prices = (torch.randn(2048 // SMALL, width, device=DEVICE) for _ in range(2))
    loop.name = "quotes {}"
    for _ in loop:
        with annotate("forward"), torch.autocast(DEVICE.type, torch.bfloat16):
            loss = functional.huber_loss(network(quotes).float(), prices)
        with annotate("backward"):
            torch.autograd.backward(loss)
        with annotate("update"):
            optimizer.step()
            optimizer.zero_grad()


@program("late_rank")
def paper_checks(loop: Loop, mended: bool) -> None:
    """Unpack the scans of both on the first rank, which sends them around; mended, each unpacks its own, ahead."""
    size, high, wide, rank, ranks = 64 // SMALL, 256 // SMALL, 512 // SMALL, dist.get_rank(), dist.get_world_size()
    random = np.random.default_rng(82)
    files = [zlib.compress(random.poisson(2.0, (high, wide)).astype(np.uint8).tobytes()) for _ in range(32)]
    layers, given = list[nn.Module](), 1
    for made in (one // SMALL for one in (96, 192, 384)):
        layers += [nn.Conv2d(given, made, 3, 2, 1), nn.SiLU(), nn.Conv2d(made, made, 3, padding=1), nn.SiLU()]
        given = made
    inner: Any = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(given, 10)).to(DEVICE)
    network = DistributedDataParallel(inner.to(memory_format=torch.channels_last))
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=ON_GPU)
    whole = torch.empty(ranks, size, 1, high, wide, device=DEVICE, dtype=torch.uint8)
    amounts = torch.randint(10, (size,), device=DEVICE)

    def unpack(first: int, count: int) -> Tensor:
        scans = b"".join(zlib.decompress(files[at % 32]) for at in range(first, first + count))
        return pin(torch.frombuffer(bytearray(scans), dtype=torch.uint8).view(-1, size, 1, high, wide))

    with ThreadPoolExecutor(4) as pool:
        waiting = deque(pool.submit(unpack, at + rank, size) for at in range(3 if mended else 0))
        loop.name = "checks {}"
        for number in loop:
            with annotate("unpack"):
                if mended:
                    waiting.append(pool.submit(unpack, number + 3 + rank, size))
                    scans = waiting.popleft().result().to(DEVICE, non_blocking=True)[0]
                else:
                    if rank == 0:
                        whole.copy_(unpack(number, ranks * size), non_blocking=True)
                    dist.broadcast(whole, 0)
                    scans = whole[rank]
            with annotate("read_amounts"):
                with torch.autocast(DEVICE.type, torch.bfloat16):
                    scores = network((scans / 8.0).contiguous(memory_format=torch.channels_last))
                learn(optimizer, functional.cross_entropy(scores.float(), amounts))
