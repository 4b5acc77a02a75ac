"""The synthetic exports of bench/: both formats hold the same rows, and the real nsys reads them."""

from __future__ import annotations

import csv
import io
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bench.export_tables import SQLITE_ONLY, TABLES
from bench.generate import Options, generate, main
from bench.odd_ranges import OddRanges

KERNELS = 2_000
OPTIONS = Options(KERNELS, processes=2, seed=3, odd=OddRanges(7, 6, 5, 4, 3))


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exports")
    generate(OPTIONS, folder / "x.sqlite", "sqlite")
    generate(OPTIONS, folder / "x", "parquetdir")
    return folder


@pytest.fixture(scope="module")
def database(exports: Path) -> Any:
    connection = sqlite3.connect(exports / "x.sqlite")
    yield connection
    connection.close()


def query(database: sqlite3.Connection, sql: str) -> list[tuple[Any, ...]]:
    return database.execute(sql).fetchall()


def test_both_formats_hold_the_same_rows(exports: Path, database: sqlite3.Connection) -> None:
    names = {name for (name,) in query(database, "SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert names == set(TABLES)
    assert {path.stem for path in (exports / "x").iterdir()} == names - SQLITE_ONLY
    for name in sorted(names - SQLITE_ONLY):
        rows = pq.read_table(exports / "x" / f"{name}.parquet")
        columns = [column.to_pylist() for column in rows.columns]
        assert list(zip(*columns, strict=True)) == query(database, f"SELECT * FROM {name}"), name


def test_the_same_seed_gives_the_same_rows(exports: Path, tmp_path: Path) -> None:
    generate(OPTIONS, tmp_path / "y", "parquetdir")
    for path in (exports / "x").iterdir():
        assert pq.read_table(path).equals(pq.read_table(tmp_path / "y" / path.name)), path.name


def test_kernels_are_as_many_as_asked_and_each_has_one_launch(database: sqlite3.Connection) -> None:
    assert query(database, "SELECT count(*), count(DISTINCT demangledName) > 50 FROM CUPTI_ACTIVITY_KIND_KERNEL") == [
        (KERNELS, 1)
    ]
    launches = """SELECT count(*), min(k.start >= c.start), count(DISTINCT c.globalTid)
                  FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME c
                  ON c.correlationId = k.correlationId AND c.globalTid - (c.globalTid & 16777215) = k.globalPid"""
    assert query(database, launches) == [(KERNELS, 1, 4)]


def test_processes_share_correlation_ids(database: sqlite3.Connection) -> None:
    shared = """SELECT count(*) > 900 FROM CUPTI_ACTIVITY_KIND_KERNEL a JOIN CUPTI_ACTIVITY_KIND_KERNEL b
                USING (correlationId) WHERE a.globalPid < b.globalPid"""
    assert query(database, shared) == [(1,)]


def test_a_stream_runs_one_kernel_at_a_time(database: sqlite3.Connection) -> None:
    overlaps = """SELECT count(*) FROM (SELECT start, lag(end) OVER (PARTITION BY globalPid ORDER BY start) before
                  FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE streamId = 7) WHERE start < before"""
    assert query(database, overlaps) == [(0,)]


def test_push_pop_ranges_nest(tmp_path: Path) -> None:
    generate(Options(KERNELS), tmp_path / "x.sqlite", "sqlite")
    connection = sqlite3.connect(tmp_path / "x.sqlite")
    rows = query(connection, "SELECT start, end FROM NVTX_EVENTS WHERE eventType = 59 ORDER BY start, end DESC")
    connection.close()
    open_ends: list[int] = []
    deepest = 0
    for start, end in rows:
        while open_ends and open_ends[-1] < start:
            open_ends.pop()
        assert not open_ends or end < open_ends[-1]
        open_ends.append(end)
        deepest = max(deepest, len(open_ends))
    assert deepest == 6


def test_odd_ranges_are_what_they_say(database: sqlite3.Connection) -> None:
    counted = dict(query(database, "SELECT text, count(*) FROM NVTX_EVENTS WHERE text IS NOT NULL GROUP BY text"))
    names = ("crossing", "equal", "touching_first", "touching_second", "zero_length", "unclosed")
    assert [counted[name] for name in names] == [14, 12, 10, 10, 8, 6]
    assert query(database, "SELECT DISTINCT end IS NULL FROM NVTX_EVENTS WHERE text = 'unclosed'") == [(1,)]
    assert query(database, "SELECT DISTINCT end - start FROM NVTX_EVENTS WHERE text = 'zero_length'") == [(0,)]
    crossing = """SELECT count(DISTINCT c.rowid) FROM NVTX_EVENTS c JOIN NVTX_EVENTS f USING (globalTid)
                  WHERE c.text = 'crossing' AND f.text = 'forward' AND f.start < c.start AND c.start < f.end
                  AND f.end < c.end"""
    assert query(database, crossing) == [(14,)]


def test_a_path_that_exists_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--kernels", "10", "-o", str(tmp_path)]) == 1
    assert "there already" in capsys.readouterr().err


def test_nsys_stats_reads_the_sqlite(nsys: Path, exports: Path, database: sqlite3.Connection) -> None:
    def report(name: str) -> list[dict[str, str]]:
        command = [str(nsys), "stats", "--quiet", "--format", "csv", "--report", name, str(exports / "x.sqlite")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        return list(csv.DictReader(io.StringIO(done.stdout.strip())))

    kernels = report("cuda_gpu_kern_sum")
    total = query(database, 'SELECT sum("end" - start) FROM CUPTI_ACTIVITY_KIND_KERNEL')
    assert sum(int(row["Instances"]) for row in kernels) == KERNELS
    assert [(sum(int(row["Total Time (ns)"]) for row in kernels),)] == total
    ranges = {row["Range"].lstrip(":"): int(row["Instances"]) for row in report("nvtx_sum")}
    assert ranges["forward"] == ranges["backward"] == 4
    assert ranges["attention"] == 4 * 12
    assert ranges["loader:next_batch"] == 4
    calls = {row["Name"] for row in report("cuda_api_sum")}
    assert {"cudaLaunchKernel", "cuLaunchKernelEx", "cudaMemcpyAsync"} <= calls
    assert report("osrt_sum")
    assert len(report("cuda_gpu_mem_time_sum")) == 4
