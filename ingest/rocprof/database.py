"""Load the database of rocprofv3 (rocpd) into the tables of a report."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb

from ingest.nsys import sqlite
from ingest.rocprof import counters, records
from ingest.rocprof.tables import DISPATCHES, Run, list_runs
from ingest.torch.event_batches import make_event, make_span, name_thread, parse_number
from ingest.torch.event_database import load_database, note_unread
from profiledb.report.schema import quote_identifier

_MOST_AGENTS = 4096
_CALL = ("HIP_", "RCCL_", "ROCDECODE_", "ROCJPEG_")
_MARKER = "MARKER_"
_COUNTERS = "rocpd_pmc_event"
_MOST_VALUES = 1 << 21
"""Most values of counters of a process, which are held in memory."""


def load_capture(db: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Fill the tables of the report that ``db`` has open as catalog ``report``.

    Raises:
        ConversionError: the file has no record with a time.
    """
    counts: dict[str, int] = {}
    gpus: dict[int, dict[str, Any]] = {}
    facts: dict[str, tuple[Any, Any]] = {}

    def list_events(source: sqlite3.Connection) -> Iterator[dict[str, Any]]:
        for run in list_runs(path):
            gpus.update({gpu["id"]: gpu for gpu in _list_gpus(source, run).values()})
            values = _read_counters(source, run, counts, facts)
            yield from _list_events(source, run, counts, values)

    made_by = records.TOOL, records.KIND, "SQLite of rocprofv3 (rocpd)"
    load_database(db, path, list_events, lambda: {"deviceProperties": list(gpus.values())}, *made_by)
    counters.describe(db, facts)
    note_unread(db, counts)


def _read_counters(
    source: sqlite3.Connection, run: Run, counts: dict[str, int], facts: dict[str, tuple[Any, Any]]
) -> dict[Any, dict[str, float]]:
    """Return the values of each dispatch by its event; add unit and description of the counters to ``facts``."""
    if _COUNTERS not in run.tables:
        return {}
    table, dispatches = quote_identifier(run.tables[_COUNTERS]), quote_identifier(run.tables[DISPATCHES])
    info = run.table("rocpd_info_pmc", "id name units description")
    known = run.columns.get("rocpd_info_pmc", frozenset())
    unit, description = (f"i.{column}" if column in known else "NULL" for column in ("units", "description"))
    query = f"""
        SELECT p.event_id AS event, coalesce(i.name, 'counter ' || p.pmc_id) AS name, {unit} AS unit,
            {description} AS description, total(p.value) AS value, count(*) AS instances
        FROM {table} AS p LEFT JOIN {info} AS i ON i.id = p.pmc_id
        WHERE p.event_id IN (SELECT event_id FROM {dispatches}) AND typeof(p.value) IN ('integer', 'real')
        GROUP BY p.event_id, 2 LIMIT {_MOST_VALUES}
    """
    values: dict[Any, dict[str, float]] = {}
    read = 0
    for row in sqlite.select_rows(source, query):
        name = str(row["name"])
        facts.setdefault(name, (row["unit"], row["description"]))
        values.setdefault(row["event"], {}).update(counters.sum_instances([(name, row["value"])]))
        read += row["instances"]
    (count,) = source.execute(f"SELECT count(*) FROM {table}").fetchone()
    if count > read:
        counts["performance counters"] = counts.get("performance counters", 0) + count - read
    return values


def _list_events(
    source: sqlite3.Connection, run: Run, counts: dict[str, int], values: Mapping[Any, dict[str, float]]
) -> Iterator[dict[str, Any]]:
    agents = {agent: gpu["id"] for agent, gpu in _list_gpus(source, run).items()}
    threads: set[tuple[int, int]] = set()
    for row in sqlite.select_rows(source, _select_dispatches(run)):
        span = make_span(row["begun"], row["ended"])
        if span is None:
            counts["kernels"] = counts.get("kernels", 0) + 1
            continue
        grid, group = ([row[f"{size}_{axis}"] for axis in "xyz"] for size in ("grid", "group"))
        shared, registers = parse_number(row["shared"]), parse_number(row["registers"])
        more = {"shared memory": shared, "registers per thread": registers, "counters": values.get(row["event"])}
        name = row["name"] or f"kernel {row['kernel_id']}"
        yield records.make_dispatch(str(name), span, _place(row, agents, row["agent"]), grid, group, **more)
    for row in sqlite.select_rows(source, _select_copies(run)):
        if span := make_span(row["begun"], row["ended"]):
            agent = row["target"] if row["target"] in agents else row["origin"]
            yield records.make_copy(str(row["name"]), span, _place(row, agents, agent), row["size"])
    for row in sqlite.select_rows(source, _select_regions(run)):
        category = str(row["category"] or "").upper()
        span = make_span(row["begun"], row["ended"])
        place = (parse_number(row["pid"]) or 0, parse_number(row["tid"]) or 0)
        if span is None or not category.startswith((*_CALL, _MARKER)):
            counts[category or "regions"] = counts.get(category or "regions", 0) + 1
        elif category.startswith(_MARKER):
            yield make_event("user_annotation", _parse_message(row["extdata"]) or str(row["name"]), span, place)
        else:
            yield from records.make_call(str(row["name"]), span, place, row["correlation"])
        if place not in threads and isinstance(row["thread"], str):
            threads.add(place)
            yield name_thread(*place, row["thread"])


def _select_dispatches(run: Run) -> str:
    times, joins, owner = _build_times(run, DISPATCHES)
    symbol = run.table("rocpd_info_kernel_symbol", "id kernel_name display_name arch_vgpr_count")
    sizes = ", ".join(f"k.grid_size_{axis} AS grid_{axis}, k.workgroup_size_{axis} AS group_{axis}" for axis in "xyz")
    return f"""
        SELECT {times}, k.event_id AS event, coalesce(s.kernel_name, s.display_name) AS name, k.kernel_id,
            {owner}.agent_id AS agent,
            coalesce({owner}.stream_id, {owner}.queue_id) AS stream, coalesce(e.stack_id, e.correlation_id)
            AS correlation, k.group_segment_size AS shared, s.arch_vgpr_count AS registers, {sizes}
        FROM {quote_identifier(run.tables[DISPATCHES])} AS k {joins}
        LEFT JOIN {symbol} AS s ON s.id = k.kernel_id {_parse_event(run)}
    """


def _select_copies(run: Run) -> str:
    table = "rocpd_memory_copy"
    if table not in run.tables:
        return ""
    times, joins, owner = _build_times(run, table)
    return f"""
        SELECT {times}, n.string AS name, k.dst_agent_id AS target, k.src_agent_id AS origin, k.size,
            coalesce({owner}.stream_id, {owner}.queue_id) AS stream,
            coalesce(e.stack_id, e.correlation_id) AS correlation
        FROM {quote_identifier(run.tables[table])} AS k {joins}
        LEFT JOIN {run.table("rocpd_string", "id string")} AS n ON n.id = k.name_id {_parse_event(run)}
    """


def _select_regions(run: Run) -> str:
    table = "rocpd_region"
    if table not in run.tables:
        return ""
    times, joins, owner = _build_times(run, table)
    return f"""
        SELECT {times}, n.string AS name, coalesce(p.pid, {owner}.pid) AS pid, coalesce(h.tid, {owner}.tid) AS tid,
            h.name AS thread, c.string AS category, coalesce(e.stack_id, e.correlation_id) AS correlation, e.extdata
        FROM {quote_identifier(run.tables[table])} AS k {joins}
        LEFT JOIN {run.table("rocpd_string", "id string")} AS n ON n.id = k.name_id
        LEFT JOIN {run.table("rocpd_info_process", "id pid")} AS p ON p.id = {owner}.pid
        LEFT JOIN {run.table("rocpd_info_thread", "id tid name")} AS h ON h.id = {owner}.tid {_parse_event(run)}
        LEFT JOIN {run.table("rocpd_string", "id string")} AS c ON c.id = e.category_id
    """


def _build_times(run: Run, table: str) -> tuple[str, str, str]:
    """Return columns of start and end, the joins that they need, and the alias that has process, GPU and stream.

    Files of ROCm 7 have all of these in the row; later ones refer to tables of times and of tracks.
    """
    if "start" in run.columns[table]:
        return 'k."start" AS begun, k."end" AS ended', "", "k"
    stamp = run.table("rocpd_timestamp", "id value")
    track = run.table("rocpd_track", "id pid tid agent_id queue_id stream_id")
    joins = (
        f"LEFT JOIN {stamp} AS b ON b.id = k.start_id LEFT JOIN {stamp} AS f ON f.id = k.end_id"
        f" LEFT JOIN {track} AS t ON t.id = k.track_id"
    )
    return "b.value AS begun, f.value AS ended", joins, "t"


def _parse_event(run: Run) -> str:
    event = run.table("rocpd_event", "id stack_id correlation_id category_id extdata")
    return f"LEFT JOIN {event} AS e ON e.id = k.event_id"


def _place(row: Mapping[str, Any], agents: Mapping[Any, int], agent: Any) -> dict[str, Any]:
    return {
        "device": agents.get(agent), "stream": parse_number(row["stream"]),
        "correlation": parse_number(row["correlation"]),
    }  # fmt: skip


def _list_gpus(source: sqlite3.Connection, run: Run) -> dict[Any, dict[str, Any]]:
    """Return the facts of the GPUs of a run by their agent."""
    table = "rocpd_info_agent"
    if table not in run.tables:
        return {}
    query = f"SELECT * FROM {quote_identifier(run.tables[table])} LIMIT {_MOST_AGENTS}"
    gpus: dict[Any, dict[str, Any]] = {}
    for row in sqlite.select_rows(source, query):
        if row.get("type") == "GPU":
            index = parse_number(row.get("type_index"))
            facts = _parse_object(row.get("extdata")) | {
                "product_name": row.get("product_name"),
                "name": row.get("name"),
            }
            gpus[row.get("id")] = records.make_gpu(len(gpus) if index is None else index, facts)
    return gpus


def _parse_message(extdata: Any) -> str:
    return str(_parse_object(extdata).get("message") or "")


def _parse_object(text: Any) -> dict[str, Any]:
    with suppress(ValueError, RecursionError, TypeError):
        return value if isinstance(value := json.loads(text), dict) else {}
    return {}
