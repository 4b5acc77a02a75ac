"""The rules of ``nsys analyze`` on a tiny made-up report; test_parity.py compares them with the real ones."""

import duckdb
import pytest

from profiledb.errors import AnalysisError
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.support.page_reports import Publish, insert, kernel, picked, run

# By hand: process 1 on GPU 0. Kernels from 1 to 2 ms and from 1.5 to 3 ms, a flush from 5 to 6 ms, a copy from 9 to
# 10 ms. With three chunks of 3 ms the use is 2.5 of 3, 1 of 3 and 1 of 3.

MS = 10**6
PID = 1 << 24


@pytest.fixture
def small(publish: Publish) -> str:
    return publish(fill_small)


def fill_small(db: duckdb.DuckDBPyConnection) -> None:
    insert(db, "report", [{"kind": "nsys", "export_schema_version": "3.7.2"}])
    names = ["CUDA profiling data flush overhead", "cudaMemcpyAsync_v1", "cudaMemcpy_v1", "cudaMemset_v1"]
    names += ["cudaStreamSynchronize_v1", "cudaMemsetAsync_v1"]
    insert(db, "string", [{"string_id": i, "value": text} for i, text in enumerate(names)])
    kinds = ["Pageable", "Pinned", "Device", "Array", "Managed"]
    insert(db, "enum_value", [{"enum": "CUDA_MEM_KIND", "id": i, "label": text} for i, text in enumerate(kinds)])
    who = {"global_pid": PID, "context_id": 4}
    insert(db, "kernel", [kernel(0, 1, MS, 2 * MS, **who), kernel(1, 1, MS * 3 // 2, 3 * MS, **who)])
    flush = {"start_ns": 5 * MS, "end_ns": 6 * MS, "global_tid": PID | 8, "name_id": 0}
    insert(db, "profiler_overhead", [flush, flush | {"end_ns": 11 * MS}])  # one reaches beyond the operations

    def memop(number: int, start: int, end: int, **more: object) -> dict[str, object]:
        place = {"device_id": 0, "stream_id": 7, "correlation_id": number, "bytes": 64001, "green_context_id": 0}
        return {"memop_id": number, "start_ns": start, "end_ns": end} | who | place | more

    copy = {"kind": "memcpy", "copy_kind": 1, "src_kind": 0, "dst_kind": 2}
    zero = {"kind": "memset", "dst_kind": 4}
    none = 10 * MS  # of no length, so that gaps and use stay as they are
    copies = [
        memop(10, 9 * MS, 10 * MS, **copy),  # with cudaMemcpyAsync
        memop(11, none, none, **copy),  # with cudaMemcpy
        memop(12, none, none, **copy | {"bytes": 64000}),  # too small to count as synchronous
        memop(13, none, none, **copy | {"copy_kind": 8, "src_device_id": 0, "dst_device_id": 0}),  # stays on its GPU
        memop(14, none, none, **copy | {"src_kind": 1}),  # with cudaMemcpyAsync, but pinned
        memop(15, none, none, **zero),  # with cudaMemset
        memop(16, none, none, **zero | {"dst_kind": 2}),  # memory of the device
        memop(17, none, none, **zero | {"dst_kind": 1}),  # with cudaMemsetAsync
    ]
    insert(db, "memop", copies)
    called = [(10, 1), (11, 2), (12, 2), (13, 2), (14, 1), (15, 3), (16, 3), (17, 5), (18, 4), (19, 4)]
    calls = [{"call_id": c, "correlation_id": c, "name_id": n, "global_tid": PID | 8} for c, n in called]
    insert(db, "api_call", [c | {"start_ns": 100, "end_ns": 100 + int(str(c["call_id"]))} for c in calls])


def test_gaps_by_hand(library: Library, small: str) -> None:
    columns = ("Row#", "Duration (ns)", "Start (ns)", "PID", "Device ID", "Context ID")
    found = run(library, small, "gpu_gaps", gap_ms="1.5")
    assert picked(found, *columns) == [(1, 3 * MS, 6 * MS, 1, 0, 4), (2, 2 * MS, 3 * MS, 1, 0, 4)]
    assert picked(run(library, small, "gpu_gaps", gap_ms=2), "Start (ns)") == [(6 * MS,)], "longer, not as long"
    assert run(library, small, "gpu_gaps") == []


def test_time_use_by_hand(library: Library, small: str) -> None:
    columns = ("Row#", "In-Use (%)", "Duration (ns)", "Start (ns)", "PID", "Device ID", "Context ID")
    found = run(library, small, "gpu_time_util", chunks="3")
    assert picked(found, *columns) == [(1, 33.3, 6 * MS, 4 * MS, 1, 0, 4)]
    found = run(library, small, "gpu_time_util", chunks=3, threshold=100)
    assert picked(found, "In-Use (%)", "Duration (ns)") == [(50.0, 9 * MS)]
    assert run(library, small, "gpu_time_util", threshold=0) == []


@pytest.mark.parametrize("chunks", ["0", "1001", "many"])
def test_chunks_have_the_limits_of_nsys(library: Library, small: str, chunks: str) -> None:
    with pytest.raises(AnalysisError, match="wrong type"):
        analysis.run(library, small, "gpu_time_util", {"chunks": chunks})


def test_synchronous_work_by_hand(library: Library, small: str) -> None:
    columns = ("Duration (ns)", "PID", "Green Context ID", "API Name")
    (copy,) = run(library, small, "cuda_memcpy_async")
    assert picked([copy], *columns) == [(MS, 1, None, "cudaMemcpyAsync_v1")]
    assert (copy["Src Kind"], copy["Dst Kind"], copy["Bytes (MB)"]) == ("Pageable", "Device", 0.064001)
    assert picked(run(library, small, "cuda_memcpy_sync"), *columns) == [(0, 1, None, "cudaMemcpy_v1")]
    found = run(library, small, "cuda_memset_sync")
    assert picked(found, *columns, "Memory Kind") == [(0, 1, None, "cudaMemset_v1", "Managed")]
    found = run(library, small, "cuda_api_sync")
    assert picked(found, "Duration (ns)", "PID", "TID") == [(19, 1, 8), (18, 1, 8)]
