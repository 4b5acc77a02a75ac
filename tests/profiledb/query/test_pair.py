"""A Systems report joined to a Compute report, by hand: matched kernels, and the analyses of both."""

from typing import Any

import duckdb
import pytest

from profiledb.errors import AnalysisError, NotCapturedError, NotLinkedError
from profiledb.library.library import Library
from profiledb.query import analysis, views
from tests.support.page_reports import H100, Fill, Publish, insert, kernel, name, picked, records, run

GEMM, GEMM_ITANIUM = "void gemm<(int)4, (bool)1>(const T1 *)", "void gemm<4, true>(float const*)"
LAMBDA = (
    "void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl_nocast<at::native::"
    "CUDAFunctor_add<float>>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)"
)
LAMBDA_ITANIUM = (
    "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::"
    "CUDAFunctor_add<float> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> const&)::"
    "{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<float> >"
    "(at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1})"
)
LAMBDA_NORMAL = (
    "at::native::elementwise_kernel<128,2,at::native::gpu_kernel_impl_nocast<at::native::"
    "CUDAFunctor_add<float>>::{lambda(int)#1}>"
)
MORE = pytest.mark.slow("two more reports")
METRICS = (
    *(f"smsp__sass_thread_inst_executed_op_f{op}_pred_on.sum" for op in ("add", "mul", "fma")),
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.pct_of_peak_sustained_elapsed",
    *("dram__bytes.sum", "dram__bytes.sum.pct_of_peak_sustained_elapsed"),
)


def launch(number: int, kernel_name: str, duration: int = 1000, grid: int = 8, **more: Any) -> dict[str, Any]:
    shape = {"grid_x": grid, "grid_y": 1, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1}
    size = {"grid_size": grid, "block_size": 128}
    light = {"sm_throughput_pct": 70.0, "memory_throughput_pct": 20.0}
    return (
        {"launch_id": number, "kernel": kernel_name, "duration_ns": duration, "device_id": 0}
        | shape
        | size
        | light
        | more
    )


def compute(*launches: dict[str, Any], fma: int = 1000, traffic: dict[int, int] | None = None) -> Fill:
    """A Compute report. A launch of 1 µs does 2000 FLOP (25 % of the peak) with 500 bytes (50 %), unless told."""

    def fill(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "gpu", [H100])
        insert(db, "ncu_launch", launches)
        insert(db, "ncu_metric_name", [{"metric_id": n, "name": metric} for n, metric in enumerate(METRICS)])
        for one in launches:
            bytes_ = (traffic or {}).get(one["launch_id"], 500)
            values = (0, 0, fma, 25, bytes_, 50)
            insert(
                db,
                "ncu_metric",
                [{"launch_id": one["launch_id"], "metric_id": n, "value": value} for n, value in enumerate(values)],
            )

    return fill


def systems(*kernels: tuple[str, int, int], mangled: dict[str, str] | None = None) -> Fill:
    """A Systems report: (full name, blocks, duration in ns) of each execution."""
    names = list(dict.fromkeys(full for full, _, _ in kernels))

    def fill(db: duckdb.DuckDBPyConnection) -> None:
        rows = [name(n, f"k{n}", "other", full, (mangled or {}).get(full, "")) for n, full in enumerate(names, 1)]
        insert(db, "report", [{"kind": "nsys"}])
        insert(db, "kernel_name", rows)
        executions = enumerate(kernels)
        times = [(n, names.index(full) + 1, n * 10_000, ns, grid) for n, (full, grid, ns) in executions]
        insert(db, "kernel", [kernel(n, key, at, at + ns, grid_x=grid) for n, key, at, ns, grid in times])

    return fill


def pair(library: Library, publish: Publish, nsys: Fill, ncu: Fill) -> str:
    nsys_id = publish(nsys)
    library.link(nsys_id, publish(ncu, "ncu"))
    return nsys_id


WRITTEN = (
    # what nsys and newer ncu print, and c++filt of the same mangled name
    ("naive_gemm(const float *, const float *, float *, int)", "naive_gemm"),
    ("naive_gemm(float const*, float const*, float*, int)", "naive_gemm"),
    (GEMM, "gemm<4,1>"),
    (GEMM_ITANIUM, "gemm<4,1>"),
    (
        "void <unnamed>::softmax_warp_forward<float, float, (int)9, (bool)0>(T2 *, const T1 *, bool)",
        "<unnamed>::softmax_warp_forward<float,float,9,0>",
    ),
    (
        "void (anonymous namespace)::softmax_warp_forward<float, float, 9, false>(float*, float const*, bool)",
        "<unnamed>::softmax_warp_forward<float,float,9,0>",
    ),
    (LAMBDA, LAMBDA_NORMAL),
    (LAMBDA_ITANIUM, LAMBDA_NORMAL),
    (
        "void f<std::array<char *, (unsigned long)2>, (unsigned int)32>(long, const T1 *)",
        "f<std::array<char*,2>,32>",
    ),
    ("void f<std::__1::array<char*, 2ul>, 32u>(long, char const*)", "f<std::array<char*,2>,32>"),
    ("void paged_attention<unsigned short, int=128>(unsigned short*)", "paged_attention<unsigned short,128>"),
    ("void paged_attention<unsigned short, (int)128>(T1 *)", "paged_attention<unsigned short,128>"),
    ("std::enable_if<!T7, void>::type gemvx::kernel<int, (bool)0>(T1)", "gemvx::kernel<int,0>"),
    ("void f<(int)-2, (E)3>(T1)", "f<-2,3>"),
    # names that are plain
    ("kernel_1()", "kernel_1"),
    ("triton_poi_fused_0d1d2d3", "triton_poi_fused_0d1d2d3"),
    ("nvjet_sm90_tst_192x192_64x4_2x1_v_bz_coopB_TNN", "nvjet_sm90_tst_192x192_64x4_2x1_v_bz_coopB_TNN"),
    ("(unnamed)", None),
    ("", None),
)
"""Names as profilers write them, and what is compared."""


def test_names_are_written_alike(library: Library, publish: Publish) -> None:
    with library.cursor(publish(lambda _: None), views=views.list_all()) as cursor:
        for written, normal in WRITTEN:
            assert cursor.execute("SELECT normal_name($name)", {"name": written}).fetchone() == (normal,), written


def test_time_beside_why(library: Library, publish: Publish) -> None:
    kernels = [(GEMM, 8, 300), (GEMM, 8, 300), (GEMM, 16, 250), ("copy(int)", 8, 150)]
    report = pair(library, publish, systems(*kernels), compute(launch(5, GEMM_ITANIUM), launch(6, "other()")))
    rows = run(library, report, "time_weighted_roofline")
    assert picked(rows, "kernel", "grid", "block", "calls", "total_ns", "share_pct", "avg_ns") == [
        (1, "8x1x1", "128x1x1", 2, 600, 60, 300),
        (1, "16x1x1", "128x1x1", 1, 250, 25, 250),
        (2, "8x1x1", "128x1x1", 1, 150, 15, 150),
    ]
    assert picked(rows, "match", "launches", "launch_id", "covered_pct", "ambiguous") == [
        ("exact", 1, 5, 60, None),
        ("name", 1, 5, 60, None),
        ("none", 0, None, 60, None),
    ]
    figures = (
        "ncu_duration_ns", "verdict", "precision", "level", "flops_per_s", "bytes_per_s", "intensity",
        "peak_flops_per_s", "peak_bytes_per_s", "pct_of_roof", "roof_gap_ns", "bound", "roof", "estimated",
    )  # fmt: skip
    assert picked(rows, *figures)[1:] == [(None,) * 14] * 2, "what was measured in another shape says nothing"
    (measured,) = picked(rows, *figures)[:1]
    assert measured == (
        1000,
        "compute bound",
        "fp32",
        "dram",
        2e9,
        5e8,
        4,
        8e9,
        1e9,
        50,
        300,
        "compute",
        "dram",
        False,
    ), "half of the 600 ns"
    assert picked(run(library, report, "time_weighted_roofline", limit=1), "grid") == [("8x1x1",)]
    (other,) = picked(run(library, report, "time_weighted_roofline", precision="fp64"), *figures)[:1]
    assert other == (1000, "compute bound", *[None] * 9, "compute", None, None), "the precision was not measured"
    (row,) = run(library, report, "ncu_coverage")
    assert row == {
        "total_ns": 1000, "covered_ns": 600, "covered_pct": 60, "name_only_pct": 25, "kernels": 2, "covered_kernels": 1,
        "ambiguous": 0, "ambiguous_names": None,
    }  # fmt: skip


def test_the_selection_is_of_the_systems_report(library: Library, publish: Publish) -> None:
    report = pair(library, publish, systems((GEMM, 8, 300), ("copy(int)", 8, 100)), compute(launch(0, GEMM)))
    (row,) = run(library, report, "ncu_coverage", from_ns=10_000)
    assert (row["total_ns"], row["covered_ns"]) == (100, 0)
    (row,) = run(library, report, "ncu_coverage", device=3)
    assert (row["total_ns"], row["covered_pct"], row["kernels"]) == (0, None, 0)


@pytest.mark.parametrize(
    ("durations", "chosen"),
    [
        ([900, 1000, 1100], 1),
        ([1100, 900], 1),
        pytest.param([1000], 0, marks=MORE),
        pytest.param([None, None], 0, marks=MORE),
        pytest.param([None, 7], 1, marks=MORE),
    ],
)
def test_the_launch_in_the_middle_stands_for_all(
    library: Library, publish: Publish, durations: list[int], chosen: int
) -> None:
    launches = [launch(n, GEMM, duration) for n, duration in enumerate(durations)]
    report = pair(library, publish, systems((GEMM, 8, 300)), compute(*launches))
    (row,) = run(library, report, "time_weighted_roofline")
    assert (row["launches"], row["launch_id"]) == (len(durations), chosen)
    assert row["ncu_duration_ns"] == durations[chosen]


@pytest.mark.parametrize(
    ("launches", "traffic", "said"),
    [
        pytest.param([launch(0, GEMM), launch(1, GEMM)], {}, None, marks=MORE),
        pytest.param([launch(0, GEMM, 1000), launch(1, GEMM, 1250)], {}, None, marks=MORE),
        ([launch(0, GEMM, 1000), launch(1, GEMM, 1260)], {}, "2 launches differ: 1.0 to 1.3 µs"),
        ([launch(0, GEMM), launch(1, GEMM)], {1: 455}, None),
        pytest.param(
            [launch(0, GEMM), launch(1, GEMM)], {1: 400}, "2 launches differ: intensity 4 to 5 FLOP/byte", marks=MORE
        ),
        (
            [launch(0, GEMM), launch(1, GEMM, sm_throughput_pct=30.0), launch(2, GEMM)],
            {},
            "3 launches differ: compute bound / latency bound",
        ),
        ([launch(0, GEMM), launch(1, GEMM, 5000, grid=9)], {}, None),
    ],
)
def test_launches_that_differ_are_ambiguous(
    library: Library, publish: Publish, launches: list[dict[str, Any]], traffic: dict[int, int], said: str | None
) -> None:
    report = pair(library, publish, systems((GEMM, 8, 300)), compute(*launches, traffic=traffic))
    (row,) = run(library, report, "time_weighted_roofline")
    assert (row["match"], row["ambiguous"]) == ("exact", said)
    (row,) = run(library, report, "ncu_coverage")
    assert (row["ambiguous"], row["ambiguous_names"]) == ((1, "k1") if said else (0, None))


def test_names_that_mean_several_kernels_say_so(library: Library, publish: Publish) -> None:
    two = ("void f<(A)1>(int)", "void f<(B)1>(int)")
    report = pair(library, publish, systems((two[0], 8, 300), (two[1], 8, 200)), compute(launch(0, "f<1>(int)")))
    said = "2 kernels of this report have this name"
    assert picked(run(library, report, "time_weighted_roofline"), "match", "ambiguous") == [("exact", said)] * 2
    report = pair(library, publish, systems(("f<1>(int)", 8, 300)), compute(*(launch(n, t) for n, t in enumerate(two))))
    (row,) = run(library, report, "time_weighted_roofline")
    assert (row["launches"], row["ambiguous"]) == (2, "2 kernels of the Compute report have this name")


def test_the_mangled_name_decides_where_both_have_it(library: Library, publish: Publish) -> None:
    mangled = {"void f<(A)1>(int)": "_Z1fA", "void f<(B)1>(int)": "_Z1fB"}
    nsys = systems(*((full, 8, 100) for full in mangled), mangled=mangled)
    report = pair(library, publish, nsys, compute(launch(0, "f<1>(int)", mangled="_Z1fB")))
    rows = {
        row["demangled"][8]: (row["match"], row["ambiguous"]) for row in run(library, report, "time_weighted_roofline")
    }
    assert rows == {"A": ("none", None), "B": ("exact", None)}, "a launch that is of one kernel is of no other"
    built_again = compute(launch(0, "f<1>(int)", mangled="_Z1fC"))
    report = pair(library, publish, systems(("f<1>(int)", 8, 100), mangled={"f<1>(int)": "_Z1fD"}), built_again)
    assert picked(run(library, report, "time_weighted_roofline"), "match") == [("exact",)]


def test_a_launch_of_which_only_the_size_is_known(library: Library, publish: Publish) -> None:
    nothing: dict[str, Any] = dict.fromkeys(f"{what}_{axis}" for what in ("grid", "block") for axis in "xyz")
    launches = [launch(0, GEMM, **nothing), launch(1, "g()", **nothing | {"grid_size": None}), launch(2, "(unnamed)")]
    report = pair(library, publish, systems((GEMM, 8, 300), ("g()", 8, 200), ("(unnamed)", 8, 1)), compute(*launches))
    assert picked(run(library, report, "time_weighted_roofline"), "match") == [("exact",), ("name",), ("none",)]


def test_which_compute_report(library: Library, publish: Publish) -> None:
    nsys, ncu, other = (
        publish(systems((GEMM, 8, 300))),
        publish(compute(launch(0, GEMM)), "ncu"),
        publish(compute(), "ncu"),
    )
    with pytest.raises(NotLinkedError, match="no linked Compute report") as caught:
        analysis.run(library, nsys, "ncu_coverage")
    assert "warpdeck link" in caught.value.hint
    for named in (ncu, f"{ncu}.rep"):
        assert run(library, nsys, "ncu_coverage", ncu=named)[0]["covered_pct"] == 100
    with pytest.raises(AnalysisError, match="not a report of Nsight Compute"):
        analysis.run(library, nsys, "ncu_coverage", {"ncu": nsys})
    with pytest.raises(NotCapturedError, match="No profiled kernels"):
        analysis.run(library, nsys, "ncu_coverage", {"ncu": other})
    with pytest.raises(NotCapturedError, match="CUDA kernels"):
        analysis.run(library, ncu, "ncu_coverage")
    library.link(nsys, ncu)
    assert run(library, nsys, "ncu_coverage")[0]["covered_pct"] == 100


def test_the_sample_pair(every_report: Library) -> None:
    report = every_report.find("transformer_training.nsys-rep").id
    asked = {"ncu": "transformer_training.ncu-rep"}
    rows = run(every_report, report, "time_weighted_roofline", **asked)
    (coverage,) = run(every_report, report, "ncu_coverage", **asked)
    whole = run(every_report, report, "kernels")
    assert sum(row["total_ns"] for row in rows) == sum(row["total_ns"] for row in whole) == coverage["total_ns"]
    assert {row["kernel"] for row in rows} == {row["kernel"] for row in whole}
    assert rows[-1]["covered_pct"] == pytest.approx(coverage["covered_pct"])
    assert 40 < coverage["covered_pct"] < 60
    matched = {row["name"]: row for row in rows if row["match"] == "exact"}
    assert matched["softmax_warp_forward"]["precision"] == "fp32"
    assert matched["softmax_warp_forward"]["roof"] == "dram"
    gemm = matched["nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT"]
    assert (gemm["precision"], gemm["roof"], gemm["bound"], gemm["verdict"]) == (
        "tensor",
        "tensor",
        "compute",
        "compute bound",
    )
    assert all(0 < row["pct_of_roof"] <= 102 for row in matched.values() if row["pct_of_roof"] is not None)
    shape = "dimensions(grid_x, grid_y, grid_z) AS grid, dimensions(block_x, block_y, block_z) AS block"
    verdict = "ncu_verdict(sm_throughput_pct, memory_throughput_pct, dram_throughput_pct) AS verdict"
    sql = f"SELECT launch_id, kernel AS demangled, {shape}, duration_ns AS ncu_duration_ns, {verdict} FROM ncu_launch"
    measured = records(analysis.query(every_report, every_report.find(asked["ncu"]).id, sql))
    launches = {row["launch_id"]: row for row in measured}
    for row in (row for row in rows if row["match"] == "exact"):
        assert launches[row["launch_id"]] == {column: row[column] for column in measured[0]}
