"""Capture work in a CUDA graph, so that one launch starts all of its kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .ranges import NoSink, send_to


def capture_graph(work: Callable[[], Tensor], rehearsals: int = 3) -> tuple[Any, Tensor]:
    """Return a torch.cuda.CUDAGraph of `work` and the tensor that holds its result after each replay.

    `work` must launch the same kernels on the same memory every time and read nothing back. It runs `rehearsals` times
    first, on its own stream as PyTorch requires, so that libraries and optimizer are initialized. None of this shows as
    ranges.
    """
    with send_to(NoSink()):
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call, unused-ignore]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(rehearsals):
                work()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = work()
    return graph, result
