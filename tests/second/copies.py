"""Copies and memory sets by direction, and by kind of memory and function."""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from tests.second.nesting import by_device, union
from tests.second.raw import Capture, Operation

Table = dict[tuple[Any, ...], dict[str, Any]]

MEMSET = "memset"
TO_DEVICE, IN_DEVICE, BETWEEN = 1, {5, 6, 7, 8}, {10}
"""Numbers of CUDA_MEMCPY_OPER: to the GPU, inside the memory of one, from one to another."""
PAGEABLE, PINNED, MANAGED = 0, 1, 4
"""Numbers of CUDA_MEM_KIND."""
RETURNS_EARLY = 64_000
"""Bytes up to which a copy to the GPU returns before it is done."""


def direction(capture: Capture, one: Operation) -> str:
    """The direction of a copy in the words of the export; ``memset`` for a memory set."""
    return MEMSET if one.kind == "memset" else capture.labels("CUDA_MEMCPY_OPER")[one.facts["copyKind"]]


def by_direction(capture: Capture) -> Table:
    rows: dict[str, list[Operation]] = defaultdict(list)
    for one in capture.copies:
        rows[direction(capture, one)].append(one)
    return {(name,): _figures(there) for name, there in rows.items()}


def _figures(there: list[Operation]) -> dict[str, Any]:
    ns, size = sum(one.ns for one in there), sum(one.facts["bytes"] for one in there)
    # a copy inside a GPU reads and writes
    twice = there[0].kind == "memcpy" and there[0].facts["copyKind"] in IN_DEVICE
    return {
        "total_ns": ns,
        "count": len(there),
        "bytes": size,
        "avg_bytes": size / len(there),
        "bytes_per_s": size * 1e9 / ns,
        "traffic_bytes_per_s": (2 if twice else 1) * size * 1e9 / ns,
    }


def by_kind(capture: Capture) -> Table:
    """A row a direction, kind of memory on both sides, function, and why the host had to wait."""
    rows: dict[tuple[Any, ...], list[Operation]] = defaultdict(list)
    kinds = capture.labels("CUDA_MEM_KIND")
    for one in capture.copies:
        source = kinds.get(one.facts["srcKind"]) if one.kind == "memcpy" else None
        target = kinds.get(one.facts["dstKind" if one.kind == "memcpy" else "memKind"])
        function = re.sub(r"_v\d{4,5}$", "", one.call.name) if one.call else None
        rows[direction(capture, one), source, target, function, held(one, function)].append(one)
    found: Table = {}
    for key, there in rows.items():
        calls = [one.call.end - one.call.start for one in there if one.call]
        plain = _figures(there)
        found[key] = {
            "count": plain["count"],
            "bytes": plain["bytes"],
            "copy_ns": plain["total_ns"],
            "call_ns": sum(calls) if calls else None,
            "longest_call_ns": max(calls, default=None),
            "bytes_per_s": plain["bytes_per_s"],
        }
    return found


def held(one: Operation, function: str | None) -> str | None:
    """Why the host had to wait in the call of a copy."""
    if not function:
        return None
    asynchronous = "async" in function.lower()
    if one.kind == "memset":
        return "synchronous" if not asynchronous and one.facts["memKind"] in (PINNED, MANAGED) else None
    if asynchronous:
        return "pageable" if PAGEABLE in (one.facts["srcKind"], one.facts["dstKind"]) else None
    early = one.facts["copyKind"] == TO_DEVICE and one.facts["bytes"] <= RETURNS_EARLY
    return None if early or one.facts["copyKind"] in IN_DEVICE else "synchronous"


def gpus(capture: Capture) -> Table:
    """Of each GPU that worked: how many operations, how long, from when to when."""
    low, high = capture.window
    found: Table = {}
    for device, spans in by_device(capture.operations).items():
        there = [one for one in capture.operations if one.device == device]
        active = max(one.end for one in there) - min(one.start for one in there)
        busy = union(spans)
        found[device,] = {
            "operations": len(there),
            "busy_ns": busy,
            "kernel_ns": _total(one for one in there if one.kind == "kernel"),
            "copy_ns": _total(one for one in there if one.kind in ("memcpy", "memset")),
            "first_ns": min(one.start for one in there) - low,
            "active_ns": active,
            "capture_ns": high - low,
            "busy_pct": 100 * busy / (high - low),
            "busy_active_pct": 100 * busy / active,
        }
    return found


def _total(there: Iterable[Operation]) -> int | None:
    times = [one.ns for one in there]
    return sum(times) if times else None
