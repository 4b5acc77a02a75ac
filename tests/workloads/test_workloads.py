"""The transformer workload on the CPU: its results, its training, its ranges; and refusals of wrong options."""

from __future__ import annotations

import math
import sys
from collections import Counter

import pytest

from tests.support.recorder import Recorder

torch = pytest.importorskip("torch")

from workloads.__main__ import main  # noqa: E402
from workloads.language_model import (  # noqa: E402
    LanguageModel,
    ModelSize,
    make_causal_mask,
    scaled_dot_product_attention,
)
from workloads.ranges import OVERHEAD, TRANSFER, send_to  # noqa: E402
from workloads.steps import Plan, count_flops, run_plan  # noqa: E402
from workloads.transformer import SIZES, Inference, Size, Training, make_batches  # noqa: E402

CPU = torch.device("cpu")
torch.set_num_threads(1)  # threads that spin for one another cost more than they give where cores are shared
TINY = Size(ModelSize(layers=2, d_model=32, heads=4, vocabulary=16, context=12), batch=4)

ATTENTION = "scaled_dot_product_attention"
ATTENTION_PARTS = ("computing_attention_scores", "computing_softmax", "final_matmul")


def tiny_model(seed: int = 0) -> LanguageModel:
    torch.manual_seed(seed)
    return LanguageModel(TINY.model)


def record(worker: Inference | Training, plan: Plan) -> Recorder:
    recorder = Recorder()
    with send_to(recorder):
        run_plan(worker.step, plan, CPU)
    assert recorder.open == []
    return recorder


def test_causal_mask_shows_each_token_itself_and_what_came_before() -> None:
    assert make_causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


@pytest.mark.parametrize("tokens", [1, 7, 32])
def test_naive_attention_is_torchs_attention(tokens: int) -> None:
    torch.manual_seed(tokens)
    query, key, value = torch.randn(3, 2, 4, tokens, 8, dtype=torch.float64, requires_grad=True)
    ours = scaled_dot_product_attention(query, key, value, make_causal_mask(tokens))
    theirs = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


def test_fused_attention_predicts_what_naive_attention_predicts() -> None:
    """The same seed gives the same weights; the parts of attention have no ranges, because they are one kernel."""
    naive = tiny_model().eval()
    torch.manual_seed(0)
    fused = LanguageModel(TINY.model, fused=True).eval()
    tokens = torch.randint(TINY.model.vocabulary, (2, TINY.model.context))
    recorder = Recorder()
    with torch.inference_mode():
        expected = naive(tokens)
        with send_to(recorder):
            torch.testing.assert_close(fused(tokens), expected)
    names = {path[-1] for path in recorder.paths}
    assert ATTENTION in names
    assert names.isdisjoint(ATTENTION_PARTS)


def test_a_token_changes_no_prediction_before_it() -> None:
    model = tiny_model().eval()
    tokens = torch.randint(TINY.model.vocabulary, (1, TINY.model.context))
    changed = tokens.clone()
    changed[0, 5] = (changed[0, 5] + 1) % TINY.model.vocabulary
    with torch.inference_mode():
        before, after = model(tokens)[0], model(changed)[0]
    torch.testing.assert_close(before[:5], after[:5])
    assert not torch.allclose(before[5], after[5])


@pytest.mark.slow("trains a model on the CPU")
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_training_learns_the_successor_of_each_token(precision: str) -> None:
    worker = Training(tiny_model(), make_batches(TINY, CPU, pinned=False), CPU, precision)
    losses = [worker.step() for _ in range(150)]
    assert losses[0] == pytest.approx(math.log(TINY.model.vocabulary), rel=0.2)  # knows nothing yet
    assert losses[-1] < 0.25 * losses[0]


@pytest.mark.integration
def test_a_trained_model_predicts_the_next_token() -> None:
    worker = Training(tiny_model(), make_batches(TINY, CPU, pinned=False), CPU, "fp32")
    for _ in range(200):
        worker.step()
    expected = next(make_batches(TINY, CPU, pinned=False))[:, -1].tolist()
    assert Inference(worker.model, make_batches(TINY, CPU, pinned=False), CPU, "fp32").step() == expected


def test_batches_repeat_exactly_for_a_seed() -> None:
    first, again = (make_batches(TINY, CPU, pinned=False, seed=3) for _ in range(2))
    assert all(torch.equal(next(first), next(again)) for _ in range(5))
    assert next(first).shape == (TINY.batch, TINY.model.context + 1)


def test_ranges_of_a_training_step() -> None:
    paths = record(Training(tiny_model(), make_batches(TINY, CPU, pinned=False), CPU, "fp32"), Plan(0, 0, 1)).paths
    phases = [path[1] for path in paths if len(path) == 2 and path[0] == "step_0"]
    assert phases == ["load_batch", "zero_grad", "forward", "backward", "optimizer_step", "read_loss"]


def test_attention_ranges_nest_in_their_layer() -> None:
    paths = record(Inference(tiny_model(), make_batches(TINY, CPU, pinned=False), CPU, "fp32"), Plan(0, 0, 1)).paths
    layer = ("step_0", "forward", "layer_1")
    inside = [path[3:] for path in paths if path[:3] == layer and len(path) > 3]
    attention = ("attention", ATTENTION)
    parts = [(*attention, part) for part in ATTENTION_PARTS]
    assert inside == [("attention",), attention, *parts, ("feed_forward",)]


def test_warm_up_is_apart_from_the_measured_steps() -> None:
    worker = Training(tiny_model(), make_batches(TINY, CPU, pinned=False), CPU, "fp32")
    paths = record(worker, Plan(prime=1, warmup=3, steps=2)).paths
    assert Counter(path for path in paths if path[-1] == "backward") == {
        ("backward",): 1,  # primed: before the capture window, in no range
        ("warmup", "backward"): 3,
        ("step_0", "backward"): 1,
        ("step_1", "backward"): 1,
    }


def test_copies_and_warm_up_have_colors_of_their_own() -> None:
    worker = Training(tiny_model(), make_batches(TINY, CPU, pinned=False), CPU, "fp32")
    colors = record(worker, Plan(prime=0, warmup=1, steps=1)).colors
    assert {name for name, color in colors.items() if color == TRANSFER} == {"load_batch", "read_loss"}
    assert {name for name, color in colors.items() if color == OVERHEAD} == {"warmup"}


def test_a_range_ends_when_its_body_raises() -> None:
    recorder = Recorder()
    with send_to(recorder), pytest.raises(RuntimeError):
        scaled_dot_product_attention(torch.ones(1, 1, 2, 3), torch.ones(1, 1, 2, 4), torch.ones(1), make_causal_mask(2))
    assert recorder.paths == [(ATTENTION,), (ATTENTION, ATTENTION_PARTS[0])]
    assert recorder.open == []


def test_list_names_the_workloads(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    names = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()]
    assert names == [
        *("attention", "dataloader", "ddp", "energy", "idle"),
        *("kernels", "launches", "queue", "streams", "tasks", "transformer"),
    ]


@pytest.mark.parametrize("mode", ["inference", "training"])
def test_run_prints_size_and_time(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "transformer", "--device", "cpu", "--mode", mode, "--layers", "1", "--steps", "2"]) == 0
    what, timing = capsys.readouterr().out.splitlines()
    assert what.startswith(f"transformer {mode}, fp32, CPU: ")
    assert timing.startswith("2 steps, median ")


def test_without_torch_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in ("workloads.transformer", "workloads.language_model", "workloads.torch_device", "workloads.steps"):
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["run", "transformer"]) == 1
    expected = "The workload transformer needs torch, which is not installed: pip install '.[workloads]'\n"
    assert capsys.readouterr().err == expected


def test_without_a_gpu_one_sentence_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["run", "transformer", "--device", "cuda"]) == 1
    assert capsys.readouterr().err == "PyTorch sees no CUDA device here: run with --device cpu.\n"


def test_a_cuda_graph_needs_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "transformer", "--device", "cpu", "--cuda-graph"]) == 1
    assert capsys.readouterr().err == "CUDA graphs need a GPU: run without --cuda-graph.\n"


def test_the_model_compiles_as_one_graph_and_computes_the_same() -> None:
    model = tiny_model().eval()
    tokens = torch.randint(TINY.model.vocabulary, (2, TINY.model.context))
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(tokens), model(tokens))


def test_a_forward_pass_counts_its_matrix_products() -> None:
    size = TINY.model
    tokens = TINY.batch * size.context
    weights = size.layers * 12 * size.d_model**2 + size.d_model * size.vocabulary
    attention = size.layers * 2 * size.context * size.d_model
    expected = 2 * tokens * (weights + attention)
    shape = (TINY.batch, size.context)
    assert count_flops(lambda: LanguageModel(size), shape, training=False, integers=2) == expected
    assert count_flops(lambda: LanguageModel(size), shape, training=True, integers=2) == 3 * expected


def test_sizes_grow() -> None:
    parameters = []
    for size in SIZES.values():
        with torch.device("meta"):
            parameters.append(LanguageModel(size.model).count_parameters())
    assert list(SIZES) == ["small", "medium", "large"]
    assert parameters == sorted(parameters)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["kernels", "--only", "vector_ad"], "There is no kernel called 'vector_ad': choose from vector_add, "),
        (["kernels", "--floats", "10000"], "--floats must be a power of two from 8192 on, and 10000 is not."),
        (["kernels", "--iterations", "0"], "--iterations must be a multiple of 16, and 0 is not."),
        (["kernels", "--matrix", "0"], "--matrix must be at least 1, and 0 is not."),
        (["attention", "--only", "naiv"], "There is no variant called 'naiv': choose from naive, "),
        (["attention", "--tokens", "12,-1"], "--tokens must be lengths with commas between them, as in 512,1024, and "),
        (["attention", "--heads", "0"], "--batch, --heads and --head-size must be at least 1."),
        (["tasks", "--sizes", "16,x"], "--sizes must be numbers with commas between them, as in 256,1024, and "),
        (["energy", "--batches", "1,1000"], "--batches must be numbers from 1 to 64 (--samples) with commas between, "),
        (["streams", "--chunks", "0"], "--chunks and --streams must be at least 1."),
        (["launches", "--kernels", "0"], "--kernels and --elements must be at least 1."),
        (["idle", "--steps", "-1"], "--prime, --warmup and --steps cannot be negative."),
        (["ddp", "--ranks", "3"], "A batch of 8 cannot be divided among 3 ranks: choose another --batch."),
    ],
)
def test_one_sentence_says_what_is_wrong(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *arguments, "--device", "cpu"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(sentence)
    assert error.count("\n") == 1
