"""Networks, an optimizer and datasets that the programs of ``workshop``, ``practice``, ``guides`` and ``labs`` run."""

from __future__ import annotations

import itertools
import json
import math
import socket
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import Dataset


class Muon(torch.optim.Optimizer):
    """Muon, whose updates are orthogonal; it takes matrices of one shape together, or each alone."""

    def __init__(self, matrices: list[nn.Parameter], rate: float, *, together: bool) -> None:
        super().__init__(matrices, {"lr": rate})
        self.matrices, self.rate = matrices, rate
        self.averages = [torch.zeros_like(one) for one in matrices]
        keys = [tuple(one.shape) if together else at for at, one in enumerate(matrices)]
        self.groups = [[at for at, other in enumerate(keys) if other == key] for key in dict.fromkeys(keys)]

    @torch.no_grad()
    def step(self, _: Any = None) -> None:  # type: ignore[override]
        gradients = [torch.zeros_like(one) if one.grad is None else one.grad for one in self.matrices]
        torch._foreach_lerp_(self.averages, gradients, 0.05)
        for group in self.groups:
            changes = self.make_orthogonal(torch.stack([self.averages[at] for at in group])).float()
            for at, change in zip(group, changes.unbind(), strict=True):
                self.matrices[at].add_(change, alpha=-self.rate)

    @staticmethod
    def make_orthogonal(changes: Tensor) -> Tensor:
        """Return the nearest orthogonal matrices, nearly, by five iterations of Newton and Schulz."""
        tall = changes.shape[-2] > changes.shape[-1]
        x = (changes.mT if tall else changes).to(torch.bfloat16)
        x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
        for _ in range(5):
            square = x @ x.mT
            x = 3.4445 * x + (2.0315 * (square @ square) - 4.775 * square) @ x
        made: Tensor = x.mT if tall else x
        return made


def expand(distances: Tensor) -> Tensor:
    """Return how near each distance is to 128 radii, less the nearer it is to the cutoff."""
    radii = torch.linspace(0.0, 5.0, 128, device=distances.device)
    inside = 0.5 * (torch.cos(distances * (torch.pi / 5.0)) + 1.0) * (distances < 5.0)
    return torch.exp(-10.0 * (distances[:, None] - radii) ** 2) * inside[:, None]


class Interaction(nn.Module):
    """Messages between atoms, by a filter of their distance."""

    def __init__(self, width: int, basis: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.basis = basis
        self.filter = nn.Linear(128, width)
        self.out = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))

    def forward(self, atoms: Tensor, pairs: Tensor, distances: Tensor) -> Tensor:
        messages = atoms.index_select(0, pairs[0]) * self.filter(self.basis(distances))
        return torch.add(atoms, self.out(torch.zeros_like(atoms).index_add(0, pairs[1], messages)))


def measure_area(scores: Tensor, clicked: Tensor) -> Tensor:
    """Return the area under the curve of hits over false alarms."""
    hits = clicked[scores.float().argsort()]
    return (hits * (1.0 - hits).cumsum(0)).sum() / (hits.sum() * (1.0 - hits).sum())


class Windows(Dataset[Tensor]):
    """Windows of the signals of a machine, each normalized by itself."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.signals = np.random.default_rng(2).standard_normal((100_000, 32), dtype=np.float32)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Tensor:
        window: NDArray[Any] = self.signals[97 * index % 99_000 :][:512]
        return torch.from_numpy((window - window.mean(0)) / (window.std(0) + 1e-6))


class DiffusionBlock(nn.Module):
    """A block of a transformer whose norm the time of the diffusion scales and shifts."""

    def __init__(self, width: int, **looking: bool) -> None:
        super().__init__()
        self.looking = looking
        self.adapt, self.norm = nn.Linear(width, 2 * width), nn.LayerNorm(width)
        self.look = nn.MultiheadAttention(width, 12, batch_first=True)
        self.feed = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor, when: Tensor) -> Tensor:
        scale, shift = self.adapt(when)[:, None].chunk(2, -1)
        given = self.norm(x) * (1.0 + scale) + shift
        x = x + self.look(given, given, given, **self.looking)[0]
        return torch.add(x, self.feed(x))


class Sweeps(Dataset[tuple[Tensor, Tensor]]):
    """Sweeps of a lidar, each turned by NumPy and thinned out to a point for each voxel."""

    def __init__(self, count: int, points: int) -> None:
        self.count, self.points = count, points
        self.sweeps = 20.0 * np.random.default_rng(12).standard_normal((8, 2 * points, 3), dtype=np.float32)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        random = np.random.default_rng(index)
        angle = random.uniform(0.0, math.tau)
        cosine, sine = math.cos(angle), math.sin(angle)
        x, y, z = self.sweeps[index % 8].T
        turned: NDArray[Any] = np.stack((cosine * x - sine * y, sine * x + cosine * y, z), 1)
        east, north, up = np.floor(turned * 5.0).astype(np.int64).T
        _, first = np.unique((east * 4096 + north) * 4096 + up, return_index=True)
        chosen = random.choice(first, self.points)
        return torch.from_numpy(turned[chosen]), torch.tensor(index % 16)


def match(anchors: Any, boxes: Any, library: Any) -> Any:
    """Return which box overlaps each anchor most, or -1 if none by half; ``library`` is NumPy or PyTorch."""
    near = library.maximum(anchors[:, None, :2], boxes[:, :2])
    sides = (library.minimum(anchors[:, None, 2:], boxes[:, 2:]) - near).clip(0.0, None)
    both = sides[..., 0] * sides[..., 1]
    areas, others = ((one[:, 2] - one[:, 0]) * (one[:, 3] - one[:, 1]) for one in (anchors, boxes))
    overlaps = both / (areas[:, None] + others - both)
    return library.where(library.amax(overlaps, 1) > 0.5, overlaps.argmax(1), -1)


class Block(nn.Module):
    """A block of a transformer over tokens of one or several texts, of which a mask tells who sees whom."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.inward, self.outward = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        query, key, value = self.inward(self.norm(x)).view(*x.shape[:2], 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = x + self.outward(seen.transpose(1, 2).flatten(2))
        return torch.add(x, self.feed(x))


class DepthBlock(nn.Module):
    """A convolution, then layers over the channels of each pixel."""

    def __init__(self, width: int, layout: torch.memory_format) -> None:
        super().__init__()
        self.layout = layout
        self.look = nn.Conv2d(width, width, 3, padding=1)
        self.mix = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        made = self.mix(self.look(x).permute(0, 2, 3, 1).contiguous())
        return torch.add(x, made.permute(0, 3, 1, 2).contiguous(memory_format=self.layout))


class Tracker:
    """A service for metrics that acknowledges each record as late as one in another data center."""

    def __init__(self, seconds: float) -> None:
        self.here, there = socket.socketpair()
        threading.Thread(target=self.answer, args=(there, seconds), daemon=True).start()

    @staticmethod
    def answer(there: socket.socket, seconds: float) -> None:
        """Acknowledge records until the other side hangs up."""
        while there.recv(4096):
            time.sleep(seconds)
            there.sendall(b"ok")

    def post(self, record: dict[str, float]) -> None:
        """Send a record and wait until it has arrived."""
        self.here.sendall(json.dumps(record).encode())
        self.here.recv(16)


class CausalAttention(nn.Module):
    """Attention of each token to those before it, by the fused function or by products and a mask."""

    mask: Tensor

    def __init__(self, width: int, heads: int, length: int, *, fused: bool) -> None:
        super().__init__()
        self.heads, self.fused = heads, fused
        self.inward, self.outward = nn.Linear(width, 3 * width), nn.Linear(width, width)
        if not fused:
            self.register_buffer("mask", torch.tril(torch.ones(length, length)))

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        query, key, value = self.inward(x).view(len(x), length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if self.fused:
            seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            scores = (query @ key.transpose(-2, -1)) / math.sqrt(key.shape[-1])
            scores = scores.masked_fill(self.mask[:length, :length] == 0, float("-inf"))
            seen = functional.softmax(scores, -1) @ value
        made: Tensor = self.outward(seen.transpose(1, 2).flatten(2))
        return made


class GPTLayer(nn.Module):
    """A layer of GPT."""

    def __init__(self, width: int, heads: int, length: int, *, fused: bool) -> None:
        super().__init__()
        self.look_norm, self.feed_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.look = CausalAttention(width, heads, length, fused=fused)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.look(self.look_norm(x))
        return torch.add(x, self.feed(self.feed_norm(x)))


class GPT(nn.Module):
    """A small GPT, which returns the scores of the next tokens."""

    def __init__(self, layers: int, width: int, heads: int, length: int, words: int, *, fused: bool = True) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.Sequential(*(GPTLayer(width, heads, length, fused=fused) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        made: Tensor = self.head(self.norm(self.layers(x)))
        return made


class Flowers(Dataset[tuple[Tensor, int]]):
    """JPEG files, decoded and augmented as in torchvision's recipe for classification."""

    def __init__(self, count: int, side: int) -> None:
        from torchvision.io import encode_jpeg
        from torchvision.transforms import v2

        self.count = count
        coarse = 255.0 * torch.rand(32, 3, 12, 16)
        photos = functional.interpolate(coarse, size=(3 * side // 2, 2 * side), mode="bicubic").clamp(0.0, 255.0)
        self.files = [encode_jpeg(one, 90) for one in photos.to(torch.uint8)]
        self.augment = v2.Compose([
            v2.RandomResizedCrop(side, antialias=True), v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True), v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ])  # fmt: skip

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        from torchvision.io import decode_jpeg

        return self.augment(decode_jpeg(self.files[index % 32])), index % 102


class UNet(nn.Module):
    """The U-Net of its paper, with batch norms and fewer channels."""

    def __init__(self, classes: int, widths: tuple[int, ...]) -> None:
        super().__init__()

        def make_stage(given: int, made: int) -> nn.Sequential:
            pairs = ((given, made), (made, made))
            parts = [
                part
                for one, other in pairs
                for part in (nn.Conv2d(one, other, 3, padding=1, bias=False), nn.BatchNorm2d(other), nn.ReLU())
            ]
            return nn.Sequential(*parts)

        steps = list(itertools.pairwise(widths))
        self.first = make_stage(3, widths[0])
        self.down = nn.ModuleList(make_stage(one, other) for one, other in steps)
        self.grow = nn.ModuleList(nn.ConvTranspose2d(other, one, 2, 2) for one, other in reversed(steps))
        self.up = nn.ModuleList(make_stage(2 * one, one) for one, _ in reversed(steps))
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        skips = []
        x = self.first(x)
        for stage in self.down:
            skips.append(x)
            x = stage(functional.max_pool2d(x, 2))
        for grow, stage in zip(self.grow, self.up, strict=True):
            x = stage(torch.cat((skips.pop(), grow(x)), 1))
        made: Tensor = self.head(x)
        return made


class Stamps:
    """Pictures of single galaxies as an archive stores them: counts of three filters, big-endian and compressed."""

    def __init__(self, side: int) -> None:
        random = np.random.default_rng(61)
        down, right = np.indices((side, side)) - side / 2.0
        distance = np.hypot(down, right)
        self.side, self.files = side, []
        for _ in range(32):
            light = 4000.0 * np.exp(-distance / random.uniform(3.0, 12.0)) + 100.0
            self.files.append(zlib.compress(random.poisson(light, (3, side, side)).astype(">i2").tobytes()))

    def load(self, number: int) -> NDArray[Any]:
        """Unpack a stamp, stretch its faint parts, turn it by right angles and cut out its middle."""
        counts = np.frombuffer(zlib.decompress(self.files[number % 32]), ">i2").reshape(3, self.side, self.side)
        light = np.arcsinh(0.02 * (counts.astype(np.float32) - 100.0))
        rim = self.side // 8
        made: NDArray[Any] = np.rot90(light, number % 4, (1, 2))[:, rim:-rim, rim:-rim]
        return made


class Denoiser(nn.Module):
    """A U-Net that is told the time of the diffusion."""

    def __init__(self, widths: tuple[int, ...]) -> None:
        super().__init__()
        self.times, self.network = nn.Embedding(1000, 3), UNet(3, widths)

    def forward(self, noisy: Tensor, times: Tensor) -> Tensor:
        made: Tensor = self.network(noisy + self.times(times)[:, :, None, None])
        return made


class Upscaler(nn.Module):
    """Convolutions that double the sides of a picture."""

    def __init__(self, width: int) -> None:
        super().__init__()
        parts = [part for _ in range(12) for part in (nn.Conv2d(width, width, 3, padding=1), nn.LeakyReLU(0.2))]
        self.first, self.body = nn.Conv2d(3, width, 3, padding=1), nn.Sequential(*parts)
        self.last = nn.Sequential(nn.Conv2d(width, 12, 3, padding=1), nn.PixelShuffle(2))

    def forward(self, picture: Tensor) -> Tensor:
        x = self.first(picture)
        made: Tensor = self.last(x + self.body(x))
        return made


def sum_up(rewards: Any, lasts: Any, values: Any) -> list[Any]:
    """Return the advantages of the moves of a game, whose numbers may also be arrays of many games."""
    gain = later = 0.0
    made = []
    for reward, last, value in zip(reversed(rewards), reversed(lasts), reversed(values), strict=True):
        gain = reward + 0.99 * last * later - value + 0.94 * last * gain
        later = value
        made.append(gain)
    return made[::-1]
