"""Rows of small reports with calls, copies and kernels, for tests of analyses of memory and idle time."""

from typing import Any

import duckdb
import pytest

from tests.support.page_reports import Publish, insert, kernel, name

PID = 7 << 24
MAIN, WORKER = PID + 70, PID + 71
FUNCTIONS = {
    1: "cudaLaunchKernel_v7000", 2: "cudaStreamSynchronize_v3020", 3: "cudaMalloc_v3020", 4: "cudaMemcpyAsync_v3020",
    5: "cudaMemcpy_v3020", 6: "sem_wait", 7: "cuLibraryLoadData", 8: "cuMemcpyHtoDAsync_v2", 9: "cudaMemset_v3020",
    10: "cudaGraphAddMemcpyNode_v10000", 11: "OS runtime libraries profiling started",
}  # fmt: skip
KINDS = {0: "Pageable", 1: "Pinned", 2: "Device"}


def call(number: int, function: int, start: int, end: int, tid: int = MAIN, **more: Any) -> dict[str, Any]:
    times = {"call_id": number, "start_ns": start, "end_ns": end, "global_tid": tid}
    return times | {"name_id": function, "correlation_id": number, "event_class": 0, "return_value": 0} | more


def osrt(number: int, function: int, start: int, end: int, tid: int = MAIN, event_class: int = 27) -> dict[str, Any]:
    return {
        "call_id": number, "start_ns": start, "end_ns": end, "global_tid": tid, "name_id": function,
        "event_class": event_class,
    }  # fmt: skip


def copy(number: int, start: int, end: int, size: int, kinds: tuple[int, int], **more: Any) -> dict[str, Any]:
    direction = {(0, 2): 1, (1, 2): 1, (2, 0): 2, (2, 1): 2, (2, 2): 8}[kinds]
    words = {1: "Host-to-Device", 2: "Device-to-Host", 8: "Device-to-Device"}[direction]
    return {
        "memop_id": number, "kind": "memcpy", "operation": f"[CUDA memcpy {words}]", "start_ns": start, "end_ns": end,
        "device_id": 0, "stream_id": 7, "global_pid": PID, "call_id": number, "bytes": size, "copy_kind": direction,
        "src_kind": kinds[0], "dst_kind": kinds[1],
    } | more  # fmt: skip


def fill(
    db: duckdb.DuckDBPyConnection, stop: int = 100_000, busy: tuple[tuple[int, int], ...] = (), **tables: Any
) -> None:
    """Fill a report from 0 to ``stop`` ns with the rows of the tables and all function names."""
    insert(db, "report", [{"kind": "nsys", "start_ns": 0, "stop_ns": stop, "duration_ns": stop}])
    insert(db, "string", [{"string_id": number, "value": value} for number, value in FUNCTIONS.items()])
    insert(db, "enum_value", [{"enum": "CUDA_MEM_KIND", "id": i, "label": label} for i, label in KINDS.items()])
    insert(db, "kernel_name", [name(1, "gemm", "matmul"), name(2, "relu", "elementwise")])
    insert(db, "busy", [{"device_id": 0, "start_ns": start, "end_ns": end} for start, end in busy])
    for table, rows in tables.items():
        insert(db, table, rows)


@pytest.fixture(name="gaps")
def make_gaps(publish: Publish) -> str:
    """Publish 100 µs with six gaps before operations at 20, 40, 60, 71, 80 and 90.5 µs, and one at the end."""
    launches = (
        (20_000, 30_000),
        (40_000, 50_000),
        (60_000, 70_000),
        (71_000, 72_000),
        (80_000, 85_000),
        (90_500, 95_000),
    )
    kernels = [kernel(i, 1, a, b, call_id=i, global_pid=PID) for i, (a, b) in enumerate(launches)]
    kernels[3]["call_id"] = 3
    kernels[4]["process_range"] = 1
    calls = [
        call(10, 3, 1_000, 16_000),  # cudaMalloc, with a nested driver call that must not count twice
        call(11, 7, 2_000, 5_000),
        call(0, 1, 17_000, 19_000),
        call(12, 2, 30_500, 31_000),  # the end of a synchronization, followed by host code
        call(1, 1, 39_000, 41_000),  # returns after the kernel has started: only 1 µs of it lies in the gap
        call(2, 1, 45_000, 46_000),  # long before its gap
        call(3, 1, 70_200, 70_900),
        call(4, 1, 79_000, 79_500, WORKER),
        call(13, 2, 71_500, 79_900),  # on another thread than the launch
        call(5, 1, 86_000, 90_400),
    ]
    spent = [
        osrt(0, 6, 72_500, 78_500, WORKER),
        osrt(1, 6, 86_100, 86_200),
        osrt(2, 11, 71_000, 71_000, event_class=31),
    ]
    path = {"path_id": 1, "level": 0, "name": "step", "path": "step"}
    inside = {
        "range_id": 0,
        "start_ns": 78_000,
        "end_ns": 79_800,
        "global_tid": WORKER,
        "path_id": 1,
        "pre": 1,
        "post": 1,
    }

    def write(db: duckdb.DuckDBPyConnection) -> None:
        fill(db, busy=launches, kernel=kernels, api_call=calls, osrt_call=spent, range_path=[path], range=[inside])

    return publish(write)
