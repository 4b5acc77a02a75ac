"""Timers of a program, with the ranges of the same label and step."""

import csv
import re
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.second.names import is_warmup, starred
from tests.second.nesting import Held, nest
from tests.second.raw import Capture, Range
from tests.second.steps import likeness


def measured(path: Path) -> dict[str, list[tuple[int | None, float]]]:
    """Step, if there is one, and nanoseconds of the measurements of each label; those of a warm-up are left out."""
    found: dict[str, list[tuple[int | None, float]]] = defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["step"] != "warmup":
                step = int(row["step"]) if row["step"] else None
                found[row["label"]].append((step, float(row["seconds"]) * 1e9))
    return dict(found)


def meant(capture: Capture, label: str) -> list[Range]:
    """The ranges whose names from some range down, joined by slashes, are the label."""
    nesting = nest(capture)
    paths = {one: "/".join(r.name for r in nesting.chain(one)) for one in capture.ranges}
    return [one for one, path in paths.items() if path == label] or [
        one for one, path in paths.items() if path.endswith(f"/{label}")
    ]


def step_of(chain: Held, label: str) -> int | None:
    """The number of the innermost range called like a step; the label itself may count something else."""
    for one in reversed(chain):
        number = re.search(r"(\d+)$", one.name)
        if number and likeness(one.name) == 2 and one.name != label:
            return int(number[1])
    return None


def rows(capture: Capture, path: Path) -> dict[tuple[str], dict[str, Any]]:
    """A row a label: the numbers of measurements, ranges and pairs, and the difference of timer and range.

    Without a warm-up. A label whose ranges tell no step, and are not as many as its measurements, stands for these
    ranges and for the steps inside them: those are rows of their own.
    """
    nesting = nest(capture)
    warm = {one for one in capture.ranges if any(is_warmup(r.name) for r in nesting.chain(one))}
    found = {}
    for label, every in measured(path).items():
        times = every
        ranges = [one for one in meant(capture, label) if one.closed and one not in warm]
        steps = {one: step_of(nesting.chain(one), label) for one in ranges}
        if set(steps.values()) <= {None} and len(ranges) != len(every):
            inside = {
                one: step_of(nesting.chain(one), label)
                for one in capture.ranges
                if one.closed and likeness(one.name) == 2 and nesting.chain(one)[-2:-1] in [(r,) for r in ranges]
            }
            names = {starred(one.name) for one in inside}
            if names:
                title = f"{label}/{names.pop()}"
                found[title,] = _row([time for time in every if time[0] is not None], inside)
                times = [time for time in every if time[0] is None]
        found[label,] = _row(times, steps)
    return found


def _row(times: Sequence[tuple[int | None, float]], steps: Mapping[Range, int | None]) -> dict[str, Any]:
    by_step: dict[int | None, list[Range]] = defaultdict(list)
    for one in sorted(steps, key=lambda one: one.start):
        by_step[steps[one]].append(one)
    timed: dict[int | None, list[float]] = defaultdict(list)
    for step, ns in times:
        timed[step].append(ns)
    if set(by_step) <= {None}:  # no range tells a step: all of them by their order
        timed = {None: [ns for _, ns in times]}
    pairs = [
        (ns, one)
        for step in timed
        if len(timed[step]) == len(by_step[step])
        for ns, one in zip(timed[step], by_step[step], strict=True)
    ]
    return {
        "timings": len(times),
        "ranges": len(steps),
        "pairs": len(pairs),
        "over_cpu_ns": statistics.fmean(ns - (one.end - one.start) for ns, one in pairs) if pairs else None,
    }
