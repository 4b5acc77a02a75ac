"""Named ranges around phases of a program, by NVTX if the `nvtx` package is installed.

Names go to NVTX's default domain, so a profiler shows `forward` and not `some_domain:forward`. A stopwatch can time the
same ranges with Python's clock, for comparison with the profiler.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Protocol

# Colors of the range bars, 0xAARRGGBB, by the use of the time.
COMPUTE = 0xFF00A000  # green: work on the GPU
TRANSFER = 0xFFE0C000  # yellow: copies between host and device
OVERHEAD = 0xFFD00000  # red: time that a measurement should exclude
STRUCTURE = 0xFF808080  # gray: a step or a layer, for grouping only
HOST = 0xFF2060E0  # blue: work on the CPU
ALLOCATION = 0xFF00C0C0  # cyan: allocation of memory


class RangeSink(Protocol):
    """Receives ranges. Ranges of a thread nest, so a pop always ends the innermost one."""

    def push(self, name: str, color: int) -> None:
        """Open a range on the calling thread."""

    def pop(self) -> None:
        """End the innermost range of the calling thread."""

    def mark(self, name: str, color: int) -> None:
        """Mark this moment."""


class NoSink:
    """Drops every range."""

    def push(self, name: str, color: int) -> None: ...

    def pop(self) -> None: ...

    def mark(self, name: str, color: int) -> None: ...


class NvtxSink:
    """Passes every range on to a profiler, through the `nvtx` package."""

    def __init__(self, nvtx: ModuleType) -> None:
        self._nvtx = nvtx

    def push(self, name: str, color: int) -> None:
        """Open an NVTX range in the default domain."""
        self._nvtx.push_range(name, color=color)

    def pop(self) -> None:
        """End the innermost NVTX range of the default domain."""
        self._nvtx.pop_range()

    def mark(self, name: str, color: int) -> None:
        """Leave an NVTX mark. The package stores each name, so use few names."""
        self._nvtx.mark(name, color=color)


class Sinks:
    """Passes every range on to several places."""

    def __init__(self, sinks: Sequence[RangeSink]) -> None:
        self._sinks = sinks

    def push(self, name: str, color: int) -> None:
        """Open the range in each."""
        for sink in self._sinks:
            sink.push(name, color)

    def pop(self) -> None:
        """End the innermost range of each."""
        for sink in reversed(self._sinks):
            sink.pop()

    def mark(self, name: str, color: int) -> None:
        """Mark this moment in each."""
        for sink in self._sinks:
            sink.mark(name, color)


class Stopwatch:
    """Times ranges on the host: the duration of a launch, not of the GPU's work, unless the program waits for that."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, float]] = []
        """Label, step, seconds of each range, in the order of ending.

        The step is N in `step_N`, `warmup` in there, and empty elsewhere. The label is the path without the step, and
        the name of the step for the step itself.
        """
        self._open: list[tuple[str, float]] = []

    def start(self, name: str) -> None:
        """Begin the range `name` in the innermost open one."""
        self._open.append((name, time.perf_counter()))

    def stop(self) -> None:
        """End the innermost range."""
        seconds = time.perf_counter() - self._open[-1][1]
        path = [name for name, _ in self._open]
        self._open.pop()
        steps = [name for name in path if name.startswith("step_") or name == "warmup"]
        within = [name for name in path if name not in steps[:1]]
        step = steps[0].removeprefix("step_") if steps else ""
        self.rows.append(("/".join(within or path), step, seconds))


def choose_sink() -> RangeSink:
    """Return NVTX if it is installed; without it, a workload shows no ranges."""
    try:
        return NvtxSink(importlib.import_module("nvtx"))
    except ModuleNotFoundError:
        return NoSink()


_nvtx_or_nothing = choose_sink()
_sink: ContextVar[RangeSink] = ContextVar("range sink", default=_nvtx_or_nothing)
_stopwatch: ContextVar[Stopwatch | None] = ContextVar("stopwatch", default=None)


@contextmanager
def annotate(name: str, color: int = COMPUTE) -> Iterator[None]:
    """Put a range called `name` around the body; it also ends when the body raises."""
    sink, stopwatch = _sink.get(), _stopwatch.get()
    sink.push(name, color)
    if stopwatch:
        stopwatch.start(name)
    try:
        yield
    finally:
        if stopwatch:
            stopwatch.stop()
        sink.pop()


def mark(name: str, color: int = STRUCTURE) -> None:
    """Mark this moment for a profiler; names come from a small set, because NVTX keeps them."""
    _sink.get().mark(name, color)


@contextmanager
def send_to(sink: RangeSink) -> Iterator[None]:
    """Send the ranges that this thread opens in the body to `sink` instead of NVTX."""
    token = _sink.set(sink)
    try:
        yield
    finally:
        _sink.reset(token)


@contextmanager
def time_ranges(stopwatch: Stopwatch | None) -> Iterator[None]:
    """Time the ranges that this thread opens in the body, unless `stopwatch` is None."""
    token = _stopwatch.set(stopwatch)
    try:
        yield
    finally:
        _stopwatch.reset(token)
