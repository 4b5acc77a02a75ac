"""What a trace says of its capture, its GPUs and the run that it was a part of: rows of their tables."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import duckdb

from ingest import scrub
from ingest.scrub import visible
from ingest.torch.head import text, whole
from profiledb.report.schema import quote

SETTINGS = (
    *("schemaVersion", "record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules", "trace_id"),
    *("cupti_version", "cuda_runtime_version", "cuda_driver_version", "hip_runtime_version", "hip_driver_version"),
    "displayTimeUnit",
)
"""Keys that are kept; others are the user's own, or say nothing, and may be secret."""
MOST = 1024
"""GPUs and process groups of a trace that are looked at."""
_OLDEST_NS, _LATEST_NS = 946_684_800_000_000_000, 1 << 62
"""A clock before the year 2000 does not count from 1970."""
_GPU = {
    "gpu_id": "id", "sm_count": "numSms", "memory_bytes": "totalGlobalMem", "threads_per_warp": "warpSize",
    "max_threads_per_block": "maxThreadsPerBlock", "max_registers_per_sm": "regsPerMultiprocessor",
    "max_registers_per_block": "regsPerBlock", "max_shared_per_sm_bytes": "sharedMemPerMultiprocessor",
    "max_shared_per_block_bytes": "sharedMemPerBlock", "max_shared_per_block_optin_bytes": "sharedMemPerBlockOptin",
}  # fmt: skip
"""Columns of the table gpu, and what a trace calls them."""


def write(db: duckdb.DuckDBPyConnection, keys: Mapping[str, Any], tool: str) -> None:
    """Fills the tables of facts; needs ``session`` (session.sql)."""
    begin, end = db.execute("SELECT begin_ns, end_ns FROM session").fetchone() or (None, None)
    _write_report(db, keys, tool, begin or 0, end)
    _insert(db, "capture_setting", ("name", "value"), _settings(keys))
    _insert(db, "gpu", ("name", "compute_capability", "max_warps_per_sm", *_GPU), _gpus(keys))
    _write_run(db, keys.get("distributedInfo"))


def _write_report(
    db: duckdb.DuckDBPyConnection, keys: Mapping[str, Any], tool: str, begin: int, end: int | None
) -> None:
    since_1970 = (whole(keys.get("baseTimeNanoseconds")) or 0) + begin
    captured = f"make_timestamp_ns({since_1970})" if _OLDEST_NS < since_1970 < _LATEST_NS else "NULL"
    driver = whole(keys.get("cuda_driver_version"), 1_000_000) or 0
    cuda = quote(f"{driver // 1000}.{driver % 1000 // 10}") if driver else "NULL"
    length = (end - begin) if end is not None else "NULL"
    db.execute(f"""
        INSERT INTO report BY NAME
        SELECT 'torch' AS kind, {quote(tool)} AS tool, 'JSON trace' AS converter, {captured} AS captured_at,
            0 AS start_ns, {length}::BIGINT AS stop_ns, {length}::BIGINT AS duration_ns, {cuda} AS cuda_version
    """)


def _settings(keys: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for name in SETTINGS:
        if isinstance(value := keys.get(name), (int, str)):
            yield name, visible(str(value))[:200]


def _gpus(keys: Mapping[str, Any]) -> Iterable[tuple[Any, ...]]:
    devices = keys.get("deviceProperties")
    for device in devices[:MOST] if isinstance(devices, list) else ():
        if not isinstance(device, dict) or whole(device.get("id"), 1 << 30) is None:
            continue
        name, warp = text(device.get("name"), 200), whole(device.get("warpSize"), 1 << 30)
        major, minor = (whole(device.get(key), 1000) for key in ("computeMajor", "computeMinor"))
        # AMD counts its architectures in the same fields: gfx90a says 9.0, and is no Hopper.
        nvidia = None not in (major, minor) and (warp in (None, 32)) and not (name or "").startswith("AMD")
        threads = whole(device.get("maxThreadsPerMultiprocessor"), 1 << 30)
        yield (
            name and visible(name),
            f"{major}.{minor}" if nvidia else None,
            threads // warp if threads and warp else None,
            *(
                whole(device.get(key), (1 << 62) if column.endswith("bytes") else (1 << 30))
                for column, key in _GPU.items()
            ),
        )


def _write_run(db: duckdb.DuckDBPyConnection, run: Any) -> None:
    if not isinstance(run, dict):
        return
    row = (
        *(whole(run.get(key), 1 << 30) for key in ("rank", "world_size")),
        *(_shown(text(run.get(key), 1000), 200) for key in ("backend", "nccl_version")),
    )
    _insert(db, "distributed", ("rank", "world_size", "backend", "nccl_version"), [row])
    groups = run.get("pg_config")
    rows = [
        (
            *(_shown(group.get(key), 1000) for key in ("pg_name", "pg_desc", "backend_config")),
            whole(group.get("pg_size")),
            _shown(group.get("ranks"), 100_000),
        )
        for group in (groups[:MOST] if isinstance(groups, list) else ())
        if isinstance(group, dict)
    ]
    _insert(db, "process_group", ("name", "description", "backend", "size", "ranks"), rows)


def _shown(value: Any, most: int) -> str | None:
    if value is None:
        return None
    return (visible(value) if isinstance(value, str) else json.dumps(scrub.facts(value)))[:most]


def _insert(db: duckdb.DuckDBPyConnection, table: str, columns: Iterable[str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Inserts rows as literals: see schema.quote."""
    values = [", ".join(quote(cell) if isinstance(cell, str) else "NULL" if cell is None else str(cell) for cell in row)
              for row in rows]  # fmt: skip
    if values:
        db.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join(f'({row})' for row in values)}")
