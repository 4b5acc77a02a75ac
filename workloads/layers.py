"""The training loop that `workloads.faults` puts faults into: layers with NVTX ranges around their work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from torch import Tensor, nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def open_nvtx_range(name: str) -> AbstractContextManager[None]:
    """Return an NVTX range; without a GPU, where PyTorch has no NVTX, a context that does nothing."""
    return _push_nvtx_range(name) if DEVICE.type == "cuda" else nullcontext()


@contextmanager
def _push_nvtx_range(name: str) -> Iterator[None]:
    torch.cuda.nvtx.range_push(name)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        torch.cuda.nvtx.range_pop()  # type: ignore[no-untyped-call]


def make_layers(width: int, count: int, dtype: torch.dtype = torch.bfloat16) -> nn.Sequential:
    """Make square layers with GELU between them, on the GPU if there is one."""
    modules = [module for _ in range(count) for module in (nn.Linear(width, width), nn.GELU())]
    return nn.Sequential(*modules).to(DEVICE, dtype)


class Training:
    """Layers that learn to reproduce their input."""

    def __init__(self, width: int = 2048, count: int = 12, batch: int = 4096, *, fused: bool = True) -> None:
        self.network = make_layers(width, count)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=1e-4, fused=fused, foreach=False)
        self.inputs = torch.randn(batch, width, device=DEVICE, dtype=torch.bfloat16)

    def step(self, inputs: Tensor | None = None) -> Tensor:
        """Train once and return the loss without reading it."""
        batch = self.inputs if inputs is None else inputs
        with open_nvtx_range("forward"):
            loss = nn.functional.mse_loss(self.network(batch), batch)
        with open_nvtx_range("backward"):
            self.optimizer.zero_grad()
            torch.autograd.backward(loss)
        with open_nvtx_range("optimizer"):
            self.optimizer.step()
        return loss.detach()
