"""Named ranges around phases of a program: NVTX where the `nvtx` package is installed, nothing where it is not.

Names go to NVTX's default domain, so a profiler shows `forward` and not `some_domain:forward`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Protocol

# Colours of the range bars, 0xAARRGGBB, by what the time is spent on.
COMPUTE = 0xFF00A000  # green: work on the GPU
TRANSFER = 0xFFE0C000  # yellow: copies between host and device
OVERHEAD = 0xFFD00000  # red: time a measurement should leave out
STRUCTURE = 0xFF808080  # grey: a step or a layer, only there to group


class RangeSink(Protocol):
    """Where ranges go. Ranges of a thread nest, so a pop always ends the innermost one."""

    def push(self, name: str, colour: int) -> None:
        """Open a range on the calling thread."""

    def pop(self) -> None:
        """End the innermost range of the calling thread."""


class NoSink:
    """Drops every range."""

    def push(self, name: str, colour: int) -> None:
        """Do nothing."""

    def pop(self) -> None:
        """Do nothing."""


class NvtxSink:
    """Passes every range on to a profiler, through the `nvtx` package."""

    def __init__(self, nvtx: ModuleType) -> None:
        self._nvtx = nvtx

    def push(self, name: str, colour: int) -> None:
        """Open an NVTX range in the default domain."""
        self._nvtx.push_range(name, color=colour)

    def pop(self) -> None:
        """End the innermost NVTX range of the default domain."""
        self._nvtx.pop_range()


def default_sink() -> RangeSink:
    """Return NVTX where it is installed: a workload runs without it, and shows no ranges."""
    try:
        return NvtxSink(importlib.import_module("nvtx"))
    except ModuleNotFoundError:
        return NoSink()


_nvtx_or_nothing = default_sink()
_sink: ContextVar[RangeSink] = ContextVar("range sink", default=_nvtx_or_nothing)


@contextmanager
def annotate(name: str, colour: int = COMPUTE) -> Iterator[None]:
    """Put a range called `name` around the body; it ends when the body raises, too."""
    sink = _sink.get()
    sink.push(name, colour)
    try:
        yield
    finally:
        sink.pop()


@contextmanager
def send_to(sink: RangeSink) -> Iterator[None]:
    """Send the ranges that this thread opens in the body to `sink` instead of NVTX."""
    token = _sink.set(sink)
    try:
        yield
    finally:
        _sink.reset(token)
