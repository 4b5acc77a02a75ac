"""Programs captured to judge the rules, by somebody who knew the names of the rules and none of their thresholds."""

from __future__ import annotations

import time
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, cuda_runtime, program
from bench.fault_programs.mixed import make_layers
from bench.fault_programs.training import learn


def iterate_without_ranges(loop: Loop) -> Iterator[int]:
    """Yield the steps without ranges around them, which most programs do not have."""
    for number in range(loop.total):
        if number == loop.warmup:
            loop.barrier()
            if ON_GPU:
                cuda_runtime().cudaProfilerStart()
                loop.barrier()
            loop.began = time.perf_counter_ns()
        yield number
    loop.barrier()
    loop.ns = time.perf_counter_ns() - loop.began
    if ON_GPU:
        cuda_runtime().cudaProfilerStop()


@program("layout_conversions")
def wide_resnet(loop: Loop, mended: bool) -> None:
    """Convolve in BF16 over images in NCHW, which cuDNN converts for each convolution; mended, channels last."""
    from torchvision.models import wide_resnet50_2

    layout = torch.channels_last if mended else torch.contiguous_format
    network = wide_resnet50_2(num_classes=104).to(DEVICE).to(memory_format=layout)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9, foreach=True)
    images = torch.randn(64 // SMALL, 3, 224, 224, device=DEVICE).to(memory_format=layout)
    labels = torch.randint(104, (len(images),), device=DEVICE)
    loop.name = "epoch 3 it {}"
    for _ in loop:
        with annotate("forward"), torch.autocast(DEVICE.type, torch.bfloat16):
            loss = functional.cross_entropy(network(images), labels)
        with annotate("backward+sgd"):
            learn(optimizer, loss)


@program("loop_over_samples")
def speaker_embedding(loop: Loop, mended: bool) -> None:
    """Find the hardest triplet of each utterance in a Python loop over them; mended, in one batch of operations."""
    wide = 512 // SMALL
    parts = [(nn.Conv1d(wide, wide, 3, dilation=one), nn.ReLU()) for one in (1, 2, 3)]
    network = nn.Sequential(
        nn.Conv1d(80, wide, 5), nn.ReLU(), *(part for both in parts for part in both),
        nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(wide, 256),
    ).to(DEVICE)  # fmt: skip
    optimizer = torch.optim.AdamW(network.parameters(), fused=ON_GPU)
    sounds = torch.randn(192 // SMALL, 80, 300, device=DEVICE)
    speakers = torch.arange(len(sounds), device=DEVICE) // 4

    def hardest(distances: Tensor, same: Tensor) -> Tensor:
        positive = distances.masked_fill(~same, 0.0).amax(-1)
        negative = distances.masked_fill(same, 1e4).amin(-1)
        return functional.relu(positive - negative + 0.2)

    loop.name = "minibatch {}"
    for _ in loop:
        made = functional.normalize(network(sounds))
        with annotate("triplet_loss"):
            if mended:
                losses = hardest(2.0 - 2.0 * made @ made.T, speakers[:, None] == speakers)
            else:
                losses = torch.stack([
                    hardest(2.0 - 2.0 * made @ made[at], speakers == speakers[at]) for at in range(len(made))
                ])  # fmt: skip
        learn(optimizer, losses.mean())


@program("dense_embedding_gradients")
def recommender(loop: Loop, mended: bool) -> None:
    """Make gradients for all 16 million rows of a table and update them all; mended, for the rows of the batch."""
    rows, batch = 16_000_000 // SMALL, 32_768 // SMALL
    torch.backends.cuda.matmul.allow_tf32 = True
    bag = nn.EmbeddingBag(rows, 64, mode="sum", sparse=mended, device=DEVICE)
    deep = nn.Sequential(nn.Linear(64, 1024).to(DEVICE), *make_layers(1024, 4), nn.Linear(1024, 8).to(DEVICE))
    optimizer = torch.optim.SGD([*bag.parameters(), *deep.parameters()], lr=1e-3, foreach=True)
    visits = torch.randint(rows, (4, batch, 26), device=DEVICE)
    for number in iterate_without_ranges(loop):
        learn(optimizer, deep(bag(visits[number % 4])).square().mean())
