"""Arrows between events: from a launching call to the work it launched, and from that to the wait for it."""

from typing import Any

import duckdb

from profiledb.timeline import events
from profiledb.timeline.events import Event
from profiledb.timeline.open_timeline import LaneInfo, Opened

MOST = 64
"""Operations that one call points to; a graph launch may have thousands of nodes."""

_TABLES = {
    "kernel": ("kernel", "kernel_id", 0),
    "memop": ("memop", "memop_id", 1),
    "graph_launch": ("graph_launch", "launch_id", 2),
}
_GROUND = "device_id AS device, global_pid AS pid, stream_id AS stream"


def find_arrows(
    cursor: duckdb.DuckDBPyConnection, opened: Opened, event: Event, kind: str, number: int
) -> list[dict[str, Any]]:
    """Return the direct arrows of an event: ``launch``, or ``graph`` for a call with several launches, and ``wait``.

    An operation points to the first synchronization of its process that was waiting when it ended, for its stream or
    for all.
    """
    if kind in _TABLES:
        return _find_operation_arrows(cursor, opened, event, kind, number)
    if kind == "api":
        return _find_call_arrows(cursor, opened, event, number)
    return []


def _find_operation_arrows(
    cursor: duckdb.DuckDBPyConnection, opened: Opened, event: Event, kind: str, number: int
) -> list[dict[str, Any]]:
    table, key, _ = _TABLES[kind]
    rows = cursor.execute(f"""
        SELECT call_id, (SELECT global_tid FROM api_call WHERE api_call.call_id = one.call_id), global_pid, stream_id,
            end_ns FROM {table} AS one WHERE {key} = {number}
    """).fetchall()
    if not rows:
        return []
    call, tid, pid, stream, end = rows[0]
    arrows = []
    if tid is not None and (launch := _read_event(cursor, opened, _find_lane(opened, "api", tid=tid), call)):
        arrows.append(_make_arrow(opened, launch, event, "launch"))
    waits = cursor.execute(f"""
        SELECT sync_id FROM sync WHERE global_pid = {_format_sql(pid)} AND start_ns <= {end} AND end_ns >= {end}
            AND (stream_id = {_format_sql(stream)} OR sync_type IN (1, 4)) ORDER BY end_ns, sync_id LIMIT 1
    """).fetchall()
    for (sync,) in waits:
        for lane in (one for one in opened.lanes if one.kind == "sync"):
            if wait := _read_event(cursor, opened, lane, sync):
                arrows.append(_make_arrow(opened, event, wait, "wait"))
                break
    return arrows


def _find_call_arrows(
    cursor: duckdb.DuckDBPyConnection, opened: Opened, event: Event, call: int
) -> list[dict[str, Any]]:
    queries = " UNION ALL ".join(
        f"SELECT {_GROUND}, 4 * {key} + {code} AS ref, start_ns FROM {table} WHERE call_id = {call}"
        for table, key, code in _TABLES.values()
    )
    rows = cursor.execute(f"FROM ({queries}) ORDER BY start_ns, ref LIMIT {MOST}").fetchall()
    arrows = []
    for device, pid, stream, ref, _ in rows:
        lane = _find_lane(opened, "stream", device=device, pid=pid, stream=stream)
        if launched := _read_event(cursor, opened, lane, ref):
            arrows.append(_make_arrow(opened, event, launched, "graph" if len(rows) > 1 else "launch"))
    return arrows


def _read_event(cursor: duckdb.DuckDBPyConnection, opened: Opened, lane: LaneInfo | None, ref: int) -> Event | None:
    """Return an event of a lane by its number; None if it does not exist."""
    if lane is None:
        return None
    rows = cursor.execute(
        f"SELECT {events.COLUMNS} FROM ({events.build_events_query(opened, [lane])}) WHERE ref = {ref}"
    ).fetchall()
    return rows[0] if rows else None


def _find_lane(opened: Opened, kind: str, **key: int | None) -> LaneInfo | None:
    """Return the lane of a kind with these numbers."""
    for lane in opened.lanes:
        shown = opened.listed[lane.id]
        if lane.kind == kind and all(shown[name] == value for name, value in key.items()):
            return lane
    return None


def _make_arrow(opened: Opened, begin: Event, end: Event, kind: str) -> dict[str, Any]:
    return {"from": events.format_event(opened, begin), "to": events.format_event(opened, end), "kind": kind}


def _format_sql(number: int | None) -> str:
    return "NULL" if number is None else str(number)
