"""Layers that learn, and ranges around what they do: the loop that `workloads.faults` puts faults into."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


@contextmanager
def named(name: str) -> Iterator[None]:
    """A range of NVTX."""
    torch.cuda.nvtx.range_push(name)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        torch.cuda.nvtx.range_pop()  # type: ignore[no-untyped-call]


def layers(width: int, count: int, dtype: torch.dtype = torch.bfloat16) -> nn.Sequential:
    """Square layers with GELU between them."""
    parts = [part for _ in range(count) for part in (nn.Linear(width, width), nn.GELU())]
    return nn.Sequential(*parts).to("cuda", dtype)


class Training:
    """Layers that learn to give back their input."""

    def __init__(self, width: int = 2048, count: int = 12, batch: int = 4096, *, fused: bool = True) -> None:
        self.network = layers(width, count)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=1e-4, fused=fused, foreach=False)
        self.inputs = torch.randn(batch, width, device="cuda", dtype=torch.bfloat16)

    def step(self, inputs: Tensor | None = None) -> Tensor:
        """Train once and return the loss, which nobody has read."""
        given = self.inputs if inputs is None else inputs
        with named("forward"):
            loss = nn.functional.mse_loss(self.network(given), given)
        with named("backward"):
            self.optimizer.zero_grad()
            torch.autograd.backward(loss)
        with named("optimizer"):
            self.optimizer.step()
        return loss.detach()
