"""What timers of a program measured, beside the ranges of the same label and step."""

import csv
import re
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.second.nesting import Held, nest
from tests.second.raw import Capture, Range
from tests.second.steps import likeness


def measured(path: Path) -> dict[str, list[tuple[int | None, float]]]:
    """Step, where there is one, and nanoseconds of the measurements of each label; those of a warm-up are left out."""
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
    """A row a label: how many measurements, ranges and pairs, and what the timer saw and the range did not."""
    nesting = nest(capture)
    found = {}
    for label, times in measured(path).items():
        ranges = sorted((one for one in meant(capture, label) if one.closed), key=lambda one: one.start)
        by_step: dict[int | None, list[Range]] = defaultdict(list)
        for one in ranges:
            by_step[step_of(nesting.chain(one), label)].append(one)
        timed: dict[int | None, list[float]] = defaultdict(list)
        for step, ns in times:
            timed[step].append(ns)
        if set(by_step) <= {None} and None not in timed:  # no range tells a step: all of them by their order
            timed[None] = [ns for _, ns in times]
        pairs = [
            (ns, one)
            for step in timed
            if step is not None or len(timed[step]) == len(by_step[step])
            for ns, one in zip(timed[step], by_step[step], strict=False)
        ]
        found[label,] = {
            "timings": len(times),
            "ranges": len(ranges),
            "pairs": len(pairs),
            "over_cpu_ns": statistics.fmean(ns - (one.end - one.start) for ns, one in pairs) if pairs else None,
        }
    return found
