"""Attention by its parts: work and rates by hand, and the sources of sizes."""

import json
import math
from typing import Any

import pytest

from app.ui.size_charts import fit
from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.library.library import Library
from tests.conftest import SAMPLES
from tests.support.page_reports import H100, Publish, picked, run
from tests.support.range_captures import Capture, Range, Work

CLASSES = {"one": "matmul", "two": "softmax", "three": "attention"}
GPU = H100 | {"name": "NVIDIA H200", "clock_hz": 1_980_000_000, "memory_bandwidth_bytes_per_s": 4_800_000_000_000}
MATMUL_FLOPS, SOFTMAX_FLOPS = 1_610_612_736, 62_914_560
"""Of batch 4, 12 heads, 512 tokens and head size 64."""
SIZE = {"batch": "4", "heads": "12", "tokens": "512", "head_size": "64"}
needs_samples = pytest.mark.skipif(not list(SAMPLES.glob("attention.*")), reason="no sample reports here")


def naive(at: int, name: str = "naive", scale: int = 1) -> tuple[list[Range], list[Work]]:
    """An attention: scores of 30 + 10, softmax of 20, output of 40 ns on the GPU, times ``scale``."""
    parts = (("computing_attention_scores", 0), ("computing_softmax", 100), ("final_matmul", 200))
    ranges: list[Range] = [(at, at + 300, name), *((at + b + 1, at + b + 90, part) for part, b in parts)]
    ends = ((2, 1000, 30, "one"), (20, 1100, 10, "two"), (110, 1200, 20, "two"), (210, 1300, 40, "one"))
    work = [(at + call, at + begin, at + begin + scale * length, kind) for call, begin, length, kind in ends]
    return ranges, work


def parts(library: Library, report: str, **params: Any) -> dict[str, dict[str, Any]]:
    return {row["part"]: row for row in run(library, report, "attention_parts", **params)}


def test_work_rates_and_ratios(library: Library, capture: Capture) -> None:
    report = capture(*naive(0), CLASSES, [GPU])
    rows = parts(library, report, **SIZE, precision="bf16")
    assert list(rows) == ["scores", "softmax", "output"]
    assert picked(list(rows.values()), "variant", "calls", "kernels", "cpu_ns", "kernel_ns", "matmul_ns", "flops") == [
        ("naive", 1, 2, 89, 40, 30, MATMUL_FLOPS),
        ("naive", 1, 1, 89, 20, None, SOFTMAX_FLOPS),
        ("naive", 1, 1, 89, 40, 40, MATMUL_FLOPS),
    ]
    softmax, scores = rows["softmax"], rows["scores"]
    assert softmax["time_to_matmuls"] == 20 / 80
    assert softmax["time_to_products"] == pytest.approx(20 / 70)
    assert softmax["flops_to_matmuls"] == SOFTMAX_FLOPS / (2 * MATMUL_FLOPS)
    assert (scores["time_to_matmuls"], scores["share_pct"]) == (None, 40)
    assert scores["flops_per_s"] == pytest.approx(MATMUL_FLOPS / 40e-9)
    elements = 4 * 12 * 512
    assert [row["bytes"] for row in rows.values()] == [
        2 * elements * (2 * 64 + 512), 2 * elements * 2 * 512, 2 * elements * (512 + 2 * 64)
    ]  # fmt: skip
    slow = parts(library, capture(*naive(0, scale=1000), CLASSES, [GPU]), **SIZE, precision="bf16")["scores"]
    assert slow["pct_of_peak"] == pytest.approx(100 * MATMUL_FLOPS / 40e-6 / 989.5e12)
    assert slow["pct_of_bandwidth"] == pytest.approx(100 * scores["bytes"] / 40e-6 / 4.8e12)


def test_causal_halves_what_is_useful(library: Library, capture: Capture) -> None:
    report = capture(*naive(0), CLASSES)
    rows = parts(library, report, **SIZE, causal="true")
    assert [row["useful_flops"] for row in rows.values()] == [row["flops"] / 2 for row in rows.values()]
    assert rows["scores"]["peak_flops_per_s"] is None, "nobody says the precision"
    library.put_sidecar(report, "meta", '{"model.causal": "True"}')
    assert parts(library, report)["scores"]["causal"]
    assert not parts(library, report, causal="false")["scores"]["causal"]


@pytest.mark.slow("more captures of an attention")
def test_causal_rates_count_the_useful_half(library: Library, capture: Capture) -> None:
    report = capture(*naive(0, scale=1000), CLASSES, [GPU])
    scores = parts(library, report, **SIZE, precision="bf16", causal="true")["scores"]
    assert scores["flops_per_s"] == pytest.approx(MATMUL_FLOPS / 2 / 40e-6)
    assert scores["pct_of_peak"] == pytest.approx(100 * MATMUL_FLOPS / 2 / 40e-6 / 989.5e12)


def test_a_softmax_is_held_against_the_cuda_cores(library: Library, capture: Capture) -> None:
    ranges, work = naive(0, scale=2000)
    report = capture(ranges, work, CLASSES, [GPU])
    rows = parts(library, report, **SIZE, precision="bf16")
    peak = 132 * 128 * 2 * 1.98e9  # SMs, FMAs a cycle of each, FLOPs of one, highest clock
    assert (rows["softmax"]["peak_precision"], rows["softmax"]["peak_flops_per_s"]) == ("fp32", pytest.approx(peak))
    assert rows["softmax"]["pct_of_peak"] == pytest.approx(100 * SOFTMAX_FLOPS / 40e-6 / peak)
    assert rows["scores"]["peak_precision"] == "bf16"
    assert parts(library, report, **SIZE, precision="fp64")["softmax"]["peak_precision"] == "fp64"


def test_a_share_above_the_peak_is_told_as_a_contradiction(library: Library, capture: Capture) -> None:
    report = capture(*naive(0), CLASSES, [GPU])  # 1.6 GFLOP in 40 ns
    scores = parts(library, report, **SIZE, precision="bf16")["scores"]
    rate, traffic = MATMUL_FLOPS / 40e-9, scores["bytes"] / 40e-9
    assert (scores["pct_of_peak"], scores["pct_of_bandwidth"]) == (None, None)
    assert scores["flops_per_s"] == pytest.approx(rate)
    for told in (
        f"{100 * rate / 989.5e12:,.0f} % of the peak", "989.5 TFLOP/s (BF16, data sheet)", "512 tokens, head size 64",
        f"{100 * traffic / 4.8e12:,.0f} % of the peak", "the caches served these bytes",
    ):  # fmt: skip
        assert told in scores["contradiction"]
    slow = capture(*naive(0, scale=20_000), CLASSES, [GPU])
    assert parts(library, slow, **SIZE, precision="bf16")["scores"]["contradiction"] is None


@pytest.mark.slow("more captures of an attention")
def test_no_size_of_a_sequence_is_a_figure_per_step(library: Library, capture: Capture) -> None:
    report = capture(*naive(0), CLASSES)
    for group in ("items_per_step", "throughput.per_second", "work_per_iteration", "itemsPerBatch"):
        library.put_sidecar(
            report, "meta", json.dumps({f"{group}.{name}": "7" for name in ("tokens", "batch", "heads")})
        )
        scores = parts(library, report)["scores"]
        assert (scores["tokens"], scores["batch"], scores["heads"]) == (None, None, None), group
    facts = {"items_per_step.tokens": "32768", "hyper_params.seq_len": "512", "options.batch": "64"}
    library.put_sidecar(report, "meta", json.dumps(facts))
    assert picked([parts(library, report)["scores"]], "tokens", "batch") == [(512, 64)]
    library.put_sidecar(report, "meta", json.dumps(facts | {"shapes.tokens.0": "16", "shapes.tokens.1": "513"}))
    assert parts(library, report)["scores"]["batch"] == 16, "this process has 16 of the 64 sequences"


def test_sizes_are_given_or_in_payloads_names_and_beside_the_report(library: Library, capture: Capture) -> None:
    ranges, work = naive(10)
    around: Range = (0, 2000, "tokens_512")
    said = """'{"batch_size": 4, "heads": 12}'"""
    after = f"UPDATE range SET payload_json = {said} WHERE range_id = (SELECT min(range_id) FROM range)"
    report = capture([around, *ranges], work, CLASSES, after=after)
    scores = parts(library, report)["scores"]
    assert picked([scores], "batch", "heads", "tokens", "head_size", "flops") == [(4, 12, 512, None, None)]
    library.put_sidecar(report, "meta", '{"batch": "99", "model.head_dim": "64", "tokens": "7"}')
    assert parts(library, report)["scores"]["flops"] == MATMUL_FLOPS
    assert parts(library, report, batch="8", tokens="9")["scores"]["flops"] == 2 * MATMUL_FLOPS
    assert parts(library, report, batch="many")["scores"]["batch"] == 4, "what is no number does not count"


def test_a_payload_tells_the_length_of_each_call(library: Library, capture: Capture) -> None:
    ranges, work = [*naive(0)[0], *naive(5000)[0]], [*naive(0)[1], *naive(5000)[1]]
    after = "UPDATE range SET payload_json = '{\"seq_len\": ' || (64 + start_ns) || '}' WHERE level = 0"
    report = capture(ranges, work, CLASSES, after=after)
    rows = run(library, report, "attention_parts")
    assert picked(rows, "tokens", "part", "calls") == [
        (tokens, part, 1) for tokens in (64, 5064) for part in ("scores", "softmax", "output")
    ]
    broken = capture(*naive(0), CLASSES, after="UPDATE range SET payload_json = 'no {json', payload_int64 = 7")
    assert parts(library, broken)["scores"]["tokens"] is None


def test_fused_attention_is_not_split(library: Library, capture: Capture) -> None:
    work: list[Work] = [(20, 100, 160, "three"), (40, 160, 170, "one"), (700, 800, 850, "three")]
    report = capture([(0, 300, "length=512"), (10, 200, "sdpa")], work, CLASSES)
    rows = run(library, report, "attention_parts", batch=4, heads=12, head_size=64)
    assert picked(rows, "variant", "tokens", "part", "calls", "kernel_ns", "flops") == [
        ("sdpa", 512, "fused", 1, 60, 2 * MATMUL_FLOPS + SOFTMAX_FLOPS), (None, None, "fused", 1, 50, None)
    ]  # fmt: skip
    backward = "UPDATE kernel_name SET demangled = 'flash_bwd_kernel(int)' WHERE short = 'three'"
    report = capture([(0, 300, "sdpa")], work[:1], CLASSES, after=backward)
    (row,) = run(library, report, "attention_parts", **SIZE)
    assert (row["part"], row["flops"]) == ("fused backward", None)


def test_other_names_are_chosen(library: Library, capture: Capture) -> None:
    report = capture([(0, 100, "lib:Q (x) K"), (110, 200, "mine.soft")], [(10, 300, 350, "one")], CLASSES)
    assert run(library, report, "attention_parts") == []
    chosen = {"scores": r"Q\ \(x\)\ K", "softmax": r"mine\.soft"}
    rows = run(library, report, "attention_parts", **chosen)
    assert picked(rows, "part", "kernel_ns", "variant") == [("scores", 50, None), ("softmax", None, None)]
    with pytest.raises(AnalysisError):
        run(library, report, "attention_parts", scores="(")


def test_without_kernels_there_are_times_on_the_host(library: Library, capture: Capture) -> None:
    report = capture(naive(0)[0])
    rows = run(library, report, "attention_parts", **SIZE, precision="bf16")
    assert picked(rows, "part", "cpu_ns", "kernel_ns", "kernels", "flops_per_s", "time_to_matmuls")[:2] == [
        ("scores", 89, None, None, None, None), ("softmax", 89, None, None, None, None)
    ]  # fmt: skip


def test_without_anything_it_says_what_to_capture(library: Library, publish: Publish) -> None:
    with pytest.raises(NotCapturedError):
        run(library, publish(lambda _: None), "attention_parts")


@pytest.mark.slow("more captures of an attention")
def test_the_exponent_needs_three_lengths(library: Library, capture: Capture) -> None:
    ranges: list[Range] = []
    work: list[Work] = []
    for number, tokens in enumerate((64, 128, 256)):
        at = 10_000 * number
        more, ran = naive(at + 10, scale=4**number)
        ranges += [(at, at + 1000, f"tokens_{tokens}"), *more]
        work += ran
    rows = run(library, capture(ranges, work, CLASSES), "attention_family")
    assert {row["part"]: (row["lengths"], row["exponent"], row["r2"]) for row in rows} == {
        part: (3, pytest.approx(2), pytest.approx(1)) for part in ("scores", "softmax", "output")
    }
    two = run(library, capture(ranges[:10], work[:8], CLASSES), "attention_family")
    assert picked(two, "lengths", "exponent") == [(2, None)] * 6


def test_the_fit_of_the_page() -> None:
    assert fit([1, 10, 100], [5, 50, 500]) == pytest.approx(1)
    assert fit([512, 512, 1024], [1, 2, 3]) is None
    assert fit([2, 4, 8, 16], [1, 0, 4, 8]) == pytest.approx(1), "what took no time says nothing"


@needs_samples
def test_the_family_of_the_sample(nsys_samples: Library) -> None:
    report = nsys_samples.find("attention.nsys-rep").id
    rows = run(nsys_samples, report, "attention_family", mode="process")
    assert len(rows) == 4 * 7
    for row in rows:
        line = [one for one in rows if (one["variant"], one["part"]) == (row["variant"], row["part"])]
        found = fit([one["tokens"] for one in line], [one["call_ns"] for one in line])
        assert found is not None
        assert math.isclose(found, row["exponent"], rel_tol=1e-9)
        assert 1.5 < found < 2.5
