"""Tensor memory from the trace itself, event by event: the holders of memory over time, and their allocations.

As in TensorBoard's plugin (memory_parser.py), an allocation belongs to the innermost operator of its thread at its
time, and a release to the operator that allocated at its address; the peak is the maximum of "Total Allocated".
"""

import gzip
import json
import re
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import Any

Event = dict[str, Any]
Rows = dict[tuple[Any, ...], dict[str, Any]]
FACTORY = re.compile(r"aten::(empty(_like|_strided|_permuted)?|new_empty(_strided)?|resize_)")


def ns(value: Any) -> int:
    return int(Decimal(value) * 1000)


class Trace:
    """The operators, modules and memory events of a trace; times in ns since the earliest event."""

    def __init__(self, path: Path) -> None:
        events = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)["traceEvents"]
        timed = [e for e in events if e.get("ph") == "X"]
        self.begin = min(ns(e["ts"]) for e in timed)
        kinds = {"cpu_op", "user_annotation", "python_function"}
        self._around: dict[Any, list[tuple[int, int, Event]]] = defaultdict(list)
        for event in timed:
            module = event["name"].startswith("nn.Module: ")
            if event.get("cat") in kinds and (event["cat"] != "python_function" or module):
                start = ns(event["ts"])
                self._around[event["tid"]].append((start, start + ns(event["dur"]), event))
        moments = [e for e in events if e.get("name") == "[memory]"]
        self.moments = sorted(moments, key=lambda event: ns(event["ts"]))  # stable: as they stand in the trace

    def stack(self, event: Event) -> list[Event]:
        """Operators that are open on the thread of an event, outermost first."""
        at = ns(event["ts"])
        there = [one for one in self._around[event["tid"]] if one[0] <= at <= one[1]]
        return [event for _, _, event in sorted(there, key=lambda one: (one[0], -one[1]))]

    def forward(self, stack: list[Event]) -> list[Event]:
        """Operators that were open around the forward operator of the outermost backward one of a stack."""
        for one in stack:
            number = one["args"].get("Sequence number")
            if one["args"].get("Fwd thread id") and number is not None:
                same = [
                    (start, event, tid)
                    for tid, there in self._around.items()
                    for start, _, event in there
                    if event["args"].get("Sequence number") == number and not event["args"].get("Fwd thread id")
                ]
                if same:
                    _, event, tid = max(same, key=lambda one: one[0])
                    return self.stack({"ts": event["ts"], "tid": tid})
        return []


def device_of(event: Event) -> str:
    args = event["args"]
    return "CPU" if args["Device Type"] == 0 else f"GPU {args['Device Id']}"


def innermost(stack: list[Event]) -> str | None:
    """The innermost operator of a stack."""
    return next((one["name"] for one in reversed(stack) if one["cat"] == "cpu_op"), None)


def operator(stack: list[Event]) -> str | None:
    """The innermost operator that does more than allocate for the operator right around it."""
    while len(stack) > 1 and stack[-1]["cat"] == stack[-2]["cat"] == "cpu_op" and FACTORY.fullmatch(stack[-1]["name"]):
        stack = stack[:-1]
    return innermost(stack)


def modules(stack: list[Event]) -> str | None:
    """The modules of a stack, joined by slashes."""
    names = [e["name"].removeprefix("nn.Module: ") for e in stack if e["cat"] == "python_function"]
    return "/".join(names) or None


def lives(trace: Trace) -> list[dict[str, Any]]:
    """Every allocation with the event that made it (None: before the capture) and the one that released it."""
    open_: dict[tuple[str, int], dict[str, Any]] = {}
    found = []
    for number, event in enumerate(trace.moments):
        key, size = (device_of(event), event["args"]["Addr"]), event["args"]["Bytes"]
        if size > 0:
            open_[key] = {"device": key[0], "bytes": size, "made": number, "freed": None}
            found.append(open_[key])
        elif key in open_:
            open_.pop(key)["freed"] = number
        elif not any(one["key"] == key for one in found if "key" in one):
            found.append({"device": key[0], "bytes": -size, "made": None, "freed": number, "key": key})
    return found


def at_peak(trace: Trace, name: Any) -> Rows:
    """Live memory at the peak of each device, by the ``name`` of the allocation's stack."""
    found: Rows = {}
    for device in {device_of(event) for event in trace.moments}:
        own = [n for n, event in enumerate(trace.moments) if device_of(event) == device]
        peak = max(own, key=lambda n: (trace.moments[n]["args"]["Total Allocated"], -n))
        total = trace.moments[peak]["args"]["Total Allocated"]
        sizes = defaultdict(list)
        for life in lives(trace):
            alive = (
                life["made"] is not None and life["made"] <= peak and (life["freed"] is None or life["freed"] > peak)
            )
            if life["device"] == device and alive:
                sizes[name(trace.moments[life["made"]])].append(life["bytes"])
        for key, several in sizes.items():
            part = {"tensors": len(several), "bytes": sum(several), "largest_bytes": max(several)}
            found[device, "none" if key is None else "named", key] = part | {"share_pct": 100 * sum(several) / total}
        rest = total - sum(map(sum, sizes.values()))
        if rest:
            found[device, "before", None] = {"bytes": rest, "share_pct": 100 * rest / total}
    return found


def allocations(trace: Trace, name: Any) -> Rows:
    """The allocations of each device by the same."""
    made = defaultdict(list)
    for life in lives(trace):
        if life["made"] is not None:
            made[life["device"], name(trace.moments[life["made"]])].append(life)
    return {key: _summed(trace, several) for key, several in made.items()}


def _summed(trace: Trace, several: list[dict[str, Any]]) -> dict[str, Any]:
    sizes = [one["bytes"] for one in several]
    times = [
        ns(trace.moments[one["freed"]]["ts"]) - ns(trace.moments[one["made"]]["ts"])
        for one in several
        if one["freed"] is not None
    ]
    return {
        "allocations": len(several),
        "bytes": sum(sizes),
        "largest_bytes": max(sizes),
        "median_ns": float(median(times)) if times else None,
        "net_bytes": sum(one["bytes"] for one in several if one["freed"] is None),
    }
