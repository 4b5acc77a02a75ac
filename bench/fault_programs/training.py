"""Trainings of small networks of many kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program


def learn(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """Do the backward pass and the update of a step."""
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    optimizer.step()


@program("pageable_batches")
def wide_and_deep(loop: Loop, mended: bool) -> None:
    """Copy each batch of wide features from ordinary memory; mended, from pinned memory while the GPU works."""
    width = 512 // SMALL
    network = nn.Sequential(*(part for _ in range(8) for part in (nn.Linear(width, width), nn.ReLU()))).to(DEVICE)
    optimizer = torch.optim.Adam(network.parameters(), fused=ON_GPU)
    torch.backends.cuda.matmul.allow_tf32 = True
    batches = [torch.randn(32_768 // SMALL, width) for _ in range(4)]
    if mended and ON_GPU:
        batches = [one.pin_memory() for one in batches]
    loop.name = "clicks {}"
    for number in loop:
        batch = batches[number % 4].to(DEVICE, non_blocking=mended)
        learn(optimizer, functional.mse_loss(network(batch), batch))


@program("many_synchronizations")
def graph_network(loop: Loop, mended: bool) -> None:
    """Select the edges of each relation by a mask, whose size the CPU has to wait for; mended, by indices."""
    nodes, relations, width = 20_000 // SMALL, 40, 128
    edges = torch.randint(nodes, (2, 200_000 // SMALL), device=DEVICE)
    kinds = torch.randint(relations, (edges.shape[1],), device=DEVICE)
    weights = nn.ParameterList(torch.randn(width, width, device=DEVICE) * 0.05 for _ in range(relations))
    optimizer = torch.optim.SGD(weights.parameters(), lr=1e-3, foreach=True)
    start = torch.randn(nodes, width, device=DEVICE)
    chosen = [(kinds == kind).nonzero().squeeze(1) for kind in range(relations)]
    loop.name = "full batch {}"
    for _ in loop:
        made = torch.zeros_like(start)
        for kind, weight in enumerate(weights):
            with annotate("relation"):
                here = edges[:, chosen[kind] if mended else kinds == kind]
                made = made.index_add(0, here[1], start[here[0]] @ weight)
        learn(optimizer, made.square().mean())


@program("optimizer_per_parameter")
def unet(loop: Loop, mended: bool) -> None:
    """Update the many parameters of a U-Net one after the other; mended, fused."""
    channels = 64 // SMALL

    def stage() -> nn.Module:
        parts = [(nn.Conv2d(channels, channels, 3, padding=1), nn.GroupNorm(4, channels), nn.SiLU()) for _ in range(16)]
        return nn.Sequential(*(part for three in parts for part in three))

    network = nn.Sequential(stage(), nn.AvgPool2d(2), stage(), nn.Upsample(scale_factor=2), stage()).to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), foreach=False, fused=mended and ON_GPU)
    noise = torch.randn(8, channels, 64, 64, device=DEVICE)
    loop.name = "denoise {}"
    for _ in loop:
        with torch.autocast(DEVICE.type, torch.bfloat16):
            loss = functional.mse_loss(network(noise), noise)
        learn(optimizer, loss)


@program("single_precision")
def mixer(loop: Loop, mended: bool) -> None:
    """Train an MLP-Mixer in FP32; mended, its products run in TF32."""
    torch.backends.cuda.matmul.allow_tf32 = mended
    width, tokens = 768 // SMALL, 256 // SMALL
    mixing = nn.ModuleList(nn.Linear(tokens, tokens) for _ in range(8)).to(DEVICE)
    channels = nn.ModuleList(
        nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(8)
    ).to(DEVICE)
    both = nn.ModuleList([mixing, channels])
    optimizer = torch.optim.AdamW(both.parameters(), fused=ON_GPU)
    patches = torch.randn(64, tokens, width, device=DEVICE)
    loop.name = "images {}"
    for _ in loop:
        x = patches
        with annotate("mix"):
            for mix, channel in zip(mixing, channels, strict=True):
                x = x + mix(x.transpose(1, 2)).transpose(1, 2)
                x = x + channel(x)
        learn(optimizer, x.square().mean())


@program("input_made_between_steps")
def tagger(loop: Loop, mended: bool) -> None:
    """Make each batch of text features in NumPy before its step; mended, all of them before the first."""
    words, width, random = 20_000, 512 // SMALL, np.random.default_rng(3)

    def make() -> Tensor:
        counts = np.zeros((1024 // SMALL, words), np.float32)
        for row in counts:
            np.add.at(row, random.integers(words, size=400), 1.0)
        return torch.from_numpy(np.log1p(counts[:, : 16 * width]))

    network = nn.Sequential(
        nn.Linear(16 * width, width), *(part for _ in range(6) for part in (nn.Linear(width, width), nn.Tanh()))
    ).to(DEVICE)
    optimizer = torch.optim.Adam(network.parameters(), fused=ON_GPU)
    made = [make().to(DEVICE) for _ in range(4)] if mended else []
    loop.name = "sentences {}"
    for number in loop:
        batch = made[number % 4] if mended else make().to(DEVICE)
        learn(optimizer, network(batch).square().mean())


@program("checkpointing_without_need")
def adapters(loop: Loop, mended: bool) -> None:
    """Compute the activations of each layer again in the backward pass, although they fit."""
    width = 1024 // SMALL
    layers = nn.ModuleList(
        nn.TransformerEncoderLayer(width, 8, 4 * width, 0.0, batch_first=True, norm_first=True) for _ in range(8)
    ).to(DEVICE, torch.bfloat16)
    optimizer = torch.optim.SGD(layers.parameters(), lr=1e-4)
    texts = torch.randn(8, 1024 // SMALL, width, device=DEVICE, dtype=torch.bfloat16)
    loop.name = "tune {}"
    for _ in loop:
        x = texts
        for layer in layers:
            x = layer(x) if mended else checkpoint(layer, x, use_reentrant=False)
        learn(optimizer, x.float().square().mean())


@program("loss_read_each_step")
def detector(loop: Loop, mended: bool) -> None:
    """Log thirty losses of a step, each read from the GPU alone; mended, none of them."""
    width, heads = 256, 30
    trunk = nn.Sequential(*(part for _ in range(4) for part in (nn.Linear(width, width), nn.ReLU())))
    network = nn.ModuleDict({"trunk": trunk, "heads": nn.ModuleList(nn.Linear(width, width) for _ in range(heads))})
    network.to(DEVICE)
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3, foreach=True)
    boxes = torch.randn(16_384 // SMALL, width, device=DEVICE)
    log: list[float] = []
    loop.name = "frames {}"
    for _ in loop:
        features = trunk(boxes)
        total = torch.zeros((), device=DEVICE)
        for head in network["heads"]:  # type: ignore[attr-defined]
            loss = functional.smooth_l1_loss(head(features), boxes)
            total = total + loss
            if not mended:
                log.append(loss.item())
        learn(optimizer, total)


@program("unfused_elementwise")
def gated_autoencoder(loop: Loop, mended: bool) -> None:
    """Run the gates, norms and residuals of an autoencoder as kernels of their own; mended, compiled."""

    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.into, self.scale = nn.Linear(width, width), nn.Parameter(torch.ones(width))

        def forward(self, x: Tensor) -> Tensor:
            made: Tensor = self.into(x)
            gate = torch.sigmoid(made) * torch.tanh(made) + functional.softplus(made) * 0.1
            return x + self.scale * gate * torch.rsqrt(gate.square().mean(-1, keepdim=True) + 1e-6)

    width = 512 // SMALL
    network: Any = nn.Sequential(*(Block(width) for _ in range(6))).to(DEVICE, torch.bfloat16)
    optimizer = torch.optim.AdamW(network.parameters(), fused=ON_GPU)
    forward = torch.compile(network) if mended and ON_GPU else network
    signals = torch.randn(65_536 // SMALL, width, device=DEVICE, dtype=torch.bfloat16)
    loop.name = "signals {}"
    for _ in loop:
        learn(optimizer, functional.mse_loss(forward(signals), signals))
