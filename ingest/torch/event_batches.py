"""Write events of other formats in the form of the PyTorch profiler's: one reader stages them all (take.sql)."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ingest.torch.cutter import Batch

MOST = 1 << 14
"""Events of a batch."""


def batch_events(events: Iterable[Mapping[str, Any]]) -> Iterator[Batch]:
    """Yield events in batches."""
    written: list[bytes] = []
    for event in events:
        written.append(json.dumps(event).encode())
        if len(written) == MOST:
            yield _make_batch(written)
            written = []
    if written:
        yield _make_batch(written)


def make_event(
    category: str, name: str, span: tuple[int, int], place: tuple[object, object] = (0, 0), **args: Any
) -> dict[str, Any]:
    """Return a complete event.

    Args:
        category: what it is, as in a trace: kernel, gpu_memcpy, cuda_runtime, cpu_op ...
        name: its name.
        span: start and end, ns.
        place: process and thread.
        args: its arguments, under the names of a trace.
    """
    start, end = span
    return {
        "ph": "X", "cat": category, "ts": _spell(start), "dur": _spell(max(0, end - start)), "name": name,
        "pid": str(place[0]), "tid": str(place[1]), "args": {key: one for key, one in args.items() if one is not None},
    }  # fmt: skip


def make_mark(name: str, time: int, place: tuple[object, object]) -> dict[str, Any]:
    """Return the event of an instant, ns."""
    return {"ph": "i", "name": name, "ts": _spell(time), "pid": str(place[0]), "tid": str(place[1])}


def name_process(pid: object, name: str) -> dict[str, Any]:
    """Return the event that names a process."""
    return {"ph": "M", "name": "process_name", "pid": str(pid), "tid": "0", "args": {"name": name}}


def name_thread(pid: object, tid: object, name: str) -> dict[str, Any]:
    """Return the event that names a thread."""
    return {"ph": "M", "name": "thread_name", "pid": str(pid), "tid": str(tid), "args": {"name": name}}


def parse_number(value: Any) -> int | None:
    """Return a whole number that fits 63 bits, else None."""
    return value if type(value) is int and abs(value) < 1 << 62 else None


def make_span(start: Any, end: Any) -> tuple[int, int] | None:
    """Return start and end (ns), or None if they are no times."""
    begun, ended = parse_number(start), parse_number(end)
    return (begun, ended) if begun is not None and ended is not None and 0 < begun <= ended else None


def _spell(ns: int) -> str:
    """Return a time as microseconds to the last digit: a number would be rounded."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def _make_batch(written: list[bytes]) -> Batch:
    lengths = np.array([len(one) for one in written])
    ends = np.cumsum(lengths + 1) - 1
    return Batch(b"\n".join(written), ends - lengths, ends)
