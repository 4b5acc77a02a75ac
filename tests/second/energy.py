"""Energy from the power log beside a report: the growth of a GPU's counter, spread over its time."""

import csv
import statistics
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from tests.second.nesting import Mode, Span, merged, nest, ran
from tests.second.raw import Capture, Range
from tests.second.steps import loops

MODE: Mode = "process"


@dataclass(frozen=True)
class Reading:
    """A line of the log, on the clock of the report: watts, and joules of the counter."""

    time: int
    watts: float
    joules: float


class Meter:
    """Energy of a GPU over time: straight lines between the moments at which it is known."""

    def __init__(self, readings: list[Reading]) -> None:
        self.times: list[float] = []
        self.joules: list[float] = []
        changes = [(one, before) for before, one in pairwise(readings) if one.joules != before.joules]
        stretches = [(a[0], b[0], b[1]) for a, b in pairwise(changes)]
        period = statistics.median([b.time - a.time for a, b, _ in stretches]) if stretches else 0
        rates = []
        for start, end, seen in stretches:
            whole = end.joules - start.joules
            if end.time - seen.time > period:  # the log has a hole: before it and in it at the powers around it
                before, inside = seen.watts * (seen.time - start.time), end.watts * (end.time - seen.time)
                cut = seen.time, whole * before / (before + inside)
                rates += [(start.time, cut[0], cut[1]), (cut[0], end.time, whole - cut[1])]
            else:
                rates.append((start.time, end.time, whole))
        self.times = [rates[0][0], *(end for _, end, _ in rates)] if rates else []
        self.joules = list(accumulate((joules for *_, joules in rates), initial=0.0)) if rates else []

    def until(self, time: float) -> float:
        """Joules from the first known moment on."""
        if time <= self.times[0]:
            return 0.0
        at = bisect_right(self.times, time)
        if at == len(self.times):
            return self.joules[-1]
        low, high = self.times[at - 1], self.times[at]
        return self.joules[at - 1] + (self.joules[at] - self.joules[at - 1]) * (time - low) / (high - low)

    def of(self, spans: list[Span]) -> tuple[float, float]:
        """Joules and known nanoseconds of stretches that do not overlap."""
        first, last = self.times[0], self.times[-1]
        known = [(max(a, first), min(b, last)) for a, b in spans if min(b, last) > max(a, first)]
        return sum(self.until(b) - self.until(a) for a, b in known), sum(b - a for a, b in known)


@cache
def meter(capture: Capture) -> Meter | None:
    """The meter of the GPU that worked; None without a log."""
    path: Path = capture.path.with_suffix(".nvml.csv")
    if not path.exists():
        return None
    (worked,) = {one.device for one in capture.operations}
    uuid = next(row["uuid"] for row in capture.table("TARGET_INFO_GPU") if row["id"] == worked)
    began = (
        capture.table("TARGET_INFO_SESSION_START_TIME")[0]["utcEpochNs"] // 1000 * 1000
    )  # a report keeps microseconds
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if _same(row, uuid, worked)]
    readings = {
        int(row["time_ns"]) - began: Reading(
            int(row["time_ns"]) - began, float(row["power_w"]), float(row["energy_mj"]) / 1000
        )
        for row in rows
    }
    return Meter([readings[time] for time in sorted(readings)])


def _same(row: dict[str, str], uuid: str | None, device: int) -> bool:
    if row.get("uuid") and uuid:
        return row["uuid"].lower().removeprefix("gpu-") == uuid.lower().removeprefix("gpu-")
    return int(row["device"]) == device


def of_capture(capture: Capture) -> dict[str, Any]:
    """The energy of the whole capture."""
    found = meter(capture)
    assert found
    return _row(found, [capture.window])


def _row(found: Meter, spans: list[Span]) -> dict[str, Any]:
    spans = merged(spans)
    asked = sum(high - low for low, high in spans)
    joules, known = found.of(spans)
    return {
        "seconds": asked / 1e9,
        "covered_pct": 100 * known / asked,
        "joules": joules if known else None,
        "mean_w": joules / known * 1e9 if known else None,
    }


def _time(capture: Capture, one: Range) -> Span:
    """The time of a range on the GPU, else on the host."""
    there = ran(capture, MODE).get(one)
    return (there.start, there.start + there.ns) if there else (one.start, one.end)


def by_path(capture: Capture) -> dict[tuple[str], dict[str, Any]]:
    """Energy of the ranges of each path; where they overlap their time counts once."""
    found, nesting = meter(capture), nest(capture)
    assert found
    spans: dict[str, list[Span]] = defaultdict(list)
    for one in capture.ranges:
        spans[nesting.path(one)].append(_time(capture, one))
    return {(path,): _row(found, there) | {"instances": len(there)} for path, there in spans.items()}


def by_loop(capture: Capture) -> dict[tuple[int], dict[str, Any]]:
    """Energy of the steps that count of each loop, by rank."""
    found = meter(capture)
    assert found
    return {
        (rank,): _row(found, [_time(capture, one) for one in loop.counted]) | {"instances": len(loop.counted)}
        for rank, loop in enumerate(loops(capture, MODE), 1)
        if loop.counted
    }
