"""Load the trace of AMD's older rocprof (``results.json``), a Chrome trace whose processes are kinds of records.

Slices have their times in ns as texts among their arguments; those of Chrome are whole microseconds.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from ingest import diagnostics
from ingest.derive import stage
from ingest.json_stream import JsonStream
from ingest.rocprof import records
from ingest.torch.event_batches import batch_events, make_event, make_span
from ingest.torch.event_database import note_unread
from ingest.torch.events import Events
from ingest.torch.load import complete_events
from ingest.torch.source import Source
from profiledb.words import counted

TOOL = "rocprof"
_LABEL = re.compile(r"^(?:\d+ )?(CPU HIP API|CPU HSA API|COPY|Markers and Ranges|GPU(\d{1,4}))$")
_WHOLE = re.compile(r"\d{1,18}")
_FILL = re.compile(r"fill|memset", re.IGNORECASE)
_CHUNK = 1 << 15


class Trace:
    """The slices of a file as events; ``left_out`` counts those that are not read, by the name of their process."""

    def __init__(self, stream: JsonStream, events: Events) -> None:
        self.left_out: Counter[str] = Counter()
        self._stream = stream
        self._events = events
        self._made: list[dict[str, Any]] = []
        self._labels: dict[Any, str] = {}

    def document(self) -> None:
        self._stream.each_key(self._part)

    def finish(self) -> None:
        self._events.take(batch_events(self._made))
        self._made = []

    def _part(self, key: str) -> None:
        if key == "traceEvents" and self._stream.peek() == "[":
            self._stream.each(self._event)
        else:
            self._stream.value()

    def _event(self) -> None:
        event = self._stream.value()
        event = event if isinstance(event, dict) else {}
        args: dict[str, Any] = value if isinstance(value := event.get("args"), dict) else {}
        if event.get("ph") == "M" and event.get("name") == "process_name":
            self._labels[str(event.get("pid"))] = str(args.get("name"))
        elif event.get("ph") == "X":
            self._made += self._read_slice(self._labels.get(str(event.get("pid")), ""), str(event.get("name")), args)
            if len(self._made) >= _CHUNK:
                self.finish()

    def _read_slice(self, label: str, name: str, args: dict[str, Any]) -> Iterator[dict[str, Any]]:
        span = make_span(_parse_whole(args.get("BeginNs")), _parse_whole(args.get("EndNs")))
        match = _LABEL.match(label)
        if span is None or match is None or match[1] == "CPU HSA API":
            self.left_out[match[1] if match else "other processes"] += 1
            return
        thread = (_parse_whole(args.get("pid")) or 0, _parse_whole(args.get("tid")) or 0)
        correlation = _parse_whole(args.get("Index"))
        place: dict[str, Any] = {
            "device": _parse_whole(args.get("dev-id")), "stream": _parse_whole(args.get("stream-id")),
            "correlation": correlation,
        }  # fmt: skip
        if match[2]:
            yield make_event("kernel", name, span, **place | {"device": int(match[2])})
        elif match[1] == "COPY" and _FILL.search(name):
            yield make_event("gpu_memset", "Memset (Device)", span, **place)
        elif match[1] == "COPY":
            yield records.make_copy(name, span, place, None)
        elif match[1] == "CPU HIP API":
            yield from records.make_call(name, span, thread, correlation)
        else:
            yield make_event("user_annotation", name, span, thread)


def load_trace(db: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Fill the tables of the report that ``db`` has open as catalog ``report``.

    Raises:
        ConversionError: the file has no slice with a time.
    """
    stage(db)
    events = Events(db)
    source = Source(path)
    stream = JsonStream(source.blocks())
    trace = Trace(stream, events)
    stream.read(trace.document)
    trace.finish()
    complete_events(db, events, {}, TOOL, records.KIND, "JSON of rocprof")
    diagnostics.note_damage(db, "The trace", source.damage or stream.damage, counted(events.count, "slice"))
    note_unread(db, trace.left_out)


def _parse_whole(text: Any) -> int | None:
    """Return a whole number, which may be a text."""
    return int(text) if _WHOLE.fullmatch(str(text)) and not isinstance(text, bool) else None
