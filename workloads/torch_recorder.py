"""Record a trace of the PyTorch profiler, with the program's ranges as annotations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity


class TorchSink:
    """Passes every range on to the PyTorch profiler, which shows it as a user annotation."""

    def __init__(self) -> None:
        self._open: list[ExitStack] = []

    def push(self, name: str, color: int) -> None:  # noqa: ARG002 - PyTorch's annotations have no color
        """Open an annotation."""
        stack = ExitStack()
        stack.enter_context(torch.profiler.record_function(name))
        self._open.append(stack)

    def pop(self) -> None:
        """End the innermost annotation."""
        self._open.pop().close()

    def mark(self, name: str, color: int) -> None:
        """Leave an annotation of zero length."""
        self.push(name, color)
        self.pop()


@contextmanager
def record_trace(path: Path, extras: dict[str, Any]) -> Iterator[None]:
    """Trace the body and write it to `path`, a Chrome trace that is compressed if its name ends in .gz.

    Shapes are recorded unless `extras`, further arguments of torch.profiler.profile, say otherwise.
    """
    activities = [ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(ProfilerActivity.CUDA)
    profiler = torch.profiler.profile(activities=activities, **({"record_shapes": True} | extras))
    try:
        with profiler:
            yield
    finally:  # a program may end by raising SystemExit
        path.parent.mkdir(parents=True, exist_ok=True)
        profiler.export_chrome_trace(str(path))
