"""Ranges around a call, and the work of a range, as docs/attribution.md defines them: one sweep per thread."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from tests.second.raw import Call, Capture, Operation, Range

Mode = Literal["thread", "process"]
MODES: tuple[Mode, ...] = ("thread", "process")
Held = tuple[Range, ...]
"""The ranges around something, the outermost first."""


def holders(ranges: Iterable[Range], asked: Sequence[tuple[int, int]]) -> list[Held]:
    """For each stretch of time the ranges that neither begin behind its begin nor end before its end."""
    waiting = sorted((r for r in ranges if not r.crosses and r.end >= r.start), key=_outer_first, reverse=True)
    found: list[Held] = [()] * len(asked)
    opened: list[Range] = []
    for number in sorted(range(len(asked)), key=lambda n: asked[n][0]):
        start, end = asked[number]
        while waiting and waiting[-1].start <= start:
            opened.append(waiting.pop())
        opened = [one for one in opened if one.end >= start]
        found[number] = tuple(one for one in opened if one.end >= end)
    return found


def _outer_first(one: Range) -> tuple[int, int, int]:
    return one.start, -one.end, one.row


@dataclass(eq=False)
class Nesting:
    """The ranges of a capture: those around each of them, and around each call, in either mode."""

    outer: dict[Range, Held]
    around: dict[Mode, dict[Call, Held]]
    drivers: dict[int, int]

    def chain(self, one: Range) -> Held:
        """The ranges around a range and itself."""
        return (*self.outer[one], one)

    def path(self, one: Range) -> str:
        return "/".join(r.name.replace("/", "\\/") for r in self.chain(one))

    def of(self, operation: Operation, mode: Mode) -> Held:
        """The ranges that an operation belongs to, those of its own thread last."""
        return self.around[mode].get(operation.call, ()) if operation.call else ()


@cache
def nest(capture: Capture) -> Nesting:
    """The nesting of all ranges and CUDA calls of a capture."""
    by_thread: dict[int, list[Range]] = defaultdict(list)
    for one in capture.ranges:
        by_thread[one.tid].append(one)
    outer: dict[Range, Held] = {}
    for ranges in by_thread.values():
        for one, held in zip(ranges, holders(ranges, [(r.start, r.end) for r in ranges]), strict=True):
            outer[one] = tuple(r for r in held if r is not one and _encloses(r, one)) if not one.crosses else ()
    calls: dict[int, list[Call]] = defaultdict(list)
    for call in capture.calls:
        calls[call.tid].append(call)
    own = {tid: _held(by_thread[tid], there) for tid, there in calls.items()}
    drivers = _drivers(capture, calls, own, by_thread)
    by_call = {call: held for there in own.values() for call, held in there.items()}
    by_process = dict(by_call)
    for tid, driver in drivers.items():
        for call, held in _held(by_thread[driver], calls[tid]).items():
            by_process[call] = held + by_call[call]
    return Nesting(outer, {"thread": by_call, "process": by_process}, drivers)


def _encloses(around: Range, inside: Range) -> bool:
    same = (around.start, around.end) == (inside.start, inside.end)
    return around.row < inside.row if same else around.end >= inside.end


def _held(ranges: Iterable[Range], calls: Sequence[Call]) -> dict[Call, Held]:
    return dict(zip(calls, holders(ranges, [(c.start, c.end) for c in calls]), strict=True))


def _drivers(
    capture: Capture, calls: dict[int, list[Call]], own: dict[int, dict[Call, Held]], ranges: dict[int, list[Range]]
) -> dict[int, int]:
    """The driving thread of each driven one: that of its process with a range open during most of its calls."""
    named = {
        row["globalTid"]
        for row in capture.table("ThreadNames")
        if capture.strings.get(row["nameId"], "").startswith("pt_autograd")
    }
    found = {}
    for tid, there in calls.items():
        inside = sum(bool(held) for held in own[tid].values())
        if _is_main(tid) or (2 * inside >= len(there) and tid not in named):
            continue
        during: dict[int, int] = {}
        for other, opened in list(ranges.items()):
            if other != tid and other >> 24 == tid >> 24:
                during[other] = sum(bool(held) for held in _held(opened, there).values())
        if during and max(during.values()):
            found[tid] = min(during, key=lambda one: (-during[one], not _is_main(one), one))
    return found


def _is_main(tid: int) -> bool:
    return tid & 0xFFFFFF == tid >> 24 & 0xFFFFFF


@dataclass(slots=True)
class Ran:
    """The work of a range on the GPUs: ``busy`` is the union of the times by GPU."""

    operations: list[Operation]

    @property
    def start(self) -> int:
        return min(one.start for one in self.operations)

    @property
    def ns(self) -> int:
        return max(one.end for one in self.operations) - self.start

    @property
    def kernel_ns(self) -> int:
        return sum(one.ns for one in self.operations if one.kind == "kernel")

    @property
    def busy(self) -> int:
        return sum(union(spans) for spans in by_device(self.operations).values())


@cache
def ran(capture: Capture, mode: Mode) -> dict[Range, Ran]:
    """The work of each range that launched anything."""
    nesting = nest(capture)
    found: dict[Range, Ran] = defaultdict(lambda: Ran([]))
    for operation in capture.operations:
        for one in nesting.of(operation, mode):
            found[one].operations.append(operation)
    return dict(found)


Span = tuple[int, int]


def by_device(operations: Iterable[Operation]) -> dict[int, list[Span]]:
    found: dict[int, list[Span]] = defaultdict(list)
    for one in operations:
        found[one.device].append((one.start, one.end))
    return found


def merged(spans: Iterable[Span]) -> list[Span]:
    """The union of stretches of time as stretches that neither overlap nor touch, in order."""
    found: list[Span] = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


def union(spans: Iterable[Span]) -> int:
    """How long the union of stretches is."""
    return sum(high - low for low, high in merged(spans))
