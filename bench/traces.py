"""Make traces of the PyTorch profiler of any size by repeating the events of a real one, later each time."""

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

_TIME = re.compile(rb'"ts": (\d+)\.(\d{3})')
_ID = re.compile(rb'"(External id|correlation|id|Sequence number|Python id|Python parent id|Ev Idx)": (\d+)')
_FAR = 10_000_000
"""Distance between the ids of two copies: more than a trace of these sizes has of any kind."""


def repeat_trace(source: Path, target: Path, size: int) -> int:
    """Write a trace of about ``size`` bytes that repeats the events of ``source`` (JSON, also compressed by gzip).

    Returns:
        Number of copies.
    """
    raw = source.read_bytes()
    text = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
    head, opening, rest = text.partition(b'"traceEvents": [')
    body, closing, tail = rest.rpartition(b"]")
    length = _measure_length_us(text)
    written = copies = 0
    with target.open("wb") as out:
        out.write(head + opening)
        while not copies or written < size:
            out.write(b"," * bool(copies))
            for part in _move_events(body, copies * length, copies * _FAR):
                written += out.write(part)
            copies += 1
        out.write(closing + tail)
    return copies


def _measure_length_us(text: bytes) -> int:
    events = [event for event in json.loads(text)["traceEvents"] if event.get("ph") == "X"]
    begin = min(event["ts"] for event in events)
    return int(max(event["ts"] + event.get("dur", 0) for event in events) - begin) + 1000


def _move_events(body: bytes, shift_us: int, shift_id: int) -> Iterator[bytes]:
    """Return the events with all times and ids moved."""
    moved = _TIME.sub(lambda m: b'"ts": %d.%s' % (int(m[1]) + shift_us, m[2]), body)
    yield _ID.sub(lambda m: b'"%s": %d' % (m[1], int(m[2]) + shift_id), moved)
