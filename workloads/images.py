"""Images that take the CPU a while to prepare, and a small network that classifies them."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import Dataset, get_worker_info

from .ranges import HOST, annotate

CLASSES = 10


class Images(Dataset[tuple[Tensor, int]]):
    """`count` noise images, generated and augmented on access, as a decoder would."""

    def __init__(self, count: int, pixels: int) -> None:
        """Make images (3, pixels, pixels) of float32."""
        self.count = count
        self.pixels = pixels

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        """Return an image and its class, the same for the same index."""
        if not 0 <= index < self.count:
            raise IndexError(index)
        if get_worker_info() is not None:  # in a worker process, which no profiler follows
            return prepare(index, self.pixels), index % CLASSES
        with annotate("transform_image", HOST):
            return prepare(index, self.pixels), index % CLASSES


def prepare(index: int, pixels: int) -> Tensor:
    """Draw an image at twice the size, then flip, shrink, blur and normalize it; its class shifts its brightness."""
    random = torch.Generator().manual_seed(index)
    image = torch.rand(1, 3, 2 * pixels, 2 * pixels, generator=random) + index % CLASSES / CLASSES
    if index % 2:
        image = image.flip(-1)
    image = functional.interpolate(image, size=(pixels, pixels), mode="bilinear", antialias=True)
    kernel = torch.tensor([1.0, 2.0, 1.0]).outer(torch.tensor([1.0, 2.0, 1.0])) / 16
    image = functional.conv2d(image, kernel.expand(3, 1, 3, 3), padding=1, groups=3)
    return ((image - 0.95) / 0.3).squeeze(0)


class Classifier(nn.Module):
    """Convolutions that halve the image four times, then the class."""

    def __init__(self, width: int) -> None:
        super().__init__()
        channels = [3, width, 2 * width, 4 * width, 8 * width]
        self.convolutions = nn.ModuleList(
            nn.Conv2d(before, after, 3, stride=2, padding=1) for before, after in pairwise(channels)
        )
        self.head = nn.Linear(channels[-1], CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        """Map (B, 3, H, W) to (B, CLASSES)."""
        hidden = images
        for convolution in self.convolutions:
            hidden = functional.relu(convolution(hidden))
        logits: Tensor = self.head(hidden.mean(dim=(2, 3)))
        return logits
