"""The CPU's code during gaps of GPUs: CPU samples of the launching thread, outside its calls."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from typing import Any

from tests.second.idle import SHORT, gaps
from tests.second.python_stacks import stacks
from tests.second.raw import Capture


def by_function(capture: Capture) -> dict[tuple[str, str | None], dict[str, Any]]:
    """CPU samples in host code of gaps by function and file of its module."""
    inside = _inside(
        capture, [(one["globalTid"], one["start"], one["id"]) for one in capture.table("COMPOSITE_EVENTS")]
    )
    chains = defaultdict(list)
    for frame in capture.table("SAMPLING_CALLCHAINS"):
        chains[frame["id"]].append(frame)
    samples: Counter[tuple[str, str | None]] = Counter()
    for number in inside:
        chain = sorted(chains[number], key=lambda frame: frame["stackDepth"])
        samples[frame_of(capture, chain[0]) if chain else ("[no symbol]", None)] += 1
    return {where: {"samples": count, "share_pct": 100 * count / len(inside)} for where, count in samples.items()}


def of_python(capture: Capture) -> dict[tuple[str, str], dict[str, Any]]:
    """Python stacks in host code of gaps by the innermost function and its file."""
    taken = stacks(capture, "Python Periodic Sampling")
    inside = _inside(capture, [(one.tid, one.at, number) for number, one in enumerate(taken)])
    leaves = [taken[number].frames[0] for number in inside]
    samples = Counter((function, file.rpartition("/")[2]) for function, file, _ in leaves)
    return {where: {"samples": count, "share_pct": 100 * count / len(inside)} for where, count in samples.items()}


def _inside(capture: Capture, samples: list[tuple[int, int, int]]) -> list[int]:
    """Samples (thread, moment, number) in a gap of the thread that launches the next operation, outside of calls."""
    times = defaultdict(list)
    for tid, at, number in samples:
        times[tid].append((at, number))
    calls = defaultdict(list)
    for call in (*capture.calls, *capture.os_calls):
        calls[call.tid].append((call.start, call.end))
    found = []
    for gap in gaps(capture):
        launch = gap.follower.call
        if gap.ns < SHORT or launch is None:
            continue
        there = sorted(times[launch.tid])
        until = min(gap.end, max(gap.start, launch.end))
        for at, number in there[bisect_left(there, (gap.start, -1)) :]:
            if at >= until:
                break
            if not any(start <= at < end for start, end in calls[launch.tid]):
                found.append(number)
    return found


def frame_of(capture: Capture, frame: dict[str, Any]) -> tuple[str, str | None]:
    """A function and the file of its module; the latter in brackets without a symbol."""
    module = capture.string(frame["module"]).rpartition("/")[2]
    name = capture.string(frame["symbol"])
    known = name and not frame["unresolved"] and not re.fullmatch("0x[0-9a-fA-F]+", name)
    return (name if known else f"[{module.strip('[]')}]"), module
