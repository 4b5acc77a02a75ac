"""Random captures with NVTX ranges, and their expected reports, found by comparing everything with everything.

A capture here is one process. An export holds many of them, because a load takes a second whatever its size. All times
are on a small grid, so that edges often coincide.
"""

import random
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tests.support import exports

BEGIN = 5
"""Start of the capture; all events are later."""

WORDS = ("step", "step", "a", "b", "a/b", "back\\", "it's", 'say "x"', "a#2", "step#1", "", "two\nlines", "é\0%_")
WARMUPS = ("warmup", "Warm-up 1", "my warm_up")
DOMAINS = {3: "lib", 4: "it's", 9: None}
"""Domains by number; the last one has no name."""


@dataclass
class Range:
    """A row of NVTX_EVENTS. ``end`` of an open range is set once the whole export is known."""

    id: int
    start: int
    end: int
    closed: bool
    event_type: int
    text: str
    tid: int
    end_tid: int | None
    domain: int

    @property
    def name(self) -> str:
        domain = DOMAINS.get(self.domain)
        return f"{domain}:{self.text}" if domain else self.text

    def holds(self, start: int, end: int) -> bool:
        """Return True if it contains an interval of its thread."""
        return self.end_tid is None and self.start <= start and self.end >= end and self.end >= self.start

    def encloses(self, other: "Range") -> bool:
        """Return True if it encloses the other range."""
        if self is other or self.tid != other.tid or not self.holds(other.start, other.end):
            return False
        return (self.start, self.end) != (other.start, other.end) or self.id < other.id


@dataclass(frozen=True)
class Call:
    id: int
    start: int
    end: int
    tid: int
    correlation: int


@dataclass(frozen=True)
class Operation:
    table: str
    id: int
    start: int
    end: int
    device: int
    stream: int
    correlation: int


@dataclass
class Capture:
    """A process: its ranges, calls and operations, and the names of its threads."""

    pid: int
    ranges: list[Range] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)

    @cached_property
    def drivers(self) -> dict[int, int]:
        """Map threads that work for another thread to that thread."""
        found = {}
        for tid in {call.tid for call in self.calls} - {self.main}:
            calls = [call for call in self.calls if call.tid == tid]
            own = sum(any(r.tid == tid and r.holds(c.start, c.end) for r in self.ranges) for c in calls)
            if own * 2 >= len(calls) and not self.names.get(tid, "").startswith("pt_autograd"):
                continue
            during = Counter(
                other
                for c in calls
                for other in {r.tid for r in self.ranges if r.tid != tid and r.holds(c.start, c.end)}
            )
            if during:
                found[tid] = min(during, key=lambda other: (-during[other], other != self.main, other))
        return found

    @property
    def main(self) -> int:
        return self.pid + ((self.pid >> 24) & 0xFFFFFF)

    def around(self, call: Call, mode: str) -> set[int]:
        """Return the ids of all ranges that contain a call."""
        threads = {call.tid, self.drivers.get(call.tid) if mode == "process" else None}
        return {r.id for r in self.ranges if r.tid in threads and r.holds(call.start, call.end)}

    def parents(self, one: Range) -> set[int | None]:
        """Return the ids of the tightest ranges around a range, any of which may be its parent."""
        outer = [r for r in self.ranges if one.end_tid is None and r.encloses(one)]
        if not outer:
            return {None}
        slack = {r.id: (one.start - r.start) + (r.end - one.end) for r in outer}
        tight = [r for r in outer if slack[r.id] == min(slack.values())]
        return {r.id for r in tight if not any(r.encloses(o) and not o.encloses(r) for o in tight)}

    def call_of(self, operation: Operation) -> Call | None:
        """Return the first call with the same correlation id."""
        return next((c for c in self.calls if c.correlation == operation.correlation), None)


class Export:
    """Many captures in the tables of one export.

    Args:
        seeds: one per capture.
        shortest: minimum duration of a call.
    """

    def __init__(self, seeds: range, *, shortest: int = 0) -> None:
        self.shortest = shortest
        self.ids: Counter[str] = Counter()
        self.captures = [self._capture(random.Random(seed), number) for number, seed in enumerate(seeds, 1)]
        ends = [t for c in self.captures for r in c.ranges for t in (r.start, r.end if r.closed else r.start)]
        for capture in self.captures:
            for one in capture.ranges:
                one.end = one.end if one.closed else max(ends)

    def _next(self, table: str) -> int:
        self.ids[table] += 1
        return self.ids[table]

    def _capture(self, rnd: random.Random, number: int) -> Capture:
        capture = Capture(exports.PID + (number << 24))
        low = capture.main & 0xFFFFFF
        tids = [capture.main] + [capture.pid + t for t in rnd.sample([1, 2, low + 900, low + 901], rnd.randint(0, 3))]
        width = rnd.choice([3, 6, 10, 25])
        busy = rnd.sample(tids, rnd.randint(1, len(tids)))
        words = rnd.sample([*WORDS, *WARMUPS], rnd.randint(1, 4))
        for _ in range(rnd.choice([0, 1, 3, 8, 14, 30])):
            self._add_range(rnd, capture, rnd.choice(busy), width, words)
        for _ in range(rnd.choice([0, 2, 6, 12])):
            start, end = self._times(rnd, width)
            call = Call(self._next("call"), start, max(end, start + self.shortest), rnd.choice(tids), rnd.randint(1, 8))
            capture.calls.append(call)
        for tid in tids:
            if rnd.random() < 0.2:
                capture.names[tid] = rnd.choice(["pt_autograd_0", "ptXautograd_0", "worker"])
        for _ in range(rnd.choice([0, 3, 8])):
            table = rnd.choice(["kernel", "kernel", "memcpy", "memset", "graph"])
            start, end = self._times(rnd, width)
            facts = (start + 20, end + 21, rnd.randint(0, 1), rnd.choice([7, 13]), rnd.randint(1, 9))
            capture.operations.append(Operation(table, self._next(table), *facts))
        return capture

    def _times(self, rnd: random.Random, width: int) -> tuple[int, int]:
        start = rnd.randint(0, width)
        length = rnd.choice([0, 0, 1, 1, 2, rnd.randint(0, width)])
        return BEGIN + start, BEGIN + min(start + length, width)

    def _add_range(self, rnd: random.Random, capture: Capture, tid: int, width: int, words: list[str]) -> None:
        start, end = sorted((BEGIN + rnd.randint(0, width), BEGIN + rnd.randint(0, width)))
        if rnd.random() < 0.05:
            start, end = end, start
        end_tid = None if rnd.random() < 0.9 else tid + 5
        kind = rnd.choice([59, 59, 70, 60, 71])
        where = (rnd.choice(words), tid, end_tid, rnd.choice([0, 0, 3, 4, 9]))
        capture.ranges.append(Range(self._next("nvtx"), start, end, rnd.random() < 0.95, kind, *where))

    def tables(self) -> exports.Tables:
        """Return the rows of the export, for exports.write. Range texts are in the row or in the string table."""
        strings = sorted(
            {r.text for c in self.captures for r in c.ranges} | {n for c in self.captures for n in c.names.values()}
        )
        number = {text: i for i, text in enumerate(strings, 100)}
        every = [(c, r) for c in self.captures for r in c.ranges]
        nvtx: list[tuple[Any, ...]] = [
            (r.start, r.end if r.closed else None, r.event_type, r.text if r.id % 2 else None,
             None if r.id % 2 else number[r.text], r.tid, r.domain, r.end_tid)
            for _, r in every
        ]  # fmt: skip
        for c in self.captures:
            nvtx += [(BEGIN, None, 75, name, None, c.main, d, None) for d, name in DOMAINS.items() if name]
        calls = [(k.start, k.end, k.tid, k.correlation, 1, 0, 0) for c in self.captures for k in c.calls]
        return {
            "StringIds": (("id", "value"), [(1, "one"), *((i, text) for text, i in number.items())]),
            "ThreadNames": (
                ("nameId", "priority", "globalTid"),
                [(number[name], 0, tid) for c in self.captures for tid, name in c.names.items()],
            ),
            "ANALYSIS_DETAILS": (("duration", "startTime", "stopTime"), [(995, BEGIN, 1000)]),
            "NVTX_EVENTS": ((*exports.NVTX, "endGlobalTid"), nvtx),
            "CUPTI_ACTIVITY_KIND_RUNTIME": (
                ("start", "end", "globalTid", "correlationId", "nameId", "eventClass", "returnValue"),
                calls,
            ),
            **self._operations(),
        }

    def _operations(self) -> exports.Tables:
        columns = ("start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes")
        rows: dict[str, list[tuple[Any, ...]]] = {"kernel": [], "memcpy": [], "memset": [], "graph": []}
        for c in self.captures:
            for o in c.operations:
                if o.table == "kernel":
                    row = exports.kernel(o.start, o.end, device=o.device, correlation=o.correlation, pid=c.pid)
                    rows["kernel"].append((*row[:4], o.stream, *row[5:]))
                else:
                    rows[o.table].append((o.start, o.end, o.device, o.stream, o.correlation, c.pid, 4))
        return {
            **exports.kernels(*rows["kernel"]),
            "CUPTI_ACTIVITY_KIND_MEMCPY": (columns, rows["memcpy"]),
            "CUPTI_ACTIVITY_KIND_MEMSET": (columns, rows["memset"]),
            "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (columns[:6], [row[:6] for row in rows["graph"]]),
        }
