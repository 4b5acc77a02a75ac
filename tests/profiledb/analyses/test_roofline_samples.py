"""Rooflines of the samples, against the data sheet of their GPU and the design of their kernels."""

from typing import Any

import pytest

from profiledb.library.library import Library
from profiledb.query import analysis
from tests.conftest import SAMPLES
from tests.support.page_reports import records

pytestmark = pytest.mark.skipif(not (SAMPLES / "kernels.ncu-rep").exists(), reason="no sample reports here")

# NVIDIA's data sheet of the H200 SXM: at a clock of 1.83 GHz for tensor work, 1.98 GHz else.
DRAM_BYTES_PER_S = 4.8e12
PEAK_FLOPS = {
    "fp32": (66.9e12, 1.98e9),
    "fp64": (33.5e12, 1.98e9),
    "fp16": (133.8e12, 1.98e9),
    "tensor": (989.5e12, 1.83e9),
}
CLOCK = "SELECT launch_id, value AS hz FROM ncu_metric JOIN ncu_metric_name USING (metric_id) WHERE name = $name"
RATE = "sm__cycles_elapsed.avg.per_second"


@pytest.fixture(scope="module")
def kernels(every_report: Library) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Rows of ncu_roofline of kernels.ncu-rep by range, which is called as its kernel, precision and level."""
    report = every_report.find("kernels.ncu-rep").id
    rows = records(analysis.run(every_report, report, "ncu_roofline"))
    return {(row["nvtx"], row["precision"], row["level"]): row for row in rows}


def main(kernels: dict[tuple[str, str, str], dict[str, Any]], name: str) -> dict[str, Any]:
    (row,) = [row for (of, _, level), row in kernels.items() if of == name and level == "dram" and row["is_main"]]
    return row


def test_peaks_are_those_of_the_data_sheet_at_the_measured_clock(every_report: Library, kernels: Any) -> None:
    report = every_report.find("kernels.ncu-rep").id
    clocks = analysis.query(every_report, report, CLOCK, {"name": RATE}).set_index("launch_id")["hz"]
    checked = set()
    for (_, precision, level), row in kernels.items():
        if level == "dram":
            assert row["peak_bytes_per_s"] == pytest.approx(DRAM_BYTES_PER_S, rel=0.005)
            if row["types"] in (None, "bf16"):
                peak, clock = PEAK_FLOPS[precision]
                assert row["peak_flops_per_s"] == pytest.approx(peak * clocks[row["launch_id"]] / clock, rel=0.005)
                checked.add((precision, row["types"]))
    assert checked >= {("fp32", None), ("fp64", None), ("fp16", None), ("tensor", "bf16")}


@pytest.mark.parametrize("name", ["vector_add", "reduction"])
def test_streaming_kernels_lie_on_the_dram_roof(kernels: Any, name: str) -> None:
    row = main(kernels, name)
    assert (row["precision"], row["bound"], row["roof"], row["estimated"]) == ("fp32", "memory", "dram", False)
    assert 90 <= row["pct_of_roof"] <= 101
    floats = 3 if name == "vector_add" else 1
    assert row["intensity"] == pytest.approx(1 / (4 * floats), rel=0.05)  # one addition for so many floats


@pytest.mark.parametrize(
    ("name", "precision", "types", "low"),
    [
        ("compute_heavy", "fp32", None, 95),
        ("gemm_fp64", "tensor", "fp64", 95),
        ("gemm_fp32", "fp32", None, 70),
        ("gemm_bf16", "tensor", "bf16", 85),
    ],
)
def test_arithmetic_lies_on_its_own_roof(
    kernels: Any, name: str, precision: str, types: str | None, low: float
) -> None:
    row = main(kernels, name)
    assert (row["precision"], row["types"], row["bound"], row["roof"]) == (precision, types, "compute", precision)
    assert low <= row["pct_of_roof"] <= 100
    assert row["above_roof"] is None


@pytest.mark.parametrize("name", ["gemm_fp64", "gemm_fp32", "gemm_bf16"])
def test_work_of_a_matrix_product_is_two_n_cubed(kernels: Any, name: str) -> None:
    row = main(kernels, name)
    assert row["flops_per_s"] * row["duration_ns"] / 1e9 == pytest.approx(
        2 * 8192**3, rel=0.03
    )  # rate and time are of different passes


def test_kernels_without_arithmetic_are_held_against_the_memory(kernels: Any) -> None:
    for name in ("coalesced", "uncoalesced", "low_occupancy"):
        row = main(kernels, name)
        assert (row["flops_per_s"], row["intensity"], row["roof"]) == (0, 0, "dram")


def test_uncoalesced_reads_move_several_times_the_bytes(kernels: Any) -> None:
    moved = {
        name: row["bytes_per_s"] * row["duration_ns"]
        for name in ("coalesced", "uncoalesced")
        if (row := kernels[name, "fp32", "dram"])
    }
    assert moved["uncoalesced"] > 3 * moved["coalesced"]


def test_fused_attention_moves_a_fraction_of_the_bytes(every_report: Library) -> None:
    report = every_report.find("attention.ncu-rep").id
    rows = records(analysis.run(every_report, report, "ncu_roofline", {"precision": "tensor", "level": "dram"}))
    moved = {
        kind: sum(r["bytes_per_s"] * r["duration_ns"] / 1e9 for r in rows if kind in r["nvtx"])
        for kind in ("naive", "fused")
    }
    assert moved["naive"] > 10 * moved["fused"]
    (fused,) = [row for row in rows if "fused" in row["nvtx"]]
    assert fused["roof"] == "tensor"  # right of the ridge point, where naive attention is left of it
    assert all(row["roof"] == "dram" for row in rows if "naive" in row["nvtx"] and row["flops_per_s"] > 0)


def test_low_occupancy_is_limited_by_what_it_was_built_to_be_limited_by(every_report: Library) -> None:
    report = every_report.find("kernels.ncu-rep").id
    rows = {row["kernel"]: row for row in records(analysis.run(every_report, report, "ncu_occupancy"))}
    row = rows["low_occupancy"]
    assert row["limiter"] == "shared_mem"
    assert row["theoretical_pct"] == pytest.approx(100 * 2 * 2 / 64)  # 2 blocks of 2 warps of the 64 that an SM holds
    assert row["achieved_pct"] <= row["theoretical_pct"] + 0.1


def test_l2_traffic_of_an_addition_of_vectors_is_what_it_reads(every_report: Library) -> None:
    found = next((one for one in every_report.list() if one.name == "vec_add_1660s_full.ncu-rep"), None)
    if found is None:
        pytest.skip("no corpus here")
    rows = records(analysis.run(every_report, found.id, "ncu_roofline", {"level": "l2", "precision": "fp32"}))
    (row,) = rows
    assert row["intensity"] == pytest.approx(1 / 8, rel=0.005), "one addition for two floats that L2 sends"
    assert row["bytes_per_s"] * row["duration_ns"] / 1e9 == pytest.approx(4096 * 256 * 8, rel=0.01)
    assert "L1 caches received" in row["note"]


def test_what_the_sms_receive_is_what_l2_sends(every_report: Library, kernels: Any) -> None:
    report = every_report.find("kernels.ncu-rep").id
    name = "l1tex__m_xbar2l1tex_read_bytes.sum.per_second"
    received = analysis.query(every_report, report, CLOCK, {"name": name}).set_index("launch_id")["hz"]
    for kernel in ("vector_add", "reduction", "coalesced"):
        row = kernels[kernel, "fp32", "l2"]
        assert received[row["launch_id"]] == pytest.approx(row["bytes_per_s"], rel=0.01), kernel
