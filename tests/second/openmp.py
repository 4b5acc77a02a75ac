"""OpenMP regions: the state of each of their threads at every moment."""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tests.second.raw import Capture, Row

REDUCTION = 7
"""The kind of a synchronization that is none: it adds up."""


@dataclass
class Region:
    """A parallel region, and by thread for how long it worked, was in barriers, and waited for locks, ns."""

    start: int
    end: int
    range: str | None
    work: Counter[int]
    barrier: Counter[int]
    lock: Counter[int]

    @property
    def lost(self) -> int:
        """By how much the longest work is more than the mean, rounded up."""
        return max(self.work.values()) - sum(self.work.values()) // len(self.work)


def regions(capture: Capture) -> list[Region]:
    """All regions of an export."""
    pieces = defaultdict(list)
    for row in capture.table("OPENMP_EVENT_KIND_PARALLEL"):
        pieces[row["globalTid"] >> 24, row["parallelId"]].append(row)
    tasks, syncs, locks = _by_region(capture)
    return [_region(capture, rows, tasks[key], syncs[key], locks[key]) for key, rows in pieces.items()]


def _by_region(capture: Capture) -> tuple[dict[Any, list[Row]], ...]:
    tasks, syncs, locks = defaultdict(list), defaultdict(list), defaultdict(list)
    of_task = {}
    for row in capture.table("OPENMP_EVENT_KIND_TASK"):
        if row["parallelId"]:
            tasks[row["globalTid"] >> 24, row["parallelId"]].append(row)
            of_task[row["globalTid"] >> 24, row["taskId"]] = row["parallelId"]
    for row in capture.table("OPENMP_EVENT_KIND_SYNC_REGION"):
        if row["kind"] != REDUCTION:
            syncs[row["globalTid"] >> 24, row["parallelId"]].append(row)
    for row in capture.table("OPENMP_EVENT_KIND_MUTEX_WAIT"):
        process = row["globalTid"] >> 24
        locks[process, of_task[process, row["taskId"]]].append(row)
    return tasks, syncs, locks


def _region(capture: Capture, pieces: list[Row], tasks: list[Row], syncs: list[Row], locks: list[Row]) -> Region:
    start, latest = (pick(row["start"] for row in pieces) for pick in (min, max))
    end = min(row["end"] for row in pieces if row["end"] >= latest)
    found = Region(start, end, _range(capture, pieces[0]["globalTid"], start), Counter(), Counter(), Counter())
    for tid in {row["globalTid"] for row in (*tasks, *syncs)}:
        mine = [[row for row in rows if row["globalTid"] == tid] for rows in (tasks, syncs, locks)]
        edges = {row[side] for rows in mine for row in rows for side in ("start", "end")} | {start, end}
        for low, high in pairwise(sorted(edge for edge in edges if start <= edge <= end)):
            works, waits, locked = (any(r["start"] <= low and r["end"] >= high for r in rows) for rows in mine)
            for ns, counts in ((found.barrier, waits), (found.lock, locked and not waits), (found.work, works)):
                if counts:
                    ns[tid] += high - low
                    break
        found.work[tid] += 0
    return found


def _range(capture: Capture, tid: int, moment: int) -> str | None:
    """The ranges of a thread around a moment, a star for the last number of each name."""
    around = [one for one in capture.ranges if one.tid == tid and one.start <= moment < one.end]
    names = [one.name for one in sorted(around, key=lambda one: (one.start, -one.end))]
    return "/".join(re.sub(r"\d+(?=\D*$)", "*", name) for name in names) or None


def by_range(capture: Capture) -> dict[tuple[str | None], dict[str, Any]]:
    """The regions of each range, as ``openmp_regions`` has them."""
    several = defaultdict(list)
    for one in regions(capture):
        several[(one.range,)].append(one)
    length = capture.window[1] - capture.window[0]
    return {key: _summary(rows, length) for key, rows in several.items()}


def _summary(rows: list[Region], length: int) -> dict[str, Any]:
    wall = sum(one.end - one.start for one in rows)
    team = sum((one.end - one.start) * len(one.work) for one in rows)
    work, barrier, lock = (sum(sum(getattr(r, n).values()) for r in rows) for n in ("work", "barrier", "lock"))
    return {
        "regions": len(rows),
        "wall_ns": wall,
        "share_pct": 100 * wall / length,
        "threads": max(len(one.work) for one in rows),
        "work_ns": work,
        "barrier_ns": barrier,
        "lock_ns": lock,
        "late_ns": team - work - barrier - lock,
        "work_pct": 100 * work / team,
        "imbalance": sum(max(r.work.values()) for r in rows) / sum(sum(r.work.values()) / len(r.work) for r in rows),
        "lost_ns": sum(one.lost for one in rows),
    }
