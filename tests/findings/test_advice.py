"""Advice by traits: conditions of lines, and no advice about features that the program uses already."""

import itertools

import pytest

from profiledb.errors import AnalysisError
from profiledb.findings import advice, program, rulebook, sentences
from profiledb.findings import rule as rules
from profiledb.findings.finding import Finding
from profiledb.findings.program import Trait
from profiledb.words import code
from tests.findings.test_rulebook import HEADER, QUERY
from tests.support.advice_checks import wrong

LINES = (
    "Always.",
    "[JAX or XLA] Scan.",
    "[else, PyTorch, not torch.compile] Compile.",
    "[else, PyTorch] Look for breaks.",
    "[else] Capture.",
    "[loading, not pinned memory] Pin.",
)
_TORCH = ("PyTorch", "eager")
_TRAINED = (*_TORCH, "training")
PROGRAMS: tuple[tuple[str, ...], ...] = (
    (), _TORCH, _TRAINED, ("PyTorch", "inference"), (*_TRAINED, "foreach optimizer", "16-bit products"),
    (*_TRAINED, "loader workers", "pinned memory", "TF32 products", "channels last"),
    ("PyTorch", "torch.compile", "training"), ("PyTorch", "torch.compile", "CUDA graphs", "training", "DDP"),
    ("PyTorch", "CUDA graphs", "inference", "decode"), ("PyTorch", "Hugging Face", "eager", "inference", "decode"),
    (*_TRAINED, "Hugging Face", "Trainer"), (*_TRAINED, "Hugging Face", "Trainer", "DDP", "checkpointing"),
    ("PyTorch", "torch.compile", "Hugging Face", "Trainer", "training", "16-bit products", "fused optimizer"),
    (*_TRAINED, "Lightning"), (*_TRAINED, "Lightning", "DDP", "loader workers"), (*_TRAINED, "DeepSpeed"),
    (*_TRAINED, "DDP"), (*_TRAINED, "DDP", "own all-reduce"), (*_TRAINED, "FSDP"),
    ("PyTorch", "torch.compile", "training", "FSDP", "16-bit products", "fused attention", "checkpointing"),
    (*_TRAINED, "tensor parallel"), (*_TRAINED, "pipeline parallel"), (*_TRAINED, "expandable segments"),
    (*_TRAINED, "TorchRec pipeline"),
    ("PyTorch", "vLLM", "inference", "decode", "tensor parallel", "fused attention"),
    ("PyTorch", "vLLM", "torch.compile", "CUDA graphs", "inference", "decode", "16-bit products"),
    ("PyTorch", "SGLang", "eager", "inference", "prefill", "fused attention"),
    ("JAX", "XLA", "training"), ("JAX", "XLA", "CUDA graphs", "inference"), ("TensorFlow", "training"),
    ("CuPy",), ("CuPy", "pinned memory", "CUDA graphs"), ("Numba",), ("Numba", "pinned memory"),
    ("TensorRT", "inference"),
    ("CUDA C++",), ("CUDA C++", "pinned memory", "CUDA graphs"), ("CUDA C++", "MPI"), ("Fortran", "OpenACC", "MPI"),
    ("OpenMP offload", "OpenMP"), ("Fortran", "OpenMP offload", "pinned memory"), ("CUDA C++", "HIP"),
    ("PyTorch", "HIP", *_TRAINED[1:], "DDP"), ("PyTorch", "HIP", "SGLang", "inference", "decode", "CUDA graphs"),
    ("PyTorch", "SYCL", *_TRAINED[1:], "DDP"), ("SYCL",),
)  # fmt: skip
"""Programs that there are, by their traits."""
NSIGHT = frozenset({"capture", "profile", "profiler_overhead"})


@pytest.mark.parametrize(
    ("cause", "traits", "told"),
    [
        (None, (), ("Always.", "Capture.")),
        (None, ("JAX",), ("Always.", "Scan.")),
        (None, ("XLA", "PyTorch"), ("Always.", "Scan.")),
        (None, ("PyTorch",), ("Always.", "Compile.")),
        (None, ("PyTorch", "torch.compile"), ("Always.", "Look for breaks.")),
        ("loading", ("CuPy",), ("Always.", "Capture.", "Pin.")),
        ("loading", ("CuPy", "pinned memory"), ("Always.", "Capture.")),
    ],
)
def test_conditions(cause: str | None, traits: tuple[str, ...], told: tuple[str, ...]) -> None:
    assert advice.choose(LINES, cause, traits) == told


def test_causes_are_the_conditions_that_are_no_traits() -> None:
    assert advice.list_causes(LINES) == {"loading"}
    assert advice.list_conditions(LINES) == {"JAX", "XLA", "PyTorch", "torch.compile", "loading", "pinned memory"}


def test_shared_lines_keep_the_conditions_in_front_of_them() -> None:
    lines = advice.expand_lines(["[slow] -> tf32"])
    assert len(lines) == len(advice.read_shared()["tf32"])
    assert advice.choose(lines, "slow", ()) != ()
    assert advice.choose(lines, "fast", ()) == ()
    with pytest.raises(AnalysisError, match="nowhere"):
        rules.parse("something", HEADER.replace("Do this.", "-> nowhere") + QUERY, "idle")


def test_all_shared_lines_are_used() -> None:
    used = {line for rule in rulebook.load().values() for line in map(advice.strip_conditions, rule.advice)}
    assert {
        name for name, lines in advice.read_shared().items() if not used.issuperset(map(advice.strip_conditions, lines))
    } == set()


@pytest.mark.parametrize("traits", PROGRAMS, ids=", ".join)
def test_nobody_is_advised_what_is_in_use_or_what_he_does_not_use(traits: tuple[str, ...]) -> None:
    """Every rule has advice for every cause, except those about CUDA alone. NSIGHT is for Nsight's captures only."""
    other = not {"HIP", "SYCL"}.isdisjoint(traits)
    every = [one for one in rulebook.load().values() if not (other and NSIGHT & {one.group, one.name})]
    for rule in every:
        causes: list[str | None] = [*sorted(rule.causes)] or [None]
        for cause in causes:
            told = rule.advised(cause, traits)
            assert told or "SYCL" in traits, (rule.name, cause)  # nothing is better than advice for another GPU
            assert wrong(told, traits) == [], (rule.name, cause)


def test_the_checker_finds_what_is_wrong() -> None:
    """Each word that it bans occurs in some advice."""
    rule = rulebook.load()["launch_bound"]
    assert wrong(rule.advised(None, ("PyTorch",)), ("PyTorch", "torch.compile"))
    assert wrong(rule.advised(None, ("PyTorch",)), ("JAX",))
    assert wrong(rule.advised(None, ()), ("HIP",))
    assert wrong(rulebook.load()["pageable_copies"].advised(None, ()), ("pinned memory",))


def test_hip_has_its_own_words() -> None:
    lines = ("CUDA: `cudaMallocHost`, `cudaMemcpyAsync`, a CUDA graph; NCCL, `torch.cuda.Stream()`.",)
    told = "HIP: `hipHostMalloc`, `hipMemcpyAsync`, a HIP graph; RCCL, `torch.cuda.Stream()`."
    assert advice.choose(lines, None, ("HIP",)) == (told,)
    assert advice.choose(lines, None, ("PyTorch",)) == lines


def finding(line: str, program_: program.Program = (), **more: object) -> Finding:
    rule = rules.parse("something", HEADER.replace("Do this.", line) + QUERY, "idle")
    return Finding(rule, "fires", value=12.0, program=program_, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("step_*/CCCL:cub::DeviceRadixSort", "step_*"), ("CCCL:cub::DeviceRadixSort", None), ("cuBLAS:gemm", None),
        ("step_*/reduce/NCCL:ncclAllReduce", "step_*/reduce"), ("cudnn_frontend", "cudnn_frontend"), (None, None),
    ],
)  # fmt: skip
def test_no_change_is_asked_for_inside_a_library(path: str | None, place: str | None) -> None:
    told = Finding(rulebook.load()["off_core"], "fires", cause="calls", facts={"range": path})
    assert told.place == place
    assert (place or "the loop") in sentences.fill_advice(told)[0]
    assert path is None or path == place or path not in sentences.fill_advice(told)[0]


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("pass_*/Attention/vllm::attention", "in `pass_*`:"), ("aten::mm/aten::to", "in each pass:"),
        (None, "in each pass:"),
    ],
)  # fmt: skip
def test_a_pass_is_named_by_its_outermost_range(path: str | None, told: str) -> None:
    """No source line names it, because a pass has many."""
    of = tuple(Trait(trait, "") for trait in ("PyTorch", "vLLM"))
    one = Finding(rulebook.load()["launch_bound"], "fires", facts={"range": path}, program=of, line="model.py(7): go")
    assert told in sentences.fill_advice(one)[0]


def test_the_change_is_told_at_its_place() -> None:
    line = "Compile {place|the step}."
    assert sentences.fill_advice(finding(line))[0] == "Compile the step."
    assert sentences.fill_advice(finding(line, facts={"range": "step_*"}))[0] == "Compile `step_*`."
    piece = {"name": "a gap", "range": "step_*/`forward`"}
    assert sentences.fill_advice(finding(line, evidence=(piece,)))[0] == f"Compile {code('step_*/`forward`')}."
    assert sentences.strip_advice(finding(line, evidence=(piece,)))[0] == "Compile step_*/`forward`."
    assert sentences.fill_advice(finding("Look at {range}."))[0] == "Do it in C.", (
        "a line without its column is left out"
    )


def test_what_does_not_fire_has_no_advice() -> None:
    quiet = finding("Do this.")
    assert sentences.fill_advice(quiet) == ("Do this.", "Do it in C.")
    assert sentences.fill_advice(Finding(quiet.rule, "clear", value=1.0)) == ()


@pytest.mark.parametrize(
    ("value", "facts", "saving", "left"),
    [
        (12.0, {}, None, ""),
        (12.0, {}, 5_000_000, "Saves at most 5.00 ms"),
        (14.0, {}, 5_000_000, "Saves at most 5.00 ms (12.0 % of the time)"),
        (12.0, {"range": "5.00 ms"}, 5_000_000, ""),
        (14.0, {"range": "15.00 ms"}, 5_000_000, "Saves at most 5.00 ms (12.0 % of the time)"),
    ],
)
def test_no_number_is_said_twice(value: float, facts: dict[str, str], saving: int | None, left: str) -> None:
    one = finding("Do this.", facts=facts, saving_ns=saving, saving_pct=12.0)
    assert sentences.describe_saving(Finding(**{**one.__dict__, "value": value})) == left


def test_a_program_in_one_line() -> None:
    told = [
        Trait("PyTorch", "x"), Trait("eager", "x"), Trait("training", "x"), Trait("DDP", "x", 4),
        Trait("pinned memory", "x"),
    ]  # fmt: skip
    assert program.describe_program(tuple(told)) == "PyTorch, eager, training, DDP over 4 GPUs"
    assert program.describe_program((Trait("JAX", "x"), Trait("XLA", "x"))) == "JAX"
    assert program.describe_program(()) == ""
    assert program.list_names(told) == {"PyTorch", "eager", "training", "DDP", "pinned memory"}


def test_traits_have_one_name_each() -> None:
    assert len(program.TRAITS) == len(set(program.TRAITS)) == sum(map(len, program.KINDS.values()))
    causes = set(itertools.chain.from_iterable(rule.causes for rule in rulebook.load().values()))
    assert not causes & set(program.TRAITS)


def test_sentences_speak_of_the_programs_platform() -> None:
    said = "Beside {graphs} CUDA graphs, `cudaDeviceSynchronize` waits for NCCL."
    assert advice.translate(said, ("PyTorch",)) == said
    assert advice.translate(said, ("PyTorch", "HIP")) == (
        "Beside {graphs} HIP graphs, `hipDeviceSynchronize` waits for RCCL."
    )
    assert advice.translate("A CUDA call.", ("SYCL",)) == "A SYCL call."


@pytest.mark.parametrize(
    ("rule", "cause", "traits", "has", "lacks"),
    [
        ("profile_stalls", "long scoreboard", ("asynchronous copies", "TMA"), "TMA", ""),
        ("profile_stalls", "long scoreboard", ("asynchronous copies",), "cp.async", "TMA"),
        ("profile_stalls", "long scoreboard", (), "vectorize", "cp.async"),
        ("allocation_in_loop", "churn", ("CUDA C++", "old CUDA"), "pool of your own", "cudaMallocAsync"),
        ("allocation_in_loop", "churn", ("CUDA C++",), "cudaMallocAsync", ""),
        ("allocation_in_loop", "churn", ("TensorFlow",), "set_memory_growth", "cudaMallocAsync"),
        ("misaligned_products", None, ("PyTorch", "inference"), "Pad the odd size", "in the loss"),
        ("misaligned_products", None, ("PyTorch", "training"), "in the loss", ""),
        ("elementwise_chains", None, ("PyTorch", "eager", "fused GELU"), "F.layer_norm", "F.gelu"),
        ("elementwise_chains", None, ("PyTorch", "eager"), "F.gelu", ""),
        ("exposed_communication", None, ("PyTorch", "training", "DDP", "tensor parallel"), "fewer GPUs", "bucket_cap"),
        ("small_buckets", "buckets", ("PyTorch", "DDP", "tensor parallel"), "in buckets", "bucket_cap_mb"),
        ("low_precision_unused", None, ("PyTorch", "inference"), "model.to(torch.bfloat16)", "loss"),
        ("profile_block_size", None, (), "larger blocks", "Round"),
        ("exposed_communication", "exchange", ("PyTorch",), "TrainPipelineSparseDist", "SemiSync"),
        ("exposed_communication", "exchange", ("PyTorch", "TorchRec pipeline"), "SemiSync", "PipelineSparseDist"),
        ("launch_bound", "reads", ("PyTorch",), ".item()", "CUDA graph"),
        ("hot_kernel", None, ("Numba",), "np.float32(0.5)", ""),
        ("hot_kernel", None, ("CuPy",), "ncu --set full", "np.float32"),
    ],
)
def test_advice_applies(rule: str, cause: str | None, traits: tuple[str, ...], has: str, lacks: str) -> None:
    """No advice names features that the GPU or this CUDA lacks, that the program has, or that other programs need."""
    told = " ".join(rulebook.load()[rule].advised(cause, traits))
    assert has in told
    assert not lacks or lacks not in told
