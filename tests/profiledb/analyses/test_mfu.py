"""FLOPs per step over its time and the GPUs' peak: by hand, from the program's own facts, and unknown ones."""

import json
from typing import Any

import duckdb
import pytest

from profiledb.errors import AnalysisError
from profiledb.library.library import Library
from tests.support.page_reports import H100, V100, Publish, insert, kernel, name, run

MORE = pytest.mark.slow("more GPUs and precisions")
H200 = H100 | {"name": "NVIDIA H200", "clock_hz": 1_980_000_000}
A100 = H100 | {"compute_capability": "8.0", "sm_count": 108, "clock_hz": 1_410_000_000}
ADA = H100 | {"compute_capability": "8.9", "sm_count": 142, "clock_hz": 2_490_000_000}
BLACKWELL = H100 | {"compute_capability": "10.0", "sm_count": 148, "clock_hz": 1_965_000_000}
RTX4090 = H100 | {
    "name": "NVIDIA GeForce RTX 4090", "compute_capability": "8.9", "sm_count": 128, "clock_hz": 2_520_000_000
}  # fmt: skip


def report(publish: Publish, *gpus: dict[str, Any], kernel_called: str = "gemm") -> str:
    """A kernel on each GPU, in two steps of 1 and 3 ms on the host; nothing of them is known on the GPU's side."""

    def fill(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "gpu", [gpu | {"gpu_id": number} for number, gpu in enumerate(gpus)])
        insert(db, "kernel_name", [name(1, kernel_called, "matmul", kernel_called)])
        insert(db, "kernel", [kernel(n, 1, 1000, 2000, device_id=n) for n in range(len(gpus))])
        insert(db, "range_path", [{"path_id": n, "level": 0, "name": f"step_{n}", "path": f"step_{n}"} for n in (0, 1)])
        steps = [(0, 0, 1_000_000), (1, 2_000_000, 5_000_000)]
        same = {"closed": True, "style": "PushPop", "name_id": 1, "global_tid": 1, "level": 0}
        ranges = [
            {"range_id": n, "path_id": n, "pre": n, "post": n, "start_ns": start, "end_ns": end} | same
            for n, start, end in steps
        ]
        insert(db, "range", ranges)

    return publish(fill)


def test_over_time_and_peak(library: Library, publish: Publish) -> None:
    (row,) = run(library, report(publish, H200), "mfu", flops="1e12")
    assert (row["step_ns"], row["step_from"], row["steps"]) == (2_000_000, "host", 2)
    assert (row["precision"], row["precision_from"], row["peak_flops_per_s"]) == ("bf16", "assumed", 989.5e12)
    assert row["flops_per_s"] == pytest.approx(1e12 / 2e-3)
    assert row["mfu_pct"] == pytest.approx(100 * 1e12 / 2e-3 / 989.5e12)
    (given,) = run(library, report(publish, H200), "mfu", flops=2e12, step_ns=4e6)
    assert (given["step_from"], given["mfu_pct"]) == ("given", row["mfu_pct"])


@pytest.mark.parametrize(
    ("gpu", "precision", "tflops", "source"),
    [
        (H200, "fp8", 1979, "data sheet"),
        pytest.param(H100 | {"name": "NVIDIA H100 PCIe"}, "fp16", 756.5, "data sheet", marks=MORE),
        (H200, "fp32", 132 * 256 * 1.98e-3, "132 SMs × 256 FLOP × 1.98 GHz"),
        (H100 | {"name": "NVIDIA H20"}, "bf16", 148, "data sheet"),
        pytest.param(H100 | {"name": "NVIDIA H20-3e"}, "tf32", 74, "data sheet", marks=MORE),
        pytest.param(H100 | {"name": "NVIDIA H20"}, "fp8", 296, "data sheet", marks=MORE),
        pytest.param(H100 | {"name": "NVIDIA H800"}, "bf16", 989.5, "data sheet", marks=MORE),
        pytest.param(H100 | {"name": "NVIDIA H800 PCIe"}, "bf16", 756.5, "data sheet", marks=MORE),
        pytest.param(H100 | {"name": "NVIDIA GH200 480GB"}, "bf16", 989.5, "data sheet", marks=MORE),
        pytest.param(A100 | {"name": "NVIDIA A800-SXM4-80GB"}, "bf16", 312, "data sheet", marks=MORE),
        (A100 | {"name": "NVIDIA A800-SXM4-80GB"}, "fp8", None, None),
        pytest.param(ADA | {"name": "NVIDIA L40"}, "bf16", 181.05, "data sheet", marks=MORE),
        pytest.param(ADA | {"name": "NVIDIA L40S"}, "bf16", 362.05, "data sheet", marks=MORE),
        pytest.param(ADA | {"name": "NVIDIA L20"}, "bf16", 119.5, "data sheet", marks=MORE),
        pytest.param(ADA | {"name": "NVIDIA L4"}, "bf16", 121, "data sheet", marks=MORE),
        pytest.param(BLACKWELL | {"name": "NVIDIA B300 SXM6 AC"}, "fp8", 4500, "data sheet", marks=MORE),
        pytest.param(BLACKWELL | {"name": "NVIDIA GB300"}, "bf16", 2500, "data sheet", marks=MORE),
        pytest.param(BLACKWELL | {"name": "NVIDIA GB200"}, "bf16", 2500, "data sheet", marks=MORE),
        pytest.param(BLACKWELL | {"name": "NVIDIA B200"}, "bf16", 2250, "data sheet", marks=MORE),
        pytest.param(RTX4090, "bf16", 128 * 512 * 2.52e-3, "128 SMs × 512 FLOP × 2.52 GHz", marks=MORE),
        (V100 | {"clock_hz": 1_530_000_000}, "fp16", 80 * 1024 * 1.53e-3, "80 SMs × 1024 FLOP × 1.53 GHz"),
        pytest.param(V100 | {"clock_hz": 1_530_000_000}, "bf16", None, None, marks=MORE),
        pytest.param(V100, "fp16", None, None, marks=MORE),
        pytest.param(H200 | {"name": "B1", "compute_capability": "99.0"}, "bf16", None, None, marks=MORE),
        pytest.param(H200, "int3", None, None, marks=MORE),
    ],
)
def test_peaks(
    library: Library, publish: Publish, gpu: dict[str, Any], precision: str, tflops: float | None, source: str | None
) -> None:
    (row,) = run(library, report(publish, gpu), "mfu", flops=1e10, precision=precision)
    assert row["peak_flops_per_s"] == (tflops and pytest.approx(tflops * 1e12))
    assert row["peak_from"] == source
    assert (row["mfu_pct"] is None) == (tflops is None)


OTHER_VENDORS = (
    ("AMD Instinct MI210", "fp16", 104, 1024, 1.7), ("AMD Instinct MI250", "bf16", 104, 1024, 1.7),
    ("AMD Instinct MI250X", "fp64", 110, 256, 1.7), ("AMD Instinct MI300A", "fp8", 228, 4096, 2.1),
    ("AMD Instinct MI300X VF", "bf16", 304, 2048, 2.1), ("AMD Instinct MI300X", "tf32", 304, 1024, 2.1),
    ("AMD Instinct MI325X", "fp8", 304, 4096, 2.1), ("AMD Instinct MI325X", "fp32", 304, 256, 2.1),
    ("AMD Instinct MI350X", "bf16", 256, 4096, 2.2), ("AMD Instinct MI355X", "fp8", 256, 8192, 2.4),
    ("AMD Instinct MI355X", "fp64", 256, 128, 2.4), ("AMD Instinct MI355X", "tf32", None, 0, 0),
    ("Intel(R) Data Center GPU Max 1100", "bf16", 448, 512, 1.55),
    ("Intel(R) Data Center GPU Max 1100", "fp64", 448, 32, 1.55),
    ("Intel(R) Arc(TM) A770 Graphics", "fp64", None, 0, 0), ("AMD Radeon Graphics", "bf16", None, 0, 0),
)  # fmt: skip
"""GPU, precision, its units, FLOP of each in a cycle, and GHz."""
CHOSEN = ("AMD Instinct MI300X", "AMD Instinct MI210", "Intel(R) Data Center GPU Max 1100", "AMD Radeon Graphics")


@pytest.mark.parametrize(
    ("gpu", "precision", "units", "flop", "ghz"),
    [pytest.param(*one, marks=[] if one[0] in CHOSEN else MORE) for one in OTHER_VENDORS],
)
def test_peaks_of_other_vendors_are_units_times_rate_times_clock(
    library: Library, publish: Publish, gpu: str, precision: str, units: int | None, flop: int, ghz: float
) -> None:
    own = {"name": gpu, "compute_capability": None, "clock_hz": None}
    (row,) = run(library, report(publish, H100 | own), "mfu", flops=1e10, precision=precision)
    assert row["peak_flops_per_s"] == (units and pytest.approx(units * flop * ghz * 1e9, rel=4e-3))


@pytest.mark.parametrize(("gigabytes", "engines"), [(64, 512), (128, 1024)])
def test_a_stack_of_a_max_1550_is_a_gpu(library: Library, publish: Publish, gigabytes: int, engines: int) -> None:
    own = {"name": "Intel(R) Data Center GPU Max 1550", "compute_capability": None, "memory_bytes": gigabytes << 30}
    (row,) = run(library, report(publish, H100 | own), "mfu", flops=1e10, precision="bf16")
    assert row["peak_flops_per_s"] == pytest.approx(engines * 512 * 1.6e9, rel=4e-3)


def test_gpus_count_together(library: Library, publish: Publish) -> None:
    (two,) = run(library, report(publish, H200, H200), "mfu", flops=1e12)
    assert (two["gpus"], two["gpu"], two["peak_flops_per_s"]) == (2, "NVIDIA H200", 2 * 989.5e12)
    (one,) = run(library, report(publish, H200, H200), "mfu", flops=1e12, device=1)
    assert (one["gpus"], one["peak_flops_per_s"]) == (1, 989.5e12)
    (odd,) = run(library, report(publish, H200, V100), "mfu", flops=1e12)
    assert (odd["gpus"], odd["peak_flops_per_s"], odd["mfu_pct"]) == (2, None, None)


def test_nobody_tells_the_flops(library: Library, publish: Publish) -> None:
    (row,) = run(library, report(publish, H200), "mfu")
    assert (row["mfu_pct"], row["flops_per_step"], row["flops_from"], row["step_ns"]) == (None, None, None, 2_000_000)
    with pytest.raises(AnalysisError, match="wrong type"):
        run(library, report(publish, H200), "mfu", flops="many")


def test_what_the_program_says(library: Library, publish: Publish) -> None:
    report_id = report(publish, H200)
    library.put_sidecar(report_id, "meta", json.dumps({"flops_per_step": 3e12, "precision": "torch.float16"}))
    (row,) = run(library, report_id, "mfu")
    assert (row["flops_per_step"], row["flops_from"]) == (3e12, "meta")
    assert (row["precision"], row["precision_from"], row["peak_flops_per_s"]) == ("fp16", "meta", 989.5e12)
    (given,) = run(library, report_id, "mfu", flops=1e12, precision="tf32")
    assert (given["flops_from"], given["precision"], given["peak_flops_per_s"]) == ("given", "tf32", 494.7e12)


def test_what_a_program_calls_fp32_may_run_as_tf32(library: Library, publish: Publish) -> None:
    """PyTorch's convolutions do so by default, and would exceed 100 % of the peak of CUDA cores."""
    for called, precision in (("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n", "tf32"), ("ampere_sgemm_128x64_nn", "fp32")):
        report_id = report(publish, H200, kernel_called=called)
        library.put_sidecar(report_id, "meta", json.dumps({"flops_per_step": 3e11, "precision": "fp32"}))
        (row,) = run(library, report_id, "mfu")
        assert (row["precision"], row["precision_from"]) == (precision, "kernels" if precision == "tf32" else "meta")
        assert run(library, report_id, "mfu", precision="fp32")[0]["precision_from"] == "given"


def test_a_share_that_cannot_be_is_a_contradiction(library: Library, publish: Publish) -> None:
    (row,) = run(library, report(publish, H200, H200), "mfu", flops=1e13, precision="bf16")
    pct = 100 * 1e13 / 2e-3 / (2 * 989.5e12)
    assert pct > 105
    assert row["mfu_pct"] is None
    assert row["flops_per_s"] == pytest.approx(1e13 / 2e-3), "what it is made of is still told"
    for told in (f"{pct:.0f} % of the peak", "5 PFLOP/s", "1.979 PFLOP/s", "BF16 of 2 GPUs, data sheet", "2 ms"):
        assert told in row["contradiction"]
    (tf32,) = run(library, report(publish, H200), "mfu", flops=1e12, precision="fp32")
    assert "or FP32 work ran as TF32" in tf32["contradiction"]
    (fine,) = run(library, report(publish, H200, H200), "mfu", flops=1e12, precision="bf16")
    assert fine["contradiction"] is None
