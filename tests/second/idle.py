"""Idle time of GPUs: the gaps between operations, and the activity of the thread that launched the next one."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from tests.second.nesting import Span, by_device, holders, merged, nest
from tests.second.raw import Call, Capture, Operation, Range

SHORT = 2000
"""Gaps below, in ns, are not looked into."""

LAUNCH = re.compile("^cu(da)?(Graph)?Launch")
LOCK = re.compile("pthread_cond|sem_(timed|clock)?wait|futex")
GRAPH = re.compile("^cu(da)?Graph")
ALLOCATION = (
    *("Malloc", "MemAlloc", "HostAlloc", "Free", "HostRegister", "HostUnregister", "ArrayCreate", "MemPool"),
    *(f"Mem{verb}" for verb in ("Create", "Map", "Unmap", "Release", "Address", "SetAccess")),
)
LOADING = ("ModuleLoad", "ModuleUnload", "LibraryLoad", "LibraryUnload", "cuLink")


@dataclass(eq=False)
class Gap:
    """A time in which a GPU ran nothing; the operation that ended it, and the time by reason and function."""

    device: int
    start: int
    end: int
    follower: Operation
    parts: Counter[tuple[str, str | None]]

    @property
    def ns(self) -> int:
        return self.end - self.start

    @property
    def by_reason(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for (reason, _), ns in self.parts.items():
            found[reason] += ns
        return found

    @property
    def main(self) -> tuple[str, int]:
        """The reason of most of the gap and its time; of equal ones the first by name."""
        return min(self.by_reason.items(), key=lambda one: (-one[1], one[0]))


REASONS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("launch call", lambda name: LAUNCH.match(name) is not None),
    ("other CUDA call", lambda name: GRAPH.match(name) is not None),
    ("synchronization", lambda name: "Synchronize" in name),
    ("copy call", lambda name: any(word in name for word in ("Memcpy", "Memset", "MemPrefetch"))),
    ("allocation", lambda name: any(word in name for word in ALLOCATION)),
    ("module loading", lambda name: any(word in name for word in LOADING)),
)
"""What the name of a CUDA function says that a call is for; the first that fits."""


def reason_of(call: Call, *, of_system: bool) -> str:
    """The purpose of a call."""
    if of_system:
        return "OS runtime call"
    return next((reason for reason, fits in REASONS if fits(call.name)), "other CUDA call")


@cache
def gaps(capture: Capture) -> list[Gap]:
    """All gaps of the GPUs that worked, between the first and the last operation of each, in the order of time."""
    outermost = _outermost(capture)
    found = []
    for device, spans in by_device(capture.operations).items():
        first: dict[int, Operation] = {}
        for one in capture.operations:
            if one.device == device and (one.start not in first or _row(one) < _row(first[one.start])):
                first[one.start] = one
        for (_, reached), (start, _) in pairwise(merged(spans)):
            found.append(Gap(device, reached, start, first[start], _parts(reached, start, first[start], outermost)))
    return found


def spans_ns(capture: Capture) -> int:
    """From the first to the last operation, over all GPUs that worked."""
    every = [merged(spans) for spans in by_device(capture.operations).values()]
    return sum(spans[-1][1] - spans[0][0] for spans in every)


def _row(one: Operation) -> int:
    return one.call.row if one.call else 0


Calls = tuple[list[int], list[tuple[Call, bool]]]
"""Ends of calls of a thread that lie in no other, and these calls in order, each with whether it is of the system."""


def _handed_over(capture: Capture) -> set[int]:
    """Rows of the calls that wait on a condition while another thread of their process launches."""
    launches: dict[int, list[int]] = defaultdict(list)
    for call in capture.calls:
        if LAUNCH.match(call.name):
            launches[call.tid >> 24].append(call.start)
    for starts in launches.values():
        starts.sort()
    found = set()
    for call in capture.os_calls:
        starts = launches.get(call.tid >> 24, [])
        after = bisect_right(starts, call.start)
        if LOCK.search(call.name) and after < len(starts) and starts[after] < call.end:
            found.add(call.row)
    return found


def _outermost(capture: Capture) -> dict[int, Calls]:
    handed = _handed_over(capture)
    every = [(call, False) for call in capture.calls]
    every += [(call, True) for call in capture.os_calls if call.row not in handed]
    every.sort(key=lambda one: (one[0].start, -one[0].end))
    found: dict[int, Calls] = defaultdict(lambda: ([], []))
    for call, of_system in every:
        ends, there = found[call.tid]
        if not ends or call.end > ends[-1]:
            ends.append(call.end)
            there.append((call, of_system))
    return dict(found)


def _parts(start: int, end: int, follower: Operation, outermost: dict[int, Calls]) -> Counter[tuple[str, str | None]]:
    """The time of a gap: by the thread's calls until that of the next operation returned, then the rest."""
    found: Counter[tuple[str, str | None]] = Counter()
    if follower.call is None:
        found["unknown", None] = end - start
        return found
    cut = min(max(start, follower.call.end), end)
    ends, there = outermost[follower.call.tid]
    reached = start
    for call, of_system in there[bisect_left(ends, start) :]:
        if call.start >= cut:
            break
        low, high = max(call.start, reached), min(call.end, cut)
        if high > low:
            found[reason_of(call, of_system=of_system), re.sub(r"_v\d{4,5}$", "", call.name)] += high - low
            reached = high
    found["host code", None] = cut - start - sum(found.values())
    found["launch latency", None] = end - cut
    return +found


def by_reason(capture: Capture) -> dict[tuple[str], dict[str, Any]]:
    """Idle time by reason over all GPUs that worked."""
    every = gaps(capture)
    whole, window = sum(gap.ns for gap in every), spans_ns(capture)
    ns: Counter[str] = Counter()
    main: dict[str, list[int]] = defaultdict(list)
    functions: dict[str, Counter[str]] = defaultdict(Counter)
    for gap in every:
        if gap.ns < SHORT:
            ns["between operations"] += gap.ns
            main["between operations"].append(gap.ns)
            continue
        main[gap.main[0]].append(gap.ns)
        for (reason, function), part in gap.parts.items():
            ns[reason] += part
            if function:
                functions[reason][function] += part
    return {
        (reason,): {
            "idle_ns": part,
            "share_pct": 100 * part / whole,
            "window_pct": 100 * part / window,
            "gaps": len(main[reason]),
            "longest_ns": max(main[reason], default=None),
            "function": max(functions[reason], key=functions[reason].__getitem__) if functions[reason] else None,
        }
        for reason, part in ns.items()
    }


def longest(capture: Capture, limit: int = 50) -> dict[tuple[int, int], dict[str, Any]]:
    """The longest gaps by GPU and begin, with their reasons and the call that launched the next operation."""
    every = sorted((gap for gap in gaps(capture) if gap.ns >= SHORT), key=lambda gap: (-gap.ns, gap.start, gap.device))
    return {
        (gap.device, gap.start - capture.start): {
            "duration_ns": gap.ns,
            "reason": gap.main[0],
            "covered_pct": 100 * gap.main[1] / gap.ns,
            "launched_ns": gap.follower.call.start - gap.start if gap.follower.call else None,
            "launch": re.sub(r"_v\d{4,5}$", "", gap.follower.call.name) if gap.follower.call else None,
        }
        for gap in every[:limit]
    }


def ranges_of_longest(capture: Capture, limit: int = 10) -> dict[tuple[int, int], dict[str, Any]]:
    """The path of the innermost range that the host had open for more than half of each of the longest gaps.

    The threads are the one that launched the next operation, and the one that drives it.
    """
    nesting = nest(capture)
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for gap in sorted(gaps(capture), key=lambda gap: (-gap.ns, gap.start, gap.device))[:limit]:
        if gap.ns < SHORT or gap.follower.call is None:
            continue
        tid = gap.follower.call.tid
        threads = {tid, nesting.drivers.get(tid)}
        time = _open_during([r for r in capture.ranges if r.tid in threads], (gap.start, gap.end))
        for one, ns in time.items():
            if one and 2 * ns > gap.ns:
                found[gap.device, gap.start - capture.start] = {"range": nesting.path(one)}
    return found


def _open_during(ranges: Sequence[Range], gap: Span) -> Counter[Range | None]:
    """For how long each range was the innermost one within a gap, and for how long none was open."""
    there = [one for one in ranges if one.start < gap[1] and one.end > gap[0]]
    edges = sorted({*gap, *(t for one in there for t in (one.start, one.end) if gap[0] < t < gap[1])})
    pieces = list(pairwise(edges))
    time: Counter[Range | None] = Counter()
    for (low, high), held in zip(pieces, holders(there, pieces), strict=True):
        time[held[-1] if held else None] += high - low
    return time
