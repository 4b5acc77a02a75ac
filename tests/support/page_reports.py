"""Small hand-made reports and their rows, for tests of analyses."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain, groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pandas as pd
import pytest

from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.report import store
from profiledb.report.schema import SCHEMA_VERSION
from tests.support import conversion_cache

Fill = Callable[[duckdb.DuckDBPyConnection], None]
Publish = Callable[..., str]

H100 = {
    "gpu_id": 0, "name": "H100", "compute_capability": "9.0", "sm_count": 132, "max_warps_per_sm": 64,
    "max_blocks_per_sm": 32, "max_threads_per_block": 1024, "max_registers_per_sm": 65536,
    "max_registers_per_block": 65536, "max_shared_per_sm_bytes": 233472, "threads_per_warp": 32,
}  # fmt: skip
V100 = H100 | {"name": "V100", "compute_capability": "7.0", "sm_count": 80, "max_shared_per_sm_bytes": 98304}
RTX3060 = H100 | {
    "name": "RTX 3060", "compute_capability": "8.6", "max_warps_per_sm": 48, "max_blocks_per_sm": 16,
    "max_shared_per_sm_bytes": 102400, "sm_count": 28,
}  # fmt: skip
GP100 = H100 | {"name": "GP100", "compute_capability": "6.0", "max_shared_per_sm_bytes": 65536, "sm_count": 56}


def of_kind(kind: str) -> dict[str, int]:
    """Return the manifest rows that mark a made report as a Nsight Compute report."""
    return {"ncu_launch": 1} if kind == "ncu" else {}


@cache
def empty() -> store.Ready:
    """Return an empty report, created once per process: one statement per table is most of the cost of a small one."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "empty.duckdb"
        with store.create(path):
            pass
        return store.Ready(empty=path.read_bytes())


def insert(db: duckdb.DuckDBPyConnection, table: str, rows: Iterable[dict[str, Any]]) -> None:
    """Insert rows, with one statement for consecutive rows of the same columns."""
    for columns, several in groupby(rows, key=tuple):
        values = [list(row.values()) for row in several]
        names = ", ".join(f'"{name}"' for name in columns)
        for at in range(0, len(values), 500):
            some = values[at : at + 500]
            places = ", ".join([f"({', '.join('?' * len(columns))})"] * len(some))
            db.execute(f'INSERT INTO "{table}" ({names}) VALUES {places}', list(chain.from_iterable(some)))


def kernel(number: int, name_id: int, start: int, end: int, **more: Any) -> dict[str, Any]:
    shape = {"grid_x": 8, "grid_y": 1, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1}
    usage = {"registers_per_thread": 32, "static_shared_bytes": 0, "dynamic_shared_bytes": 0}
    place = {"device_id": 0, "stream_id": 7, "global_pid": 1, "correlation_id": number}
    times = {"kernel_id": number, "name_id": name_id, "start_ns": start, "end_ns": end}
    return times | place | shape | usage | more


def name(number: int, short: str, kind: str = "other", demangled: str = "", mangled: str = "") -> dict[str, Any]:
    return {"name_id": number, "short": short, "class": kind, "demangled": demangled or f"{short}(int)"} | {
        "mangled": mangled or None
    }


def run(library: Library, report_id: str, analysis_name: str, /, **params: Any) -> list[dict[str, Any]]:
    """Run an analysis and return its rows as dictionaries, with None for missing values."""
    frame = analysis.run(library, report_id, analysis_name, params)
    return records(frame)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(k): None if pd.isna(v) else v for k, v in row.items()} for row in frame.to_dict("records")]


def picked(rows: Sequence[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in names) for row in rows]


@pytest.fixture(name="library")
def make_library(tmp_path: Path) -> Library:
    return Library(tmp_path / "library")


@pytest.fixture(name="publish")
def make_publish(library: Library, tmp_path: Path) -> Publish:
    """Return a function that publishes a small report written by ``fill`` and returns its id."""
    return make_publisher(library, tmp_path)


def make_publisher(library: Library, folder: Path) -> Publish:
    """Return a function that publishes a small report; ``folder`` lies on the disk of the library."""

    def publish_(fill: Fill, kind: str = "nsys") -> str:
        report_id = f"{len(library.list()):016x}"
        path = folder / f"{report_id}.duckdb"
        with store.create(path, ready=empty()) as db:
            fill(db)
        library.publish(
            path, Manifest(report_id, SCHEMA_VERSION, f"{report_id}.rep", kind, report_id, 1, rows=of_kind(kind))
        )
        conversion_cache.share_views(library, report_id)
        return report_id

    return publish_
