"""nvprof databases, read by the real worker: a small made-up one."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ingest.nvprof.functions import name_function
from profiledb.library.library import Library
from tests.conftest import Ingest
from tests.support.bounded_conversion import Query, converted, notes
from tests.support.dropped_files import job_of
from tests.support.nvprof import PID, ROWS, write_nvprof

PAGEABLE, DEVICE = 0, 2
"""Kinds of memory, as nsys numbers them."""


@pytest.fixture(name="take")
def make_take(ingest: Ingest, inbox: Path, empty_library: Library) -> Callable[..., Query]:
    """Return a function that converts a database of some records and returns a way to query the report."""

    def run(**rows: Any) -> Query:
        write_nvprof(inbox / "run.nvvp", {**ROWS, **rows})
        return converted(ingest, inbox, empty_library, "run.nvvp")

    return run


def test_a_capture(take: Callable[..., Query]) -> None:
    """The clock starts at 1000 ns, with the first call."""
    query = take()
    columns = (
        "start_ns, end_ns, device_id, stream_id, grid_x, grid_y, block_x, registers_per_thread, demangled, call_id"
    )
    assert query(f"SELECT {columns} FROM kernel JOIN kernel_name USING (name_id)") == [
        (700, 900, 0, 7, 4, 2, 256, 32, "add(float*, float*)", 3)
    ]
    assert query("SELECT shared_bytes FROM launch_estimate") == [(1088,)]
    copies = query(
        "SELECT operation, start_ns, end_ns, bytes, src_kind, dst_kind, call_id FROM memop ORDER BY start_ns"
    )
    assert copies == [
        ("[CUDA memcpy Host-to-Device]", 200, 300, 4096, PAGEABLE, DEVICE, 1),
        ("[CUDA memset]", 400, 410, 512, None, DEVICE, 2),
    ]
    calls = "SELECT value, start_ns, end_ns FROM api_call JOIN string ON string_id = name_id ORDER BY start_ns"
    assert query(calls) == [
        ("cuDeviceGetCount", 0, 10), ("cudaMemcpy", 100, 350), ("cudaMemsetAsync", 390, 395),
        ("cudaLaunchKernel", 500, 600), ("cudaDeviceSynchronize", 650, 950),
    ]  # fmt: skip
    assert query("SELECT name, start_ns, end_ns FROM range JOIN range_name USING (name_id) ORDER BY 2") == [
        ("step", 450, 1000),
        ("net:forward", 460, 620),
    ]
    assert query("SELECT name, time_ns FROM mark JOIN range_name USING (name_id)") == [("saved", 980)]
    assert query("SELECT start_ns, end_ns, device_id, sync_type FROM sync") == [(650, 940, 0, 4)]
    overhead = "SELECT value, start_ns, end_ns FROM profiler_overhead JOIN string ON string_id = name_id"
    assert query(overhead) == [("Instrumentation", 20, 60)]
    facts = "name, compute_capability, sm_count, max_warps_per_sm, clock_hz, memory_bandwidth_bytes_per_s"
    assert query(f"SELECT {facts} FROM gpu") == [("GeForce 940MX", "5.0", 3, 64, 1_032_500_000, 28_800_000_000)]
    assert query("SELECT kind, tool FROM report") == [("nvprof", "nvprof")]
    assert query("SELECT DISTINCT global_tid // 16777216 FROM api_call") == [(PID,)]
    ((process,),) = query("SELECT name FROM process")
    assert ("abc123" in process, process.startswith("train")) == (False, True)
    assert notes(query) == [
        "1 range without an end not read.",
        "1 record of METRIC not read.",
        "Launches ran one at a time while metrics were measured: the profiler made the gaps between them.",
    ]


def add_serialized(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL")
        db.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = start + 5000, end = end + 5000")
        db.commit()


def test_launches_that_an_analysis_repeated_are_no_launches(
    ingest: Ingest, inbox: Path, empty_library: Library
) -> None:
    add_serialized(write_nvprof(inbox / "run.nvvp"))
    query = converted(ingest, inbox, empty_library, "run.nvvp")
    assert query("SELECT start_ns FROM kernel") == [(700,)]
    assert "1 launch that analyses of the Visual Profiler repeated not read." in notes(query)


def test_serialized_launches_count_where_there_are_no_others(
    ingest: Ingest, inbox: Path, empty_library: Library
) -> None:
    add_serialized(write_nvprof(inbox / "run.nvvp"))
    with closing(sqlite3.connect(inbox / "run.nvvp")) as db:
        db.execute("DELETE FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL")
        db.commit()
    query = converted(ingest, inbox, empty_library, "run.nvvp")
    assert query("SELECT start_ns, end_ns FROM kernel") == [(5700, 5900)]


ODD: list[Any] = [-1, 0, 1 << 40, (1 << 63) - 1, 1.5, "x", b"\xff\x00"]


def test_odd_values_are_left_out(take: Callable[..., Query]) -> None:
    """Each value of each record, one after the other."""
    spoiled = {
        kind: [*good, *((*row[:at], odd, *row[at + 1 :]) for row in good for at in range(len(row)) for odd in ODD)]
        for kind, rows in ROWS.items()
        if (good := list(rows))
    }
    query = take(**spoiled)
    assert query("SELECT count(*) > 90 FROM kernel WHERE start_ns = 700 AND end_ns = 900") == [(True,)]
    assert ("GeForce 940MX",) in query("SELECT name FROM gpu WHERE gpu_id = 0")
    assert any("without a possible time excluded" in note for note in notes(query))


def test_ranges_whose_ids_repeat_or_cross(take: Callable[..., Query]) -> None:
    start, *_ = place = next(iter(ROWS["MARKER"]))
    assert start == 2
    ends = place[3:]
    rows = [(2, 1100, 1, *ends), (2, 1200, 2, *ends), (4, 1300, 1, *ends), (4, 1400, 2, *ends), (4, 1500, 2, *ends)]
    query = take(MARKER=[*rows, (2, 1600, 9, *ends), (4, 1550, 9, *ends)])
    assert query("SELECT start_ns, end_ns FROM range ORDER BY 1") == [(100, 300), (200, 400)]


def test_views_are_never_read(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    write_nvprof(inbox / "endless.nvvp")
    with closing(sqlite3.connect(inbox / "endless.nvvp")) as db:
        db.execute("DROP TABLE CUPTI_ACTIVITY_KIND_NAME")
        db.execute("""
            CREATE VIEW CUPTI_ACTIVITY_KIND_NAME AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)
            SELECT 1 AS objectKind, x'00' AS objectId, id AS name FROM n
        """)
        db.commit()
    query = converted(ingest, inbox, empty_library, "endless.nvvp")
    assert query("SELECT count(*) FROM kernel") == [(1,)]


def test_a_database_that_is_cut(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    data = write_nvprof(inbox / "whole.nvvp").read_bytes()
    (inbox / "whole.nvvp").unlink()
    (inbox / "cut.nvvp").write_bytes(data[: len(data) // 2])
    ingest(inbox, empty_library.folder)
    job = job_of(empty_library, inbox / "cut.nvvp")
    assert (job.state, "damaged" in job.message) == ("failed", True)


def test_an_empty_capture_says_so(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    write_nvprof(inbox / "none.nvvp", {})
    ingest(inbox, empty_library.folder)
    job = job_of(empty_library, inbox / "none.nvvp")
    assert (job.state, job.message) == ("failed", "The trace has no events.")


def test_names_of_functions() -> None:
    assert (name_function("runtime", 1), name_function("runtime", 211)) == ("cudaDriverGetVersion", "cudaLaunchKernel")
    assert name_function("driver", 307) == "cuLaunchKernel"
    assert [name_function("driver", odd) for odd in (0, -1, 1 << 61)] == [
        f"driver function {odd}" for odd in (0, -1, 1 << 61)
    ]
