"""Two captures side by side: kernels, copies, and totals of each, overall and per step."""

import statistics
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from tests.second.copies import direction
from tests.second.nesting import Mode, by_device, nest, union
from tests.second.raw import Capture, Operation, Range
from tests.second.steps import loops

Table = dict[tuple[Any, ...], dict[str, Any]]
MODE: Mode = "process"


@dataclass
class Totals:
    """Sums over some operations of one key."""

    operations: list[Operation] = field(default_factory=list)

    @property
    def ns(self) -> int:
        return sum(one.ns for one in self.operations)

    @property
    def calls(self) -> int:
        return len(self.operations)

    @property
    def mean(self) -> float:
        return self.ns / self.calls


def in_steps(capture: Capture) -> tuple[list[Operation], int]:
    """The operations inside the steps of rank 1 that count, and how many steps these are; all and 0 without."""
    best = next(iter(loops(capture, MODE)), None)
    if best is None:
        return capture.operations, 0
    chosen: Collection[Range] = set(best.counted)
    nesting = nest(capture)
    held = [one for one in capture.operations if any(r in chosen for r in nesting.of(one, MODE))]
    return held, len(chosen)


def by_kernel(operations: Collection[Operation]) -> dict[str, Totals]:
    found: dict[str, Totals] = defaultdict(Totals)
    for one in operations:
        if one.kind == "kernel":
            found[one.name].operations.append(one)
    return dict(found)


def kernels(a: Capture, b: Capture) -> Table:
    """Kernels of two whole captures by full name: the change, by number of calls and by duration."""
    sides = [by_kernel(one.operations) for one in (a, b)]
    whole = [sum(one.ns for one in side.values()) for side in sides]
    found: Table = {}
    for name in {*sides[0], *sides[1]}:
        before, after = (side.get(name) for side in sides)
        row: dict[str, Any] = {"status": "same" if before and after else "new" if after else "gone"}
        for letter, there, total in (("a", before, whole[0]), ("b", after, whole[1])):
            row[f"{letter}_total_ns"] = there.ns if there else None
            row[f"{letter}_calls"] = there.calls if there else None
            row[f"{letter}_avg_ns"] = there.mean if there else None
            row[f"{letter}_share_pct"] = 100 * there.ns / total if there else None
        row["change_ns"] = (after.ns if after else 0) - (before.ns if before else 0)
        row["share_change_points"] = (row["b_share_pct"] or 0) - (row["a_share_pct"] or 0)
        if before and after:
            row["change_pct"] = 100 * (after.ns - before.ns) / before.ns
            row["avg_change_pct"] = 100 * (after.mean - before.mean) / before.mean
            row["longer_ns"] = after.calls * (after.mean - before.mean)
            row["more_calls_ns"] = (after.calls - before.calls) * before.mean
        found[name,] = row
    return found


def kernels_of_a_step(a: Capture, b: Capture) -> Table:
    """Time and launches of each kernel in a step: of those inside the steps."""
    found: Table = defaultdict(dict)
    for letter, capture in (("a", a), ("b", b)):
        held, steps = in_steps(capture)
        for name, there in by_kernel(held).items():
            found[name,] |= {f"{letter}_total_ns": there.ns / steps, f"{letter}_calls": there.calls / steps}
    return dict(found)


def copies(a: Capture, b: Capture) -> Table:
    """Copies and memory sets of two whole captures by direction."""
    found: Table = defaultdict(dict)
    for letter, capture in (("a", a), ("b", b)):
        sums: dict[str, Totals] = defaultdict(Totals)
        for one in capture.copies:
            sums[direction(capture, one)].operations.append(one)
        for name, there in sums.items():
            size = sum(one.facts["bytes"] for one in there.operations)
            found[name,] |= {
                f"{letter}_total_ns": there.ns,
                f"{letter}_count": there.calls,
                f"{letter}_bytes": size,
                f"{letter}_bytes_per_s": size * 1e9 / there.ns,
            }
    return dict(found)


def summary(capture: Capture) -> dict[str, float]:
    """Totals of a whole capture: the sum over its GPUs, and the mean of their shares."""
    low, high = capture.window
    busy = [union(spans) for spans in by_device(capture.operations).values()]
    found: dict[str, float] = {
        "wall_ns": high - low,
        "busy_ns": sum(busy),
        "busy_pct": statistics.fmean(100 * ns / (high - low) for ns in busy),
        "idle_ns": sum(high - low - ns for ns in busy),
    }
    if capture.kernels:
        whole = by_kernel(capture.operations)
        found |= {
            "kernel_ns": sum(one.ns for one in whole.values()),
            "launches": sum(one.calls for one in whole.values()),
            "kernels": len(whole),
        }
    best = next(iter(loops(capture, MODE)), None)
    if best:
        found["step_median_ns"] = statistics.median(one.end - one.start for one in best.counted)
    return found


def of_a_step(capture: Capture) -> dict[str, float]:
    """Kernel time and launches inside the steps, for a step."""
    held, steps = in_steps(capture)
    there = [one for one in held if one.kind == "kernel"]
    if not capture.kernels:
        return {}
    return {"kernel_ns_per_step": sum(one.ns for one in there) / steps, "launches_per_step": len(there) / steps}


def moved(capture: Capture) -> dict[str, float]:
    """Copies alone: a memory set copies nothing."""
    there = [one for one in capture.copies if one.kind == "memcpy"]
    if not capture.copies:
        return {}
    return {
        "copies": len(there),
        "copy_ns": sum(one.ns for one in there),
        "copy_bytes": sum(one.facts["bytes"] for one in there),
    }
