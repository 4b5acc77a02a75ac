"""The analyses behind the page "Memory and API": small reports computed by hand, and sums over every report."""

import re
from typing import Any

import duckdb
import pytest

from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.support.every_report import EVERY_REPORT
from tests.support.memory_reports import WORKER, call, copy, fill, osrt
from tests.support.page_reports import H100, Publish, kernel, picked, run


def gpu(bandwidth: int = 4_000_000_000_000, **more: Any) -> dict[str, Any]:
    return H100 | {"name": "NVIDIA H100", "chip": "GH100", "memory_bandwidth_bytes_per_s": bandwidth} | more


@EVERY_REPORT
def test_calls_and_copies_of_every_report_add_up(every_report: Library, name: str) -> None:
    manifest = every_report.find(name)
    sums: dict[str, tuple[str, str]] = {
        "api_calls": ("total_ns", "SELECT sum(end_ns - start_ns)::BIGINT AS n FROM api_call"),
        "api_categories": ("total_ns", "SELECT sum(end_ns - start_ns)::BIGINT AS n FROM api_call"),
        "copies": ("total_ns", "SELECT sum(end_ns - start_ns)::BIGINT AS n FROM memop"),
        "copy_kinds": ("bytes", "SELECT sum(bytes)::BIGINT AS n FROM memop"),
        "osrt_calls": ("calls", "SELECT count(*) AS n FROM osrt_call WHERE event_class = 27"),
    }
    for found, (column, sql) in sums.items():
        try:
            rows = run(every_report, manifest.id, found)
        except NotCapturedError:
            continue
        assert sum(row[column] for row in rows) == analysis.query(every_report, manifest.id, sql)["n"].iloc[0], found


def test_copies_reach_a_share_of_what_limits_them(library: Library, publish: Publish) -> None:
    copies = [
        copy(0, 0, 1_000, 1_000_000, (2, 2)),  # 1 TB/s, 2 TB/s of traffic
        copy(1, 1_000, 2_000, 6_302, (0, 2)),
        copy(2, 2_000, 3_000, 1_000, (2, 2), copy_kind=10, operation="[CUDA memcpy Peer-to-Peer]"),
    ]
    rows = run(library, publish(lambda db: fill(db, gpu=[gpu()], memop=copies)), "copies")
    found = {row["direction"]: row for row in rows}
    inside, up, peer = (found[d] for d in ("Device-to-Device", "Host-to-Device", "Peer-to-Peer"))
    assert (inside["bytes_per_s"], inside["traffic_bytes_per_s"], inside["peak_pct"]) == (1e12, 2e12, 50)
    assert up["peak_bytes_per_s"] == pytest.approx(63.015e9, rel=1e-4)
    assert up["peak_pct"] == pytest.approx(10, rel=1e-3)
    assert (peer["peak_bytes_per_s"], peer["peak_pct"]) == (None, None)
    assert [row["contradiction"] for row in rows] == [None] * 3


def test_a_copy_of_an_unknown_kind_counts(library: Library, publish: Publish) -> None:
    copies = [copy(0, 0, 1_000, 500, (0, 2)), copy(1, 2_000, 5_000, 700, (0, 2), copy_kind=99, operation=None)]
    rows = run(library, publish(lambda db: fill(db, gpu=[gpu()], memop=copies)), "copies")
    found = {row["direction"]: row["bytes"] for row in rows}
    assert found == {"Host-to-Device": 500, "Unknown": 700}


def test_a_copy_faster_than_its_link_is_a_contradiction(library: Library, publish: Publish) -> None:
    copies = [copy(0, 0, 1_000, 630_150_000, (0, 2))]  # 630.15 TB/s over a link of 512 Gbit/s · 128 / 130
    (row,) = run(library, publish(lambda db: fill(db, gpu=[gpu()], memop=copies)), "copies")
    assert row["peak_pct"] is None
    assert "999,994 % of the peak, 630.1 TB/s against 63.02 GB/s" in row["contradiction"]


LINKS = (
    ("NVIDIA H200", "GH100", None, 63.0), ("NVIDIA GH200 480GB", "GH100", None, None),
    ("NVIDIA A100-SXM4-80GB", "GA100", "AMD EPYC", 31.5), ("Tesla T4", "TU104", None, 15.8),
    ("Tesla V100-SXM2-16GB", "GV100", "POWER9, altivec supported", None),
    ("NVIDIA RTX 4060 Ti", "AD106", None, 15.8),
    ("NVIDIA GeForce RTX 3060 Laptop GPU", "GA106", None, None), ("NVIDIA GB200", "GB100", None, None),
    ("Something new", "GX999", None, None), (None, None, None, None),
)  # fmt: skip
"""Board, chip and CPU, and GB/s of the link between CPU and GPU."""


def test_links_are_told_only_where_they_are_known(library: Library, gaps: str) -> None:
    sql = "SELECT host_link_bytes_per_s($board, $chip, $cpu) / 1e9 AS found"
    for board, chip, cpu, gb_per_s in LINKS:
        found = analysis.query(library, gaps, sql, {"board": board, "chip": chip, "cpu": cpu})["found"].iloc[0]
        if gb_per_s is None:
            assert found != found, board  # noqa: PLR0124 (NaN is missing)
        else:
            assert found == pytest.approx(gb_per_s, abs=0.05), board


def test_copies_that_hold_the_host(library: Library, publish: Publish) -> None:
    copies = [
        copy(0, 0, 100, 1_000, (0, 2)), copy(1, 200, 300, 1_000, (1, 2)), copy(2, 400, 500, 80_000, (1, 2)),
        copy(3, 600, 700, 64_000, (0, 2)), copy(4, 800, 900, 5_000, (2, 0)), copy(5, 950, 960, 9, (2, 2)),
    ]  # fmt: skip
    functions = (4, 4, 5, 5, 8, 5)
    calls = [call(i, f, 1000 * i, 1000 * i + 10 * (i + 1)) for i, f in enumerate(functions)]
    memset = {"memop_id": 9, "kind": "memset", "operation": "[CUDA memset]", "start_ns": 0, "end_ns": 5, "device_id": 0}
    sets = [memset | {"call_id": 6, "dst_kind": 1, "bytes": 8}, memset | {"call_id": 7, "dst_kind": 2, "bytes": 4}]
    calls += [call(6, 9, 8_000, 8_070), call(7, 9, 9_000, 9_080)]
    rows = run(library, publish(lambda db: fill(db, memop=[*copies, *sets], api_call=calls)), "copy_kinds")
    held = sorted(
        (row["function"], row["source"] or "", row["held"] or "", row["bytes"], row["call_ns"]) for row in rows
    )
    assert held == [
        ("cuMemcpyHtoDAsync_v2", "Device", "pageable", 5_000, 50),
        ("cudaMemcpy", "Device", "", 9, 60),
        ("cudaMemcpy", "Pageable", "", 64_000, 40),
        ("cudaMemcpy", "Pinned", "synchronous", 80_000, 30),
        ("cudaMemcpyAsync", "Pageable", "pageable", 1_000, 10),
        ("cudaMemcpyAsync", "Pinned", "", 1_000, 20),
        ("cudaMemset", "", "", 4, 80),
        ("cudaMemset", "", "synchronous", 8, 70),
    ]


def test_sizes_are_binned_and_never_too_many(library: Library, publish: Publish) -> None:
    copies = [copy(i, 1_000 * i, 1_000 * i + 100, 2 ** (i % 20), (0, 2)) for i in range(100)]
    copies.append(copy(100, 0, 0, 5, (0, 2)))  # took no time: no bandwidth
    report = publish(lambda db: fill(db, memop=copies))
    rows = run(library, report, "copy_sizes")
    assert picked(rows[:1], "direction", "count", "total_ns") == [("Host-to-Device", 5, 500)]
    assert sum(row["count"] for row in rows) == 100
    assert {round(row["bytes_per_s"] / row["bytes"]) for row in rows} == {10_000_000}
    assert len(run(library, report, "copy_sizes", points=7)) == 7


def test_calls_by_function_and_category(library: Library, publish: Publish) -> None:
    calls = [
        call(0, 1, 0, 10), call(1, 1, 20, 50), call(2, 2, 60, 120), call(3, 3, 130, 140, return_value=2),
        call(4, 10, 150, 155), call(5, 5, 160, 175),
    ]  # fmt: skip
    report = publish(lambda db: fill(db, api_call=calls))
    first, second, *_ = run(library, report, "api_calls")
    assert (first["function"], first["category"], first["total_ns"]) == ("cudaStreamSynchronize", "synchronization", 60)
    assert first["share_pct"] == pytest.approx(100 * 60 / 130)
    assert (second["calls"], second["avg_ns"], second["median_ns"], second["min_ns"], second["max_ns"]) == (
        2,
        20,
        20,
        10,
        30,
    )
    kinds = picked(run(library, report, "api_categories"), "category", "total_ns", "calls", "function")
    assert kinds == [
        ("synchronization", 60, 1, "cudaStreamSynchronize"),
        ("launch", 40, 2, "cudaLaunchKernel"),
        ("blocking copy", 15, 1, "cudaMemcpy"),
        ("allocation", 10, 1, "cudaMalloc"),
        ("other", 5, 1, "cudaGraphAddMemcpyNode"),
    ]


OF_VENDORS = {
    "launch": (
        "hipLaunchKernel hipExtModuleLaunchKernel hipModuleLaunchKernel hipExtLaunchKernel "
        "hipLaunchCooperativeKernel hipDrvLaunchKernelEx hipGraphLaunch urEnqueueKernelLaunch "
        "piEnqueueKernelLaunch zeCommandListAppendLaunchKernel cudaGraphLaunch_v10000"
    ),
    "other": "hipGraphAddMemcpyNode hipGetDevice urKernelSetArgPointer",
    "blocking copy": "hipMemcpyWithStream",
    "queued copy": (
        "hipMemcpyAsync hipMemcpyDtoHAsync urEnqueueUSMMemcpy urEnqueueUSMFill zeCommandListAppendMemoryCopy "
        "cudaMemsetAsync_v3020"
    ),
    "synchronization": "hipStreamSynchronize urEventWait urQueueFinish zeCommandQueueSynchronize",
    "allocation": "hipMalloc hipHostFree urUSMDeviceAlloc urUSMFree cuMemFree_v2 cudaHostUnregister_v4000",
    "module loading": "hipModuleLoadData zeModuleCreate cuLinkCreate_v2",
}
"""Functions of other vendors and of versions, by category."""


def test_functions_of_other_vendors(library: Library, publish: Publish) -> None:
    category = {function: kind for kind, functions in OF_VENDORS.items() for function in functions.split()}
    names = [{"string_id": n, "value": function} for n, function in enumerate(category, 60)]
    calls = [call(n, 60 + n, 100 * n, 100 * n + 10) for n in range(len(category))]
    report = publish(lambda db: fill(db, string=names, api_call=calls))
    rows = run(library, report, "api_calls")
    told = {re.sub(r"_v\d{4,}$", "", function): kind for function, kind in category.items()}
    assert {row["function"]: row["category"] for row in rows} == told


def test_a_graph_launch_is_of_no_single_kernel(library: Library, publish: Publish) -> None:
    """HIP marks no graph nodes: the call tells of the graph, and its time counts for none of its kernels."""
    names = [{"string_id": 60, "value": "hipGraphLaunch"}, {"string_id": 61, "value": "hipLaunchKernel"}]
    calls = [call(0, 60, 0, 10_000), call(1, 61, 20_000, 21_000)]
    kernels = [kernel(i, 1, 30_000 + 100 * i, 30_050 + 100 * i, call_id=0) for i in range(50)]
    kernels.append(kernel(50, 1, 40_000, 40_050, call_id=1))
    report = publish(lambda db: fill(db, string=names, api_call=calls, kernel=kernels))
    every, *_ = run(library, report, "launch_times")
    assert (every["launches"], every["call_ns"], every["kernel_ns"]) == (1, 1_000, 50)


def test_os_runtime_calls_leave_out_marks(library: Library, publish: Publish) -> None:
    calls = [osrt(0, 6, 0, 10), osrt(1, 6, 0, 30, WORKER), osrt(2, 11, 5, 5, event_class=31)]
    rows = run(library, publish(lambda db: fill(db, osrt_call=calls)), "osrt_calls")
    assert picked(rows, "function", "total_ns", "calls", "median_ns", "threads") == [("sem_wait", 40, 2, 20, 2)]


def test_launch_times(library: Library, publish: Publish) -> None:
    kernels = [
        kernel(0, 1, 1_500, 2_500, call_id=0),  # begins in the call, and is shorter: launch bound
        kernel(1, 1, 9_000, 9_500, call_id=1),  # waits 4 µs, shorter: launch bound
        kernel(2, 2, 20_000, 20_100, call_id=2),  # waits 9 µs: not
        kernel(3, 2, 30_000, 39_000, call_id=3),  # longer than its call: not
        kernel(4, 2, 40_000, 40_010, call_id=4, graph_node_id=5),  # of a graph: left out
        kernel(5, 2, 50_000, 50_010),  # no call: left out
    ]
    times = ((0, 2_000), (4_000, 5_000), (10_000, 11_000), (29_000, 29_500), (39_000, 39_900))
    calls = [call(i, 1, start, end) for i, (start, end) in enumerate(times)]
    every, *rows = run(library, publish(lambda db: fill(db, kernel=kernels, api_call=calls)), "launch_times")
    assert (every["kernel"], every["name"], every["launches"], every["host_bound_pct"]) == (None, None, 4, 50)
    assert (every["median_call_ns"], every["median_queue_ns"], every["median_kernel_ns"]) == (1_000, 4_000, 750)
    assert picked(rows, "name", "launches", "call_ns", "queued", "queue_ns", "kernel_ns", "host_bound_pct") == [
        ("gemm", 2, 3_000, 1, 4_000, 1_500, 100),
        ("relu", 2, 1_500, 2, 9_500, 9_100, 0),
    ]


def events(*rows: tuple[int, int, int, int]) -> list[dict[str, Any]]:
    """Memory events of (time, operation, bytes, kind)."""
    return [
        {"event_id": i, "time_ns": t, "device_id": 0, "operation": o, "bytes": b, "mem_kind": k}
        for i, (t, o, b, k) in enumerate(rows)
    ]


def test_memory_held(library: Library, publish: Publish) -> None:
    rows = events((0, 0, 100, 2), (0, 0, 20, 5), (50, 0, 1_000, 1), (60, 0, 400, 2), (80, 1, 100, 2), (90, 0, 7, 4))
    report = publish(lambda db: fill(db, memory_event=rows, gpu=[gpu(memory_bytes=5_200)]))
    (used,) = run(library, report, "memory_use")
    assert (used["peak_bytes"], used["peak_ns"], used["end_bytes"], used["peak_pct"]) == (520, 60, 420, 10)
    assert (used["allocations"], used["releases"], used["host_bytes"], used["managed_bytes"]) == (3, 1, 1_000, 7)
    steps = picked(run(library, report, "memory_over_time"), "time_ns", "held_bytes")
    assert steps == [(0, 100), (0, 120), (60, 520), (80, 420)]


def test_memory_released_that_was_never_allocated_was_held_before(library: Library, publish: Publish) -> None:
    report = publish(lambda db: fill(db, memory_event=events((10, 1, 300, 2), (20, 0, 50, 2))))
    (used,) = run(library, report, "memory_use")
    assert (used["peak_bytes"], used["end_bytes"], used["gpu_bytes"], used["host_bytes"]) == (50, 50, None, None)


def test_thinned_memory_keeps_peaks_and_the_end(library: Library, publish: Publish) -> None:
    rows = events(*((t, t % 2, 10 + (1_000 if t in (400, 401) else 0), 2) for t in range(900)))
    report = publish(lambda db: fill(db, 1_000, memory_event=rows))
    steps = picked(run(library, report, "memory_over_time", points=30), "time_ns", "held_bytes")
    assert len(steps) <= 33
    assert max(held for _, held in steps) == 1_010
    assert steps[-1] == (899, 0)


def metrics(db: duckdb.DuckDBPyConnection) -> None:
    fill(db, 1_000)
    db.execute('ALTER TABLE gpu_metric ADD COLUMN "SMs Active [Throughput %]" DOUBLE')
    db.execute('ALTER TABLE gpu_metric ADD COLUMN "GPC Clock Frequency [MHz]" DOUBLE')
    db.execute('ALTER TABLE gpu_metric ADD COLUMN "Never [Avg]" DOUBLE')
    db.execute("INSERT INTO gpu_metric VALUES (0, -5, 99, 1, NULL), (0, 100, 10, 1e9, NULL), (0, 140, 20, NULL, NULL)")
    db.execute("INSERT INTO gpu_metric VALUES (0, 900, 60, 2e9, NULL), (0, 2000, 99, 1, NULL)")


def test_metrics_without_a_value_have_no_row(library: Library, publish: Publish) -> None:
    report = publish(metrics)
    rows = run(library, report, "gpu_metrics")
    assert picked(rows, "metric", "unit", "mean", "largest", "samples") == [
        ("GPC Clock Frequency [MHz]", "Hz", 1.5e9, 2e9, 2),
        ("SMs Active [Throughput %]", "%", 30, 60, 3),
    ]
    part = run(library, report, "gpu_metrics", from_ns=500)
    assert picked(part, "mean", "samples") == [(2e9, 1), (60, 1)]
    lines = run(library, report, "gpu_metrics_over_time", bins=10)
    assert picked(lines, "metric", "time_ns", "mean") == [
        ("GPC Clock Frequency [MHz]", 150, 1e9),
        ("GPC Clock Frequency [MHz]", 950, 2e9),
        ("SMs Active [Throughput %]", 150, 15),
        ("SMs Active [Throughput %]", 950, 60),
    ]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ("copies", "memcpy and memset"), ("api_calls", "CUDA API"), ("idle_gaps", "CUDA kernels"),
        ("memory_use", "GPU memory"),
        ("gpu_metrics", "GPU metrics"), ("gpu_metrics_over_time", "GPU metrics"), ("osrt_calls", "OS runtime"),
    ],
)  # fmt: skip
def test_what_is_not_captured_is_said(library: Library, publish: Publish, found: str, words: str) -> None:
    report = publish(fill)
    with pytest.raises(NotCapturedError, match=words):
        run(library, report, found)
