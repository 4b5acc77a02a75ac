"""XLA profiles read by the real worker: a small made-up one, and strangers' against a second reader."""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from profiledb.library.library import Library
from tests.conftest import CORPUS, SAMPLES, Ingest
from tests.support.bounded_conversion import converted
from tests.support.dropped_files import job_of, needs_corpus
from tests.support.xspace import PlaneWriter, read

LONGEST = 4000
"""Names are cut a little above."""
STRANGERS = pytest.mark.slow("a stranger's profile, converted for it alone")
CALL = {"hlo_module": "jit_step", "source": "train.py:7"}


def profile() -> bytes:
    gpu = PlaneWriter(
        "/device:GPU:0", device_vendor="Nvidia", core_count=132, compute_cap_major=9, compute_cap_minor=0,
        memory_size=80 << 30, clock_rate=1_980_000, memory_bandwidth=3_350_000_000_000,
    )  # fmt: skip
    kernel = "regs:32 static_shared:64 dynamic_shared:0 grid:4,1,1 block:256,1,1 occ_pct:50"
    gpu.line(13, "Stream #13(Compute)", [
        ("loop_add_fusion", 700_000, 200_000, {"correlation_id": 7, "kernel_details": kernel}),
        ("gemm_fusion_dot_5", 1_000_000, 300_500, {"correlation_id": 8, "kernel_details": kernel}),
    ], at=5000)  # fmt: skip
    copy = "kind_src:pageable kind_dst:device size:4096 dest:0 async:1"
    gpu.line(
        14, "Stream #14(MemcpyH2D)", [("MemcpyH2D", 0, 50_000, {"correlation_id": 6, "memcpy_details": copy})], at=5000
    )
    gpu.line(99, "XLA Ops", [("fusion", 700_000, 600_000, {})], at=5000)
    host = PlaneWriter("/host:CPU")
    host.line(4242, "python", [
        ("train", 0, 3_000_000, {"step_num": 5, "_r": 1}),
        ("$train.py:7 step", 10_000, 2_900_000, {}),
        ("cuMemcpyHtoDAsync_v2", 20_000, 10_000, {"correlation_id": 6}),
        ("cuLaunchKernel", 500_000, 50_000, {"correlation_id": 7, "hlo_op": "fusion.1", **CALL}),
        ("cuLaunchKernel", 600_000, 50_000, {"correlation_id": 8, "hlo_op": "dot.5", **CALL}),
        ("cuStreamSynchronize", 2_000_000, 500_000, {}),
    ], at=4500)  # fmt: skip
    return PlaneWriter("/host:metadata").data() + gpu.data() + host.data()


def test_a_profile(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """The clock starts at 4500 ns, with the step."""
    (inbox / "host.xplane.pb").write_bytes(profile())
    query = converted(ingest, inbox, empty_library, "host.xplane.pb")
    columns = "start_ns, end_ns, stream_id, short, class, grid_x, block_x, registers_per_thread, call_id"
    assert query(f"SELECT {columns} FROM kernel JOIN kernel_name USING (name_id) ORDER BY 1") == [
        (1200, 1400, 13, "loop_add_fusion", "elementwise", 4, 256, 32, 2),
        (1500, 1800, 13, "gemm_fusion_dot_5", "matmul", 4, 256, 32, 3),
    ]
    assert query("SELECT operation, start_ns, end_ns, bytes, src_kind, call_id FROM memop") == [
        ("[CUDA memcpy Host-to-Device]", 500, 550, 4096, 0, 1)
    ]
    ranges = "SELECT domain, name, start_ns, end_ns FROM range JOIN range_name USING (name_id) ORDER BY 3, 4 DESC"
    assert query(ranges) == [
        (None, "train 5", 0, 3000),
        ("xla_module", "jit_step", 500, 650),
        ("operator", "fusion.1", 500, 550),
        ("operator", "dot.5", 600, 650),
    ]
    assert query("SELECT value FROM operator JOIN string ON string_id = stack_id") == [("train.py:7",)] * 2
    assert query("SELECT value FROM python_call JOIN string ON string_id = name_id") == [("train.py(7): step",)]
    facts = "compute_capability, sm_count, clock_hz, memory_bandwidth_bytes_per_s, memory_bytes"
    assert query(f"SELECT {facts} FROM gpu") == [("9.0", 132, 1_980_000_000, 3_350_000_000_000, 80 << 30)]
    assert query("SELECT kind, tool FROM report") == [("xla", "XLA profiler (JAX or TensorFlow)")]


@pytest.mark.parametrize("at", [10, 100, 400, -1])
def test_a_profile_that_is_cut_is_refused(ingest: Ingest, inbox: Path, empty_library: Library, at: int) -> None:
    """Messages nest, so a truncated one has no place to stop reading."""
    (inbox / "cut.xplane.pb").write_bytes(profile()[:at])
    ingest(inbox, empty_library.folder)
    job = job_of(empty_library, inbox / "cut.xplane.pb")
    assert (job.state, bool(job.message), bool(job.hint)) == ("failed", True, True)


def test_hostile_numbers_and_names(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    gpu = PlaneWriter("/device:GPU:0", core_count="many", clock_rate=-5, memory_size=1 << 63)
    big = (1 << 63) - 1
    gpu.line(1, "Stream #1", [
        ("'); DROP TABLE kernel; --\0", 0, 1000, {"correlation_id": "x", "kernel_details": "grid:9,9 block:a,b,c"}),
        ("late", big, big, {}), ("early", -big, 5, {}), ("good", 2000, 1000, {"correlation_id": big}),
        ("copy", 4000, 10, {"memcpy_details": "size:99999999999999999999999 kind_src:\0"}),
    ], at=1000)  # fmt: skip
    (inbox / "odd.xplane.pb").write_bytes(PlaneWriter("/host:CPU").data() + gpu.data())
    query = converted(ingest, inbox, empty_library, "odd.xplane.pb")
    names = {name for (name,) in query("SELECT demangled FROM kernel JOIN kernel_name USING (name_id)")}
    assert {"good", "'); DROP TABLE kernel; -- "} <= names
    assert query("SELECT bytes FROM memop") == [(None,)]
    assert query("SELECT clock_hz FROM gpu") == [(None,)]


@pytest.mark.parametrize(
    "path",
    [
        SAMPLES / "jax" / "jax_training.xplane.pb",
        pytest.param(CORPUS / "jax_conv_mi300.xplane.pb", marks=[needs_corpus, STRANGERS]),
        pytest.param(CORPUS / "jax_te_attention.xplane.pb", marks=[needs_corpus, STRANGERS]),
    ],
    ids=lambda path: path.name,
)
def test_profiles_equal_a_second_reading(ingest: Ingest, inbox: Path, empty_library: Library, path: Path) -> None:
    told: Counter[tuple[int, str]] = Counter()
    data = path.read_bytes()
    for plane in map(read, read(data)[1]):
        title = plane[2][0].decode()
        if not title.startswith("/device:GPU:"):
            continue
        entries = [read(entry) for entry in plane.get(4, [])]
        kinds = {entry[1][0]: read(entry[2][0])[2][0].decode() for entry in entries}
        stats = {entry[1][0]: read(entry[2][0]).get(2, [b""])[0] for entry in map(read, plane.get(5, []))}
        for line in map(read, plane.get(3, [])):
            if not line[2][0].startswith(b"Stream #"):
                continue
            begin = line.get(3, [0])[0] * 1000
            for event in map(read, line.get(4, [])):
                values = {stats[read(stat)[1][0]] for stat in event.get(4, [])}
                if values & {b"memcpy_details", b"memset_details"}:
                    continue
                start = begin + event.get(2, [0])[0]
                ns = (start + event.get(3, [0])[0]) // 1000 - start // 1000
                told[
                    int(title[12:]), kinds[event[1][0]].removesuffix(" [clone .kd]").removesuffix(".kd")[:LONGEST]
                ] += ns
    shutil.copy(path, inbox)
    query = converted(ingest, inbox, empty_library, path.name)
    rows = query("""
        SELECT device_id, coalesce(mangled, demangled), sum(end_ns - start_ns)::BIGINT
        FROM kernel JOIN kernel_name USING (name_id) GROUP BY ALL
    """)
    assert told
    assert {(device, kernel[:LONGEST]): ns for device, kernel, ns in rows} == dict(told)


def test_the_sample_has_its_steps(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """Six training steps, each one graph launch, which counts as one launch of all its kernels."""
    shutil.copy(SAMPLES / "jax" / "jax_training.xplane.pb", inbox)
    query = converted(ingest, inbox, empty_library, "jax_training.xplane.pb")
    steps = "SELECT name FROM range JOIN range_name USING (name_id) WHERE starts_with(name, 'train ') ORDER BY 1"
    assert query(steps) == [(f"train {number}",) for number in range(6)]
    launches = """
        SELECT count(*), count(DISTINCT call_id) FROM kernel JOIN api_call USING (call_id)
        JOIN string ON string_id = api_call.name_id WHERE value LIKE 'cuGraphLaunch%'
    """
    ((kernels, calls),) = query(launches)
    assert (calls, kernels % calls) == (6, 0)
