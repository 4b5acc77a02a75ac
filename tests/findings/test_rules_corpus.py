"""Rules on strangers' reports: conclusions that were once wrong."""

from typing import Any

import pytest

from profiledb.findings.sentences import strip_sentence
from profiledb.library.library import Library
from tests.conftest import CORPUS, Once, ingest_files
from tests.support.judged_rules import judged
from tests.support.page_reports import run

pytestmark = [
    pytest.mark.slow("takes traces of strangers in"),
    pytest.mark.skipif(not CORPUS.exists(), reason="no ../shared/corpus here"),
]

ENABLED = "vllm_eager_b200.json.gz"
"""It has `std::enable_if<...>::type vllm::fused_add_rms_norm_kernel<...>(...)`."""
SAID = [
    # 2,857 synchronizations of OpenACC, after each of which the GPU waits for 71 µs
    ("miniweather_pnetcdf.qdrep", "sync_bound", "fires", "cuStreamSynchronize", "0.0 %"),
    # output of PnetCDF: the thread leaves its core between calls on files
    ("miniweather_pnetcdf.qdrep", "preempted", "fires", "file system", "share its core"),
    ("openacc_gp100.qdrep", "preempted", "fires", "file system", "share its core"),
    # 15.3 KB in 75 copies, which wait for graphs
    ("hta_rank0_graphs.json.gz", "pageable_copies", "clear", "<0.1 %", "49.4 %"),
    ("kineto_event_sync_trace.pt.trace.json.gz", "pageable_copies", "clear", "0.8 %", "11.0 %"),
    # Fortran: the CPU computes sines
    ("fortran_openmp_cpu_bound.qdrep", "cpu_saturated", "fires", "gkps_adiabatic_electron_", "GIL"),
    ("um_events_lost.nsys-rep", "lost_events", "fires", "perf_event_paranoid", "shorter part"),
    # kernels take 0.5 of 92 ms
    ("too_new_2026.nsys-rep", "no_overlap", "fires", "between the two directions", "Copies and kernels take turns"),
    ("vector_add_loop_a100.nsys-rep", "elementwise_chains", "clear", "0.0 %", "vectorAdd"),
    # a batch from before the capture runs for 493 of 987 ms
    ("sglang_qwen3_prefilldecode_mi300.json.gz", "queued_work", "clear", "0.0 %", "50.0 %"),
    # `aten::log_softmax`
    ("kineto_resnet_conv_steps.pt.trace.json.gz", "output_in_loop", "cannot_judge", "output", "%"),
]


@pytest.fixture(scope="module")
def traces(once: Once) -> Library:
    """A library of the traces among them, which ``every_report`` does not have."""
    files = [CORPUS / name for name in sorted({name for name, *_ in SAID if name.endswith(".json.gz")} | {ENABLED})]
    return Library(once("traces_of_strangers", lambda folder: ingest_files(folder, files)) / "library")


@pytest.mark.parametrize(("name", "rule", "verdict", "word", "never"), SAID)
def test_what_is_said(
    every_report: Library, traces: Library, name: str, rule: str, verdict: str, word: str, never: str
) -> None:
    found = judged(traces if name.endswith(".json.gz") else every_report, name, rule)
    said = " ".join([strip_sentence(found), *found.advice])
    assert found.verdict == verdict
    assert word in said
    assert never not in said


def test_the_kernel_behind_a_type(traces: Library) -> None:
    rows: list[dict[str, Any]] = run(traces, traces.find(ENABLED).id, "kernels", limit=500)
    names = [str(row["name"]) for row in rows]
    assert any(name.startswith("fused_add_rms_norm_kernel") for name in names)
    assert not any(name.startswith("enable_if") for name in names)
