"""CPU activity: CPU samples by function, and the times that threads ran, were blocked in calls or waited."""

from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

from tests.second.idle_code import frame_of
from tests.second.nesting import merged
from tests.second.python_stacks import stacks
from tests.second.raw import Capture


def label(tid: int) -> str:
    """A thread as people write it."""
    return f"{tid >> 24 & 0xFFFFFF} / {tid & 0xFFFFFF}"


def by_function(capture: Capture, *, idle: bool) -> dict[tuple[str, str | None], dict[str, Any]]:
    """All CPU samples, or those while no GPU worked, by function and file of its module."""
    asked = [row for row in capture.table("COMPOSITE_EVENTS") if not idle or is_idle(capture, row["start"])]
    chains = defaultdict(list)
    for frame in capture.table("SAMPLING_CALLCHAINS"):
        chains[frame["id"]].append(frame)
    own: Counter[tuple[str, str | None]] = Counter()
    total: Counter[tuple[str, str | None]] = Counter()
    for row in asked:
        chain = sorted(chains[row["id"]], key=lambda frame: frame["stackDepth"])
        names = [frame_of(capture, frame) for frame in chain] or [("[no symbol]", None)]
        own[names[0]] += 1
        total.update(set(names))
    return {
        name: {"self_samples": own[name], "total_samples": count, "total_pct": 100 * count / len(asked)}
        for name, count in total.items()
    }


def by_python_function(capture: Capture, *, idle: bool) -> dict[tuple[str, str], dict[str, Any]]:
    """The samples by function and file, as ``by_function`` counts those of the CPU."""
    asked = [s for s in stacks(capture, "Python Periodic Sampling") if not idle or is_idle(capture, s.at)]
    own: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    for one in asked:
        names = [(function, file.rpartition("/")[2]) for function, file, _ in one.frames]
        own[names[0]] += 1
        total.update(set(names))
    return {
        name: {"self_samples": own[name], "total_samples": count, "total_pct": 100 * count / len(asked)}
        for name, count in total.items()
    }


def is_idle(capture: Capture, moment: int) -> bool:
    """Whether no GPU works at a moment, between the first and the last operation."""
    spans = merged([(one.start, one.end) for one in capture.operations])
    return bool(spans) and spans[0][0] <= moment < spans[-1][1] and not any(s <= moment < e for s, e in spans)


def states(capture: Capture) -> dict[tuple[str], dict[str, int]]:
    """For how long each thread ran on a core, was blocked in a call, or waited otherwise, ns."""
    events: dict[int, dict[int, bool]] = defaultdict(dict)
    for row in capture.table("SCHED_EVENTS"):
        there = events[row["globalTid"]]
        there[row["start"]] = there.get(row["start"], False) or bool(row["isSchedIn"])
    if not events:
        return {}
    low, high = (edge(moment for there in events.values() for moment in there) for edge in (min, max))
    return {(label(tid),): _times(capture, tid, there, low, high) for tid, there in events.items()}


def _times(capture: Capture, tid: int, there: dict[int, bool], low: int, high: int) -> dict[str, int]:
    moments = sorted(there.items())
    if not moments[0][1]:
        moments.insert(0, (low, True))
    moments.append((high if moments[-1][1] else moments[-1][0], False))
    calls = merged([(c.start, c.end) for c in (*capture.calls, *capture.os_calls) if c.tid == tid and c.end > c.start])
    found = Counter({"running_ns": 0, "blocked_ns": 0, "waiting_ns": 0})
    for (start, on_core), (end, _) in pairwise(moments):
        inside = sum(max(0, min(end, e) - max(start, s)) for s, e in calls)
        if on_core:
            found["running_ns"] += end - start
        else:
            found["blocked_ns"] += inside
            found["waiting_ns"] += end - start - inside
    return dict(found)
