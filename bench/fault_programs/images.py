"""Networks for images, of Hugging Face's transformers and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset

from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program


def make_residual_network(depths: list[int], sizes: list[int]) -> Any:
    """Return a ResNet of bottlenecks, with 100 classes."""
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(depths=depths, hidden_sizes=sizes, embedding_size=64, num_labels=100)
    return ResNetForImageClassification(config).to(DEVICE)


@program("loss_read_each_step")
def resnet(loop: Loop, mended: bool) -> None:
    """Read loss and accuracy after each batch for a running average, which a few Python lines then update."""
    network = make_residual_network([2, 2, 2, 2], [256, 512, 1024, 2048]).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(128 // SMALL, 3, 192, 192, device=DEVICE).to(memory_format=torch.channels_last)
    labels = torch.randint(100, (len(images),), device=DEVICE)
    history: list[Any] = []
    loop.name = "batch {}"
    for _ in loop:
        with annotate("fwd"), torch.autocast(DEVICE.type, torch.bfloat16):
            logits = network(images).logits
            loss = functional.cross_entropy(logits, labels)
        with annotate("bwd"):
            optimizer.zero_grad()
            torch.autograd.backward(loss)
        with annotate("sgd"):
            optimizer.step()
        with annotate("meters"):
            hits = (logits.argmax(1) == labels).float().mean()
            history.append((loss.detach(), hits) if mended else (loss.item(), hits.item()))
            sum(number * number for number in range(120_000))


class Block(nn.Module):
    """Two convolutions with group norm and a skip connection."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(
                part
                for _ in range(2)
                for part in (nn.GroupNorm(8, channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1))
            )
        )

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.layers(x)
        return x + made


@program("checkpointing_without_need")
def diffusion(loop: Loop, mended: bool) -> None:
    """Recompute each block of a diffusion model in backward although its activations would fit."""
    blocks = nn.ModuleList(Block(128) for _ in range(10)).to(DEVICE, torch.bfloat16)
    optimizer = torch.optim.Adam(blocks.parameters(), lr=1e-4, fused=ON_GPU)
    noisy = torch.randn(32 // SMALL, 128, 128, 128, device=DEVICE, dtype=torch.bfloat16)
    loop.name = "diffusion_step_{}"
    for _ in loop:
        with annotate("predict_noise"):
            x = noisy
            for block in blocks:
                x = block(x) if mended else checkpoint(block, x, use_reentrant=False)
        with annotate("gradients"):
            optimizer.zero_grad()
            torch.autograd.backward((x - noisy).float().pow(2).mean())
        with annotate("adam"):
            optimizer.step()


@program("single_precision")
def segmenter(loop: Loop, mended: bool) -> None:
    """Convolve in FP32 on CUDA cores."""
    torch.backends.cudnn.allow_tf32 = mended
    torch.backends.cuda.matmul.allow_tf32 = mended
    torch.backends.cudnn.benchmark = True
    layers = [
        part
        for given, made in ((32, 128), *((128, 128),) * 6, (128, 32))
        for part in (nn.Conv2d(given, made, 3, padding=1), nn.ReLU(inplace=True))
    ]
    network = nn.Sequential(*layers).to(DEVICE)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    slices = torch.randn(16 // SMALL, 32, 160, 160, device=DEVICE)
    loop.name = "slice {}"
    for _ in loop:
        with annotate("encode_decode"):
            loss = functional.l1_loss(network(slices), slices)
        with annotate("backprop"):
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()


class Photos(Dataset[tuple[Tensor, int]]):
    """Photos that are cropped, mirrored, and get another brightness on the CPU."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.photos = np.random.default_rng(7).integers(0, 255, (64, 256, 256, 3), dtype=np.uint8)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        random = np.random.default_rng(index)
        x, y = random.integers(0, 32, 2)
        photo: NDArray[Any] = self.photos[index % 64, x : x + 224, y : y + 224].astype(np.float32) / 255
        photo = np.clip((photo - photo.mean((0, 1))) / photo.std((0, 1)) * random.uniform(0.8, 1.2), -3, 3)
        return torch.from_numpy(photo[:, ::-1].transpose(2, 0, 1).astype(np.float32)), index % 100


@program("input_made_between_steps")
def vit(loop: Loop, mended: bool) -> None:
    """Decode and augment photos in the process that trains; mended, in 12 workers with pinned memory."""
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(hidden_size=384, num_hidden_layers=8, num_attention_heads=6, intermediate_size=1536)
    network = ViTForImageClassification(config).to(DEVICE, torch.bfloat16)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)
    size = 48 // (1 if ON_GPU else 12)
    photos = Photos((loop.total + 1) * size)
    workers = 12 if mended and ON_GPU else 0
    loader = DataLoader(
        photos, size, num_workers=workers, pin_memory=bool(workers), prefetch_factor=4 if workers else None
    )
    batches = iter(loader)
    loop.name = "train_batch_{}"
    for _ in loop:
        with annotate("load"):
            pixels, _ = next(batches)
            pixels = pixels.to(DEVICE, torch.bfloat16, non_blocking=True)
        with annotate("train"):
            loss = network(pixels).logits.float().square().mean()
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()


@program("pageable_batches")
def spectrograms(loop: Loop, mended: bool) -> None:
    """Send waveforms of a batch to the GPU from memory that is not pinned."""
    layers = [part for given in (1, 64, 128) for part in (nn.Conv1d(given, 128 if given > 1 else 64, 9, 4), nn.ReLU())]
    network = nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(128, 30)).to(DEVICE)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    clips = [torch.randn(128 // SMALL, 1, 160_000) for _ in range(3)]
    if mended and ON_GPU:
        clips = [one.pin_memory() for one in clips]
    loop.name = "utterances {}"
    for number in loop:
        with annotate("upload_audio"):
            batch = clips[number % 3].to(DEVICE, non_blocking=True)
        with annotate("learn"), torch.autocast(DEVICE.type, torch.bfloat16):
            loss = network(batch).square().mean()
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()


@program("gradients_zeroed")
def gan(loop: Loop, mended: bool) -> None:
    """Fill gradients with zeros before each backward pass of a generator and a critic of large layers."""
    maker = nn.Sequential(nn.Linear(512, 6144), nn.LeakyReLU(0.2), nn.Linear(6144, 12_288)).to(DEVICE)
    critic = nn.Sequential(nn.Linear(12_288, 4096), nn.LeakyReLU(0.2), nn.Linear(4096, 1)).to(DEVICE)
    torch.backends.cuda.matmul.allow_tf32 = True
    optimizers = [torch.optim.SGD(one.parameters(), lr=1e-4) for one in (maker, critic)]
    seeds, real = torch.randn(64, 512, device=DEVICE), torch.randn(64, 12_288, device=DEVICE)
    loop.name = "round-{}"
    for _ in loop:
        for optimizer in optimizers:
            with annotate("clear"):
                optimizer.zero_grad(set_to_none=mended)
            fake = maker(seeds)
            loss = critic(fake).mean() - (critic(real).mean() if optimizer is optimizers[1] else 0)
            torch.autograd.backward(loss, inputs=list(optimizer.param_groups[0]["params"]))
            optimizer.step()
