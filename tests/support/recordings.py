"""Hand-made recordings, and a plain simulation of programs that generates them without any code of the replay."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from profiledb.replay.recording import COPY, GRAPH, KERNEL, MEMSET, Calls, KernelName, Operations, Recording

PID = 1 << 24
MULTIPROCESSORS = 100
BANDWIDTH = 2.4e12
"""Bytes per s of the memory of the GPU, half of those of an H200."""
PEAKS = {"fp32": 989.5e12 / 64, "tf32": 989.5e12 / 8, "fp16": 989.5e12 / 4, "bf16": 989.5e12 / 4}
"""FLOP/s of the GPU by precision, in FP16 a quarter of those of an H200; it has no FP8."""
KINDS = {"kernel": KERNEL, "copy": COPY, "memset": MEMSET, "graph": GRAPH}


@dataclass(frozen=True)
class Call:
    """A call: name, start and end in ns, and the number of its thread."""

    name: str
    start: int
    end: int
    thread: int = 0


@dataclass(frozen=True)
class Operation:
    """An operation: start and end in ns, its call, its stream and GPU; a copy also has bytes and a direction."""

    start: int
    end: int
    call: int = -1
    stream: int = 0
    device: int = 0
    kind: str = "kernel"
    class_: str = "other"
    bytes: int = 0
    to_host: bool = False
    from_host: bool = False
    pageable: bool = False
    blocks: int = 1
    precision: str = ""
    of_vectors: bool = False
    condition: bool = False
    passes: int = 1


def _name_kernel(one: Operation) -> KernelName:
    return KernelName(one.class_, one.class_, one.precision, one.of_vectors, one.condition, one.passes)


def recording(calls: Sequence[Call], operations: Sequence[Operation]) -> Recording:
    """Convert calls and operations, both sorted by start, to arrays."""
    names = sorted({one.name for one in calls})
    kernels = sorted({_name_kernel(one) for one in operations})

    def numbers(values: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array(values, np.int64)

    to_host, from_host, pageable = (
        np.array([getattr(one, name) for one in operations], np.bool_) for name in ("to_host", "from_host", "pageable")
    )
    return Recording(
        Calls(
            numbers([one.start for one in calls]), numbers([one.end for one in calls]),
            numbers([one.thread for one in calls]), numbers([names.index(one.name) for one in calls]),
            numbers(range(len(calls))), names,
        ),
        Operations(
            numbers([one.start for one in operations]), numbers([one.end for one in operations]),
            numbers([one.call for one in operations]), numbers([one.stream for one in operations]),
            numbers([one.device for one in operations]), numbers([KINDS[one.kind] for one in operations]),
            numbers([kernels.index(_name_kernel(one)) for one in operations]),
            numbers([one.bytes for one in operations]),
            to_host, from_host, pageable, numbers([one.blocks for one in operations]), numbers(range(len(operations))),
            kernels,
        ),
        [PID + number for number in range(max((one.thread for one in calls), default=0) + 1)],
        MULTIPROCESSORS, peaks=PEAKS, bandwidth=BANDWIDTH,
    )  # fmt: skip


LAUNCH_LAG, CALL = 4_000, 2_000
"""Time from the start of a launch to that of its kernel on an idle stream, and duration of a launch, in ns."""


@dataclass
class Program:
    """The actions of each thread in order: ("work", ns), ("launch", stream, ns), ("wait", stream) or ("wait all",)."""

    threads: list[list[tuple[str, int, int]]]
    calls: list[Call] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)

    def run(self, times: float = 1.0) -> Recording:
        """Run it from 0. Kernels take ``times`` as long. Threads use separate streams."""
        self.calls, self.operations = [], []
        for number, actions in enumerate(self.threads):
            self._thread(number, actions, times)
        order = sorted(range(len(self.calls)), key=lambda i: (self.calls[i].start, -self.calls[i].end, i))
        places = {old: new for new, old in enumerate(order)}
        moved = [Operation(one.start, one.end, places[one.call], one.stream) for one in self.operations]
        return recording([self.calls[i] for i in order], sorted(moved, key=lambda one: (one.start, one.end)))

    def _thread(self, number: int, actions: list[tuple[str, int, int]], times: float) -> None:
        now, free = 0, dict[int, int]()
        for what, stream, ns in actions:
            if what == "work":
                now += ns
            elif what == "launch":
                begin = max(now + LAUNCH_LAG, free.get(stream, 0))
                free[stream] = begin + int(ns * times)
                self.operations.append(Operation(begin, free[stream], len(self.calls), 10 * number + stream))
                self.calls.append(Call("cudaLaunchKernel_v7000", now, now + CALL, number))
                now += CALL
            else:
                until = free.get(stream, 0)
                end = max(now, until) + CALL
                self.calls.append(Call("cudaStreamSynchronize_v3020", now, end, number))
                now = end
