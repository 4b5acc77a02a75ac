"""Kernels: totals by name and by class, of all of them or of those in a range, and the times of their launches."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from tests.second.names import kernel_class
from tests.second.nesting import Mode, nest, ran
from tests.second.raw import Capture, Operation, Range
from tests.second.stats import deviation

Table = dict[tuple[Any, ...], dict[str, Any]]


def inside(capture: Capture, name: str, mode: Mode) -> list[Operation]:
    """The operations of all ranges of a name."""
    nesting = nest(capture)
    return [one for one in capture.operations if any(r.name == name for r in nesting.of(one, mode))]


def by_name(operations: Iterable[Operation]) -> Table:
    """A row a kernel, by its full name."""
    kernels: dict[str, list[Operation]] = defaultdict(list)
    for one in operations:
        if one.kind == "kernel":
            kernels[one.name].append(one)
    whole = sum(one.ns for there in kernels.values() for one in there)
    return {(name,): _figures(there, whole) for name, there in kernels.items()}


def _figures(there: Sequence[Operation], whole: int) -> dict[str, Any]:
    times = [one.ns for one in there]
    grids = {_shape(one, "grid") for one in there}
    blocks = {_shape(one, "block") for one in there}
    resources = ("registersPerThread", "staticSharedMemory", "dynamicSharedMemory")
    return {
        "class": kernel_class(there[0].name),
        "total_ns": sum(times),
        "share_pct": 100 * sum(times) / whole,
        "calls": len(times),
        "avg_ns": sum(times) / len(times),
        "median_ns": float(statistics.median(times)),
        "min_ns": min(times),
        "max_ns": max(times),
        "stddev_ns": deviation(times) or 0.0,
        "grid": grids.pop() if len(grids) == 1 else f"{len(grids)} shapes",
        "block": blocks.pop() if len(blocks) == 1 else f"{len(blocks)} shapes",
        "registers": max(one.facts["registersPerThread"] for one in there),
        "shapes": len(
            {(_shape(one, "grid"), _shape(one, "block"), *(one.facts[name] for name in resources)) for one in there}
        ),
    }


def _shape(one: Operation, what: str) -> str:
    return "x".join(str(one.facts[f"{what}{axis}"]) for axis in "XYZ")


def by_class(operations: Iterable[Operation]) -> Table:
    """A row a class of kernels."""
    times: dict[str, list[int]] = defaultdict(list)
    for one in operations:
        if one.kind == "kernel":
            times[kernel_class(one.name)].append(one.ns)
    whole = sum(map(sum, times.values()))
    return {
        (name,): {"total_ns": sum(ns), "share_pct": 100 * sum(ns) / whole, "calls": len(ns)}
        for name, ns in times.items()
    }


def by_path(capture: Capture, mode: Mode) -> Table:
    """A row a path of ranges: its time on the host, and the work of its ranges; None without any."""
    nesting, held = nest(capture), ran(capture, mode)
    ranges: dict[str, list[Range]] = defaultdict(list)
    for one in capture.ranges:
        ranges[nesting.path(one)].append(one)
    found: Table = {}
    for path, there in ranges.items():
        work = [held[one] for one in there if one in held]
        found[path,] = {
            "instances": len(there),
            "cpu_ns": sum(one.end - one.start for one in there),
            "operations": sum(len(one.operations) for one in work),
            "launched_in": len(work),
            "gpu_ns": sum(one.ns for one in work) if work else None,
            "busy_ns": sum(one.busy for one in work) if work else None,
            "kernel_ns": sum(one.kernel_ns for one in work) if work else None,
        }
    return found


def launches(capture: Capture, idle_ns: int = 5000) -> Table:
    """Times from launches to kernels, a row a full name, and of all of them under None.

    Kernels without a call are left out, and so are nodes of CUDA graphs.
    """
    rows: dict[str | None, list[Operation]] = defaultdict(list)
    for one in capture.kernels:
        if one.call and not one.facts["graphNodeId"]:
            rows[one.name].append(one)
            rows[None].append(one)
    return {(name,): _launched(there, idle_ns) for name, there in rows.items()}


def _launched(there: Sequence[Operation], idle_ns: int) -> dict[str, Any]:
    pairs = [(one, one.call) for one in there if one.call]
    calls = [call.end - call.start for _, call in pairs]
    queues = [one.start - call.end for one, call in pairs if one.start >= call.end]
    waited = [
        one.ns < call.end - call.start and one.start - call.end <= idle_ns for one, call in pairs
    ]  # a kernel that began within its call did not queue
    return {
        "launches": len(pairs),
        "call_ns": sum(calls),
        "median_call_ns": float(statistics.median(calls)),
        "queued": len(queues),
        "queue_ns": sum(queues) if queues else None,
        "median_queue_ns": float(statistics.median(queues)) if queues else None,
        "kernel_ns": sum(one.ns for one, _ in pairs),
        "median_kernel_ns": float(statistics.median([one.ns for one, _ in pairs])),
        "host_bound_pct": 100 * sum(waited) / len(pairs),
    }
