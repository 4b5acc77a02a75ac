"""Recognized traits of programs: in samples, strangers' reports and made-up reports."""

from collections.abc import Sequence
from typing import Any

import duckdb
import pytest

from profiledb.findings import program, sentences
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.conftest import CORPUS, Once, ingest_files
from tests.support.ddp_samples import needs_ddp
from tests.support.judged_rules import judged
from tests.support.page_reports import Publish, insert
from tests.support.torch_samples import TRAINING, needs_torch_samples

_TRAINED = "PyTorch, eager, training, foreach optimizer"
SAMPLES = {
    "attention.nsys-rep": "PyTorch, eager, fused attention, 16-bit products",
    "dataloader_fixed.nsys-rep": f"{_TRAINED}, TF32 products, loader workers, pinned memory",
    "dataloader_starved.nsys-rep": f"{_TRAINED}, TF32 products",
    "energy.nsys-rep": "16-bit products",
    "host_python.nsys-rep": f"{_TRAINED}, TF32 products",
    "idle_fixed.nsys-rep": _TRAINED,
    "idle_host_bound.nsys-rep": _TRAINED,
    "kernels.nsys-rep": "16-bit products",
    "launches_graph.nsys-rep": "CUDA graphs",
    "launches_graph_nodes.nsys-rep": "PyTorch, eager, CUDA graphs",
    "launches_tiny.nsys-rep": "PyTorch, eager",
    "openmp_regions.nsys-rep": "OpenMP",
    "queue.nsys-rep": "PyTorch, eager, fused attention, 16-bit products, fused GELU",
    "streams_overlapped.nsys-rep": "pinned memory",
    "streams_serial.nsys-rep": "",
    "tasks.nsys-rep": "PyTorch, eager",
    "transformer_inference.nsys-rep": "PyTorch, eager, inference, 16-bit products, fused GELU",
    "transformer_steps.nsys-rep": f"{_TRAINED}, 16-bit products, fused GELU",
    "transformer_training.nsys-rep": f"{_TRAINED}, 16-bit products, fused GELU",
}
DDP = {
    "ddp_1.sqlite": f"{_TRAINED}, 16-bit products, pinned memory, fused GELU",
    "ddp_overlap_4_rank0.sqlite": f"{_TRAINED}, 16-bit products, DDP, fused GELU",
    "ddp_strong_2_rank0.sqlite": f"{_TRAINED}, 16-bit products, DDP, own all-reduce, fused GELU",
    "ddp_weak_4_rank0.sqlite": f"{_TRAINED}, 16-bit products, DDP, own all-reduce, pinned memory, fused GELU",
}
TORCH = {
    "torch_ddp_2_rank0.pt.trace.json.gz": f"{_TRAINED}, 16-bit products, DDP over 2 GPUs, fused GELU",
    "torch_inference.pt.trace.json.gz": "PyTorch, eager, inference, 16-bit products, fused GELU",
    "torch_inference_nsys.sqlite": "PyTorch, eager, inference, 16-bit products, fused GELU",
    "torch_training.pt.trace.json.gz": f"{_TRAINED}, 16-bit products, fused GELU",
    "torch_training_nsys.sqlite": f"{_TRAINED}, 16-bit products, fused GELU",
}
STRANGERS = {
    "attention.ncu-rep": "PyTorch, eager, fused attention, 16-bit products",
    "basic_a10g.ncu-rep": "CUDA C++",
    "copies_dominate.nsys-rep": "CUDA C++, pinned memory",
    "copies_without_enums.sqlite": "CUDA C++, MPI",
    "cpu_only_t4.nsys-rep": "",
    "fortran_openmp_cpu_bound.qdrep": "Fortran, OpenMP offload, MPI, pinned memory",
    "keras_autotuning.qdrep": "TensorFlow, inference",
    "miniweather_pnetcdf.qdrep": "Fortran, OpenACC, MPI, pinned memory",
    "mpi_h100.nsys-rep": "CUDA C++, MPI",
    "openacc_gp100.qdrep": "Fortran, OpenACC, MPI, pinned memory",
    "openacc_v100.nsys-rep": "Fortran, OpenACC, MPI, pinned memory",
    "openmp_iterations.qdrep": "Fortran, OpenMP offload, MPI, pinned memory",
    "openmp_offload_t4.nsys-rep": "OpenMP offload",
    "ranges_never_popped.nsys-rep": "PyTorch",
    "self_join_a100.ncu-rep": "CUDA C++",
    "silu_triton_2025.ncu-rep": "PyTorch, eager",
    "start_end_unclosed.qdrep": "",
    "transformer_training.ncu-rep": f"{_TRAINED}, 16-bit products, fused GELU",
    "um_events_lost.nsys-rep": "CUDA C++",
    "wsl2_no_kernels.nsys-rep": "",
}
TRACES = {
    "hta_benchmark_2869224.json.gz": "PyTorch, eager, inference, TF32 products",
    "hta_rank0_graphs.json.gz": "PyTorch, torch.compile, CUDA graphs, training, DDP over 16 GPUs, TF32 products,"
    " fused optimizer, pinned memory, TorchRec pipeline",
    "kineto_2021.pt.trace.json.gz": "PyTorch, eager, training, loader workers",
    "kineto_mi250_minitoy_train_ROCm6_2_kineto.pt.trace.json.gz": f"{_TRAINED}, HIP",
    "kineto_nccl_data.pt.trace.json.gz": f"{_TRAINED}, DDP over 2 GPUs, TF32 products",
    "kineto_resnet_conv_steps.pt.trace.json.gz": "PyTorch, eager, training",
    "qwen_mi300.json.gz": "PyTorch, Hugging Face, HIP, eager, inference, fused attention, 16-bit products",
    "resnet_checkpoint_mi300.json.gz": f"{_TRAINED}, HIP, DDP over 8 GPUs, 16-bit products, checkpointing",
    "sglang_qwen3_prefilldecode_mi300.json.gz": "PyTorch, SGLang, HIP, eager, inference, prefill, fused attention,"
    " 16-bit products",
    "triton.pt.trace.json.gz": "PyTorch, torch.compile",
    "vllm_eager_b200.json.gz": "PyTorch, vLLM, torch.compile, inference, prefill, tensor parallel over 8 GPUs,"
    " fused attention, 16-bit products, 8-bit products",
    "xdit_flux_hipgraph_rank0.json.gz": "PyTorch, Hugging Face, HIP, torch.compile, CUDA graphs, inference,"
    " fused attention, 16-bit products, fused GELU",
}
needs_corpus = pytest.mark.skipif(not CORPUS.exists(), reason="no ../shared/corpus here")

ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int, float)"
NORM = "void at::native::vectorized_layer_norm_kernel<float, float>(int, float)"
GEMM, VECTOR = "ampere_sgemm_128x64_tn", "void gemv2T_kernel_val<int>(float)"
SOFTMAX = "void softmax_warp_forward<float, float, float, 8, false, false>(float*)"
_COMPILED = "triton_poi_fused_add_relu_0"
REDUCED, GATHERED, SCATTERED = (
    f"ncclDevKernel_{name}(ncclDevKernelArgsStorage<4096ul>)"
    for name in ("AllReduce_Sum_f32_RING_LL", "AllGather_RING_LL", "ReduceScatter_Sum_bf16_RING_LL")
)
BACKWARD = "void at::native::softmax_warp_backward<float>(float*)"
BY_HAND: list[tuple[str, dict[str, Any], str]] = [
    ("cupy", {"kernels": ["cupy_add__float32_float32_float32"]}, "CuPy"),
    ("numba", {"kernels": ["__main__::add[abi:v1][abi:c8tJTIcFKzyF2](Array<float, 1, C, mutable, aligned>)"]}, "Numba"),
    ("torchrec", {"ranges": ["## sparse_data_dist ##", "aten::add"]}, "PyTorch, TorchRec pipeline"),
    ("old numba", {"kernels": ["cudapy::__main__::add$241(Array<float, 1, C, mutable, aligned>)"]}, "Numba"),
    ("jax", {"kernels": ["loop_add_fusion", "wrapped_convert"],
             "ranges": ["TSL:XlaModule:#hlo_module=jit_train_step,program_id=12#"]}, "JAX, XLA, training"),
    ("jax by its files", {"kernels": ["loop_multiply_fusion_2"], "files": ["/site-packages/jax/_src/pjit.py"]},
     "JAX, XLA"),
    ("keras", {"kernels": ["void tensorflow::BiasNHWCKernel<float>(int)"]}, "TensorFlow"),
    ("tensorrt", {"kernels": ["__myl_FcAddRelu_0xc1"], "ranges": ["TensorRT:ExecutionContext::enqueue"]},
     "TensorRT, inference"),
    ("lightning", {"kernels": [ELEMENTWISE, BACKWARD], "ranges": ["[pl][profile][Strategy]X.training_step"]},
     "PyTorch, Lightning, eager, training"),
    ("trainer", {"kernels": [ELEMENTWISE, BACKWARD], "files": ["/venv/site-packages/transformers/trainer.py"]},
     "PyTorch, Hugging Face, Trainer, eager, training"),
    ("generate", {"kernels": [ELEMENTWISE, NORM, GEMM], "files": ["/x/transformers/generation/utils.py"]},
     "PyTorch, Hugging Face, eager, inference, decode"),
    ("compiled", {"kernels": [_COMPILED, BACKWARD]}, "PyTorch, torch.compile, training"),
    ("compiled, by its ranges", {"ranges": ["## Call CompiledFxGraph fegaf ##"]}, "PyTorch, torch.compile"),
    ("graphs", {"kernels": [ELEMENTWISE], "calls": ["cudaGraphLaunch_v10000"]}, "PyTorch, eager, CUDA graphs"),
    ("ddp by its collective", {"kernels": [ELEMENTWISE, BACKWARD, REDUCED]}, "PyTorch, eager, training, DDP"),
    ("ddp by its range", {"kernels": [BACKWARD, ELEMENTWISE], "ranges": ["DistributedDataParallel.forward"]},
     "PyTorch, eager, training, DDP"),
    ("fsdp by its collectives", {"kernels": [ELEMENTWISE, BACKWARD, REDUCED, GATHERED, SCATTERED]},
     "PyTorch, eager, training, FSDP"),
    ("fsdp by a range", {"kernels": [ELEMENTWISE],
                         "ranges": ["autograd::engine::evaluate_function: RegisterPostBackwardFunctionBackward"]},
     "PyTorch, eager, training, FSDP"),
    ("all-reduce of an inference", {"kernels": [ELEMENTWISE, NORM, GEMM, REDUCED]}, "PyTorch, eager, inference"),
    ("megatron", {"kernels": [ELEMENTWISE, BACKWARD, REDUCED], "groups": ["TENSOR_MODEL_PARALLEL_GROUP"]},
     "PyTorch, eager, training, tensor parallel over 8 GPUs"),
    ("pipeline", {"kernels": [ELEMENTWISE, BACKWARD, REDUCED], "groups": ["PIPELINE_MODEL_PARALLEL_GROUP"]},
     "PyTorch, eager, training, pipeline parallel over 8 GPUs"),
    ("stages that send", {"kernels": [ELEMENTWISE, BACKWARD, REDUCED], "ranges": ["NCCL:ncclSend", "NCCL:ncclRecv"]},
     "PyTorch, eager, training, pipeline parallel"),
    ("experts that exchange", {"kernels": [ELEMENTWISE, BACKWARD, REDUCED],
                               "ranges": ["NCCL:ncclSend", "dist_all_to_all"]}, "PyTorch, eager, training"),
    ("vllm", {"kernels": [ELEMENTWISE, "void vllm::paged_attention_v1_kernel<float>(float*)"],
              "command": "vllm serve some/model"}, "PyTorch, vLLM, eager, inference, decode"),
    ("sglang with kernels of vllm", {"kernels": ["void vllm::rms_norm_kernel<float>(float*)"],
                                     "ranges": ["sgl_kernel::rms_norm", "aten::t"]}, "PyTorch, SGLang, inference"),
    ("generates", {"kernels": [ELEMENTWISE, SOFTMAX], "ranges": ["decode"]}, "PyTorch, eager, inference, decode"),
    ("decodes images", {"kernels": [ELEMENTWISE, GEMM], "ranges": ["decode"]}, "PyTorch, eager, inference"),
    ("one row", {"kernels": [ELEMENTWISE, SOFTMAX, *[VECTOR] * 20]},
     "PyTorch, eager, inference, decode"),
    ("a fit of planes", {"kernels": [ELEMENTWISE, *[VECTOR] * 20]}, "PyTorch, eager, inference"),
    ("openacc", {"kernels": ["compute_tendencies_z_334_gpu"]}, "OpenACC"),
    ("offload", {"kernels": ["__omp_offloading_10302_2c_main_l12"]}, "OpenMP offload"),
    ("cuda", {"kernels": ["vectorAdd(float*, float*)"], "process": "./bench"}, "CUDA C++"),
    ("hip", {"kernels": [ELEMENTWISE], "calls": ["hipLaunchKernel"]}, "PyTorch, HIP, eager"),
    ("sycl", {"kernels": [ELEMENTWISE], "calls": ["urEnqueueKernelLaunch"]}, "PyTorch, SYCL, eager"),
    ("names that mean something else",
     {"kernels": ["sensor_fusion(float*)", "prefix_decode(int)"],
      "ranges": ["decode_image", "backward", "transformers"],
      "files": ["/home/me/transformers/run.py"], "process": "./bench"}, "CUDA C++"),
]  # fmt: skip

FURTHER = {
    *("old numba", "jax by its files", "trainer", "compiled, by its ranges", "ddp by its range", "fsdp by a range"),
    *("all-reduce of an inference", "pipeline", "experts that exchange", "sglang with kernels of vllm", "generates"),
    *("decodes images", "one row", "a fit of planes", "hip", "sycl"),
}
"""Cases by hand that tell the traits of others in another way."""


def check(library: Library, cases: dict[str, str], subtests: pytest.Subtests) -> None:
    """Check the recognized traits of each report; test_rules_every_report.py checks that advice fits it."""
    for name, traits in cases.items():
        with subtests.test(name):
            of = program.recognize(library, library.find(name).id)
            told = {_name(one) for one in of if one.trait not in program.KINDS["machine"]}
            assert told == {one for one in traits.split(", ") if one}


def _name(one: program.Trait) -> str:
    return one.trait + (f" over {one.ranks} GPUs" if one.ranks else "")


def test_samples(nsys_samples: Library, subtests: pytest.Subtests) -> None:
    check(nsys_samples, SAMPLES, subtests)


@needs_ddp
def test_samples_of_several_gpus(ddp: Library, subtests: pytest.Subtests) -> None:
    check(ddp, DDP, subtests)


@needs_torch_samples
def test_samples_of_the_pytorch_profiler(torch_samples: Library, subtests: pytest.Subtests) -> None:
    check(torch_samples, TORCH, subtests)


@pytest.mark.integration
@needs_corpus
def test_reports_of_strangers(every_report: Library, subtests: pytest.Subtests) -> None:
    check(every_report, STRANGERS, subtests)


@pytest.mark.slow("takes every trace of strangers in")
@needs_corpus
def test_traces_of_strangers(once: Once, subtests: pytest.Subtests) -> None:
    files = [CORPUS / name for name in TRACES]
    check(
        Library(once("programs_of_strangers", lambda folder: ingest_files(folder, files)) / "library"), TRACES, subtests
    )


def fill(
    db: duckdb.DuckDBPyConnection,
    kernels: Sequence[str] = (),
    ranges: Sequence[str] = (),
    files: Sequence[str] = (),
    calls: Sequence[str] = (),
    groups: Sequence[str] = (),
    command: str = "",
    process: str = "python3",
) -> None:
    """Writes a report in which these names stand, its kernels of the class that real ones of the name have."""
    classes = {GEMM: "matmul", VECTOR: "matmul", NORM: "normalization", SOFTMAX: "softmax"}
    insert(db, "report", [{"kind": "nsys", "command": command or None}])
    insert(db, "process", [{"global_pid": 1, "pid": 1, "name": process}])
    insert(db, "thread", [{"global_tid": 2, "global_pid": 1, "name": "main"}])
    insert(db, "kernel_name", [
        {"name_id": n, "demangled": name, "short": name, "class": classes.get(name, "other")}
        for n, name in enumerate(kernels)
    ])  # fmt: skip
    insert(db, "kernel", [
        {"kernel_id": n, "name_id": n, "start_ns": 10 * n, "end_ns": 10 * n + 5, "device_id": 0, "global_pid": 1}
        for n in range(len(kernels))
    ])  # fmt: skip
    insert(db, "range_name", [{"name_id": n, "text": name, "name": name} for n, name in enumerate(ranges)])
    insert(db, "python_frame", [{"stack_id": n, "depth": 0, "file": name} for n, name in enumerate(files)])
    insert(db, "string", [{"string_id": n, "value": name} for n, name in enumerate(calls)])
    insert(db, "api_call", [{"call_id": n, "global_tid": 2, "name_id": n} for n in range(len(calls))])
    insert(db, "process_group", [{"name": str(n), "description": name} for n, name in enumerate(groups)])
    if groups:
        insert(db, "distributed", [{"rank": 0, "world_size": 8}])


@pytest.mark.parametrize(
    ("names", "traits"),
    [
        pytest.param(*one[1:], id=one[0], marks=pytest.mark.slow("makes another report") if one[0] in FURTHER else ())
        for one in BY_HAND
    ],
)
def test_names_tell(library: Library, publish: Publish, names: dict[str, Any], traits: str) -> None:
    of = program.recognize(library, publish(lambda db: fill(db, **names)))
    assert ", ".join(map(_name, of)) == traits


@pytest.mark.parametrize(
    ("beside", "thread", "told"),
    [("nsys", "main", True), ("/usr/bin/python3.12", "main", False), ("/usr/bin/python3.12", "pt_data_pin", True)],
)
def test_loader_workers_may_be_those_of_another_program(
    library: Library, publish: Publish, beside: str, thread: str, told: bool
) -> None:
    """nsys names all processes of the machine; the thread that pins batches is one of the program."""

    def workers(db: duckdb.DuckDBPyConnection) -> None:
        fill(db, kernels=["void at::native::elementwise_kernel(int)"])
        insert(db, "process", [{"global_pid": n, "pid": n, "name": name}
                               for n, name in ((8, "pt_data_worker"), (9, beside))])  # fmt: skip
        insert(db, "thread", [{"global_tid": 3, "global_pid": 1, "name": thread}])

    of = program.recognize(library, publish(workers))
    assert ("loader workers" in {one.trait for one in of}) == told


def test_another_process_is_another_program(library: Library, publish: Publish) -> None:
    """nsys samples the whole machine: a library in the stacks of a process without GPU work proves nothing."""

    def both(db: duckdb.DuckDBPyConnection, sampled: int) -> None:
        fill(db, kernels=["vectorAdd(float*)"], process="./bench")
        insert(db, "thread", [{"global_tid": 9, "global_pid": 8, "name": "pt_autograd_0"}])
        insert(db, "string", [{"string_id": 50, "value": "/x/libtorch_cuda.so"}])
        insert(db, "cpu_sample", [{"sample_id": 1, "time_ns": 5, "global_tid": sampled}])
        insert(db, "callchain", [{"kind": "sample", "callchain_id": 1, "depth": 0, "module_id": 50}])

    for thread, traits in ((9, {"CUDA C++"}), (2, {"PyTorch"})):
        of = program.recognize(library, publish(lambda db, thread=thread: both(db, thread)))
        assert program.list_names(of) == traits


@pytest.mark.parametrize(
    ("paths", "trait"), [(["fwd", "bwd"], "tensor parallel"), (["bwd", "bwd", "DDP.forward/bwd"], "DDP"), ([], "DDP")]
)
def test_collectives_of_the_forward_pass_are_none_of_ddp(
    library: Library, publish: Publish, paths: list[str], trait: str
) -> None:
    def launched(db: duckdb.DuckDBPyConnection) -> None:
        fill(db, kernels=[ELEMENTWISE, BACKWARD])
        insert(db, "kernel_name", [{"name_id": 9, "demangled": REDUCED, "short": "ncclDevKernel", "class": "nccl"}])
        insert(db, "range_path", [{"path_id": n, "level": 0, "name": one, "path": one} for n, one in enumerate(paths)])
        insert(db, "range", [{"range_id": n, "pre": n + 1, "post": n + 1, "path_id": n} for n in range(len(paths))])
        insert(db, "kernel", [
            {"kernel_id": 50 + n, "name_id": 9, "start_ns": n, "end_ns": n + 1, "device_id": 0, "process_range": n + 1}
            for n in range(max(1, len(paths)))
        ])  # fmt: skip

    told = program.list_names(program.recognize(library, publish(launched)))
    assert told & {"DDP", "tensor parallel"} == {trait}


@pytest.mark.parametrize(
    ("gpu", "cuda", "traits"),
    [("9.0", "12.4", {"asynchronous copies", "TMA"}), ("8.0", "10.1", {"asynchronous copies", "old CUDA"}),
     ("7.5", "11.2", set()), (None, None, set())],
)  # fmt: skip
def test_the_machine_tells_what_advice_can_recommend(
    library: Library, publish: Publish, gpu: str | None, cuda: str | None, traits: set[str]
) -> None:
    def on(db: duckdb.DuckDBPyConnection) -> None:
        fill(db, kernels=["vectorAdd(float*)"], process="./bench")
        insert(db, "gpu", [{"gpu_id": 0, "name": "GPU", "compute_capability": gpu}])
        db.execute("UPDATE report SET cuda_version = ?", [cuda])

    of = program.recognize(library, publish(on))
    assert program.list_names(of) & set(program.KINDS["machine"]) == traits
    assert program.describe_program(of) == "CUDA C++", "of the machine the heading of the report tells"


def test_pinned_memory_is_told_by_bytes(library: Library, publish: Publish) -> None:
    def copies(db: duckdb.DuckDBPyConnection, pinned: int) -> None:
        fill(db, kernels=["vectorAdd(float*)"], process="./bench")
        insert(db, "memop", [
            {"memop_id": n, "kind": "memcpy", "copy_kind": 1, "src_kind": int(n < pinned), "bytes": 200_000}
            for n in range(10)
        ])  # fmt: skip

    for pinned, there in ((10, True), (9, True), (8, False), (0, False)):
        of = program.recognize(library, publish(lambda db, pinned=pinned: copies(db, pinned)))
        assert ("pinned memory" in program.list_names(of)) == there


def test_evidence_is_bounded(library: Library, publish: Publish) -> None:
    of = program.recognize(library, publish(lambda db: fill(db, kernels=[f"cupy_{'x' * 10_000}"])))
    assert [(one.trait, len(one.evidence)) for one in of] == [("CuPy", len("kernel ") + 100)]


def test_the_source_line_stands_at_the_place(nsys_samples: Library) -> None:
    """The sample has Python stacks: nsys saw `prepare` in images.py, line 41, in `transform_image`."""
    found = judged(nsys_samples, "host_python.nsys-rep", "data_loading")
    assert found.line is not None
    assert found.line.startswith("images.py(41): prepare")
    assert f"`{found.place}` (`{found.line}`)" in sentences.fill_advice(found)[0]
    assert found.line in sentences.strip_advice(found)[0]
    assert judged(nsys_samples, "dataloader_starved.nsys-rep", "data_loading").line is None


@needs_torch_samples
def test_the_source_line_of_a_trace(torch_samples: Library) -> None:
    found = judged(torch_samples, TRAINING, "launch_bound")
    piece = found.evidence[0]
    sql = (
        "SELECT value FROM python_call JOIN string ON string_id = name_id, capture_window AS capture"
        f" WHERE {piece['start_ns'] + piece['end_ns']} // 2 BETWEEN python_call.start_ns - capture.start_ns"
        " AND python_call.end_ns - capture.start_ns AND value LIKE 'workloads/%'"
        " ORDER BY python_call.start_ns DESC LIMIT 1"
    )
    assert found.line == analysis.query(torch_samples, torch_samples.find(TRAINING).id, sql)["value"][0]
    assert judged(torch_samples, TRAINING, "gpu_idle").line is None, "its pieces are examples"
