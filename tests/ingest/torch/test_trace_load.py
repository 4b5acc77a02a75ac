"""The real worker reads a small trace with each kind of event; the expected rows are worked out by hand.

Its clock starts at 1,700,000,000,000,000.500 microseconds, and the times below are ns from there.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from profiledb.library.library import Library
from tests.conftest import Ingest
from tests.support.bounded_conversion import Query, converted, notes

ZERO = 1_700_000_000_000_000_500
PID, MAIN, BACK = 900, 900, 901


def us(ns: int) -> str:
    """A time of the trace, as Kineto writes it."""
    whole = ZERO + ns
    return f"{whole // 1000}.{whole % 1000:03}"


SPACED = {key.replace(" ", "_"): key for key in ("External id", "Python id", "Python parent id", "Python module id")}


def args_of(args: dict[str, Any]) -> str:
    return json.dumps({SPACED.get(key, key): value for key, value in args.items()})


def event(cat: str, name: str, start: int, end: int, tid: Any = MAIN, pid: Any = PID, **args: Any) -> str:
    """A complete event, in the spelling of Kineto: numbers stay as they are."""
    length = f"{(end - start) // 1000}.{(end - start) % 1000:03}"
    return (
        f'{{"ph": "X", "cat": "{cat}", "name": {json.dumps(name)}, "pid": {json.dumps(pid)}, "tid": {json.dumps(tid)},'
        f'\n "ts": {us(start)}, "dur": {length},\n "args": {args_of(args)}}}'
    )


def instant(name: str, at: int, tid: int = MAIN, **args: Any) -> str:
    return (
        f'{{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "{name}", "pid": {PID}, "tid": {tid},'
        f' "ts": {us(at)}, "args": {args_of(args)}}}'
    )


COLLECTIVE = {
    "Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 2, "dtype": "BFloat16",
    "In split size": "[]", "Out split size": "[]", "Process Group Name": "0", "Process Group Description": "default_pg",
    "Process Group Ranks": "[0, 1]", "Seq": 7,
}  # fmt: skip
ON_GPU = {"pid": 0, "tid": 7, "device": 0, "context": 1, "stream": 7}
LAUNCH = {
    "queued": 0, "registers per thread": 32, "shared memory": 4096, "blocks per SM": 1.5, "warps per SM": 6.0,
    "grid": [198, 1, 1], "block": [128, 2, 1], "est. achieved occupancy %": 25,
}  # fmt: skip
TENSOR = {"Total Reserved": 2048, "Device Type": 1, "Device Id": 0}
FORWARD = {"Sequence number": 40, "Fwd thread id": 0}
EVENTS = [
    event("user_annotation", "ProfilerStep#3", 0, 9000, External_id=1),
    event("python_function", "nn.Module: Linear_0", 100, 3000, Python_id=5, Python_parent_id=4, Python_module_id=0),
    event("python_function", "train.py(3): step", 50, 8000, Python_id=4, Python_parent_id=None),
    event(
        "cpu_op", "aten::linear", 200, 2000, **{
            "External id": 2, "Ev Idx": 0, "Sequence number": 40, "Fwd thread id": 0, "Input Dims": [[4, 8], [16, 8]],
            "Input type": ["float", "float"], "Input Strides": [[8, 1], [8, 1]], "Concrete Inputs": ["", ""],
            "flops": 1024, "Call stack": "train.py(3): step;run.py(1): main", "kernel_backend": "triton",
            "kernel_hash": "abc",
        },
    ),
    event("cpu_op", "aten::addmm", 300, 1900, **{"External id": 3, "Ev Idx": 1, **FORWARD}),
    event("cuda_runtime", "cudaLaunchKernel", 400, 500, correlation=11, cbid=211, External_id=3),
    event("kernel", "void gemm<float>(float*)", 600, 1600, correlation=11, External_id=3, **ON_GPU, **LAUNCH),
    event("cpu_op", "LinearBackward0", 4000, 6000, BACK, External_id=9, **{**FORWARD, "Fwd thread id": 1}),
    event("cuda_driver", "cuLaunchKernelEx", 4100, 4200, BACK, correlation=12, External_id=9),
    event("kernel", "ncclDevKernel", 4300, 5300, correlation=12, **{**ON_GPU, "stream": 17}, **COLLECTIVE),
    event("cpu_op", "record_param_comms", 4050, 4900, BACK, **{"External id": 10}, **COLLECTIVE),
    event("cuda_runtime", "cudaMemcpyAsync", 6500, 6600, correlation=13),
    event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 6700, 6900, correlation=13, bytes=4096, **ON_GPU),
    event("gpu_memset", "Memset (Device)", 7000, 7001, correlation=14, bytes=16, **ON_GPU),
    event("cuda_sync", "Stream Wait Event", 7100, 7200, correlation=15, cuda_sync_kind="x", **ON_GPU),
    event("gpu_user_annotation", "ProfilerStep#3", 599, 5301, tid=7, pid=0),
    event("overhead", "Activity Buffer Request", 7300, 7400, tid=0, pid=-1),
    event("Trace", "PyTorch Profiler (0)", 0, 10000, tid="PyTorch Profiler", pid="Spans"),
    instant("[memory]", 350, **{**TENSOR, "Addr": 2**64 - 1, "Bytes": 512, "Total Allocated": 512}),
    instant("[memory]", 9500, **{"Addr": 77, "Bytes": -64, "Total Allocated": 0, "Device Type": 0, "Device Id": -1}),
    instant("note", 8500),
    f'{{"name": "thread_name", "ph": "M", "pid": {PID}, "tid": {MAIN}, "args": {{"name": "thread 900 (python3)"}}}}',
    f'{{"name": "process_name", "ph": "M", "pid": {PID}, "tid": 0, "args": {{"name": "python3"}}}}',
    '{"ph": "C", "name": "counter", "pid": 1, "tid": 1, "ts": 5, "args": {"a": 1}}',
]  # fmt: skip
TEXT = "JOIN string ON string_id = name_id"
HEAD = {
    "schemaVersion": 1, "record_shapes": 1, "cuda_driver_version": 13000, "SECRET": "s3cr3t",
    "deviceProperties": [{
        "id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150_000, "computeMajor": 9, "computeMinor": 0,
        "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048, "regsPerBlock": 65536, "warpSize": 32,
        "sharedMemPerBlock": 49152, "numSms": 132, "regsPerMultiprocessor": 65536,
    }],
    "distributedInfo": {
        "backend": "nccl", "rank": 1, "world_size": 2, "nccl_version": "2.28.9",
        "pg_config": [
            {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": 2, "ranks": [0, 1]}
        ],
    },
}  # fmt: skip


def text(events: list[str], **keys: Any) -> str:
    """A trace of these events."""
    head = json.dumps({**HEAD, **keys})[:-1]
    listed = ",\n ".join(events)
    return f'{head},\n "traceEvents": [\n {listed}\n],\n "traceName": "a.json"}}'


@pytest.fixture
def query(ingest: Ingest, inbox: Path, empty_library: Library) -> Query:
    (inbox / "run.data").write_text(text(EVENTS))  # no name that says what it is
    return converted(ingest, inbox, empty_library, "run.data")


def test_every_field(query: Query) -> None:
    assert query("SELECT kind, tool, captured_at::VARCHAR, start_ns, stop_ns, cuda_version FROM report") == [
        ("torch", "PyTorch profiler", "2023-11-14 22:13:20", 0, 9000, "13.0")
    ]
    assert query("""
        SELECT start_ns, end_ns, device_id, context_id, stream_id, correlation_id, demangled, short, grid_x, block_x,
            block_y, registers_per_thread, static_shared_bytes, dynamic_shared_bytes
        FROM kernel JOIN kernel_name USING (name_id) ORDER BY 1
    """) == [
        (600, 1600, 0, 1, 7, 11, "void gemm<float>(float*)", "gemm", 198, 128, 2, 32, None, None),
        (4300, 5300, 0, 1, 17, 12, "ncclDevKernel", "ncclDevKernel", *[None] * 6),
    ]
    assert query("SELECT blocks_per_sm, warps_per_sm, occupancy_pct, shared_bytes FROM launch_estimate") == [
        (1.5, 6.0, 25.0, 4096)
    ]
    assert query("""
        SELECT kind, operation, start_ns, end_ns, bytes, copy_kind, src_kind, dst_kind, call_id IS NOT NULL FROM memop
        ORDER BY 3
    """) == [
        ("memcpy", "[CUDA memcpy Host-to-Device]", 6700, 6900, 4096, 1, 1, 2, True),
        ("memset", "[CUDA memset]", 7000, 7001, 16, None, None, 2, False),
    ]
    assert query(f"SELECT value, start_ns, end_ns, event_class FROM api_call {TEXT} ORDER BY 2") == [
        ("cudaLaunchKernel", 400, 500, 0), ("cuLaunchKernelEx", 4100, 4200, 1), ("cudaMemcpyAsync", 6500, 6600, 0)
    ]  # fmt: skip
    assert query("SELECT name, sm_count, compute_capability, max_warps_per_sm, memory_bytes, l2_bytes FROM gpu") == [
        ("NVIDIA H200", 132, "9.0", 64, 150_000, None)
    ]
    assert query("SELECT start_ns, end_ns, value FROM profiler_overhead JOIN string ON string_id = name_id") == [
        (7300, 7400, "Activity Buffer Request")
    ]
    assert query("SELECT start_ns, end_ns, stream_id FROM sync") == [(7100, 7200, 7)]
    assert query("SELECT time_ns, text FROM mark JOIN range_name USING (name_id)") == [(8500, "note")]
    assert query("SELECT name FROM capture_setting ORDER BY 1") == [
        ("cuda_driver_version",), ("record_shapes",), ("schemaVersion",)
    ]  # fmt: skip


def test_ranges_and_what_is_known_of_them(query: Query) -> None:
    ranges = query("""
        SELECT path, domain, start_ns, end_ns FROM range JOIN range_name USING (name_id) JOIN range_path USING (path_id)
        ORDER BY start_ns
    """)
    step, module = "ProfilerStep#3", "ProfilerStep#3/nn.Module: Linear_0"
    assert ranges == [
        (step, None, 0, 9000),
        (module, "module", 100, 3000),
        (f"{module}/aten::linear", "operator", 200, 2000),
        (f"{module}/aten::linear/aten::addmm", "operator", 300, 1900),
        ("LinearBackward0", "operator", 4000, 6000),
        ("LinearBackward0/record_param_comms", "operator", 4050, 4900),
    ]
    assert query("""
        SELECT r.start_ns, external_id, event_index, sequence_number, forward_thread, f.start_ns, d.value, t.value,
            s.value, v.value, flops, k.value, b.value, h.value
        FROM operator JOIN range AS r USING (range_id) LEFT JOIN range AS f ON f.range_id = forward_range_id
        LEFT JOIN string AS d ON d.string_id = dims_id LEFT JOIN string AS t ON t.string_id = types_id
        LEFT JOIN string AS s ON s.string_id = strides_id LEFT JOIN string AS v ON v.string_id = values_id
        LEFT JOIN string AS k ON k.string_id = stack_id LEFT JOIN string AS b ON b.string_id = backend_id
        LEFT JOIN string AS h ON h.string_id = kernel_hash_id ORDER BY 1
    """) == [
        (200, 2, 0, 40, 0, None, "[[4,8],[16,8]]", '["float","float"]', "[[8,1],[8,1]]", '["",""]', 1024,
         "train.py(3): step;run.py(1): main", "triton", "abc"),
        (300, 3, 1, 40, 0, None, *[None] * 8),
        (4000, 9, None, 40, 1, 300, *[None] * 8),  # the one that began last of those with its number
        (4050, 10, None, None, None, None, *[None] * 8),
    ]  # fmt: skip
    assert query("SELECT class, module_id, python_id, start_ns FROM module_call JOIN range USING (range_id)") == [
        ("Linear", 0, 5, 100)
    ]
    assert query("SELECT python_id, parent_id, start_ns, end_ns FROM python_call ORDER BY 1") == [
        (4, None, 50, 8000), (5, 4, 100, 3000)
    ]  # fmt: skip


def test_attribution_memory_and_collectives(query: Query) -> None:
    """The thread that runs backward operators is autograd's, although the trace does not name it."""
    assert query("SELECT tid, name FROM thread ORDER BY 1") == [(900, "python3"), (901, "pt_autograd (901)")]
    assert query("""
        SELECT kernel.start_ns, own.start_ns, further.start_ns FROM kernel
        JOIN range AS own ON own.pre = kernel.thread_range
        LEFT JOIN call_range USING (call_id) LEFT JOIN range AS further ON further.pre = call_range.process_range
        ORDER BY 1
    """) == [(600, 300, None), (4300, 4050, 0)]
    assert query("""
        SELECT time_ns, kind, device_type, device_id, address, bytes, allocated_bytes, reserved_bytes, range.start_ns
        FROM tensor_event LEFT JOIN range ON pre = thread_range ORDER BY 1
    """) == [
        (350, "memory", 1, 0, 2**64 - 1, 512, 512, 2048, 300),
        (9500, "memory", 0, None, 77, -64, 0, None, None),
    ]
    assert query("""
        SELECT c.name, process_group, description, ranks, group_size, sequence_number, dtype, in_elements, out_elements,
            in_split, range.start_ns, kernel.start_ns
        FROM collective AS c LEFT JOIN range USING (range_id) LEFT JOIN kernel USING (kernel_id) ORDER BY 11
    """) == [
        ("allreduce", "0", "default_pg", "[0, 1]", 2, 7, "BFloat16", 1024, 1024, "[]", 4050, None),
        ("allreduce", "0", "default_pg", "[0, 1]", 2, 7, "BFloat16", 1024, 1024, "[]", None, 4300),
    ]
    assert query("FROM distributed") == [(1, 2, "nccl", "2.28.9")]
    assert query("FROM process_group") == [("0", "default_pg", "cuda:nccl", 2, "[0, 1]")]


def test_what_is_left_out_is_told(query: Query) -> None:
    told = notes(query)
    assert "1 counter event is not read (ph C)." in told
    assert any("1 GPU annotation is not read" in note for note in told)


def test_facts_that_are_odd(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """AMD writes architectures into the fields for compute capabilities; numbers and lists may be anything."""
    amd = {**HEAD["deviceProperties"][0], "name": "AMD Radeon Graphics", "warpSize": 64}  # type: ignore[index]
    odd = [amd, {"id": "x"}, 5, {"id": 1, "name": ["a"], "numSms": 1e400, "warpSize": 0, "totalGlobalMem": -(2**70)}]
    run = {"rank": "1", "world_size": 2.5, "pg_config": [7, {"pg_name": 3}], "backend": None}
    clock = {"baseTimeNanoseconds": 2**62, "cuda_driver_version": True, "record_shapes": [1]}
    (inbox / "amd.json").write_text(text(EVENTS[:1], deviceProperties=odd, distributedInfo=run, **clock))
    query = converted(ingest, inbox, empty_library, "amd.json")
    columns = "gpu_id, name, compute_capability, max_warps_per_sm, sm_count, memory_bytes"
    assert query(f"SELECT {columns} FROM gpu ORDER BY 1") == [
        (0, "AMD Radeon Graphics", None, 32, 132, 150_000),
        (1, None, None, None, None, None),
    ]
    assert query("SELECT captured_at, cuda_version FROM report") == [(None, None)]
    assert query("SELECT rank, world_size, backend FROM distributed") == [(1, 2, None)]
    assert query("SELECT name FROM process_group") == [("3",)]


@pytest.mark.parametrize(("second", "gpus"), [("A", [(2, "A"), (3, "A")]), ("B", [(0, "A"), (1, "B")])])
def test_facts_of_gpus_that_rocm_numbers_after_the_cpus(
    ingest: Ingest, inbox: Path, empty_library: Library, second: str, gpus: list[tuple[int, str]]
) -> None:
    """If all GPUs are one product, the active ones get its facts; of several products, nobody knows which is which."""
    facts = [{"id": 0, "name": "A", "numSms": 304}, {"id": 1, "name": second, "numSms": 304}]
    events = [event("kernel", "k", 0, 100, device=device, stream=0) for device in (2, 3)]
    (inbox / "amd.json").write_text(text(events, deviceProperties=facts))
    query = converted(ingest, inbox, empty_library, "amd.json")
    assert query("SELECT gpu_id, name FROM gpu ORDER BY 1") == gpus


CK = (
    "_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelIfEEJEEEvv",
    "void ck_tile::kentry<2, ck_tile::FmhaBatchPrefillWithPagedKVCacheKernel<float>>()",
    "FmhaBatchPrefillWithPagedKVCacheKernel", "attention",
)  # fmt: skip
AITER = (
    "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib.kd",
    "void aiter::add_rmsnorm_quant_kernel<std::bfloat16_t, std::bfloat16_t, 64, 8, false, false, true, 1>(",
    "add_rmsnorm_quant_kernel", "normalization",
)  # fmt: skip
BOMB = "_Z1f1AIiiE" + "".join(f"S_IS{digit}_S{digit}_E" for digit in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""Each argument has the one before it twice: 64 GiB of text."""
PLAIN = "igemm_fwd_gtcx3_nhwc_bf16"


def test_mangled_names_are_spelled_out(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    hostile = [BOMB, "_Z" + "N1a" * 1000, "_ZN" + "P" * 4000, "_Z", "_Z9999999999999999999f"]
    named = [CK[0], AITER[0], PLAIN, *hostile]
    events = [event("kernel", name, 600 + 10 * i, 605 + 10 * i, **ON_GPU) for i, name in enumerate(named)]
    (inbox / "amd.json").write_text(text(events))
    query = converted(ingest, inbox, empty_library, "amd.json")
    known = {mangled or name: rest for mangled, name, *rest in query(
        "SELECT mangled, demangled, demangled, short, class FROM kernel_name"
    )}  # fmt: skip
    assert known[CK[0]] == list(CK[1:])
    assert (known[AITER[0]][0].startswith(AITER[1]), *known[AITER[0]][1:]) == (True, *AITER[2:])
    assert known[PLAIN] == [PLAIN, PLAIN, "convolution"]
    assert {name: known[name][0] for name in hostile if len(name) < 4096} == {
        name: name for name in hostile if len(name) < 4096
    }
    assert query("SELECT max(length(demangled)) < 4200 FROM kernel_name") == [(True,)]


COPIES = [
    ("Memcpy HtoD (Host -> Device)", "[CUDA memcpy Host-to-Device]", None, "Device"),
    ("CopyDeviceToHost", "[CUDA memcpy Device-to-Host]", None, None),
    ("CopyHostToHost", "[CUDA memcpy Host-to-Host]", None, None),
    ("zeCommandListAppendMemoryCopy(M2D)", "[CUDA memcpy Host-to-Device]", "Pageable", "Device"),
    ("zeCommandListAppendMemoryCopy(D2H)", "[CUDA memcpy Device-to-Host]", "Device", "Pinned"),
    ("Memcpy D2D", "[CUDA memcpy Device-to-Device]", "Device", "Device"),
    ("Memcpy of a kind to come", "[CUDA memcpy Unknown]", None, None),
]
"""Names of copies, each with the operation, and with the kinds of memory that it tells."""


def test_copies_of_other_vendors(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    events = [
        event("gpu_memcpy", name, 600 + 100 * at, 700 + 100 * at, bytes=8, **ON_GPU)
        for at, (name, *_) in enumerate(COPIES)
    ]
    (inbox / "copy.json").write_text(text(events))
    query = converted(ingest, inbox, empty_library, "copy.json")
    label = "SELECT label FROM enum_value WHERE enum = 'CUDA_MEM_KIND' AND id ="
    assert query(f"SELECT operation, ({label} src_kind), ({label} dst_kind) FROM memop ORDER BY start_ns") == [
        tuple(rest) for _, *rest in COPIES
    ]


def test_a_trace_of_xla(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """A GPU's streams are threads of its process; the lines that XLA derives from them do not count again."""

    def meta(kind: str, name: str, pid: int, tid: int = 0) -> str:
        args = {"name": name}
        return json.dumps({"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": args})

    def slice_of(name: str, start: int, end: int, pid: int, tid: int) -> str:
        times = {"ts": float(us(start)[-12:]), "dur": (end - start) / 1000}
        return json.dumps({"ph": "X", "name": name, "pid": pid, "tid": tid, **times})

    events = [
        meta("process_name", "/device:GPU:0", 1), meta("process_name", "/host:CPU", 701),
        meta("thread_name", "Stream #13(Compute)", 1, 13), meta("thread_name", "Stream #14(MemcpyH2D)", 1, 14),
        meta("thread_name", "XLA Ops", 1, 3),
        slice_of("loop_add_fusion", 1000, 3000, 1, 13), slice_of("MemcpyH2D", 500, 900, 1, 14),
        slice_of("fusion.1", 1000, 3000, 1, 3), slice_of("TfrtCpuExecutable::Execute", 0, 4000, 701, 9),
    ]  # fmt: skip
    (inbox / "host.trace.json").write_text(f'{{"displayTimeUnit": "ns", "traceEvents": [{", ".join(events)}]}}')
    query = converted(ingest, inbox, empty_library, "host.trace.json")
    columns = "end_ns - start_ns, device_id, stream_id, demangled"
    assert query(f"SELECT {columns} FROM kernel JOIN kernel_name USING (name_id)") == [(2000, 0, 13, "loop_add_fusion")]
    copies = "SELECT operation, end_ns - start_ns, stream_id FROM memop"
    assert query(copies) == [("[CUDA memcpy Host-to-Device]", 400, 14)]
    assert query("SELECT name FROM range JOIN range_name USING (name_id)") == [("TfrtCpuExecutable::Execute",)]
    assert query("SELECT tool FROM report") == [("XLA profiler (JAX or TensorFlow)",)]
