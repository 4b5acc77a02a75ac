"""The loop around the steps of a program: warm-up, named steps, the capture window and the time of the steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import nvtx
import torch

ON_GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if ON_GPU else "cpu")
SMALL = 1 if ON_GPU else 16
"""Divisor of sizes: on a CPU the programs only have to run."""


def load_cuda_runtime() -> Any:
    """Return the CUDA runtime that PyTorch loaded."""
    return torch.cuda.cudart()  # type: ignore[no-untyped-call]


def load_numba_cuda() -> Any:
    """Return ``numba.cuda``."""
    if not hasattr(np, "row_stack"):  # numba-cuda asks for it, NumPy 2.5 has it no more
        np.row_stack = np.vstack
    from numba import cuda

    return cuda


def annotate(name: str) -> nvtx.annotate:
    """Return an NVTX range of the default domain."""
    return nvtx.annotate(name)


def wait() -> None:
    """Wait until the GPU has done all work."""
    if ON_GPU:
        torch.cuda.synchronize()


def repeat_as_graph(action: Callable[[], object], *, wanted: bool) -> Callable[[], object]:
    """Return the replay of a CUDA graph of an action, which is called three times on a stream of its own first; the
    action itself without a GPU, or if no graph is ``wanted``."""
    if not (wanted and ON_GPU):
        return action
    torch.cuda.synchronize()
    beside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    with torch.cuda.stream(beside):
        for _ in range(3):
            action()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        action()
    return graph.replay


@dataclass
class Loop:
    """Counts steps of a program, which iterates over it or, in the callbacks of a framework, calls begin and end."""

    steps: int = 20
    warmup: int = 5
    number: int = 0
    ns: int = 0
    """Duration of the steps after the warm-up."""
    barrier: Callable[[], None] = wait
    """Waits for all work of all ranks."""
    name: str = field(default="iteration {}", init=False)
    """Name of the range around a step; programs set their own."""
    began: int = field(default=0, init=False)
    range: nvtx.annotate | None = field(default=None, init=False)

    @property
    def total(self) -> int:
        """Number of steps with the warm-up."""
        return self.warmup + self.steps

    def begin(self) -> None:
        """Begin a step; the first one after the warm-up opens the capture window."""
        if self.number == self.warmup:
            self.barrier()
            if ON_GPU:
                load_cuda_runtime().cudaProfilerStart()
                self.barrier()
            self.began = time.perf_counter_ns()
        self.range = annotate(self.name.format(self.number))
        self.range.__enter__()

    def end(self) -> None:
        """End a step; the last one closes the capture window."""
        if self.range is None:
            raise RuntimeError("no step has begun")
        self.range.__exit__(None, None, None)
        self.number += 1
        if self.number == self.total:
            self.barrier()
            self.ns = time.perf_counter_ns() - self.began
            if ON_GPU:
                load_cuda_runtime().cudaProfilerStop()

    def __iter__(self) -> Iterator[int]:
        while self.number < self.total:
            self.begin()
            yield self.number
            self.end()


Program = Callable[[Loop, bool], None]
"""Runs the steps of a loop; the second argument tells whether the fault is mended."""
PROGRAMS: dict[str, Program] = {}
"""Programs of this process by name, PROGRAM.FAULT; importing a group's module adds its programs."""


def program(fault: str) -> Callable[[Program], Program]:
    """Register a function under its name and that of its fault."""

    def register(run: Program) -> Program:
        PROGRAMS[f"{run.__name__}.{fault}"] = run
        return run

    return register
