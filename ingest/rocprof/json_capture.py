"""Load the JSON of rocprofv3 (``NAME_results.json``), plain or packed with gzip."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from ingest import diagnostics
from ingest.derive import stage
from ingest.json_stream import JsonStream
from ingest.rocprof import counters, records
from ingest.torch.event_batches import batch_events, make_event, make_span, parse_number
from ingest.torch.event_database import note_unread
from ingest.torch.events import Events
from ingest.torch.load import complete_events
from ingest.torch.source import Source
from profiledb.words import counted

_KEY = "rocprofiler-sdk-tool"
_CALLS = ("hip_api", "rccl_api", "rocdecode_api", "rocjpeg_api")
_COUNTERS = "counter_collection"
_KNOWN = ("code_objects", "host_functions", "summary")
_CHUNK = 1 << 15
_GPU_AGENT = 2


class Capture:
    """The processes of a file, read one after the other.

    ``gpus``, ``counters`` (unit and description by name) and ``command`` are facts of the capture; ``left_out`` counts
    records that are not read, by their list.
    """

    def __init__(self, stream: JsonStream, take: Callable[[list[dict[str, Any]]], None]) -> None:
        self.gpus: list[dict[str, Any]] = []
        self.counters: dict[str, tuple[Any, Any]] = {}
        self.command = ""
        self.left_out: dict[str, int] = {}
        self._stream = stream
        self._take = take
        self._events: list[dict[str, Any]] = []
        self._begin()

    def document(self) -> None:
        self._stream.each_key(self._top)

    def finish(self) -> None:
        self._take(self._events)
        self._events = []

    def _begin(self) -> None:
        self._pid: Any = 0
        self._agents: dict[Any, int] = {}
        self._kernels: dict[Any, str] = {}
        self._operations: dict[int, list[str]] = {}
        self._ranges: dict[Any, str] = {}
        self._counters: dict[Any, str] = {}
        self._counted: set[Any] = set()

    def _top(self, key: str) -> None:
        if key == _KEY:
            self._stream.each(self._process)
        else:
            self._stream.value()

    def _process(self) -> None:
        self._begin()
        self._stream.each_key(self._part)

    def _part(self, key: str) -> None:
        if key == "metadata":
            self._read_metadata(_parse_dict(self._stream.value()))
        elif key == "agents":
            for agent in _list(self._stream.value()):
                self._read_agent(_parse_dict(agent))
        elif key == "strings":
            self._read_strings(_parse_dict(self._stream.value()))
        elif key == "kernel_symbols":
            self._stream.each(self._read_symbol)
        elif key == "counters" and self._stream.peek() == "[":
            self._stream.each(self._read_counter)
        elif key in {"buffer_records", "callback_records"} and self._stream.peek() == "{":
            self._stream.each_key(self._list)
        else:
            self._stream.value()
            if key not in _KNOWN:
                self.left_out[key] = self.left_out.get(key, 0) + 1

    def _list(self, key: str) -> None:
        if self._stream.peek() != "[":
            self._stream.value()
            return
        readers = {"kernel_dispatch": self._dispatch, "memory_copy": self._copy, "marker_api": self._range}
        read = self._call if key in _CALLS else readers.get(key)
        self._stream.each(self._count if key == _COUNTERS else lambda: self._record(key, read))

    def _count(self) -> None:
        """Read the counters of a dispatch, which without a trace of kernels is in no other record."""
        record = _parse_dict(self._stream.value())
        dispatch = _parse_dict(record.get("dispatch_data"))
        number = _number_dispatch(dispatch)
        span = make_span(dispatch.get("start_timestamp"), dispatch.get("end_timestamp"))
        if span is None or number is None or number in self._counted:
            self.left_out[_COUNTERS] = self.left_out.get(_COUNTERS, 0) + 1
            return
        values = ((self._name_counter(one), one.get("value")) for one in map(_parse_dict, _list(record.get("records"))))
        self._dispatch(dispatch | {"stream_id": record.get("stream_id")}, span, counters.sum_instances(values))
        self._counted.add(number)
        self._flush()

    def _record(self, key: str, read: Callable[[dict[str, Any], tuple[int, int]], None] | None) -> None:
        record = _parse_dict(self._stream.value())
        span = make_span(record.get("start_timestamp"), record.get("end_timestamp"))
        if read is None or span is None:
            self.left_out[key] = self.left_out.get(key, 0) + 1
            return
        read(record, span)
        self._flush()

    def _flush(self) -> None:
        if len(self._events) >= _CHUNK:
            self.finish()

    def _read_metadata(self, metadata: dict[str, Any]) -> None:
        self._pid = parse_number(metadata.get("pid")) or 0
        command = metadata.get("command")
        if isinstance(command, list) and not self.command:
            self.command = " ".join(str(part) for part in command)

    def _read_agent(self, agent: dict[str, Any]) -> None:
        if agent.get("type") != _GPU_AGENT:
            return
        index = parse_number(agent.get("gpu_index"))
        index = len(self._agents) if index is None else index
        self._agents[_handle(agent.get("id"))] = index
        if index not in {gpu["id"] for gpu in self.gpus}:
            self.gpus.append(records.make_gpu(index, agent))

    def _read_strings(self, strings: dict[str, Any]) -> None:
        for number, kind in enumerate(_list(strings.get("buffer_records"))):
            self._operations[number] = [str(one) for one in _list(_parse_dict(kind).get("operations"))]
        for one in map(_parse_dict, _list(strings.get("marker_api"))):
            if isinstance(value := one.get("value"), str):
                self._ranges[parse_number(one.get("key"))] = value

    def _read_symbol(self) -> None:
        symbol = _parse_dict(self._stream.value())
        name = symbol.get("kernel_name") or symbol.get("formatted_kernel_name")
        if isinstance(name, str):
            self._kernels[symbol.get("kernel_id")] = name

    def _read_counter(self) -> None:
        counter = _parse_dict(self._stream.value())
        if isinstance(name := counter.get("name"), str):
            self._counters[_handle(counter.get("id"))] = name
            self.counters.setdefault(name, (None, counter.get("description")))

    def _name_counter(self, record: dict[str, Any]) -> str:
        handle = _handle(record.get("counter_id"))
        return self._counters.get(handle, f"counter {handle}")

    def _dispatch(self, record: dict[str, Any], span: tuple[int, int], values: dict[str, float] | None = None) -> None:
        if _number_dispatch(record) in self._counted:
            return
        info = _parse_dict(record.get("dispatch_info"))
        kernel = info.get("kernel_id")
        grid, group = (
            [_parse_dict(info.get(key)).get(axis) for axis in "xyz"] for key in ("grid_size", "workgroup_size")
        )
        shared = parse_number(info.get("group_segment_size"))
        place = self._place(record, _handle(info.get("agent_id")), _handle(info.get("queue_id")))
        name = self._kernels.get(kernel, f"kernel {kernel}")
        more = {"shared memory": shared, "counters": values}
        self._events.append(records.make_dispatch(name, span, place, grid, group, **more))

    def _copy(self, record: dict[str, Any], span: tuple[int, int]) -> None:
        source, target = (_handle(record.get(key)) for key in ("src_agent_id", "dst_agent_id"))
        place = self._place(record, target if target in self._agents else source, None)
        self._events.append(records.make_copy(self._name(record), span, place, record.get("bytes")))

    def _call(self, record: dict[str, Any], span: tuple[int, int]) -> None:
        place = (self._pid, parse_number(record.get("thread_id")) or 0)
        self._events += records.make_call(self._name(record), span, place, _parse_internal(record))

    def _range(self, record: dict[str, Any], span: tuple[int, int]) -> None:
        place = (self._pid, parse_number(record.get("thread_id")) or 0)
        name = self._ranges.get(_parse_internal(record)) or self._name(record)
        self._events.append(make_event("user_annotation", name, span, place))

    def _place(self, record: dict[str, Any], agent: Any, queue: Any) -> dict[str, Any]:
        stream = _handle(record.get("stream_id"))
        return {
            "device": self._agents.get(agent), "stream": parse_number(queue if stream is None else stream),
            "correlation": _parse_internal(record),
        }  # fmt: skip

    def _name(self, record: dict[str, Any]) -> str:
        operations = self._operations.get(record.get("kind", -1), [])
        at = parse_number(record.get("operation"))
        return operations[at] if at is not None and 0 <= at < len(operations) else f"operation {at}"


def load_capture(db: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Fill the tables of the report that ``db`` has open as catalog ``report``.

    Raises:
        ConversionError: the file has no record with a time.
    """
    stage(db)
    events = Events(db)
    source = Source(path)
    stream = JsonStream(source.blocks())
    capture = Capture(stream, lambda some: events.take(batch_events(some)))
    stream.read(capture.document)
    capture.finish()
    complete_events(db, events, {"deviceProperties": capture.gpus}, records.TOOL, records.KIND, "JSON of rocprofv3")
    diagnostics.note_damage(db, "The capture", source.damage or stream.damage, counted(events.count, "record"))
    counters.describe(db, capture.counters)
    note_unread(db, capture.left_out)


def _parse_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _handle(value: Any) -> Any:
    return parse_number(_parse_dict(value).get("handle"))


def _number_dispatch(record: dict[str, Any]) -> int | None:
    return parse_number(_parse_dict(record.get("dispatch_info")).get("dispatch_id"))


def _parse_internal(record: dict[str, Any]) -> Any:
    return parse_number(_parse_dict(record.get("correlation_id")).get("internal"))
