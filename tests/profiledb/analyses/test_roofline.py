"""Work, traffic and roofs from metrics: hand-computed cases."""

from typing import Any

import duckdb
import pytest

from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.query import header
from tests.support.page_reports import H100, Publish, insert, run

MORE = pytest.mark.slow("more metrics")
RATE, PEAK, PCT = ".per_second", ".peak_sustained", ".pct_of_peak_sustained_elapsed"
READ, WRITE, XBAR = "dram__bytes_read.sum", "dram__bytes_write.sum", "lts__lts2xbar_cycles_active.sum"
TAGS, L1 = "lts__t_sectors.sum", "l1tex__lsu_writeback_active_mem_lgds.sum"
OLD_L1 = "l1tex__lsu_writeback_active_mem_lg.sum"

# A GPU of 2 SMs at 1 GHz with a memory at 2 GHz; the launch took 1 ms.
GPU = H100 | {"sm_count": 2, "memory_bandwidth_bytes_per_s": 200_000}
LAUNCH = {"launch_id": 7, "kernel": "f(int)", "duration_ns": 1_000_000, "sm_frequency_hz": 1e9, "device_id": 0}
CLOCKS = {f"{unit}__cycles_elapsed.avg.per_second": 1e9 for unit in ("sm", "smsp", "lts", "l1tex")} | {
    "dram__cycles_elapsed.avg.per_second": 2e9
}
DRAM = {"dram__bytes.sum.per_second": 4e9, "dram__bytes.sum.peak_sustained": 8.0}  # 4 of 16 GB/s


def op(kind: str, form: str, unit: str = "smsp") -> str:
    return f"{unit}__sass_thread_inst_executed_op_{kind}_pred_on.sum{form}"


FFMA, DFMA, HFMA = (op(kind, PEAK, "sm") for kind in ("ffma", "dfma", "hfma"))


def rates(letter: str, add: float, mul: float, fma: float, form: str = ".per_cycle_elapsed") -> dict[str, float]:
    return {op(f"{letter}{kind}", form): value for kind, value in (("add", add), ("mul", mul), ("fma", fma))}


def tensor(name: str, per_second: float, peak_per_cycle: float) -> dict[str, float]:
    return {
        f"sm__ops_path_tensor_{name}.sum.per_second": per_second,
        f"sm__ops_path_tensor_{name}.sum.peak_sustained": peak_per_cycle,
    }


FP16, BF16 = tensor("src_fp16", 300e9, 16384.0), tensor("src_bf16_dst_fp32", 400e9, 16384.0)


@pytest.fixture(name="points")
def make_points(library: Library, publish: Publish) -> Any:
    """Rows of ncu_roofline of a report with one launch that has these metrics, by precision and level."""

    def points(metrics: dict[str, float | None], launch: dict[str, Any] | None = None, **gpu: Any) -> Any:
        def fill(db: duckdb.DuckDBPyConnection) -> None:
            insert(db, "gpu", [GPU | gpu])
            insert(db, "ncu_launch", [LAUNCH | (launch or {})])
            insert(db, "ncu_metric_name", [{"metric_id": at, "name": name} for at, name in enumerate(metrics)])
            rows = [{"launch_id": 7, "metric_id": at, "value": value} for at, value in enumerate(metrics.values())]
            insert(db, "ncu_metric", rows)

        found = run(library, publish(fill, "ncu"), "ncu_roofline")
        return {(row["precision"], row["level"]): row for row in found}

    return points


@pytest.mark.parametrize(
    ("metrics", "precision", "work", "peak", "estimated"),
    [
        # 3 adds, 5 multiplies and 10 FMAs a cycle at 1 GHz; 64 FMAs a cycle at most
        pytest.param(rates("f", 3, 5, 10) | {FFMA: 64.0}, "fp32", 28e9, 128e9, False, marks=MORE),
        (rates("d", 3, 5, 10) | {DFMA: 32.0}, "fp64", 28e9, 64e9, False),
        # an instruction of FP16 works on two numbers
        pytest.param(rates("h", 3, 5, 10) | {HFMA: 64.0}, "fp16", 56e9, 256e9, False, marks=MORE),
        # the same by second, and as sums over 1 ms
        pytest.param(rates("f", 3e9, 5e9, 10e9, ".per_second") | {FFMA: 64.0}, "fp32", 28e9, 128e9, False, marks=MORE),
        pytest.param(rates("f", 3e6, 5e6, 10e6, "") | {FFMA: 64.0}, "fp32", 28e9, 128e9, False, marks=MORE),
        # no peak: 128 FMAs a cycle and SM of compute capability 9.0, on 2 SMs
        (rates("f", 3, 5, 10), "fp32", 28e9, 512e9, True),
        # FMAs alone: at least so much
        pytest.param({op("ffma", ".per_cycle_elapsed"): 10.0, FFMA: 64.0}, "fp32", 20e9, 128e9, True, marks=MORE),
        # half of the peak with sparsity; sparsity_off and FP64 are what they say
        pytest.param(tensor("src_bf16_dst_fp32", 500e9, 16384.0), "tensor", 500e9, 8192e9, False, marks=MORE),
        pytest.param(tensor("src_fp8_sparsity_off", 500e9, 16384.0), "tensor", 500e9, 16384e9, False, marks=MORE),
        pytest.param(tensor("src_fp64", 100e9, 512.0), "tensor", 100e9, 512e9, False, marks=MORE),
        # of names that hold each other the widest counts once
        pytest.param(FP16 | tensor("src_fp16_dst_fp32", 200e9, 16384.0), "tensor", 300e9, 8192e9, False, marks=MORE),
        # two types take their time at their own peaks: 400 at 8192 and 100 at 4096 are 500 at 6826.7
        (BF16 | tensor("src_tf32_dst_fp32", 100e9, 8192.0), "tensor", 500e9, 20480e9 / 3, False),
        # 25 % of the cycles of 2 SMs with 4096 FLOPs each
        ({"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": 25.0}, "tensor", 2048e9, 8192e9, True),
    ],
)  # fmt: skip
def test_work(
    points: Any, metrics: dict[str, float], precision: str, work: float, peak: float, estimated: bool
) -> None:
    row = points(CLOCKS | DRAM | metrics)[precision, "dram"]
    assert row["flops_per_s"] == pytest.approx(work)
    assert row["peak_flops_per_s"] == pytest.approx(peak)
    assert row["estimated"] is estimated
    assert (row["note"] is not None) is estimated
    assert row["intensity"] == pytest.approx(work / 4e9)
    assert row["ridge"] == pytest.approx(peak / 16e9)
    assert row["pct_of_roof"] == pytest.approx(100 * max(work / peak, 4 / 16))
    assert row["roof"] == (precision if work / 4e9 > peak / 16e9 else "dram")


WORK = rates("f", 3, 5, 10) | {FFMA: 64.0}


@pytest.mark.parametrize(
    ("metrics", "level", "traffic", "peak", "estimated"),
    [
        (DRAM, "dram", 4e9, 16e9, False),
        pytest.param({READ: 3e6, WRITE: 1e6, READ + PCT: 18.75}, "dram", 4e9, 16e9, False, marks=MORE),
        pytest.param({READ + RATE: 3e9, WRITE + RATE: 1e9}, "dram", 4e9, 2e5, True, marks=MORE),
        ({"dram__sectors_read.sum": 1e5, "dram__sectors_write.sum": 25e3}, "dram", 4e9, 2e5, True),
        ({XBAR + RATE: 1e9, XBAR + PEAK: 4.0}, "l2", 32e9, 128e9, False),
        pytest.param({TAGS: 1e6, TAGS + PCT: 25.0}, "l2", 32e9, 128e9, True, marks=MORE),
        pytest.param({L1 + RATE: 1e9, L1 + PEAK: 2.0}, "l1", 128e9, 256e9, False, marks=MORE),
        pytest.param({OLD_L1: 1e6, OLD_L1 + PCT: 50.0}, "l1", 128e9, 256e9, False, marks=MORE),
        # under 1 % the percentage is too coarse: a wavefront of 128 bytes a cycle and SM
        ({L1: 1e3, L1 + PCT: 0.05}, "l1", 128e6, 256e9, False),
    ],
)  # fmt: skip
def test_traffic(
    points: Any, metrics: dict[str, float], level: str, traffic: float, peak: float, estimated: bool
) -> None:
    row = points(CLOCKS | WORK | metrics)["fp32", level]
    assert row["bytes_per_s"] == pytest.approx(traffic)
    assert row["peak_bytes_per_s"] == pytest.approx(peak)
    assert row["intensity"] == pytest.approx(28e9 / traffic)
    assert row["estimated"] is estimated


def test_traffic_of_a_report_with_percentages_only_is_an_estimate(points: Any) -> None:
    row = points(CLOCKS | WORK, {"dram_throughput_pct": 25.0})["fp32", "dram"]
    assert (row["bytes_per_s"], row["estimated"]) == (pytest.approx(50_000), True)


def test_what_was_not_measured_has_no_row(points: Any) -> None:
    assert set(points(CLOCKS | WORK | DRAM)) == {("fp32", "dram")}
    for metrics in (CLOCKS | WORK, CLOCKS | DRAM, {op("ffma", ".per_cycle_elapsed"): None, **DRAM}):
        with pytest.raises(NotCapturedError, match="No work and traffic in this report") as caught:
            points(metrics)
        assert "ncu --set roofline" in caught.value.hint


def test_a_launch_without_duration_has_no_rate_from_sums(points: Any) -> None:
    sums = rates("f", 3e6, 5e6, 10e6, "")
    with pytest.raises(NotCapturedError):
        points(CLOCKS | DRAM | sums, {"duration_ns": 0})
    with pytest.raises(NotCapturedError):
        points(CLOCKS | DRAM | sums, {"duration_ns": None})


def test_a_launch_without_arithmetic_is_held_against_its_traffic(points: Any) -> None:
    row = points(CLOCKS | DRAM | rates("f", 0, 0, 0) | {FFMA: 64.0})["fp32", "dram"]
    assert (row["intensity"], row["pct_of_roof"], row["roof"], row["is_main"]) == (0, 25, "dram", True)
    assert row["roof_gap_ns"] == 750_000  # of 1 ms, with a quarter of the traffic that there could be


def test_the_main_precision_is_the_one_nearest_to_its_peak(points: Any) -> None:
    both = rates("f", 0, 0, 32) | {FFMA: 64.0}  # 50 %
    both |= rates("d", 0, 0, 24) | {DFMA: 32.0}  # 75 %
    found = points(CLOCKS | DRAM | both)
    assert [precision for (precision, _), row in found.items() if row["is_main"]] == ["fp64"]


def test_fp16_fmas_that_load_constants_are_no_arithmetic(points: Any) -> None:
    constants = {op("hfma", ".per_cycle_elapsed"): 1.0, HFMA: 64.0, op("hadd", ".per_cycle_elapsed"): 0.0}
    constants |= {op("hmul", ".per_cycle_elapsed"): 0.0}  # 1.6 % of the peak
    idle = rates("f", 0, 0, 0) | {FFMA: 64.0}
    found = points(CLOCKS | DRAM | idle | constants)
    assert [row["precision"] for row in found.values() if row["is_main"]] == ["fp32"]
    assert "load constants" in found["fp16", "dram"]["note"]
    busy = constants | {op("hfma", ".per_cycle_elapsed"): 32.0}
    assert points(CLOCKS | DRAM | idle | busy)["fp16", "dram"]["is_main"]


def test_a_busier_tensor_pipe_than_the_captured_types_explain_is_said(points: Any) -> None:
    pipe = {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": 40.0}
    row = points(CLOCKS | DRAM | tensor("src_bf16_dst_fp32", 0, 16384.0) | pipe)["tensor", "dram"]
    assert row["estimated"] is True
    assert "busier" in row["note"]


def test_volta_counts_512_flops_an_instruction(points: Any) -> None:
    name = "sm__inst_executed_pipe_tensor.sum"
    row = points(CLOCKS | DRAM | {f"{name}.per_second": 1e9, f"{name}.peak_sustained": 4.0}, compute_capability="7.0")
    found = row["tensor", "dram"]
    assert (found["flops_per_s"], found["peak_flops_per_s"], found["estimated"]) == (512e9, 2048e9, True)


def test_a_point_above_the_roof_is_marked_with_a_cause(points: Any) -> None:
    measured = points(CLOCKS | WORK | {"dram__bytes.sum.per_second": 20e9, "dram__bytes.sum.peak_sustained": 8.0})
    assert "different clocks" in measured["fp32", "dram"]["above_roof"]
    guessed = points(CLOCKS | DRAM | rates("f", 0, 0, 300))  # of 256 FMAs by the compute capability
    assert "estimate may be off (peak from the compute capability)" in guessed["fp32", "dram"]["above_roof"]
    for row, pct in ((measured["fp32", "dram"], 100 * 20 / 16), (guessed["fp32", "dram"], 100 * 600 / 512)):
        assert (row["pct_of_roof"], row["roof_gap_ns"]) == (None, None), "what cannot be is no fact"
        assert f"{pct:.0f} % of the peak" in row["above_roof"]
    assert points(CLOCKS | WORK | DRAM)["fp32", "dram"]["above_roof"] is None


def test_the_time_above_the_roof_is_what_the_roof_would_save(points: Any) -> None:
    under = points(CLOCKS | WORK | {"dram__bytes.sum.per_second": 12e9, "dram__bytes.sum.peak_sustained": 8.0})
    assert under["fp32", "dram"]["roof_gap_ns"] == pytest.approx(250_000)  # 12 of 16 GB/s for 1 ms
    over = points(CLOCKS | WORK | {"dram__bytes.sum.per_second": 16.5e9, "dram__bytes.sum.peak_sustained": 8.0})
    assert over["fp32", "dram"]["pct_of_roof"] == pytest.approx(100 * 16.5 / 16)
    assert over["fp32", "dram"]["roof_gap_ns"] == 0, "no time is saved below nothing"


def test_without_a_peak_nothing_is_above_the_roof(points: Any) -> None:
    row = points(CLOCKS | rates("f", 0, 0, 10) | {TAGS: 1e6}, memory_bandwidth_bytes_per_s=None)["fp32", "l2"]
    assert (row["peak_bytes_per_s"], row["pct_of_roof"], row["roof"], row["above_roof"]) == (None, None, None, None)


def test_peaks_name_the_clock_at_which_they_hold(points: Any) -> None:
    row = points(CLOCKS | WORK | DRAM | {"sm__cycles_elapsed.avg.per_second": 0.5e9})["fp32", "dram"]
    assert (row["sm_clock_hz"], row["peak_flops_per_s"]) == (0.5e9, 64e9), "64 FMAs a cycle at half of the clock"


def test_l2_is_what_the_sms_receive_where_ncu_does_not_count_what_it_sends(points: Any) -> None:
    received = {"l1tex__m_xbar2l1tex_read_bytes.sum.per_second": 3e9, f"l1tex__m_xbar2l1tex_read_bytes.sum{PCT}": 10.0}
    tags = {f"{TAGS}{RATE}": 1e9, f"{TAGS}{PEAK}": 4.0}  # 32 GB/s
    row = points(CLOCKS | WORK | DRAM | tags | received)["fp32", "l2"]
    assert (row["bytes_per_s"], row["peak_bytes_per_s"], row["estimated"]) == (3e9, 30e9, True)
    other = {"l1tex__m_xbar2l1tex_read_bytes_mem_dshared.sum.per_second": 1e9}
    own = {"lts__lts2xbar_cycles_active.avg.pct_of_peak_sustained_elapsed": 20.0}
    row = points(CLOCKS | WORK | DRAM | tags | received | other | own)["fp32", "l2"]
    assert (row["bytes_per_s"], row["peak_bytes_per_s"]) == (2e9, 10e9)
    row = points(CLOCKS | WORK | DRAM | tags | received | {f"{XBAR}{RATE}": 0.1e9, f"{XBAR}{PEAK}": 1.0})["fp32", "l2"]
    assert (row["bytes_per_s"], row["peak_bytes_per_s"], row["estimated"]) == (3.2e9, 32e9, False)


def test_parameters_keep_a_launch_a_precision_and_a_level(library: Library, publish: Publish) -> None:
    def fill(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "gpu", [GPU])
        metrics = CLOCKS | WORK | DRAM | rates("d", 0, 0, 0) | {"lts__t_sectors.sum": 1e6}
        insert(db, "ncu_metric_name", [{"metric_id": at, "name": name} for at, name in enumerate(metrics)])
        for launch in (0, 1):
            insert(db, "ncu_launch", [LAUNCH | {"launch_id": launch}])
            rows = [{"launch_id": launch, "metric_id": at, "value": v} for at, v in enumerate(metrics.values())]
            insert(db, "ncu_metric", rows)

    report = publish(fill, "ncu")
    assert len(run(library, report, "ncu_roofline")) == 2 * 2 * 2
    (row,) = run(library, report, "ncu_roofline", launch=1, precision="main", level="dram")
    assert (row["launch_id"], row["precision"]) == (1, "fp32")
    assert header.get("ncu_roofline").columns[0].name == "launch_id"
