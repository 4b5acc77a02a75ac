"""The details of one event, with the calls that launched it and waited for it."""

from collections.abc import Callable, Sequence
from typing import Any

import duckdb

from profiledb import words
from profiledb.timeline import events
from profiledb.timeline.arrows import find_arrows
from profiledb.timeline.idle_facts import read_idle_facts
from profiledb.timeline.names import read_texts
from profiledb.timeline.open_timeline import Opened
from profiledb.timeline.path_pieces import SOURCES

Rows = list[tuple[str, str]]

_LAUNCHED = """
    LEFT JOIN api_call AS call ON call.call_id = one.call_id
    LEFT JOIN string AS call_name ON call_name.string_id = call.name_id
    LEFT JOIN range AS around ON around.pre = one.process_range
    LEFT JOIN range_path AS path ON path.path_id = around.path_id
"""
_LAUNCH = """one.start_ns - call.start_ns AS delay, function_name(call_name.value) AS launch, call.global_tid AS tid,
    one.stream_id, one.correlation_id, path.path"""
_QUERIES = {
    "kernel": f"""
        SELECT demangled AS whole, class, dimensions(grid_x, grid_y, grid_z) AS grid,
            dimensions(block_x, block_y, block_z) AS block, dimensions(cluster_x, cluster_y, cluster_z) AS cluster,
            registers_per_thread AS registers, static_shared_bytes AS static_shared,
            dynamic_shared_bytes AS dynamic_shared, local_per_thread_bytes AS local, graph_node_id, {_LAUNCH},
            (SELECT kernel FROM kernel_key WHERE kernel_key.name_id = one.name_id) AS kernel
        FROM kernel AS one LEFT JOIN kernel_name USING (name_id) {_LAUNCHED} WHERE kernel_id = $id
    """,
    "memop": f"""
        SELECT operation AS whole, bytes, bytes * 1e9 / nullif(one.end_ns - one.start_ns, 0) AS rate,
            source.label AS source, target.label AS target, copy_count, graph_node_id, {_LAUNCH}
        FROM memop AS one {_LAUNCHED}
        LEFT JOIN enum_value AS source ON source.enum = 'CUDA_MEM_KIND' AND source.id = src_kind
        LEFT JOIN enum_value AS target ON target.enum = 'CUDA_MEM_KIND' AND target.id = dst_kind
        WHERE memop_id = $id
    """,
    "graph_launch": f"""
        SELECT graph_id, graph_exec_id, {_LAUNCH} FROM graph_launch AS one {_LAUNCHED} WHERE launch_id = $id
    """,
    "api": """
        SELECT function_name(value) AS whole, return_value, one.global_tid AS tid, correlation_id, path.path,
            category_of(api_match(value).kind) AS category
        FROM api_call AS one LEFT JOIN string ON string_id = one.name_id
        LEFT JOIN range AS around ON around.pre = one.process_range
        LEFT JOIN range_path AS path ON path.path_id = around.path_id WHERE call_id = $id
    """,
    "osrt": """
        SELECT value AS whole, return_value, one.global_tid AS tid, path.path FROM osrt_call AS one
        LEFT JOIN string ON string_id = one.name_id LEFT JOIN range AS around ON around.pre = one.thread_range
        LEFT JOIN range_path AS path ON path.path_id = around.path_id WHERE call_id = $id
    """,
    "range": """
        SELECT range_name.name AS whole, one.global_tid AS tid, range_path.path, closed, style,
            coalesce(payload_json, payload_uint64::VARCHAR, payload_int64::VARCHAR, payload_double::VARCHAR) AS payload,
            operations, launches, busy_ns, kernel_ns, projection.end_ns - projection.start_ns AS projected_ns
        FROM range AS one LEFT JOIN range_name USING (name_id) LEFT JOIN range_path USING (path_id)
        LEFT JOIN projection ON projection.range_id = one.range_id AND mode = 'process' WHERE one.range_id = $id
    """,
    "sync": """
        SELECT label AS whole, stream_id, one.correlation_id, event_id FROM sync AS one
        LEFT JOIN enum_value ON enum = 'CUPTI_SYNC_TYPE' AND id = sync_type WHERE sync_id = $id
    """,
    "mpi": """
        SELECT value AS whole, one.global_tid AS tid, rank, tag, bytes, received_bytes, path.path FROM mpi_call AS one
        LEFT JOIN string ON string_id = one.name_id LEFT JOIN range AS around ON around.pre = one.thread_range
        LEFT JOIN range_path AS path ON path.path_id = around.path_id WHERE call_id = $id
    """,
    "openmp": """
        SELECT value AS whole, one.global_tid AS tid, nullif(parallel_id, 0) AS parallel_id, task_id, amount, path.path
        FROM openmp_event AS one LEFT JOIN string ON string_id = one.name_id
        LEFT JOIN range AS around ON around.pre = one.thread_range
        LEFT JOIN range_path AS path ON path.path_id = around.path_id WHERE event_id = $id
    """,
    "nccl_call": "SELECT name AS whole, global_tid AS tid, payload_json AS payload FROM nccl_call WHERE call_id = $id",
    "sample": """
        SELECT string_agg(coalesce(value, '?'), ' < ' ORDER BY depth) AS whole, any_value(one.global_tid) AS tid,
            any_value(cpu) AS cpu FROM cpu_sample AS one
        LEFT JOIN (FROM callchain WHERE kind = 'sample' AND callchain_id = $id AND depth < 32) AS frame
            ON frame.callchain_id = one.sample_id
        LEFT JOIN string ON string_id = symbol_id WHERE sample_id = $id
    """,
}
_LABELS = {
    "whole": "Name", "meanwhile": "CPU meanwhile", "next": "Next operation",
    "class": "Class", "grid": "Grid", "block": "Block", "cluster": "Cluster",
    "registers": "Registers per thread", "static_shared": "Static shared memory",
    "dynamic_shared": "Dynamic shared memory", "local": "Local memory per thread", "bytes": "Size",
    "received_bytes": "Received", "rate": "Throughput", "source": "From", "target": "To", "copy_count": "Copies",
    "delay": "Launch delay", "launch": "Launched by", "tid": "Thread", "stream_id": "Stream",
    "correlation_id": "Correlation", "path": "Range", "graph_node_id": "Graph node", "graph_id": "Graph",
    "graph_exec_id": "Graph instance", "return_value": "Returned", "category": "Kind", "closed": "Closed",
    "style": "Style", "payload": "Payload", "operations": "GPU operations", "launches": "Launches",
    "busy_ns": "GPU busy", "kernel_ns": "Kernels", "projected_ns": "On the GPU, first to last",
    "event_id": "CUDA event", "rank": "Rank", "tag": "Tag", "cpu": "Core",
    "parallel_id": "Parallel region", "task_id": "Task", "amount": "Iterations",
}  # fmt: skip
_SHAPES = {"grid", "block", "cluster"}
_NUMBERS: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(("delay", "busy_ns", "kernel_ns", "projected_ns"), words.duration),
    **dict.fromkeys(("static_shared", "dynamic_shared", "local", "bytes", "received_bytes"), words.bytes_),
    "rate": words.rate,
}
LONGEST = 20_000
"""Length limit of a value, in characters."""


def describe_event(cursor: duckdb.DuckDBPyConnection, opened: Opened, lane: int, ref: int) -> dict[str, Any]:
    """Return one event: its times, name, detail rows, arrows, and ``about``, the facts for links to other pages.

    Raises:
        AnalysisError: the lane or the event does not exist.
    """
    event = events.read_event(cursor, opened, lane, ref)
    kind, number = find_source(opened.lanes[lane].kind, ref)
    _, _, start, end, name, _ = event
    if kind == "idle":
        facts = read_idle_facts(cursor, opened.listed[lane]["device"], start + opened.origin_ns, end + opened.origin_ns)
    else:
        facts = _read_facts(cursor, kind, number)
    titles = {one.name: one.title for one in opened.classes}
    facts |= {"class": titles.get(facts["class"], facts["class"])} if facts.get("class") else {}
    full_name = read_texts(cursor, [name]).get(name, "")
    rows: Rows = [("Start", words.duration(start)), ("Duration", words.duration(end - start))]
    rows += [
        (_LABELS[key], _format_value(key, value))
        for key, value in facts.items()
        if key in _LABELS and value is not None
    ]
    about = {"kernel": facts.get("kernel"), "range": facts.get("path"), "table": kind, "id": number}
    return events.format_event(opened, event) | {
        "name_id": name, "name": full_name, "rows": rows, "arrows": find_arrows(cursor, opened, event, kind, number),
        "about": about,
    }  # fmt: skip


def find_source(lane_kind: str, ref: int) -> tuple[str, int]:
    """Return the kind of an event and its number in the table of the report."""
    if lane_kind in ("stream", "nccl"):
        return ("kernel", "memop", "graph_launch", "")[ref % 4], ref // 4
    if lane_kind == "path":
        return (*SOURCES, "")[ref % 5], ref // 5
    return {"projection": "range"}.get(lane_kind, lane_kind), ref


def _read_facts(cursor: duckdb.DuckDBPyConnection, kind: str, number: int) -> dict[str, Any]:
    if kind not in _QUERIES:
        return {}
    rows = cursor.execute(_QUERIES[kind].replace("$id", str(number)))
    columns: Sequence[str] = [column[0] for column in rows.description or []]
    facts = rows.fetchall()
    return dict(zip(columns, facts[0], strict=True)) if facts else {}


def _format_value(key: str, value: Any) -> str:
    if key in _NUMBERS:
        return _NUMBERS[key](value)
    if key == "tid":
        return f"{value >> 24 & 0xFFFFFF} / {value & 0xFFFFFF}"
    if key in _SHAPES:
        return words.visible(value).replace("x", " × ")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return words.visible(value)[:LONGEST]
