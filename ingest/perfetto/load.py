"""Load a trace of Perfetto into the tables of a report: slices of threads, and work of GPUs.

GPU work is what says so: stages of a GPU's queue (``gpu_render_stage_event``), slices with the category of kernels or
copies, as rocprofv3, PyTorch and Warpdeck write them, and all slices of the stream of a GPU. Everything else of such a
trace, such as scheduling of the CPU or memory of Android, is counted.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackEvent

from ingest import diagnostics
from ingest.derive import stage
from ingest.perfetto.packets import Packets
from ingest.perfetto.sequences import LONGEST, Clocks, Sequence
from ingest.perfetto.tracks import Place, Tracks
from ingest.rocprof.records import name_copy
from ingest.torch.event_batches import batch_events, make_event, make_mark, make_span, name_process, name_thread
from ingest.torch.event_database import note_unread
from ingest.torch.events import Events
from ingest.torch.load import complete_events
from profiledb.errors import ConversionError
from profiledb.timeline.trace import OWN
from profiledb.words import counted

KIND = "perfetto"
TOOL = "Perfetto"
_KINDS = {
    "kernel": "kernel", "kernel_dispatch": "kernel", "rocm_kernel_dispatch": "kernel",
    "gpu_memcpy": "gpu_memcpy", "memory_copy": "gpu_memcpy", "rocm_memory_copy": "gpu_memcpy",
    "gpu_memset": "gpu_memset", "gpu_graph": "gpu_graph",
    "cuda_runtime": "cuda_runtime", "cuda_driver": "cuda_driver", "hip_runtime": "hip_runtime",
    "hip_api": "hip_runtime", "rocm_hip_api": "hip_runtime", "rccl_api": "hip_runtime",
    "rocm_rccl_api": "hip_runtime", "xpu_runtime": "xpu_runtime", "xpu_driver": "xpu_driver",
    "cpu_op": "cpu_op", "python_function": "python_function", "user_annotation": "user_annotation",
    "marker_api": "user_annotation", "rocm_marker_api": "user_annotation",
}  # fmt: skip
"""Kinds of events of a PyTorch trace by the categories of slices: of Kineto, rocprofv3, rocprofiler-systems."""
_ON_GPU = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "gpu_graph"})
_UNREAD = frozenset({"hsa_api", "rocm_hsa_api", "memory_allocation", "scratch_memory", "gpu_user_annotation"})
_ARGS = frozenset(
    {"corr_id", "correlation", "device", "agent", "src_agent", "dst_agent", "stream", "queue", "copy_bytes", "bytes",
     "tid", "group_segment_size"}
)  # fmt: skip
_MEMORY = re.compile(r"^\W*(?:CUDA |HIP )?mem(?:ory)?[ _]?(cpy|copy|transfer|set)", re.IGNORECASE)
_COPY = re.compile(r"^\[CUDA memcpy (\w+)-to-(\w+)\]$")
"""What nsys calls a copy."""
_LETTERS = {"Host": "H", "Device": "D", "Array": "A", "Peer": "P"}
_NUMBER = re.compile(r"(\d{1,18})\W*$")
_MOST_TIME = 1 << 62


class _Slice(NamedTuple):
    start: int
    name: str
    categories: list[str]
    args: dict[str, Any]
    flow: int | None


class Trace:
    """The events of a file, in two passes: descriptors and clocks first, because packets may refer to later ones.

    After ``list_events``, ``counts`` has the numbers of slices and packets that are not read, by kind.
    """

    def __init__(self, path: Path) -> None:
        self.packets = Packets(path)
        self.tracks = Tracks()
        self.clocks = Clocks()
        self.gpus: list[dict[str, Any]] = []
        self.counts: Counter[str] = Counter()
        self._sequences: dict[int, Sequence] = {}
        self._same_call: dict[int, int] = {}
        self._open: dict[int, list[_Slice]] = {}

    @property
    def unknown_texts(self) -> int:
        """Number of references to texts that the trace does not have."""
        return sum(sequence.unknown for sequence in self._sequences.values())

    def read_descriptors(self) -> None:
        """Take over tracks, clocks and GPUs, and the arrows that begin at one call."""
        for packet in self.packets.descriptors():
            self.tracks.take(packet)
            if packet.HasField("clock_snapshot"):
                self.clocks.take_snapshot(packet.clock_snapshot)
            if packet.HasField("gpu_info"):
                self.gpus = [
                    {"id": number, "name": (gpu.name or gpu.model)[:LONGEST] or None}
                    for number, gpu in enumerate(packet.gpu_info.gpus)
                ]
            flows = packet.track_event.flow_ids
            if len(flows) > 1:
                self._same_call.update(dict.fromkeys(flows, flows[0]))

    def list_events(self) -> Iterator[dict[str, Any]]:
        """Yield the events of the trace, and the names of its processes and threads."""
        for packet in self.packets:
            sequence = self._sequences.setdefault(packet.trusted_packet_sequence_id, Sequence(self.clocks))
            sequence.take(packet)
            if not packet.HasField("timestamp"):
                continue
            time = sequence.time(packet)
            if packet.HasField("track_event"):
                yield from self._take_event(packet.track_event, time, sequence)
            elif packet.HasField("gpu_render_stage_event"):
                yield from self._take_stage(packet.gpu_render_stage_event, time, sequence)
            elif kind := packet.WhichOneof("data"):
                self.counts[_name_packet(kind)] += 1
        self.counts["slices without an end"] = sum(map(len, self._open.values()))
        yield from (name_process(pid, name) for pid, name in self.tracks.processes.items())
        yield from (name_thread(*place, name) for place, name in self.tracks.threads.items())

    def _take_event(self, event: Any, time: int, sequence: Sequence) -> Iterator[dict[str, Any]]:
        uuid = event.track_uuid if event.HasField("track_uuid") else sequence.track
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            self._open.setdefault(uuid, []).append(self._begin(event, time, sequence))
        elif event.type == TrackEvent.TYPE_SLICE_END:
            opened = self._open.get(uuid)
            if opened:
                yield from self._end(opened.pop(), time, self._place(uuid, sequence))
            else:
                self.counts["ends of slices that did not begin"] += 1
        elif event.type == TrackEvent.TYPE_INSTANT and 0 < time < _MOST_TIME:
            place = self._place(uuid, sequence)
            yield make_mark(self._begin(event, time, sequence).name, time, (place.pid, place.tid))
        elif event.type == TrackEvent.TYPE_COUNTER:
            self.counts["values of counters"] += 1
        else:
            self.counts["events of an older form"] += 1

    def _place(self, uuid: int, sequence: Sequence) -> Place:
        if not uuid and sequence.thread:
            return Place(*sequence.thread)
        return self.tracks.place(uuid)

    def _begin(self, event: Any, time: int, sequence: Sequence) -> _Slice:
        name = event.name[:LONGEST] or sequence.text("event_names", event.name_iid)
        if not name:
            self.counts["slices without a name"] += 1
        categories = [one[:LONGEST] for one in event.categories]
        categories += [text for one in event.category_iids if (text := sequence.text("event_categories", one))]
        args = {}
        for note in event.debug_annotations:
            key = note.name or sequence.text("debug_annotation_names", note.name_iid)
            if key in _ARGS:
                args[key] = _parse_value(note, sequence)
        flows = event.terminating_flow_ids or event.flow_ids
        return _Slice(time, name or "", categories, args, flows[0] if flows else None)

    def _end(self, one: _Slice, time: int, place: Place) -> Iterator[dict[str, Any]]:
        span = make_span(one.start, time)
        kinds = [kind for category in one.categories if (kind := _KINDS.get(category.lower()))]
        kind = kinds[0] if kinds else _guess_memory(one.name) if place.is_stream and place.gpu is not None else ""
        unread = next((each for each in one.categories if each.startswith(OWN) or each.lower() in _UNREAD), "")
        if span is None:
            self.counts["slices without a possible time"] += 1
        elif kind in _ON_GPU:
            yield self._make_operation(kind, one, span, place)
        elif unread or (place.gpu is not None and not kind):
            self.counts[f"{(unread or 'GPU').removeprefix(OWN)} slices"] += 1
        else:
            tid = one.args.get("tid") if isinstance(place.tid, str) else None
            category = kind or next(iter(one.categories), "") or "slice"
            where = (place.pid, place.tid if tid is None else tid)
            yield make_event(
                "slice" if category == "trace" else category, one.name, span, where, correlation=self._call(one)
            )

    def _make_operation(self, kind: str, one: _Slice, span: tuple[int, int], place: Place) -> dict[str, Any]:
        args = one.args
        agents = ("src_agent", "dst_agent") if "DEVICE_TO_HOST" in one.name else ("dst_agent", "src_agent")
        device = _find_first(*(_parse_number(args.get(key)) for key in ("device", "agent", *agents)), place.gpu, 0)
        stream = _find_first(_parse_number(args.get("stream")), place.stream, _parse_number(args.get("queue")))
        more: dict[str, Any] = {"shared memory": _parse_number(args.get("group_segment_size"))}
        size = _parse_number(args.get("copy_bytes", args.get("bytes")))
        return make_event(
            kind, _name_operation(kind, one.name), span, device=device, stream=stream,
            correlation=self._call(one), bytes=size,
            **more,
        )  # fmt: skip

    def _call(self, one: _Slice) -> int | None:
        """Return the correlation number that a call shares with the work it launched."""
        correlation = _parse_number(one.args.get("corr_id", one.args.get("correlation")))
        if correlation is None and one.flow is not None:
            correlation = self._same_call.get(one.flow, one.flow) % _MOST_TIME
        return correlation

    def _take_stage(self, event: Any, time: int, sequence: Sequence) -> Iterator[dict[str, Any]]:
        span = make_span(time, time + event.duration)
        if span is None:
            self.counts["stages of a GPU without a possible time"] += 1
            return
        stage_name = sequence.text("gpu_specifications", event.stage_iid) or ""
        queue = sequence.text("gpu_specifications", event.hw_queue_iid) or ""
        name = (
            event.name[:LONGEST]
            or sequence.text("event_names", event.name_iid)
            or sequence.text("kernel_symbols", event.kernel_iid)
            or stage_name
            or f"stage {event.stage_id}"
        )
        kind = _guess_memory(stage_name) if _MEMORY.match(stage_name) else _guess_memory(name)
        more: dict[str, Any] = {}
        if event.HasField("launch"):
            sizes = (event.launch.grid_size, event.launch.workgroup_size)
            more = dict(zip(("grid", "block"), ([one.x, one.y, one.z] for one in sizes), strict=True))
        yield make_event(
            kind, _name_operation(kind, name), span, device=event.gpu_id,
            stream=_find_first(_parse_number(queue), event.hw_queue_iid or event.hw_queue_id),
            context=_parse_number(event.context), correlation=_parse_number(event.submission_id) or None, **more,
        )  # fmt: skip


def load_trace(db: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Fill the tables of the report that ``db`` has open as catalog ``report``.

    Raises:
        ConversionError: no event has a time, or the file is damaged at its start.
    """
    trace = Trace(path)
    trace.read_descriptors()
    stage(db)
    events = Events(db)
    events.take(batch_events(trace.list_events()))
    damage, counts = trace.packets.damage, +trace.counts
    if not events.count:
        if damage:
            raise ConversionError(f"{path.name} is {damage}.", hint="Copy it again from its source, or capture again.")
        others = f" It has {', '.join(counts)}." if counts else ""
        raise ConversionError(
            f"{path.name} has no slices of a GPU or a program.{others}",
            hint="Capture with: rocprofv3 --sys-trace --output-format pftrace -- PROGRAM",
        )
    complete_events(db, events, {"deviceProperties": trace.gpus}, TOOL, KIND, "packets of Perfetto")
    diagnostics.note_damage(db, "The trace", damage, counted(events.count, "event"))
    if trace.packets.strange:
        text = f"{counted(trace.packets.strange, 'packet')} with fields that the format does not have: damaged, or of a"
        diagnostics.note(db, "warning", f"{text} later version. The values of these fields are missing in this report.")
    if trace.unknown_texts:
        text = f"{counted(trace.unknown_texts, 'reference')} to texts that are missing in the trace."
        diagnostics.note(db, "warning", f"{text} It lost packets, or is damaged.")
    if trace.clocks.unknown:
        text = f"{counted(trace.clocks.unknown, 'time')} of a clock that the trace does not relate to its own."
        diagnostics.note(db, "warning", f"{text} These events may lie at another place.")
    note_unread(db, counts)


def _parse_value(note: Any, sequence: Sequence) -> Any:
    kind = note.WhichOneof("value")
    if kind == "string_value_iid":
        return sequence.text("debug_annotation_string_values", note.string_value_iid)
    value = getattr(note, kind) if kind in ("uint_value", "int_value", "string_value") else None
    return value[:LONGEST] if isinstance(value, str) else value


def _parse_number(value: Any) -> int | None:
    """Return a whole number, also the last one of a text such as Agent-4; None if it is none or large."""
    if isinstance(value, str):
        match = _NUMBER.search(value[-64:])
        return int(match[1]) if match else None
    return value if type(value) is int and 0 <= value < _MOST_TIME else None


def _find_first(*numbers: int | None) -> int | None:
    return next((number for number in numbers if number is not None), None)


def _guess_memory(name: str) -> str:
    match = _MEMORY.match(name)
    if not match:
        return "kernel"
    return "gpu_memset" if match[1].lower() == "set" else "gpu_memcpy"


def _name_operation(kind: str, name: str) -> str:
    """Return the name of an operation as a PyTorch trace has it."""
    if kind == "gpu_memset":
        return "Memset (Device)"
    if kind == "gpu_memcpy" and (match := _COPY.match(name)):
        return f"Memcpy {_LETTERS.get(match[1], '?')}to{_LETTERS.get(match[2], '?')}"
    if kind == "gpu_memcpy" and not name.startswith("Memcpy "):
        return name_copy(name)
    return name or "kernel"


def _name_packet(kind: str) -> str:
    return f"packets: {kind.replace('_', ' ')}"
