"""Trainings by DistributedDataParallel with faults that its guides warn of, one GPU for each rank, to judge the rules:
written by somebody who knew the labels of the faults and had read no rule.
"""

from __future__ import annotations

from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from bench.fault_programs.guides import score
from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program
from bench.fault_programs.models import GPT
from bench.fault_programs.services import iterate_without_ranges
from bench.fault_programs.training import learn


class Intents(nn.Module):
    """An encoder with the vocabulary of XLM-R and a head for the kinds of requests."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        layer = nn.TransformerEncoderLayer(width, 12, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.head = nn.Linear(width, 64)

    def forward(self, tokens: Tensor) -> Tensor:
        made: Tensor = self.head(self.encoder(self.words(tokens)).mean(1))
        return made


@program("reduced_in_each_microbatch")
def multilingual_intents(loop: Loop, mended: bool) -> None:
    """Reduce the gradients in each of eight backward passes of a step; mended, in the last one, after no_sync."""
    words, count = 250_002 // SMALL, 8
    with DEVICE:
        inner = Intents(words, 768 // SMALL)
    network = DistributedDataParallel(inner)
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-5, fused=ON_GPU)
    texts = torch.randint(words, (count, 32 // SMALL, 128), device=DEVICE)
    kinds = torch.randint(64, texts.shape[:2], device=DEVICE)
    for _ in iterate_without_ranges(loop):
        optimizer.zero_grad()
        for at in range(count):
            reduces = at + 1 == count or not mended
            with nullcontext() if reduces else network.no_sync():
                with torch.autocast(DEVICE.type, torch.bfloat16):
                    scores = network(texts[at])
                torch.autograd.backward(functional.cross_entropy(scores.float(), kinds[at]) / count)
        optimizer.step()


@program("late_rank")
def validated_by_first_rank(loop: Loop, mended: bool) -> None:
    """Validate on the first rank after each fourth step, while the others wait; mended, each validates a share."""
    length, words = 512 // SMALL, 8192 // SMALL
    inner = GPT(6, 768 // SMALL, 12, length, words).to(DEVICE)
    network = DistributedDataParallel(inner)
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-4, fused=ON_GPU)
    texts = torch.randint(words, (16, length + 1), device=DEVICE)
    held = torch.randint(words, (16, 16, length + 1), device=DEVICE)
    rank, ranks = dist.get_rank(), dist.get_world_size()

    @torch.no_grad()
    def validate() -> None:
        inner.eval()
        total = torch.zeros((), device=DEVICE)
        if mended or rank == 0:
            for batch in held[rank::ranks] if mended else held:
                total += score(inner, batch)
        if mended:
            dist.all_reduce(total)
        inner.train()
        dist.barrier()

    loop.name = "train step {}"
    for number in loop:
        with annotate("train"):
            learn(optimizer, score(network, texts))
        if number % 4 == 2:
            with annotate("validate"):
                validate()
