"""A training and a service on two GPUs as laboratories write them, one GPU for each rank, to judge the rules: written
by somebody who knew the labels of the faults and had read no rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program
from bench.fault_programs.services import iterate_without_ranges
from bench.fault_programs.training import learn


class Roads(nn.Module):
    """A graph network over crossings, each with four neighbors."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(layers))
        self.head = nn.Linear(width, 1)

    def forward(self, crossings: Tensor, neighbors: Tensor) -> Tensor:
        x = crossings
        for layer in self.layers:
            near = x.index_select(0, neighbors.flatten()).view(len(x), 4, -1).mean(1)
            x = x + functional.silu(layer(torch.cat((x, near), 1)))
        made: Tensor = self.head(x)
        return made


@program("uneven_batches")
def city_traffic(loop: Loop, mended: bool) -> None:
    """Split cities that are sorted by their size into a half for each rank; mended, deal them out in turns."""
    width, rank, ranks = 256 // SMALL, dist.get_rank(), dist.get_world_size()
    torch.backends.cuda.matmul.allow_tf32 = True
    network = DistributedDataParallel(Roads(width, 6).to(DEVICE))
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=ON_GPU)
    cities = np.linspace(2000, 18_000, 32).astype(int) // SMALL
    own = (cities[rank::ranks] if mended else np.array_split(cities, ranks)[rank]).tolist()
    starts = np.cumsum([0, *own]).tolist()
    neighbors = torch.cat([
        start + torch.randint(count, (count, 4)) for start, count in zip(starts, own, strict=False)
    ]).to(DEVICE)  # fmt: skip
    crossings, speeds = (torch.randn(starts[-1], wide, device=DEVICE) for wide in (width, 1))
    for _ in iterate_without_ranges(loop):
        learn(optimizer, functional.smooth_l1_loss(network(crossings, neighbors), speeds))


@program("communication_on_compute_stream")
def shared_translator(loop: Loop, mended: bool) -> None:
    """Gather the weights of each layer from all ranks when it is their turn; mended, during the layer before."""
    layers, width, ranks = 24, 8192 // SMALL, dist.get_world_size()
    kind = torch.bfloat16 if ON_GPU else torch.float32
    shards = torch.randn(layers, width // ranks, width, device=DEVICE, dtype=kind) * 0.01
    whole = torch.empty(2, width, width, device=DEVICE, dtype=kind)
    texts = torch.randn(2048 // SMALL, width, device=DEVICE, dtype=kind)

    def gather(layer: int) -> Any:
        if layer == layers:
            return None
        return dist.all_gather_into_tensor(  # type: ignore[deprecated]
            whole[layer % 2], shards[layer], async_op=mended
        )

    loop.name = "sentences {}"
    with torch.inference_mode():
        for _ in loop:
            for _ in range(2):
                x, work = texts, gather(0)
                for layer in range(layers):
                    with annotate("layer"):
                        if work is not None:
                            work.wait()
                        if mended:
                            work = gather(layer + 1)
                        x = functional.rms_norm(x + functional.gelu(x @ whole[layer % 2]), (width,))
                        if not mended:
                            work = gather(layer + 1)
