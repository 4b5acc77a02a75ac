"""The host's work while a GPU was idle: the thread that launched the operation after the gap, its calls and range."""

from typing import Any

import duckdb

from profiledb import words

CALLS = 4
"""Names of calls that are told."""

_NEXT = """
    SELECT call.global_tid AS tid, function_name(string.value) AS launch, coalesce(
            readable_name(short, demangled), regexp_replace(operation, '^\\[CUDA (.*)\\]$', '\\1')
        ) AS next
    FROM (
        SELECT start_ns, call_id, name_id, NULL AS operation FROM kernel WHERE {after}
        UNION ALL SELECT start_ns, call_id, NULL, operation FROM memop WHERE {after}
        UNION ALL SELECT start_ns, call_id, NULL, 'CUDA graph' FROM graph_launch WHERE {after}
        ORDER BY start_ns LIMIT 1
    ) LEFT JOIN kernel_name USING (name_id) LEFT JOIN api_call AS call USING (call_id)
    LEFT JOIN string ON string_id = call.name_id
"""
_CALLS = """
    SELECT name, sum(ns)::BIGINT AS ns FROM (
        SELECT function_name(value) AS name, least(end_ns, {end}) - greatest(start_ns, {start}) AS ns
        FROM api_call JOIN string ON string_id = name_id WHERE {inside}
        UNION ALL
        SELECT value, least(end_ns, {end}) - greatest(start_ns, {start})
        FROM osrt_call JOIN string ON string_id = name_id WHERE {inside}
    ) GROUP BY name ORDER BY ns DESC, name LIMIT {limit}
"""
_RANGE = """
    SELECT path FROM range JOIN range_path USING (path_id)
    WHERE global_tid = {tid} AND start_ns <= {middle} AND end_ns >= {middle} ORDER BY range.level DESC LIMIT 1
"""


def read_idle_facts(cursor: duckdb.DuckDBPyConnection, device: int | None, start: int, end: int) -> dict[str, Any]:
    """Return the host's work from ``start`` to ``end`` (ns of the report's clock), while this GPU was idle."""
    same = "device_id IS NULL" if device is None else f"device_id = {int(device)}"
    rows = cursor.execute(_NEXT.format(after=f"{same} AND start_ns >= {end}")).fetchall()
    tid, launch, operation = rows[0] if rows else (None, None, None)
    facts = {"next": operation, "launch": launch, "tid": tid}
    if tid is None:
        return facts | {"meanwhile": "unknown: the report does not tell which thread launched the next operation"}
    inside = f"global_tid = {tid} AND start_ns < {end} AND end_ns > {start}"
    calls = cursor.execute(_CALLS.format(start=start, end=end, inside=inside, limit=CALLS)).fetchall()
    listed_calls = ", ".join(f"{name} {words.duration(ns)}" for name, ns in calls)
    path = cursor.execute(_RANGE.format(tid=tid, middle=(start + end) // 2)).fetchall()
    return facts | {
        "meanwhile": listed_calls or "no CUDA or OS call: code of the program",
        "path": path[0][0] if path else None,
    }
