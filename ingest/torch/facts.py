"""Write the facts of a trace about its capture, its GPUs and its distributed run to their tables."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import duckdb

from ingest import scrub
from ingest.scrub import scrub_text
from ingest.torch.head import parse_text, parse_whole_number
from profiledb.report.schema import quote

SETTINGS = (
    *("schemaVersion", "record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules", "trace_id"),
    *("cupti_version", "cuda_runtime_version", "cuda_driver_version", "hip_runtime_version", "hip_driver_version"),
    "displayTimeUnit",
)
"""Stored keys; other keys are the user's own, carry no information, or may be secret."""
MOST = 1024
"""Most GPUs and process groups of a trace that are read."""
_OLDEST_NS, _LATEST_NS = 946_684_800_000_000_000, 1 << 62
"""A clock before the year 2000 does not count from 1970."""
_GPU = {
    "gpu_id": "id", "sm_count": "numSms", "memory_bytes": "totalGlobalMem", "threads_per_warp": "warpSize",
    "max_threads_per_block": "maxThreadsPerBlock", "max_registers_per_sm": "regsPerMultiprocessor",
    "max_registers_per_block": "regsPerBlock", "max_shared_per_sm_bytes": "sharedMemPerMultiprocessor",
    "max_shared_per_block_bytes": "sharedMemPerBlock", "max_shared_per_block_optin_bytes": "sharedMemPerBlockOptin",
    "clock_hz": "clock_hz", "memory_bandwidth_bytes_per_s": "bytes_per_s",
}  # fmt: skip
"""Columns of the table gpu with the keys of a trace; clock and bandwidth come from other profilers' files alone."""
_LARGE = ("bytes", "_hz", "_per_s")
"""Endings of the columns whose values may exceed 30 bits."""


_RENUMBER = """
    WITH used AS (SELECT DISTINCT device_id FROM trace_operation WHERE device_id >= 0),
    nameless AS (
        SELECT device_id, row_number() OVER (ORDER BY device_id) AS place
        FROM used ANTI JOIN gpu ON gpu_id = device_id
    ), idle AS (
        SELECT gpu_id, row_number() OVER (ORDER BY gpu_id) AS place FROM gpu ANTI JOIN used ON gpu_id = device_id
    )
    UPDATE gpu SET gpu_id = device_id FROM nameless JOIN idle USING (place)
    WHERE gpu.gpu_id = idle.gpu_id AND (SELECT count(DISTINCT (name, sm_count)) = 1 FROM gpu)
"""
"""Gives the facts of GPUs of one product to those that worked. ROCm numbers the GPUs of kernels after the CPUs of the
machine, and the GPUs of facts from 0 on."""


def write_facts(db: duckdb.DuckDBPyConnection, keys: Mapping[str, Any], tool: str, kind: str, converter: str) -> None:
    """Fill the tables of facts; needs ``session`` (session.sql)."""
    begin, end = db.execute("SELECT begin_ns, end_ns FROM session").fetchone() or (None, None)
    _write_report(db, keys, (kind, tool, converter), begin or 0, end)
    _insert_rows(db, "capture_setting", ("name", "value"), _read_settings(keys))
    _insert_rows(db, "gpu", ("name", "compute_capability", "max_warps_per_sm", *_GPU), _read_gpus(keys))
    db.execute(_RENUMBER)
    _write_run(db, keys.get("distributedInfo"))


def _write_report(
    db: duckdb.DuckDBPyConnection, keys: Mapping[str, Any], made_by: tuple[str, str, str], begin: int, end: int | None
) -> None:
    since_1970 = (parse_whole_number(keys.get("baseTimeNanoseconds")) or 0) + begin
    captured = f"make_timestamp_ns({since_1970})" if _OLDEST_NS < since_1970 < _LATEST_NS else "NULL"
    driver = parse_whole_number(keys.get("cuda_driver_version"), 1_000_000) or 0
    cuda = quote(f"{driver // 1000}.{driver % 1000 // 10}") if driver else "NULL"
    length = (end - begin) if end is not None else "NULL"
    kind, tool, converter = map(quote, made_by)
    db.execute(f"""
        INSERT INTO report BY NAME
        SELECT {kind} AS kind, {tool} AS tool, {converter} AS converter, {captured} AS captured_at,
            0 AS start_ns, {length}::BIGINT AS stop_ns, {length}::BIGINT AS duration_ns, {cuda} AS cuda_version
    """)


def _read_settings(keys: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for name in SETTINGS:
        if isinstance(value := keys.get(name), (int, str)):
            yield name, scrub_text(str(value))[:200]


def _read_gpus(keys: Mapping[str, Any]) -> Iterable[tuple[Any, ...]]:
    devices = keys.get("deviceProperties")
    for device in devices[:MOST] if isinstance(devices, list) else ():
        if not isinstance(device, dict) or parse_whole_number(device.get("id"), 1 << 30) is None:
            continue
        name, warp = parse_text(device.get("name"), 200), parse_whole_number(device.get("warpSize"), 1 << 30)
        major, minor = (parse_whole_number(device.get(key), 1000) for key in ("computeMajor", "computeMinor"))
        # AMD numbers its architectures in the same fields: gfx90a says 9.0 and is no Hopper.
        nvidia = None not in (major, minor) and (warp in (None, 32)) and not (name or "").startswith("AMD")
        threads = parse_whole_number(device.get("maxThreadsPerMultiprocessor"), 1 << 30)
        yield (
            name and scrub_text(name),
            f"{major}.{minor}" if nvidia else None,
            threads // warp if threads and warp else None,
            *(
                parse_whole_number(device.get(key), (1 << 62) if column.endswith(_LARGE) else (1 << 30))
                for column, key in _GPU.items()
            ),
        )


def _write_run(db: duckdb.DuckDBPyConnection, run: Any) -> None:
    if not isinstance(run, dict):
        return
    row = (
        *(parse_whole_number(run.get(key), 1 << 30) for key in ("rank", "world_size")),
        *(_format_value(parse_text(run.get(key), 1000), 200) for key in ("backend", "nccl_version")),
    )
    _insert_rows(db, "distributed", ("rank", "world_size", "backend", "nccl_version"), [row])
    groups = run.get("pg_config")
    rows = [
        (
            *(_format_value(group.get(key), 1000) for key in ("pg_name", "pg_desc", "backend_config")),
            parse_whole_number(group.get("pg_size")),
            _format_value(group.get("ranks"), 100_000),
        )
        for group in (groups[:MOST] if isinstance(groups, list) else ())
        if isinstance(group, dict)
    ]
    _insert_rows(db, "process_group", ("name", "description", "backend", "size", "ranks"), rows)


def _format_value(value: Any, most: int) -> str | None:
    if value is None:
        return None
    return (scrub_text(value) if isinstance(value, str) else json.dumps(scrub.scrub_facts(value)))[:most]


def _insert_rows(
    db: duckdb.DuckDBPyConnection, table: str, columns: Iterable[str], rows: Iterable[tuple[Any, ...]]
) -> None:
    """Insert rows as literals: see schema.quote."""
    values = [", ".join(quote(cell) if isinstance(cell, str) else "NULL" if cell is None else str(cell) for cell in row)
              for row in rows]  # fmt: skip
    if values:
        db.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join(f'({row})' for row in values)}")
