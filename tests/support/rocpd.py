"""Databases of rocprofv3 with a launch, a copy and a range, in both forms that its tables have had."""

import sqlite3
from contextlib import closing
from pathlib import Path

_STRINGS = (
    "hipLaunchKernel", "HIP_RUNTIME_API_EXT", "MEMORY_COPY_HOST_TO_DEVICE", "MARKER_CORE_RANGE_API", "roctxRangePushA",
    "hipMemcpy", "HSA_CORE_API", "hsa_signal",
)  # fmt: skip
_AGENTS = (
    (1, "CPU", 0, "cpu", "EPYC", "{}"),
    (2, "GPU", 0, "gfx942", "AMD Instinct MI300X", '{"cu_count": 304, "wave_front_size": 64, "max_waves_per_cu": 32}'),
)
_EVENTS = (
    (1, 2, 7, 0, "{}"), (2, None, 7, 0, "{}"), (3, 2, 8, 0, "{}"), (4, None, 8, 0, "{}"),
    (5, 4, 9, 0, '{"message": "step"}'), (6, 7, 10, 0, "{}"),
)  # fmt: skip
_PMC = (
    (1, "TCC_HIT", None, "Number of cache hits"), (2, "TCC_HIT", None, "Number of cache hits"),
    (3, "OccupancyPercent", "percent", None),
)  # fmt: skip
_VALUES = ((1, 2, 1, 64.0), (2, 2, 2, 128.5), (3, 2, 3, 12.25), (4, 2, 3, "x"), (5, 1, 1, 7.0))
"""Event, counter and value: instances of a counter, a cell that is no number, and a value of no dispatch."""
_SIZES = "group_segment_size", *(f"{size}_size_{axis}" for size in ("workgroup", "grid") for axis in "xyz")
_KERNEL = (64, 256, 1, 1, 1000, 1, 1)
_REGIONS = ((1000, 1500, 1, 1), (2000, 2600, 6, 3), (900, 3000, 5, 5), (1100, 1200, 8, 6))
"""Start, end, name and event of each region."""


def write_rocpd(path: Path, *, run: str = "_00aa11bb_22cc", tracks: bool = False) -> Path:
    """Write a database; with ``tracks`` times and places stand in tables of their own, as in later versions."""
    with closing(sqlite3.connect(path)) as db:
        _add(db, run, "string", "id guid string", [(at, "g", text) for at, text in enumerate(_STRINGS, 1)])
        _add(db, run, "info_process", "id pid", [(1, 4242)])
        _add(db, run, "info_thread", "id tid name", [(1, 4242, "main")])
        _add(db, run, "info_agent", "id type type_index name product_name extdata", _AGENTS)
        symbol = [(1, "_Z3addPfS_.kd", "add", 32)]
        _add(db, run, "info_kernel_symbol", "id kernel_name display_name arch_vgpr_count", symbol)
        _add(db, run, "event", "id category_id stack_id correlation_id extdata", _EVENTS)
        _add(db, run, "info_pmc", "id name units description", _PMC)
        _add(db, run, "pmc_event", "id event_id pmc_id value", _VALUES)
        (_add_tracks if tracks else _add_plain)(db, run)
        db.commit()
    return path


def _add_plain(db: sqlite3.Connection, run: str) -> None:
    regions = [(at, 1, 1, *region) for at, region in enumerate(_REGIONS, 1)]
    _add(db, run, "region", "id pid tid start end name_id event_id", regions)
    place = "id pid tid agent_id kernel_id queue_id stream_id start end event_id"
    _add(db, run, "kernel_dispatch", f"{place} {' '.join(_SIZES)}", [(1, 1, 1, 2, 1, 1, 5, 1601, 1800, 2, *_KERNEL)])
    copy = "id pid tid start end name_id dst_agent_id src_agent_id size queue_id stream_id event_id"
    _add(db, run, "memory_copy", copy, [(1, 1, 1, 2100, 2500, 3, 2, 1, 4096, 1, 5, 4)])


def _add_tracks(db: sqlite3.Connection, run: str) -> None:
    times = sorted({time for start, end, *_ in _REGIONS for time in (start, end)} | {1601, 1800, 2100, 2500})
    at = {time: number for number, time in enumerate(times, 1)}
    _add(db, run, "timestamp", "id value", [(number, time) for time, number in at.items()])
    _add(db, run, "track", "id pid tid agent_id queue_id stream_id", [(1, 1, 1, None, None, None), (2, 1, 1, 2, 1, 5)])
    regions = [(n, 1, at[start], at[end], *rest) for n, (start, end, *rest) in enumerate(_REGIONS, 1)]
    _add(db, run, "region", "id track_id start_id end_id name_id event_id", regions)
    place = "id track_id kernel_id start_id end_id event_id"
    _add(db, run, "kernel_dispatch", f"{place} {' '.join(_SIZES)}", [(1, 2, 1, at[1601], at[1800], 2, *_KERNEL)])
    copy = "id track_id start_id end_id name_id dst_agent_id src_agent_id size event_id"
    _add(db, run, "memory_copy", copy, [(1, 2, at[2100], at[2500], 3, 2, 1, 4096, 4)])


def _add(db: sqlite3.Connection, run: str, table: str, columns: str, rows: object) -> None:
    names = columns.split()
    name = f"rocpd_{table}{run}"
    listed = ", ".join(f'"{one}"' + (" INTEGER PRIMARY KEY" if one == "id" else "") for one in names)
    db.execute(f"CREATE TABLE {name} ({listed})")
    db.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(names))})", rows)  # type: ignore[arg-type]
