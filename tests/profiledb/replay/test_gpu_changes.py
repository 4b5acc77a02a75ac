"""Changes of precision and GPU by hand, on small programs: gains of kernels, and kernels that stay."""

from dataclasses import replace

import numpy as np
import pytest

from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.replay import graph
from profiledb.replay.changes import CHANGES
from profiledb.replay.gpus import read_gpus
from profiledb.replay.part import Part
from profiledb.replay.recording import Recording
from tests.profiledb.replay.test_changes import apply
from tests.profiledb.replay.test_replay import LAUNCH, WAIT
from tests.support.recordings import PEAKS, Call, Operation, recording


def _make_products(*several: tuple[int, str, str]) -> Recording:
    """Return a program of kernels in a row, given by length, class and precision; all are launched at once."""
    calls = [Call(LAUNCH, 10 * i, 10 * i + 10) for i in range(len(several))]
    starts = np.cumsum([1_000, *(length for length, *_ in several)]).tolist()
    return recording(calls, [
        Operation(start, start + length, call=i, class_=class_, precision=precision)
        for i, (start, (length, class_, precision)) in enumerate(zip(starts, several, strict=False))
    ])  # fmt: skip


PRODUCTS = _make_products(
    (100, "matmul", "fp32"), (900, "matmul", "fp32"), (500, "elementwise", ""), (740, "matmul", "tf32"),
    (820, "convolution", ""), (300, "matmul", "fp64"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [
        # The peak of TF32 is 8 times that of FP32, and the shortest kernel, of 100 ns, is the fixed time of each.
        ("tf32", "apply", [100, 200, 500, 740, 820, 300]),
        # 16 times that of FP32 and twice that of TF32.
        ("BF16", "apply", [100, 150, 500, 420, 820, 300]),
        # Numbers of 16 bits move in half the time of 32 bits.
        ("bf16", "cautious", [100, 500, 500, 420, 820, 300]),
        # A convolution of unknown kind goes with the products on CUDA cores.
        ("tf32", "hopeful", [100, 200, 500, 740, 190, 300]),
    ],
)
def test_products_gain_what_the_peak_gains(value: str, bound: str, expected: list[int]) -> None:
    edited = apply(PRODUCTS, "precision", value, bound=bound)
    assert edited is not None
    assert edited.length.tolist() == expected


def test_products_that_replace_three_gain_three_times_as_much() -> None:
    """Attention in FP32 computes three products in TF32 for each: 100 ns are fixed, the other 600 become a sixth."""
    calls = [Call(LAUNCH, 10 * i, 10 * i + 10) for i in range(3)]
    recorded = recording(calls, [
        Operation(1_000, 1_100, 0, class_="elementwise"),
        Operation(1_100, 1_800, 1, class_="attention", precision="tf32", passes=3),
        Operation(1_800, 2_500, 2, class_="matmul", precision="tf32"),
    ])  # fmt: skip
    edited, least = (apply(recorded, "precision", "bf16", bound=bound) for bound in ("apply", "cautious"))
    assert edited is not None
    assert least is not None
    assert edited.length.tolist() == [100, 200, 400]
    assert least.length.tolist() == [100, 400, 400], "limited by memory, half the bytes take half the time"
    assert apply(recorded, "precision", "tf32") is None


def test_a_precision_needs_the_peak_of_the_gpu() -> None:
    assert apply(PRODUCTS, "precision", "tf32", bound="cautious") is None, "TF32 is as long in memory as FP32"
    with pytest.raises(NotCapturedError, match="FP8 is unknown"):
        apply(PRODUCTS, "precision", "fp8")
    with pytest.raises(AnalysisError, match="precision takes one of fp32, tf32"):
        CHANGES["precision"].parse("fp12")
    built = graph.build(PRODUCTS)
    part = Part(np.ones(6, np.bool_), np.ones(6, np.bool_), {}, 1)
    assert CHANGES["precision"].values(built, part) == ["tf32"]
    assert CHANGES["precision"].describe("bf16") == "Matrix products compute in BF16"


DOUBLES = _make_products(
    (100, "elementwise", ""), (500, "elementwise", "double"), (900, "matmul", "fp64"), (740, "matmul", "fp32"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [
        # The peak of TF32 is 16 times that of FP64; numbers of 32 bits move in half the time. 100 ns are fixed.
        ("tf32", "apply", [100, 300, 150, 740]),
        ("tf32", "cautious", [100, 300, 500, 740]),
        ("bf16", "cautious", [100, 200, 300, 740]),
    ],
)
def test_kernels_in_fp64_gain_alone(value: str, bound: str, expected: list[int]) -> None:
    recorded = replace(DOUBLES, peaks={**DOUBLES.peaks, "fp64": DOUBLES.peaks["tf32"] / 16})
    edited = apply(recorded, "without_fp64", value, bound=bound)
    assert edited is not None
    assert edited.length.tolist() == expected


def test_frameworks_may_compute_in_fp32_on_cuda_cores() -> None:
    """If their peak equals that of FP64, as on H100s, products take as long as before."""
    recorded = replace(DOUBLES, peaks={**DOUBLES.peaks, "fp64": DOUBLES.peaks["fp32"]})
    edited, least = (apply(recorded, "without_fp64", "tf32", bound=bound) for bound in ("apply", "cautious"))
    assert edited is not None
    assert least is not None
    assert edited.length.tolist() == [100, 300, 200, 740]
    assert least.length.tolist() == [100, 300, 900, 740]


def test_memory_limits_products_with_vectors() -> None:
    calls = [Call(LAUNCH, 10 * i, 10 * i + 10) for i in range(2)]
    recorded = recording(calls, [
        Operation(1_000, 1_100, 0, class_="elementwise"),
        Operation(1_100, 2_000, 1, class_="matmul", precision="fp32", of_vectors=True),
    ])  # fmt: skip
    edited = apply(recorded, "precision", "bf16")
    assert edited is not None
    assert edited.length.tolist() == [100, 500], "half the bytes, and no sixteenth of the operations"


def test_products_in_fp64_stay_without_their_peak() -> None:
    edited = apply(DOUBLES, "without_fp64", "fp32")
    assert edited is not None
    assert edited.length.tolist() == [100, 300, 900, 740]
    assert CHANGES["without_fp64"].describe("tf32") == "Kernels in FP64 compute in TF32"


THREE = recording(
    [Call(LAUNCH, 0, 2_000), Call(LAUNCH, 2_000, 4_000), Call(LAUNCH, 4_000, 6_000), Call(WAIT, 6_000, 167_000)],
    [
        Operation(5_000, 105_000, 0, class_="matmul", precision="fp16"),
        Operation(105_000, 155_000, 1, class_="elementwise"),
        Operation(155_000, 165_000, 2),
    ],
)


def test_kernels_on_another_gpu() -> None:
    """5 µs of a kernel stay: the other GPU's FP16 peak is four times as high, its memory twice as fast.

    Of all precisions it leads most in FP32, with 67 TFLOP/s.
    """
    found = {}
    for bound in ("apply", "cautious", "hopeful"):
        edited = apply(THREE, "another_gpu", "h200", bound=bound)
        assert edited is not None
        found[bound] = edited.length.tolist()
    assert found["apply"] == [5_000 + 95_000 // 4, 5_000 + 45_000 // 2, 7_500]
    assert found["cautious"] == [5_000 + 95_000 // 2, 5_000 + 45_000 // 2, 7_500]
    assert found["hopeful"] == [
        5_000 + 95_000 // 4,
        *(5_000 + int(ns / (67e12 / PEAKS["fp32"])) for ns in (45_000, 5_000)),
    ]
    with pytest.raises(NotCapturedError, match="lacks the bandwidth"):
        apply(replace(THREE, bandwidth=0.0), "another_gpu", "H200")
    with pytest.raises(AnalysisError, match="another_gpu takes one of H100 PCIe, H100 NVL"):
        CHANGES["another_gpu"].parse("H900")


def test_kernels_at_their_roof() -> None:
    """A product runs at 80 % of its peak, with half of the traffic; 5 µs of a kernel stay."""
    built = graph.build(THREE)
    shares = np.array([0.8, np.nan, 0.1]), np.array([0.4, np.nan, 0.1])
    part = Part(np.ones(4, np.bool_), np.ones(3, np.bool_), {}, roofs=lambda: shares)
    change = CHANGES["kernels_at_roof"]
    assert (change.values(built, part), change.describe("all")) == (["all"], "All kernels run at their roof")
    found = {}
    for bound, apply_bound in (("apply", change.apply), ("cautious", change.cautious), ("hopeful", change.hopeful)):
        assert apply_bound is not None
        edited = apply_bound(built, part, "all")
        found[bound] = None if edited is None else edited.length.tolist()
    assert found == {
        "apply": [81_000, 50_000, 5_500],
        "cautious": [100_000, 50_000, 5_625],
        "hopeful": [43_000, 50_000, 5_500],
    }
    assert change.apply(built, part, "nothing") is None
    with pytest.raises(NotCapturedError, match="Nothing tells how far"):
        change.apply(built, part, "elementwise")


def test_gpus_to_move_to_have_peaks_and_bandwidths() -> None:
    gpus = read_gpus()
    assert gpus["H100 SXM"].bandwidth == pytest.approx(3.35e12)
    assert gpus["MI250X"].peaks["fp16"] == pytest.approx(191.5e12), "one of two dies, as a program sees"
    for name, gpu in gpus.items():
        assert gpu.bandwidth > 0, name
        assert gpu.peaks["bf16"] == gpu.peaks["fp16"] > 0, name
