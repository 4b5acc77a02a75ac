"""The workloads `kernels` and `attention` on the CPU: their results, their checks, and the ranges they emit."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import pytest

from tests.support.recorder import Recorder

torch = pytest.importorskip("torch")

from workloads.__main__ import main  # noqa: E402
from workloads.attention import VARIANTS, compute_relative_error  # noqa: E402
from workloads.cuda_source import SOURCE, compile_source  # noqa: E402
from workloads.errors import WorkloadError  # noqa: E402
from workloads.kernel_cases import CASES, SMALL  # noqa: E402
from workloads.kernels import report  # noqa: E402
from workloads.ranges import send_to  # noqa: E402

CPU = torch.device("cpu")
torch.set_num_threads(1)  # threads that spin for one another cost more than they give where cores are shared
PARTS = ("computing_attention_scores", "computing_softmax", "final_matmul")


def ranges_of(arguments: list[str]) -> list[tuple[str, ...]]:
    recorder = Recorder()
    with send_to(recorder):
        assert main(["run", *arguments, "--device", "cpu"]) == 0
    assert recorder.open == []
    return recorder.paths


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_computes_what_its_reference_does(name: str) -> None:
    torch.manual_seed(0)
    case = CASES[name](SMALL, CPU)
    assert case.compute_error(case.compute()) <= case.tolerance


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_result_ends_the_run(name: str) -> None:
    torch.manual_seed(0)
    case = CASES[name](SMALL, CPU)
    result = case.compute()
    for wrong in (result.roll(1, dims=0), torch.zeros_like(result), torch.full_like(result, torch.nan)):
        with pytest.raises(WorkloadError, match=f"^{name} computed something wrong: relative error "):
            report(name, case, wrong, 1.0)


@pytest.mark.parametrize("name", ["compute_heavy", "divergent"])
def test_rounding_stays_within_tolerance_over_as_many_steps_as_on_a_gpu(name: str) -> None:
    torch.manual_seed(0)
    case = CASES[name](replace(SMALL, iterations=4096), CPU)
    assert case.compute_error(case.compute()) <= case.tolerance


def test_each_kernel_has_one_range_of_its_own_name() -> None:
    assert ranges_of(["kernels"]) == [(name,) for name in CASES]


def test_only_chooses_kernels_and_their_order() -> None:
    assert ranges_of(["kernels", "--only", "gemm_fp64,vector_add"]) == [("gemm_fp64",), ("vector_add",)]


def test_every_kernel_but_the_matrix_products_is_in_the_cuda_source() -> None:
    defined = re.findall(r'extern "C" __global__ void (?:__launch_bounds__\(\d+\) )?(\w+)\(', SOURCE.read_text())
    assert sorted(defined) == sorted(name for name in CASES if not name.startswith("gemm_"))


@pytest.mark.parametrize("name", ["kernels", "attention"])
def test_without_a_gpu_one_sentence_says_what_to_do(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert main(["run", name, "--device", "cuda"]) == 1
    assert capsys.readouterr().err == "PyTorch sees no CUDA device here: run with --device cpu.\n"


def test_without_cupy_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    compile_source.cache_clear()
    with pytest.raises(WorkloadError, match="need cupy, which is not installed: pip install cupy-cuda13x"):
        compile_source()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", VARIANTS)
def test_the_variants_of_attention_agree_in_float64(name: str, causal: bool) -> None:
    torch.manual_seed(0)
    inputs = torch.randn(3, 2, 3, 17, 8, dtype=torch.float64)
    result = VARIANTS[name](inputs[0], inputs[1], inputs[2], causal)
    assert compute_relative_error(result, inputs, causal) < 1e-14
    torch.testing.assert_close(
        result, VARIANTS["naive"](inputs[0], inputs[1], inputs[2], causal), rtol=1e-12, atol=1e-12
    )
    assert compute_relative_error(result, inputs, not causal) > 0.1


def test_attention_ranges_nest_in_their_variant_and_length() -> None:
    shape = ["--batch", "1", "--heads", "2", "--head-size", "8"]
    paths = ranges_of(["attention", "--tokens", "16,8", *shape])
    measured = [path for path in paths if path[0].startswith("tokens_")]
    expected: list[tuple[str, ...]] = []
    for length in ("tokens_16", "tokens_8"):
        expected.append((length,))
        for variant in ("naive", "softmax_by_hand"):
            expected += [(length, variant), *((length, variant, part) for part in PARTS)]
        expected.append((length, "fused"))
    assert measured == expected


@pytest.mark.parametrize("precision", ["bf16", "fp32", "fp64"])
def test_attention_prints_a_line_a_variant_and_length(precision: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "attention", "--device", "cpu", "--tokens", "32,16", "--precision", precision]) == 0
    what, *lines = capsys.readouterr().out.splitlines()
    assert what == f"attention, {precision}, CPU: 4 sequences, 12 heads of 64"
    assert [line.split(":")[0] for line in lines] == [
        f"{tokens} tokens, {variant}" for tokens in (32, 16) for variant in VARIANTS
    ]
