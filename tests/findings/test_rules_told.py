"""Sentences and advice of rules besides their figures: small captures with times added up here."""

import pytest

from profiledb.findings import sentences
from profiledb.library.library import Library
from tests.support import memory_reports as made
from tests.support.gaps import by_hand, ranges
from tests.support.judged_rules import judged
from tests.support.page_reports import Publish
from tests.support.range_captures import Capture

GEMM = "void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x32_16x4_tn_align1>(T1::Params)"
DIRECT = "void implicit_convolve_dgemm<double, double>(int)"
MORE = pytest.mark.slow("judges more captures by hand")
TRAINED = ("PyTorch", "eager", "training")


@MORE
def test_data_that_moves_is_a_share_of_what_is_no_communication(library: Library, capture: Capture) -> None:
    """20 of 60 µs of kernels move data, beside 38 µs of a collective: the sentence names the base of its share."""
    work = [(100, 200, 20_200, "one"), (120, 20_200, 60_200, "two"), (140, 60_200, 98_200, "three")]
    alone = judged(library, capture((), work[:2], {"one": "copy"}), "data_movement")
    beside = judged(library, capture((), work, {"one": "copy", "three": "communication"}), "data_movement")
    assert alone.value == beside.value == pytest.approx(100 / 3)
    assert "take 33.3 % of the kernel time: 20.0 µs in 1 launch" in sentences.strip_sentence(alone)
    assert (
        "take 33.3 % of the 60.0 µs of kernel time without communication: 20.0 µs in 1 launch"
        in sentences.strip_sentence(beside)
    )
    still = judged(library, capture((), work, {"three": "communication"}), "data_movement")
    assert (still.value, still.facts["other_ns"]) == (0, 60_000), "nothing moves"


@pytest.mark.parametrize(
    ("around", "after", "cause", "has", "lacks"),
    [
        ("optimizer_step", "", "optimizer", "fused=True", "F.layer_norm"),
        pytest.param("forward", "", None, "F.layer_norm", "fused=True", marks=MORE),
        pytest.param(
            "forward",
            "UPDATE kernel_name SET class = 'copy', short = 'vectorized_elementwise_kernel' WHERE short = 'one'",
            "casts", "one precision", "fused=True", marks=MORE,
        ),
    ],
)  # fmt: skip
def test_a_chain_is_advised_by_its_place_and_its_kernels(
    library: Library, capture: Capture, around: str, after: str, cause: str | None, has: str, lacks: str
) -> None:
    """A fused optimizer reduces only the kernels of the optimizer."""
    work = [(500 + 10 * n, 4000 * n + 1000, 4000 * n + 4000, ("one", "two")[n % 2]) for n in range(2)]
    kinds = {"one": "elementwise", "two": "elementwise"}
    found = judged(library, capture([(100, 9_000, around)], work, kinds, after=after), "elementwise_chains")
    assert (found.verdict, found.cause) == ("fires", cause)
    told = " ".join(found.rule.advised(found.cause, TRAINED))
    assert has in told
    assert lacks not in told


@pytest.mark.parametrize(
    ("names", "kinds", "said"),
    [
        pytest.param((GEMM, GEMM), ("matmul", "matmul"), "100.0 % of it in matrix products, mostly", marks=MORE),
        pytest.param(
            (DIRECT, DIRECT), ("convolution", "convolution"), "100.0 % of it in convolutions, mostly", marks=MORE
        ),
        ((GEMM, DIRECT), ("matmul", "convolution"), "100.0 % of it in matrix products and convolutions, mostly"),
    ],
)
def test_double_precision_names_what_it_multiplies(
    library: Library, capture: Capture, names: tuple[str, str], kinds: tuple[str, str], said: str
) -> None:
    work = [(100, 200, 20_200, "one"), (120, 20_200, 60_200, "two")]
    after = ";".join(
        f"UPDATE kernel_name SET demangled = '{name}' WHERE short = '{short}'"
        for name, short in zip(names, ("one", "two"), strict=True)
    )
    report = capture((), work, dict(zip(("one", "two"), kinds, strict=True)), after=after)
    found = judged(library, report, "double_precision")
    assert said in sentences.strip_sentence(found)


def test_the_filter_of_ncu_is_the_name_of_the_kernel(library: Library, capture: Capture) -> None:
    work = [(100, 200, 20_200, "one")]
    (advice, *_) = sentences.fill_advice(judged(library, capture((), work), "hot_kernel"))
    assert "`ncu --set full -k one --launch-count 3 " in advice
    mangled = "UPDATE kernel_name SET short = 'gemm<float>'"
    (advice, *_) = sentences.fill_advice(judged(library, capture((), work, after=mangled), "hot_kernel"))
    assert "-k regex:gemm --launch-count 3 " in advice


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("jit_train_step", "in XLA"),
        pytest.param("PjitFunction(f)", "in XLA", marks=MORE),
        pytest.param("jitter", "host code", marks=MORE),
    ],
)
def test_code_in_a_compiled_function_does_not_read_results(
    library: Library, capture: Capture, name: str, cause: str
) -> None:
    """The GPU is idle from 1.2 to 50 µs, while the CPU is in the range around both launches."""
    work = [(100, 200, 1_200, "one"), (50_000, 50_100, 51_100, "one")]
    found = judged(library, capture([(50, 60_000, name)], work), "gpu_idle")
    assert (found.verdict, found.cause) == ("fires", cause)
    (advice, *_) = found.rule.advised(found.cause, ("JAX", "XLA"))
    assert advice.startswith("Do more in each call" if cause == "in XLA" else "Dispatch the next step")
    work = [(100, 200, 1_200, "one"), (500_000, 500_100, 501_100, "one")]
    long = judged(library, capture([(50, 600_000, name)], work), "host_work")
    assert (long.verdict, long.cause == "in XLA") == ("fires", cause == "in XLA")


@MORE
def test_miopen_converts_layouts_too(library: Library, capture: Capture) -> None:
    """MIOpen transposes around convolutions in NHWC if the tensors are in NCHW: 10 of 60 µs."""
    work = [(100, 200, 10_200, "one"), (120, 10_200, 60_200, "two")]
    after = "UPDATE kernel_name SET demangled = 'batched_transpose_16x32_half' WHERE short = 'one'"
    kinds = {"one": "copy", "two": "convolution"}
    found = judged(library, capture((), work, kinds, after=after), "layout_conversions")
    assert (found.verdict, found.saving_ns) == ("fires", 10_000)
    assert judged(library, capture((), work, kinds), "layout_conversions").value == 0


@pytest.mark.parametrize(
    ("function", "saving_ns"),
    [
        ("read", 20_000),
        pytest.param("clock_nanosleep", 4_000, marks=MORE),
        pytest.param("pthread_cond_wait", 20_000, marks=MORE),
    ],
)
def test_the_os_call_that_loading_waits_in(library: Library, publish: Publish, function: str, saving_ns: int) -> None:
    """By hand: 20 µs of loading, 16 of them in a call into the operating system. A thread that sleeps loads nothing."""
    kernels = [(0, 10, 20, 40_020), (80_000, 80_005, 80_010, 110_020)]
    noted = ranges((50_000, 70_000, "fetch"))
    report = by_hand(
        publish,
        kernels,
        osrt_call=[made.osrt(1, 70, 52_000, 68_000)],
        string=[{"string_id": 70, "value": function}],
        **noted,
    )
    found = judged(library, report, "data_loading")
    assert (found.verdict, found.saving_ns) == ("fires" if saving_ns > 5_500 else "clear", saving_ns)
    if found.verdict == "fires":
        assert sentences.strip_sentence(found).endswith(f"meanwhile the CPU is in {function} in fetch.")


@pytest.mark.parametrize(("function", "cause"), [("clock_nanosleep", "sleep"), pytest.param("read", None, marks=MORE)])
def test_a_range_that_sleeps_is_told_to_wait_for_an_event(
    library: Library, publish: Publish, function: str, cause: str | None
) -> None:
    """By hand: 400 µs in a range, 380 of them in the call, while the GPU is idle."""
    kernels = [(0, 10, 20, 40_020), (500_000, 500_005, 500_010, 550_020)]
    noted = ranges((50_000, 450_000, "gather"))
    slept = [made.osrt(1, 70, 60_000, 440_000)]
    report = by_hand(publish, kernels, osrt_call=slept, string=[{"string_id": 70, "value": function}], **noted)
    found = judged(library, report, "host_work")
    assert (found.verdict, found.cause, found.facts["function"]) == ("fires", cause, function)
    assert sentences.fill_advice(found)[0].startswith("Wait for an event") == (cause == "sleep")
