"""Trainings and services on two GPUs as courses and repositories have them, one GPU for each rank, to judge the rules:
written by somebody who knew the labels of the faults and had read no rule.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program
from bench.fault_programs.ranks import make_encoder, make_texts
from bench.fault_programs.services import iterate_without_ranges


@program("activations_through_host")
def split_reranker(loop: Loop, mended: bool) -> None:
    """Pass activations from the first GPU to the second through the host, by Gloo; mended, directly, by NCCL."""
    encoder, texts = make_encoder(8), make_texts(16, 1024)
    group = None if mended else dist.new_group(backend="gloo")
    place = DEVICE if mended else torch.device("cpu")
    given = torch.zeros(texts.shape, dtype=texts.dtype, device=place)
    rank = dist.get_rank()
    loop.name = "rerank {}"
    with torch.no_grad():
        for _ in loop:
            for _ in range(3):
                if rank == 0:
                    with annotate("first_half"):
                        made = encoder(texts)
                    with annotate("hand_over"):
                        dist.send(made.to(place).contiguous(), 1, group=group)
                else:
                    with annotate("hand_over"):
                        dist.recv(given, 0, group=group)
                    with annotate("second_half"):
                        encoder(given.to(DEVICE)).mean((1, 2))


@program("reduced_at_the_end")
def claims_model(loop: Loop, mended: bool) -> None:
    """Average all gradients as one vector when the backward pass is over; mended, by DistributedDataParallel."""
    width, ranks = 8192 // SMALL, dist.get_world_size()
    torch.manual_seed(7)  # without DistributedDataParallel, nobody else gives the ranks the same weights
    with DEVICE:
        inner = nn.Sequential(*(part for _ in range(6) for part in (nn.Linear(width, width), nn.ReLU())))
    weights: list[Tensor] = list(inner.parameters())
    network: nn.Module = DistributedDataParallel(inner, gradient_as_bucket_view=True) if mended else inner
    optimizer = torch.optim.SGD(weights, lr=1e-3, fused=ON_GPU)
    claims = torch.randn(2048 // SMALL, width, device=DEVICE)

    def average() -> None:
        gradients = [one.grad for one in weights if one.grad is not None]
        together = torch.cat([one.flatten() for one in gradients])
        dist.all_reduce(together)
        parts = torch.split(together.div_(ranks), [one.numel() for one in gradients])
        torch._foreach_copy_(gradients, [part.view_as(one) for part, one in zip(parts, gradients, strict=True)])

    for _ in iterate_without_ranges(loop):
        optimizer.zero_grad()
        with torch.autocast(DEVICE.type, torch.bfloat16):
            made = network(claims)
        torch.autograd.backward(functional.mse_loss(made.float(), claims))
        if not mended:
            average()
        optimizer.step()
