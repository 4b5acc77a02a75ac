"""The analyses behind the kernel pages: small reports with results computed by hand."""

from collections.abc import Sequence

import duckdb
import pytest

from profiledb.library.library import Library
from profiledb.query import analysis
from tests.support.page_reports import H100, Fill, Publish, insert, kernel, name, picked, run


@pytest.fixture
def small(publish: Publish) -> str:
    """10 µs from 1,000 ns on, two GPUs of which one works: 1,000 to 2,000, 1,500 to 3,000 and 5,000 to 6,000."""
    return publish(fill_small)


def fill_small(db: duckdb.DuckDBPyConnection) -> None:
    insert(db, "report", [{"kind": "nsys", "start_ns": 1000, "stop_ns": 11000, "duration_ns": 10000}])
    insert(db, "gpu", [H100, H100 | {"gpu_id": 1}])
    insert(db, "kernel_name", [name(1, "gemm", "matmul"), name(2, "relu", "elementwise", mangled="_Z4relui")])
    kernels = [kernel(0, 1, 1000, 2000), kernel(1, 2, 1500, 3000, grid_x=4), kernel(2, 1, 5000, 5800)]
    insert(db, "kernel", kernels)
    copy = {"memop_id": 0, "kind": "memcpy", "operation": "[CUDA memcpy Host-to-Device]", "device_id": 0}
    insert(db, "memop", [copy | {"start_ns": 5800, "end_ns": 6000, "bytes": 400}])
    spans = ((1000, 3000), (5000, 6000))
    insert(db, "busy", [{"device_id": 0, "start_ns": start, "end_ns": end} for start, end in spans])
    said = [("info", "Injection", "hello"), ("error", "Analysis", "bad"), ("info", "Injection", "hello")]
    insert(db, "diagnostic", [{"severity": s, "source": o, "text": t} for s, o, t in said])


def test_busy_is_a_union_with_its_denominators(library: Library, small: str) -> None:
    first, second = run(library, small, "gpu_busy")
    assert (first["busy_ns"], first["kernel_ns"], first["copy_ns"], first["operations"]) == (3000, 3300, 200, 4)
    assert (first["capture_ns"], first["busy_pct"]) == (10000, pytest.approx(30))
    assert (first["first_ns"], first["active_ns"], first["busy_active_pct"]) == (0, 5000, pytest.approx(60))
    assert second["operations"] == 0
    assert second["busy_ns"] is second["busy_pct"] is second["kernel_ns"] is None


def test_busy_timeline_cuts_intervals_at_bins(library: Library, small: str) -> None:
    rows = run(library, small, "busy_timeline", bins=5)
    assert picked(rows, "start_ns", "busy_ns", "busy_pct") == [
        (0, 2000, 100.0), (2000, 0, 0.0), (4000, 1000, 50.0), (6000, 0, 0.0), (8000, 0, 0.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("start", "stop", "busy", "window"),
    [
        (1000, 11000, (2000, 3000), (1000, 11000)),
        (500000, 510000, (2000, 3000), (0, 10000)),  # a capture range: the operations count from its begin
        (1000, 11000, (0, 12000), (0, 12000)),
        (1000, 11000, (900000, 900100), (900000, 910000)),
    ],
)
def test_the_window_holds_the_operations(
    library: Library, publish: Publish, start: int, stop: int, busy: tuple[int, int], window: tuple[int, int]
) -> None:
    def fill(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "report", [{"start_ns": start, "stop_ns": stop, "duration_ns": stop - start}])
        insert(db, "busy", [{"device_id": 0, "start_ns": busy[0], "end_ns": busy[1]}])

    found = analysis.query(library, publish(fill), "SELECT start_ns, end_ns FROM capture_window")
    assert tuple(found.iloc[0]) == window


def test_kernels_are_ordered_by_total(library: Library, small: str) -> None:
    gemm, relu = run(library, small, "kernels")
    assert (gemm["kernel"], gemm["total_ns"], gemm["calls"]) == (1, 1800, 2)
    assert gemm["share_pct"] == pytest.approx(100 * 1800 / 3300)
    assert (gemm["avg_ns"], gemm["median_ns"], gemm["min_ns"], gemm["max_ns"]) == (900, 900, 800, 1000)
    assert gemm["stddev_ns"] == pytest.approx(141.42, abs=0.01)
    assert (gemm["grid"], gemm["block"], gemm["shapes"], gemm["registers"]) == ("8x1x1", "128x1x1", 1, 32)
    assert (relu["calls"], relu["stddev_ns"]) == (1, 0)


def test_filters_keep_shares_and_are_no_patterns(library: Library, small: str) -> None:
    assert picked(run(library, small, "kernels", search="RELU(I"), "name") == [("relu",)]
    assert run(library, small, "kernels", search="r.lu") == run(library, small, "kernels", search="%") == []
    found = run(library, small, "kernels", **{"class": "elementwise"})
    assert picked(found, "name", "share_pct") == [("relu", pytest.approx(100 * 1500 / 3300))]
    assert len(run(library, small, "kernels", limit="1")) == 1


def test_names_that_differ_in_their_mangled_form_are_one_kernel(library: Library, publish: Publish) -> None:
    def fill(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "kernel_name", [name(3, "f", mangled="_Za"), name(4, "f", mangled="_Zb")])
        insert(db, "kernel", [kernel(0, 3, 0, 10, grid_x=1), kernel(1, 4, 20, 50, grid_x=2)])
        insert(db, "report", [{"duration_ns": 100, "start_ns": 0, "stop_ns": 100}])

    report_id = publish(fill)
    assert picked(run(library, report_id, "kernels"), "kernel", "calls", "grid") == [(3, 2, "2 shapes")]
    for chosen in (3, "3", 4, "f(int)"):
        assert picked(run(library, report_id, "kernel_summary", kernel=chosen), "kernel", "total_ns") == [(3, 40)]


def test_summary_knows_its_neighbors(library: Library, small: str) -> None:
    (gemm,) = run(library, small, "kernel_summary", kernel="1")
    (relu,) = run(library, small, "kernel_summary", kernel=2)
    assert (gemm["rank"], gemm["kernels"], gemm["previous_kernel"], gemm["next_kernel"]) == (1, 2, None, 2)
    assert (relu["rank"], relu["previous_kernel"], relu["next_kernel"], relu["mangled"]) == (2, 1, None, "_Z4relui")
    assert (gemm["p95_ns"], gemm["first_ns"], gemm["last_ns"]) == (pytest.approx(990), 0, 4800)
    assert run(library, small, "kernel_summary", kernel="no such") == []


def spread(durations: Sequence[int]) -> Fill:
    def fill(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "report", [{"start_ns": 0, "stop_ns": 10**6, "duration_ns": 10**6}])
        insert(db, "kernel_name", [name(1, "f")])
        insert(db, "kernel", [kernel(i, 1, 1000 * i, 1000 * i + ns) for i, ns in enumerate(durations)])

    return fill


def test_histogram_counts_every_launch_once(library: Library, publish: Publish) -> None:
    report_id = publish(spread([100, 100, 164, 200, 420]))
    rows = run(library, report_id, "kernel_histogram", kernel=1, bins=10)
    assert picked(rows, "low_ns", "launches")[:4] == [(100, 2), (132, 0), (164, 1), (196, 1)]
    assert (len(rows), rows[-1]["launches"], rows[-1]["high_ns"], rows[0]["scale"]) == (10, 1, 420, "linear")
    log = run(library, report_id, "kernel_histogram", kernel=1, scale="log")
    assert sum(row["launches"] for row in log) == 5
    assert {row["scale"] for row in log} == {"log"}


def test_histogram_of_wide_and_of_single_durations(library: Library, publish: Publish) -> None:
    wide = run(library, publish(spread([0, 10, 1000])), "kernel_histogram", kernel=1)
    assert (sum(row["launches"] for row in wide), wide[0]["scale"]) == (3, "log")
    (only,) = run(library, publish(spread([500, 500])), "kernel_histogram", kernel=1)
    assert (only["low_ns"], only["high_ns"], only["launches"]) == (500, 532, 2)
    assert run(library, publish(spread([500])), "kernel_histogram", kernel=9) == []


def test_thinning_keeps_the_extremes_of_each_stretch(library: Library, publish: Publish) -> None:
    report_id = publish(spread([5, 9, 7, 3, 8, 6]))
    assert len(run(library, report_id, "kernel_over_time", kernel=1)) == 6
    rows = run(library, report_id, "kernel_over_time", kernel=1, points=4)
    assert picked(rows, "kernel_id", "duration_ns", "calls") == [(0, 5, 6), (1, 9, 6), (3, 3, 6), (4, 8, 6)]


def test_longest_launches_are_paged(library: Library, publish: Publish) -> None:
    report_id = publish(spread([5, 9, 7, 9]))
    assert picked(run(library, report_id, "kernel_instances", kernel=1, limit=2), "kernel_id") == [(1,), (3,)]
    rest = run(library, report_id, "kernel_instances", kernel=1, limit=2, skip=2)
    assert picked(rest, "kernel_id", "since_start_ns", "shared_bytes") == [(2, 2000, 0), (0, 0, 0)]


def test_diagnostics_facts_and_copies(library: Library, small: str) -> None:
    said = run(library, small, "diagnostics")
    assert picked(said, "severity", "text", "times") == [("error", "bad", 1), ("info", "hello", 2)]
    (facts,) = run(library, small, "report_facts")
    assert (facts["gpus"], facts["gpu_names"], facts["command"], facts["processes"]) == (2, "H100", None, None)
    (copy,) = run(library, small, "memory_copies")
    assert (copy["operation"], copy["bytes"], copy["bytes_per_s"]) == ("memcpy Host-to-Device", 400, 2e9)


@pytest.mark.parametrize(
    ("demangled", "readable"),
    [
        ("f(int)", "f"),
        ("void at::native::f<4, at::native::FillFunctor<bool>, std::array<char*, 1>>(int)", "f · FillFunctor"),
        ("void f<(int)8, at::native::copy_kernel_cuda(at::It &)::[lambda(float) (instance 1)]>(int)", "f · copy"),
        ("void f<4, at::native::CUDAFunctorOnSelf_add<float>, std::array<char *, 2>>(T3)", "f · CUDAFunctorOnSelf_add"),
        ("void f<a::ListMetadata<1>, a::BinaryOpScalarFunctor<float, 1, 1, 0>, std::plus<float>, float>()", "f · plus"),
        ("void f<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>(T3)", "f · ReduceOp"),
    ],
)
def test_readable_names(library: Library, small: str, demangled: str, readable: str) -> None:
    sql = "SELECT readable_name('f', $name) AS found"
    assert analysis.query(library, small, sql, {"name": demangled})["found"].iloc[0] == readable


def test_a_kernel_of_that_name_is_named_with_its_scope(library: Library, small: str) -> None:
    sql = "SELECT readable_name('kernel', $name) AS found"
    full = "std::enable_if<!T7, void>::type internal::gemvx::kernel<int, (bool)0, cublasGemvParamsEx<int>>(T13)"
    for demangled, readable in ((full, "gemvx::kernel"), ("kernel(int)", "kernel"), ("a::kernel(int)", "a::kernel")):
        assert analysis.query(library, small, sql, {"name": demangled})["found"].iloc[0] == readable


def test_numba_tags_no_name(library: Library, small: str) -> None:
    sql = "SELECT readable_name('diffuse[abi:v1,cw51cXTL_3d]', 'a::diffuse[abi:v1,cw51cXTL_3d](Array<float>)') AS found"
    assert analysis.query(library, small, sql)["found"].iloc[0] == "diffuse"
