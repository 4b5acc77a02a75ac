"""Write a timeline as a trace for Perfetto: https://perfetto.dev/docs/reference/synthetic-track-event.

Every folder and every row of a lane is a track; ranges, calls and operations are slices with their class as category
and the range around their launch; an arrow (flow) leads from a call to each operation that it launched; values over
time are counters. Packets are written as they are made, so that a report of any size needs little memory.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

import duckdb
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackDescriptor, TrackEvent

from profiledb import words
from profiledb.errors import AnalysisError
from profiledb.timeline import events
from profiledb.timeline.lanes import get_pid, get_tid
from profiledb.timeline.names import TEXTS
from profiledb.timeline.open_timeline import LaneInfo, Opened

Span = tuple[int, int]
"""An interval, ns from the start of the capture, end excluded."""

_TABLE = {"kernel": ("kernel_id", 0), "memop": ("memop_id", 1), "graph_launch": ("launch_id", 2)}
_FETCHED = 20_000
_SEQUENCE = 1
_NESTED_KEY = "Range"
_COUNTERS = ("line",)
OWN = "warpdeck."
"""Start of the second category of slices that no other profiler records as such."""
_ON_STREAM = ("kernel", "gpu_memcpy", "gpu_graph")
_CATEGORIES = {"api": "cuda_runtime", "Range": "user_annotation", "Operator": "cpu_op"}
"""Second categories by the kind of a lane, or by the class of a range: as in traces of the PyTorch profiler."""


def write_trace(
    cursor: duckdb.DuckDBPyConnection, opened: Opened, file: IO[bytes], spans: Sequence[Span], most: int | None = None
) -> int:
    """Write the events of some intervals, uncut, into a file; return their number.

    Args:
        cursor: of this timeline.
        opened: the timeline.
        file: open for writing; its content is a trace only when this returns.
        spans: intervals that do not overlap, in order.
        most: refuse more events than this.

    Raises:
        AnalysisError: these intervals have no events, or too many.
    """
    _prepare_spans(cursor, spans)
    out = _Writer(file, opened)
    for lane in opened.listed:
        out.track(lane)
    count = 0
    for info in opened.lanes:
        if info.group is None:
            continue
        rows = _read_points(cursor, info) if info.kind in _COUNTERS else _read_events(cursor, opened, info)
        for row in rows:
            count += 1
            if most is not None and count > most:
                raise AnalysisError(
                    f"More than {words.count(most)} events lie in this time.",
                    hint="Select less, or use the command warpdeck export_trace.",
                )
            out.value(info, *row) if info.kind in _COUNTERS else out.slice(info, row)
    if not count:
        raise AnalysisError("This time has no events.")
    return count


def _prepare_spans(cursor: duckdb.DuckDBPyConnection, spans: Sequence[Span]) -> None:
    values = ", ".join(f"({int(low)}, {int(high)})" for low, high in spans)
    cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE trace_span AS SELECT * FROM (VALUES {values}) AS x (low, high);"
        f"CREATE OR REPLACE TEMP TABLE trace_name AS SELECT code, any_value(text) AS text FROM ({TEXTS})"
        " SEMI JOIN name USING (code) GROUP BY code"
    )


def _read_events(cursor: duckdb.DuckDBPyConnection, opened: Opened, lane: LaneInfo) -> Iterator[tuple[Any, ...]]:
    """Yield row, start, end, name, number of the name, number, flows and range path of the events of a lane."""
    more, join = "NULL, NULL", ""
    if lane.kind == "stream":
        queries = " UNION ALL ".join(
            f"SELECT 4 * {key} + {code} AS ref, call_id, process_range FROM {table}"
            for table, (key, code) in _TABLE.items()
        )
        more = "CASE WHEN call_id IS NOT NULL THEN [ref + 1] END, path"
        join = f"""
            LEFT JOIN ({queries}) AS operation USING (ref) LEFT JOIN range AS around ON around.pre = process_range
            LEFT JOIN range_path USING (path_id)
        """
    elif lane.kind == "api":
        queries = " UNION ALL ".join(
            f"SELECT call_id, 4 * {key} + {code} + 1 AS flow FROM {table}" for table, (key, code) in _TABLE.items()
        )
        more = "flows, NULL"
        join = f"""
            LEFT JOIN (
                SELECT call_id, list(flow ORDER BY flow) AS flows FROM ({queries}) WHERE call_id IS NOT NULL
                GROUP BY call_id
            ) AS launched ON call_id = ref
        """
    low, high = cursor.execute("SELECT min(low), max(high) FROM trace_span").fetchall()[0]
    rows = cursor.execute(f"""
        SELECT event.row, s, e, coalesce(text, ''), event.name, ref, {more}
        FROM ({events.build_events_query(opened, [lane], low, high)}) AS event ASOF JOIN trace_span ON e >= low
        LEFT JOIN trace_name ON code = event.name {join} WHERE s < high ORDER BY event.row, s, e, ref
    """)
    return _fetch_rows(rows)


def _read_points(cursor: duckdb.DuckDBPyConnection, lane: LaneInfo) -> Iterator[tuple[Any, ...]]:
    return _fetch_rows(
        cursor.execute(
            "SELECT s, value FROM point ASOF JOIN trace_span ON s >= low"
            f" WHERE lane = {lane.id} AND s < high ORDER BY s"
        )
    )


def _fetch_rows(rows: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while batch := rows.fetchmany(_FETCHED):
        yield from batch


class _Writer:
    """Writes packets one by one; a repeated text is written once and referenced by number."""

    def __init__(self, file: IO[bytes], opened: Opened) -> None:
        self._file, self._opened = file, opened
        self._origin = opened.origin_ns
        self._known: dict[str, dict[str, int]] = {
            "event_names": {},
            "event_categories": {},
            "debug_annotation_names": {},
        }
        self._known["debug_annotation_string_values"] = {}
        self._rows: set[tuple[int, int]] = set()
        self._colors: dict[int, int] = {}
        self._kinds = [one.title for one in opened.classes]
        self._add_packet(TracePacket.SEQ_INCREMENTAL_STATE_CLEARED, first_packet_on_sequence=True)

    def track(self, lane: dict[str, Any]) -> None:
        """Describe a lane or folder."""
        packet = TracePacket()
        track = packet.track_descriptor
        track.uuid = _compute_track_id(lane["id"])
        if lane["parent"] is not None:
            track.parent_uuid = _compute_track_id(lane["parent"])
        track.sibling_order_rank = lane["id"]
        title = words.visible(lane["title"])
        if lane["kind"] == "process":
            track.process.pid = get_pid(lane["pid"])
            track.process.process_name = title
        elif lane["kind"] == "thread":
            track.thread.pid, track.thread.tid = get_pid(lane["tid"]), get_tid(lane["tid"])
            track.thread.thread_name = title
        else:
            track.name = f"{title} · {words.visible(lane['detail'])}" if lane["detail"] else title
        track.child_ordering = TrackDescriptor.EXPLICIT
        if lane["kind"] in _COUNTERS:
            track.counter.unit_name = lane["unit"] or ""
        self._write_packet(packet)

    def slice(self, lane: LaneInfo, row: tuple[Any, ...]) -> None:
        """Write an event as its start and its end."""
        level, start, end, name, code, _, flows, path = row
        packet = self._add_packet()
        packet.timestamp = start + self._origin
        event = packet.track_event
        event.type, event.track_uuid = TrackEvent.TYPE_SLICE_BEGIN, self._number_row(lane, level)
        event.name_iid = self._number_text(packet, "event_names", words.visible(name) or "–")
        title = self._kinds[self._number_color(code)]
        for category in (title, _find_category(lane.kind, row, title)):
            event.category_iids.append(self._number_text(packet, "event_categories", category))
        for flow in flows or ():
            (event.terminating_flow_ids if lane.kind == "stream" else event.flow_ids).append(flow)
        if path:
            note = event.debug_annotations.add()
            note.name_iid = self._number_text(packet, "debug_annotation_names", _NESTED_KEY)
            note.string_value_iid = self._number_text(packet, "debug_annotation_string_values", words.visible(path))
        self._write_packet(packet)
        packet = self._add_packet()
        packet.timestamp = max(start, end) + self._origin
        packet.track_event.type, packet.track_event.track_uuid = TrackEvent.TYPE_SLICE_END, event.track_uuid
        self._write_packet(packet)

    def value(self, lane: LaneInfo, start: int, value: float) -> None:
        """Write a value of a line."""
        packet = self._add_packet()
        packet.timestamp = start + self._origin
        event = packet.track_event
        event.type, event.track_uuid, event.double_counter_value = (
            TrackEvent.TYPE_COUNTER,
            _compute_track_id(lane.id),
            value,
        )
        self._write_packet(packet)

    def _number_color(self, code: int) -> int:
        import numpy as np

        known = self._colors.get(code)
        if known is None:
            known = self._colors[code] = int(self._opened.colors(np.array([code], dtype=np.uint32))[0])
        return known

    def _number_row(self, lane: LaneInfo, level: int) -> int:
        """Return the track of a row, described at its first event; rows of a lane are ordered by level."""
        if level == 0:
            return _compute_track_id(lane.id)
        uuid = _compute_track_id(lane.id, level)
        if (lane.id, level) not in self._rows:
            self._rows.add((lane.id, level))
            packet = TracePacket()
            packet.track_descriptor.uuid, packet.track_descriptor.parent_uuid = uuid, _compute_track_id(lane.id)
            packet.track_descriptor.name = f"Level {level + 1}"
            packet.track_descriptor.sibling_order_rank = level
            self._write_packet(packet)
        return uuid

    def _number_text(self, packet: Any, table: str, text: str) -> int:
        known = self._known[table]
        if text not in known:
            known[text] = len(known) + 1
            entry = getattr(packet.interned_data, table).add()
            entry.iid = known[text]
            if table == "debug_annotation_string_values":
                entry.str = text.encode()
            else:
                entry.name = text
        return known[text]

    def _add_packet(self, flags: int = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE, **fields: Any) -> Any:
        packet = TracePacket(trusted_packet_sequence_id=_SEQUENCE, sequence_flags=flags, **fields)
        if fields:
            self._write_packet(packet)
        return packet

    def _write_packet(self, packet: Any) -> None:
        """Write a packet; a trace is a sequence of packets, each as field 1 preceded by its length."""
        data = packet.SerializeToString()
        head, length = bytearray(b"\x0a"), len(data)
        while length > 127:
            head.append(length & 127 | 128)
            length >>= 7
        head.append(length)
        self._file.write(bytes(head) + data)


def _find_category(kind: str, row: tuple[Any, ...], title: str) -> str:
    """Return the category that tells a reader the kind of a slice."""
    if kind == "stream":
        return "gpu_memset" if "memset" in row[3] and row[5] % 4 == 1 else _ON_STREAM[row[5] % 4]
    if kind == "range":
        return _CATEGORIES.get(title, "user_annotation")
    return _CATEGORIES.get(kind, OWN + kind)


def _compute_track_id(lane: int, row: int = 0) -> int:
    """Return the number of the track of a lane or of one of its rows; Perfetto reserves 0."""
    return 1_000 + (lane << 8 | row)


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Merge intervals into ones that do not overlap, in order."""
    merged: list[Span] = []
    for low, high in sorted(spans):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged
