"""Steps of loops, by names and times of ranges, as the header of the analysis ``iterations`` defines them."""

import re
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from typing import Any

from tests.second.names import is_warmup, starred
from tests.second.nesting import Mode, Ran, nest, ran
from tests.second.raw import Capture, Range
from tests.second.stats import quantile, spread

STEP = {"step", "iter", "iteration", "batch", "steps", "iters", "iterations", "batches"}
EPOCH = {"epoch", "epochs"}
OF_STEP = {"profiler", "train", "training", "eval", "evaluation", "val", "validation", "test", "infer", "inference"}
OF_STEP |= {"global", "mini", "micro"}
OF_MODEL = re.compile("layer|block|stage", re.IGNORECASE)


@dataclass(eq=False)
class Loop:
    """The ranges of a thread whose paths differ by no more than the last number of each name, in order of time."""

    pattern: str
    tid: int
    level: int
    around: str | None
    steps: list[Range] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    ran: dict[Range, Ran] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return next(iter(self.paths)) if len(self.paths) == 1 else self.pattern

    @property
    def warmup(self) -> bool:
        return is_warmup(self.label)

    @property
    def cpu_ns(self) -> int:
        return sum(one.end - one.start for one in self.steps)

    @property
    def gpu_ns(self) -> int:
        return sum(self.ran[one].ns for one in self.steps if one in self.ran)

    @property
    def likeness(self) -> int:
        """2 where the name says that these are steps, 1 where it says that they hold many, 0 where neither."""
        return max(likeness(one.name) for one in self.steps) if len(self.steps) > 1 else 0

    @property
    def of_batch(self) -> bool:
        return all("batch" in one.name.lower() for one in self.steps)

    @property
    def warmups(self) -> set[Range]:
        """Steps in a warm-up, or leading ones of the first third that take longer than the rest."""
        if self.warmup:
            return set(self.steps)
        third = len(self.steps) // 3
        rest = [one for one in self.steps[third:] if self.is_whole(one)]
        return set(takewhile(lambda one: bool(rest) and self._slow(one, rest), self.steps[:third]))

    def _slow(self, one: Range, rest: Sequence[Range]) -> bool:
        on_gpu = [float(self.ran[r].ns) for r in rest if r in self.ran]
        slow_gpu = one in self.ran and bool(on_gpu) and self.ran[one].ns > _limit(on_gpu)
        return slow_gpu or one.end - one.start > _limit([r.end - r.start for r in rest])

    def is_whole(self, one: Range) -> bool:
        """Whether it was closed, and is no last step without GPU work where all others have some."""
        *others, last = self.steps
        return one.closed and not (one is last and others and last not in self.ran and len(self.ran) == len(others))

    @property
    def counted(self) -> list[Range]:
        """Whole steps that are no warm-up."""
        warm = self.warmups
        return [one for one in self.steps if self.is_whole(one) and one not in warm]


def _limit(times: Sequence[float]) -> float:
    middle = statistics.median(times)
    return middle + max(3 * spread(times), 0.1 * middle)


def likeness(name: str) -> int:
    """Whether the words of a name are those of a step (2), of an epoch (1), or others (0)."""
    after = name.rpartition(":")[2]
    spaced = re.sub("(?<=[a-z])(?=[A-Z])", " ", after)  # ProfilerStep
    words = [word.lower() for word in re.findall("[A-Za-z]+", spaced)]
    if not words or not all(word in OF_STEP | EPOCH for word in words[:-1]):
        return 0
    return 2 if words[-1] in STEP else 1 if words[-1] in EPOCH else 0


@cache
def loops(capture: Capture, mode: Mode) -> list[Loop]:
    """The loops of a report, that of rank 1 first."""
    every = _candidates(capture, mode)
    chosen = [loop for loop in every if loop.likeness] or _unnamed(every)
    return sorted(
        chosen,
        key=lambda o: (o.warmup, -o.likeness, o.of_batch, -o.gpu_ns, -o.cpu_ns, o.level, o.pattern, o.tid),
    )


def _candidates(capture: Capture, mode: Mode) -> list[Loop]:
    nesting, held = nest(capture), ran(capture, mode)
    sizes = _sizes(capture)
    found: dict[tuple[str, int], Loop] = {}
    for one in sorted(capture.ranges, key=lambda r: (r.start, -r.end, r.row)):
        chain = nesting.chain(one)
        stars = tuple(starred(r.name) for r in chain)
        titles = [r.name if stars[: n + 1] in sizes else stars[n] for n, r in enumerate(chain)]
        names = [title.replace("/", "\\/") for title in titles]
        pattern, around = "/".join(names), "/".join(names[:-1]) or None
        loop = found.setdefault((pattern, one.tid), Loop(pattern, one.tid, len(names) - 1, around))
        loop.steps.append(one)
        loop.paths.add(nesting.path(one))
        if one in held:
            loop.ran[one] = held[one]
    return list(found.values())


def _sizes(capture: Capture) -> set[tuple[str, ...]]:
    """The starred names, from the outermost on, whose numbers are sizes and do not count: 1, 8, 64 of batches.

    They are batches, or names that say nothing of steps, whose numbers have a hole. (That other kernels run from number
    to number tells sizes around steps, too; no sample has such.)
    """
    nesting = nest(capture)
    numbers: dict[tuple[str, ...], set[int]] = defaultdict(set)
    told: set[tuple[str, ...]] = set()
    for one in capture.ranges:
        stars = tuple(starred(r.name) for r in nesting.chain(one))
        if stars[-1] == one.name:
            continue
        numbers[stars].add(int(re.findall(r"\d+", one.name)[-1]))
        if "batch" in one.name.lower() or likeness(one.name) == 0:
            told.add(stars)
    return {stars for stars in told if max(numbers[stars]) - min(numbers[stars]) + 1 > len(numbers[stars])}


def _unnamed(every: Sequence[Loop]) -> list[Loop]:
    """The only loop of each thread that covers half of the time around it, if no name says step."""
    by_thread: dict[int, list[Loop]] = defaultdict(list)
    whole = {(loop.pattern, loop.tid): loop.cpu_ns for loop in every}
    outer: dict[int, int] = defaultdict(int)
    for loop in every:
        if loop.level == 0 and not loop.warmup:
            outer[loop.tid] += loop.cpu_ns
    for loop in every:
        around = whole[loop.around, loop.tid] if loop.around else outer[loop.tid]
        if len(loop.steps) > 2 and loop.level < 2 and 2 * loop.cpu_ns >= around and not OF_MODEL.search(loop.label):
            by_thread[loop.tid].append(loop)
    return [
        min(there, key=lambda o: (o.warmup, -o.gpu_ns, -o.cpu_ns, o.level, o.pattern)) for there in by_thread.values()
    ]


def row(loop: Loop) -> dict[str, Any]:
    """The loop in numbers: the first step against those that count."""
    closed = [one for one in loop.steps if loop.is_whole(one)]
    rest = loop.counted
    times = [one.end - one.start for one in rest]
    mean = statistics.fmean(times) if times else None
    deviation = statistics.stdev(times) if len(times) > 1 else None
    span = max(one.end for one in rest) - min(one.start for one in rest) if rest else 0
    return {
        "steps": loop.label,
        "count": len(rest),
        "warmup": len(closed) - len(rest),
        "first_ns": closed[0].end - closed[0].start if closed else None,
        "median_ns": float(statistics.median(times)) if times else None,
        "mean_ns": mean,
        "min_ns": min(times, default=None),
        "max_ns": max(times, default=None),
        "p95_ns": quantile(times, 0.95) if times else None,
        "stddev_ns": deviation,
        "cv_pct": 100 * deviation / mean if deviation is not None and mean else None,
        "per_second": 1e9 * len(rest) / span if span else None,
        "total_ns": sum(times),
        "unclosed": len(loop.steps) - len(closed),
        "has_gpu": bool(loop.ran),
    }


def step_rows(capture: Capture, mode: Mode) -> dict[tuple[int, int], dict[str, Any]]:
    """Every step by rank and number."""
    found: dict[tuple[int, int], dict[str, Any]] = {}
    nesting = nest(capture)
    for rank, loop in enumerate(loops(capture, mode), 1):
        warm, before = loop.warmups, None
        for number, one in enumerate(loop.steps, 1):
            there = loop.ran.get(one)
            found[rank, number] = {
                "steps": loop.label,
                "name": one.name,
                "path": nesting.path(one),
                "start_ns": one.start - capture.start,
                "cpu_ns": one.end - one.start,
                "gpu_ns": there.ns if there else None,
                "busy_ns": there.busy if there else None,
                "operations": len(there.operations) if there else 0,
                "gap_ns": one.start - before.end if before else None,
                "is_warmup": one in warm,
                "closed": loop.is_whole(one),
            }
            before = one
    return found
