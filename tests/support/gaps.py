"""Shared helpers of tests of waiting rules: gaps of a raw export, and small hand-made captures."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from profiledb.findings.finding import Finding
from profiledb.library.library import Library
from tests.conftest import SAMPLES
from tests.second import idle, raw
from tests.second.idle import Gap
from tests.second.raw import Call, Capture, Range
from tests.support import memory_reports as made
from tests.support.judged_rules import Span, bare, judged, union
from tests.support.page_reports import Fill, kernel

LAUNCH, SYNC, SEM, LOAD = 1, 2, 6, 7
"""Function ids of memory_reports: cudaLaunchKernel, cudaStreamSynchronize, sem_wait, cuLibraryLoadData."""
MS = 1_000_000


@cache
def capture(sample: str) -> Capture:
    """Read the export of a sample."""
    return raw.read(SAMPLES / f"{sample}.sqlite")


def sampled(library: Library, sample: str, rule: str, **params: Any) -> Finding:
    """Judge a rule on a sample."""
    (report,) = (one for one in library.list() if Path(one.name).stem == sample and "ncu" not in Path(one.name).suffix)
    return judged(library, report.id, rule, **params)


def looked_into(found: Capture, least: int = idle.SHORT) -> Iterator[Gap]:
    """Return the gaps of at least this many ns."""
    return (gap for gap in idle.gaps(found) if gap.ns >= least)


def share(found: Capture, ns: float) -> float:
    """Return a time in percent of the span from the first to the last operation."""
    return 100.0 * ns / idle.spans_ns(found)


def waited(gap: Gap) -> Span:
    """Return the part of a gap up to the return of the launch that ends it."""
    assert gap.follower.call is not None
    return gap.start, min(max(gap.start, gap.follower.call.end), gap.end)


def during(gap: Gap, several: Iterable[Range], found: Capture, calls: bool = False) -> int:
    """Return the time of the launching thread in these ranges before its launch, in CUDA calls only with ``calls``."""
    low, high = waited(gap)
    tid = gap.follower.call.tid if gap.follower.call else None

    def inside(those: Iterable[Any]) -> list[Span]:
        there = ((max(one.start, low), min(one.end, high)) for one in those if one.tid == tid)
        return [(start, end) for start, end in there if end > start]

    held = inside(several)
    return union(held) if calls else bare(held, inside(found.calls))


def gained(found: Capture, calls: list[tuple[Call, int]]) -> int:
    """Return how much shorter the gaps of one GPU get if its launching thread saves this time in these calls, in ns.

    The thread gets ahead by at most 1,024 operations.
    """
    first = min(one.start for one in found.operations)
    starts = sorted(one.start for one in found.operations)
    total = ahead = before = 0
    block = -1
    for gap in looked_into(found):
        call = gap.follower.call
        if call is None or call.end <= gap.start:  # it was already queued
            continue
        if bisect_right(starts, gap.end) // 1024 != block:
            block = bisect_right(starts, gap.end) // 1024
            since = starts[1024 * block - 1] if block else first
            before, ahead = sum(ns for one, ns in calls if one.end <= since), 0
        most = max(0, sum(ns for one, ns in calls if one.end <= call.start) - before)
        now = min(most, ahead + gap.ns)
        total, ahead = total + now - ahead, now
    return total


def in_steps(found: Capture, name: str) -> list[Range]:
    """Return the ranges of a name that lie in a step."""
    steps = [one for one in found.ranges if one.name.startswith("step_")]
    named = [one for one in found.ranges if one.name == name]
    return [one for one in named if any(step.start <= one.start and one.end <= step.end for step in steps)]


def outermost(calls: list[Call]) -> list[Call]:
    """Return the calls of one thread that do not start inside another one."""
    outer: list[Call] = []
    for call in sorted(calls, key=lambda one: (one.start, -one.end)):
        if not outer or call.end > outer[-1].end:
            outer.append(call)
    return outer


def by_hand(
    publish: Callable[..., str], kernels: list[tuple[int, int, int, int]], after: Fill | None = None, **tables: Any
) -> str:
    """Publish a capture of kernels, each given by start and end of its call (on one thread) and on the GPU, in ns.

    ``after`` modifies the written report.
    """
    ran = [
        kernel(100 + i, 1, start, end, call_id=100 + i, global_pid=made.PID, process_range=None)
        for i, (_, _, start, end) in enumerate(kernels)
    ]
    calls = [made.call(100 + i, LAUNCH, low, high) for i, (low, high, _, _) in enumerate(kernels)]
    moved = [(one["start_ns"], one["end_ns"]) for one in tables.get("memop", [])]
    busy = tuple(sorted([*moved, *((start, end) for _, _, start, end in kernels)]))
    tables["api_call"] = [*calls, *tables.get("api_call", [])]
    stop = max(end for _, end in busy)

    def fill(db: duckdb.DuckDBPyConnection) -> None:
        made.fill(db, stop=stop, busy=busy, kernel=ran, **tables)
        if after:
            after(db)

    return publish(fill)


def ranges(*several: tuple[int, int, str]) -> dict[str, Any]:
    """Return rows of ranges on one thread that do not nest, from start, end and name."""
    names = {name: number for number, name in enumerate(dict.fromkeys(name for _, _, name in several), 1)}
    return {
        "range": [
            {
                "range_id": n, "start_ns": start, "end_ns": end, "closed": True, "style": "PushPop", "level": 0,
                "name_id": names[name], "path_id": names[name], "pre": n, "post": n, "global_tid": made.MAIN,
            }
            for n, (start, end, name) in enumerate(several, 1)
        ],
        "range_name": [{"name_id": n, "text": name, "name": name} for name, n in names.items()],
        "range_path": [{"path_id": n, "level": 0, "name": name, "path": name} for name, n in names.items()],
    }  # fmt: skip
