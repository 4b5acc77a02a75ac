"""Decode the Python stacks that nsys attaches to its own NVTX marks (--python-sampling, --python-backtrace=cuda).

A mark of one of two domains holds a payload: the state of the thread, the number of frames, and the frames, innermost
first, each with the ids of two strings (function, file) and a line. A schema in the export describes the offsets; marks
with another layout are left alone.
"""

import sqlite3
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from ingest import diagnostics
from ingest.nsys import payload
from ingest.nsys.source import Source
from profiledb.report.schema import count_rows, read_sql

KINDS = {"Python Periodic Sampling": "sample", "Python Backtrace on CUDA": "cuda"}
"""Names of the schemas, and our names of their stacks."""
MOST_FRAMES = 4_000_000
"""Most frames of different stacks that are stored; a capture of an hour has some hundred thousand."""
_DYNAMIC = 2
"""Type of a schema whose payloads differ in length (NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC)."""
_ENTRIES = ("Thread state ID", "Thread state", "Frames count", "Frames")
_FRAME_ENTRIES = ("Function", "File", "Line")
_HEAD = struct.Struct("<QiI")
_FRAME = struct.Struct("<QQi4x")


@dataclass(frozen=True)
class Schema:
    """Schema of payloads that hold a stack: its kind, and the names of a thread's states."""

    kind: str
    states: Mapping[int, str]


Frames = tuple[tuple[int, int, int], ...]
"""(function, file, line), innermost first; the first two are ids of strings."""


def decode_stacks(db: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> None:
    """Create the temporary tables ``python_event`` (row_id, kind, state, stack_id) and ``python_place`` (stack_id,
    depth, function, file, line); functions and files are ids of the export's strings."""
    db.execute("""
        CREATE OR REPLACE TEMP TABLE python_event (row_id BIGINT, kind VARCHAR, state VARCHAR, stack_id BIGINT);
        CREATE OR REPLACE TEMP TABLE python_place (
            stack_id BIGINT, depth INTEGER, "function" BIGINT, file BIGINT, line INTEGER);
        -- nsys writes <module> as HTML does.
        CREATE OR REPLACE TEMP MACRO from_html(t) AS
            replace(replace(replace(t, '&lt;', '<'), '&gt;', '>'), '&amp;', '&')
    """)
    export = next((source for source in sources if "NVTX_EVENTS" in source.tables), None)
    if export is None or not (schemas := _read_schemas(db, export)):
        return
    import pyarrow as pa  # here: it takes 0.1 s, and few captures have such stacks

    try:
        events, stacks, left = read_stacks(export.blobs(), schemas)
    except (sqlite3.Error, pa.ArrowException, OSError):
        return
    if left:
        diagnostics.remember(
            db, "warning", f"{left:,} Python stacks are excluded: there are more frames than are read."
        )
    if not events:
        return
    places = [(stack_id, depth, *frame) for frames, stack_id in stacks.items() for depth, frame in enumerate(frames)]
    _insert_rows(db, "python_event", events)
    _insert_rows(db, "python_place", places)


def write_stacks(db: duckdb.DuckDBPyConnection) -> None:
    """Write the decoded stacks into the report. Planning this takes 10 ms, and few captures have such stacks."""
    if count_rows(db, "python_event"):
        db.execute(read_sql("python_stacks.sql", "ingest.nsys"))


def read_stacks(
    marks: Iterable[tuple[int, int | None, bytes]], schemas: Mapping[payload.Key, Schema]
) -> tuple[list[tuple[int, str, str | None, int]], dict[Frames, int], int]:
    """Return the stacks of marks.

    Args:
        marks: row, domain and payloads (bytes) of each event.
        schemas: schemas of stacks, by domain and number.

    Returns:
        (row, kind, state of the thread, stack) of each mark with a stack; the different stacks with their numbers; the
        number of marks that are excluded because the stacks have more than ``MOST_FRAMES`` frames.
    """
    events: list[tuple[int, str, str | None, int]] = []
    stacks: dict[Frames, int] = {}
    total = left = 0
    for row_id, domain, blob in marks:
        for number, size, offset in payload.place_fields(blob):
            schema = schemas.get((domain or 0, number))
            stack = read_stack(blob[offset : offset + size]) if schema else None
            if schema is None or stack is None:
                continue
            state, frames = stack
            if frames not in stacks:
                if total + len(frames) > MOST_FRAMES:
                    left += 1
                    continue
                total += len(frames)
            events.append((row_id, schema.kind, schema.states.get(state), stacks.setdefault(frames, len(stacks) + 1)))
    return events, stacks, left


def read_stack(data: bytes) -> tuple[int, Frames] | None:
    """Return the state of the thread and the frames of a payload; None if it is shorter than it claims."""
    if len(data) < _HEAD.size:
        return None
    _, state, count = _HEAD.unpack_from(data)
    if _HEAD.size + count * _FRAME.size > len(data):
        return None
    return state, tuple(_FRAME.iter_unpack(data[_HEAD.size : _HEAD.size + count * _FRAME.size]))


def _insert_rows(db: duckdb.DuckDBPyConnection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    import pyarrow as pa

    names = [row[0] for row in db.execute(f"DESCRIBE {table}").fetchall()]
    columns = [pa.array(values) for values in zip(*rows, strict=True)]
    db.register("decoded stacks", pa.table(columns, names=names))
    db.execute(f'INSERT INTO {table} FROM "decoded stacks"')
    db.unregister("decoded stacks")


def _read_schemas(db: duckdb.DuckDBPyConnection, export: Source) -> dict[payload.Key, Schema]:
    """Return the schemas with the layout that this module reads."""
    listed = list(payload.read_table_rows(db, export, "NVTX_PAYLOAD_SCHEMAS"))
    kinds = {
        payload.get_key(row): KINDS[row["name"]]
        for row in listed
        if row.get("name") in KINDS and payload.get_number(row, "type") == _DYNAMIC
    }
    if not kinds:
        return {}
    sizes = {payload.get_key(row): payload.get_number(row, "payloadSize") for row in listed}
    entries = _read_entries(payload.read_table_rows(db, export, "NVTX_PAYLOAD_SCHEMA_ENTRIES"))
    enums = payload.read_enums(db, export)
    schemas = {}
    for (domain, number), kind in kinds.items():
        own = entries.get((domain, number), {})
        if tuple(str(own[n].get("name")) for n in sorted(own)) != _ENTRIES:
            continue
        frame = domain, payload.get_number(own[3], "type")
        of_frame = entries.get(frame, {})
        if sizes.get(frame) != _FRAME.size:
            continue
        if tuple(str(of_frame[n].get("name")) for n in sorted(of_frame)) == _FRAME_ENTRIES:
            schemas[domain, number] = Schema(kind, enums.get((domain, payload.get_number(own[1], "type")), (0, {}))[1])
    return schemas


def _read_entries(rows: Iterable[dict[str, Any]]) -> dict[payload.Key, dict[int, dict[str, Any]]]:
    entries: dict[payload.Key, dict[int, dict[str, Any]]] = {}
    for row in rows:
        entries.setdefault(payload.get_key(row), {}).setdefault(payload.get_number(row, "idx"), row)
    return entries
