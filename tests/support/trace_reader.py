"""Read a trace with only Python's json module, to compare reports with. Times are in ns."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

KINDS = {
    "cpu_op": "operator", "operator": "operator", "user_annotation": "annotation", "kernel": "kernel",
    "gpu_memcpy": "memcpy", "memcpy": "memcpy", "gpu_memset": "memset", "memset": "memset", "cuda_runtime": "call",
    "runtime": "call", "cuda_driver": "call", "python_function": "python", "cuda_sync": "sync",
}  # fmt: skip
"""Kinds of complete events by category in lowercase."""
Event = dict[str, Any]


def read(path: Path) -> Event:
    """Read a trace, with every decimal number as a Decimal."""
    raw = path.read_bytes()
    text = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
    return dict(json.loads(text, parse_float=Decimal))


def ns(value: Any) -> int:
    """Convert microseconds of a trace to ns."""
    return int(Decimal(value) * 1000)


def of_kind(trace: Event, *kinds: str) -> Iterator[Event]:
    """Yield the complete events of some kinds, in the order of the trace."""
    for event in trace["traceEvents"]:
        if event.get("ph") == "X" and KINDS.get(str(event.get("cat")).lower()) in kinds:
            yield event


def begin(trace: Event) -> int:
    """Return the zero of the report's clock: the earliest start of a traced event or of the trace's own frame."""
    timed = (*KINDS, "trace")
    times = [ns(e["ts"]) for e in trace["traceEvents"] if e.get("ph") == "X" and str(e.get("cat")).lower() in timed]
    return min(times)


def spans(trace: Event, *kinds: str) -> Counter[tuple[str, int, int]]:
    """Return name, start and end of the events of some kinds."""
    zero = begin(trace)
    return Counter((e["name"], ns(e["ts"]) - zero, ns(e["ts"]) - zero + ns(e["dur"])) for e in of_kind(trace, *kinds))


def launched_by(trace: Event, pid: object = None) -> dict[int, Event]:
    """Return the first call of each correlation id, optionally of one process."""
    calls: dict[int, Event] = {}
    for event in of_kind(trace, "call"):
        if pid in (None, event["pid"]):
            calls.setdefault(event["args"].get("correlation"), event)
    return calls
