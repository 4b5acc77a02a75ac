"""Trainings on two GPUs as hospitals and insurers write them, one GPU for each rank, to judge the rules: written by
somebody who knew the labels of the faults and had read no rule.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program
from bench.fault_programs.models import GPT, Block
from bench.fault_programs.services import iterate_without_ranges
from bench.fault_programs.training import learn


@program("late_rank")
def distilled_claims(loop: Loop, mended: bool) -> None:
    """Let the teacher on the first rank score the texts of both, while the other waits; mended, each has a teacher."""
    words, length, size = 4096 // SMALL, 512 // SMALL, 32 // (1 if ON_GPU else 16)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    teacher = GPT(12, 1024 // SMALL, 16, length, words).to(DEVICE, torch.bfloat16).eval()
    student = DistributedDataParallel(GPT(4, 512 // SMALL, 8, length, words).to(DEVICE))
    optimizer = torch.optim.AdamW(student.parameters(), lr=3e-4, fused=ON_GPU)
    torch.manual_seed(76)
    texts = torch.randint(words, (4, ranks, size, length), device=DEVICE)

    @torch.no_grad()
    def ask(batch: Tensor) -> Tensor:
        if mended:
            made: Tensor = teacher(batch[rank])
            return made
        own = torch.empty(size, length, words, device=DEVICE, dtype=torch.bfloat16)
        dist.scatter(own, [teacher(part) for part in batch] if rank == 0 else None, src=0)
        return own

    loop.name = "claims {}"
    for number in loop:
        batch = texts[number % 4]
        with annotate("teacher"):
            hints = ask(batch)
        with annotate("student"):
            with torch.autocast(DEVICE.type, torch.bfloat16):
                scores = student(batch[rank])
            chances, wanted = (functional.log_softmax(one.float(), -1).flatten(0, 1) for one in (scores, hints))
            learn(optimizer, functional.kl_div(chances, wanted, reduction="batchmean", log_target=True))


class Pairs(nn.Module):
    """Encoders of pictures, by their features, and of reports, by their words, into one space."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.words, self.blocks = nn.Embedding(8192, width), nn.Sequential(*(Block(width, 8) for _ in range(4)))
        self.look = nn.Sequential(nn.Linear(2048, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, pictures: Tensor, reports: Tensor) -> tuple[Tensor, Tensor]:
        read = self.blocks(self.words(reports)).mean(1)
        return functional.normalize(self.look(pictures).float()), functional.normalize(read.float())


@program("activations_through_host")
def pictures_and_reports(loop: Loop, mended: bool) -> None:
    """Gather the embeddings of all ranks by all_gather_object, which pickles them; mended, as tensors on the GPUs."""
    width, size, rank, ranks = 512 // SMALL, 4096 // SMALL, dist.get_rank(), dist.get_world_size()
    network = DistributedDataParallel(Pairs(width).to(DEVICE))
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)
    torch.backends.cuda.matmul.allow_tf32 = True
    pictures = torch.randn(size, 2048, device=DEVICE)
    reports = torch.randint(8192, (size, 24), device=DEVICE)
    places = torch.arange(size, device=DEVICE) + rank * size

    def gather(own: Tensor) -> Tensor:
        if not mended:
            parts: list[Any] = [None] * ranks
            dist.all_gather_object(parts, own.cpu())
            return torch.cat(parts).to(DEVICE)
        whole = own.new_empty(ranks * size, width)
        dist.all_gather_into_tensor(whole, own)  # type: ignore[deprecated]
        return whole

    for _ in iterate_without_ranges(loop):
        with torch.autocast(DEVICE.type, torch.bfloat16):
            seen, read = network(pictures, reports)
        all_seen, all_read = gather(seen.detach()), gather(read.detach())
        one = functional.cross_entropy(20.0 * seen @ all_read.T, places)
        other = functional.cross_entropy(20.0 * read @ all_seen.T, places)
        learn(optimizer, one + other)
