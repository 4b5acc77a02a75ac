"""In a report of several processes, a selection keeps the steps of each."""

from pathlib import Path
from typing import Any

import pytest

from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.report.schema import SCHEMA_VERSION
from tests.support import exports
from tests.support.exports import PID, kernel
from tests.support.judged_rules import judged
from tests.support.page_reports import run

OTHER_PID = PID + (1 << 24)
LOADER_PID = PID + (2 << 24)
CALL = ("start", "end", "globalTid", "correlationId", "nameId", "eventClass", "returnValue")
COLLECTIVE, PRODUCT = 4, 2
STEPS = 5
Row = tuple[Any, ...]


@pytest.fixture(name="report")
def make_report(library: Library, tmp_path: Path) -> str:
    """Two ranks: 5 steps of 1,000 ns each with a product, a collective and a short product, launched at their begin.

    Rank 1 begins its product and its collective 100 ns later, so that rank 0 waits 100 ns a step. A third process reads
    batches and has no GPU.
    """
    nvtx: list[Row] = []
    calls: list[Row] = []
    work: list[Row] = []
    for rank, pid in enumerate((PID, OTHER_PID)):
        for n in range(STEPS):
            t = 1400 * n + 100 * rank
            nvtx.append((t, t + 900, 59, f"step_{n}", None, pid + 70, 0))
            parts = ((30, 230, PRODUCT), (320, 720 - 100 * rank, COLLECTIVE), (740 - 100 * rank, 790, PRODUCT))
            for number, (begin, end, name) in enumerate(parts):
                correlation, at = len(calls) + 1, t + 10 * number
                calls.append((at, at + 5, pid + 70, correlation, 1, 0, 0))
                work.append(kernel(t + begin, t + end, name=name, device=rank, correlation=correlation, pid=pid))
    nvtx += [(700 * n, 700 * n + 600, 59, f"batch_{n}", None, LOADER_PID + 70, 0) for n in range(10)]
    names = (("id", "value"), [(1, "cudaLaunchKernel"), (PRODUCT, "gemm"), (COLLECTIVE, "ncclDevKernel_AllReduce")])
    tables = {
        **exports.kernels(*work),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (CALL, calls),
        "NVTX_EVENTS": (exports.NVTX, nvtx),
        "StringIds": names,
        "ANALYSIS_DETAILS": (("duration", "startTime", "stopTime"), [(10_000, 0, 10_000)]),
    }
    path = exports.write(tmp_path / "ranks.sqlite", tables)
    database = tmp_path / "ranks.duckdb"
    with exports.loaded(database, path):
        pass
    manifest = Manifest("0" * 16, SCHEMA_VERSION, path.name, "nsys", "0", 1, rows={"kernel": len(work)})
    library.publish(database, manifest)
    return manifest.id


def test_steps_of_each_process_are_kept(library: Library, report: str) -> None:
    kept = run(library, report, "gpu_busy", within="steps")
    assert [(row["gpu_id"], row["operations"]) for row in kept] == [(0, 15), (1, 15)]
    (everything, *_) = run(library, report, "matmul_split", within="steps")
    assert everything["passes"] == STEPS, "a step of the program is one of all its processes"
    (_, *split) = run(library, report, "kernel_sequence")
    assert {row["step"] for row in split} == {f"step_{n}" for n in range(STEPS)}


def test_ranks_of_steps_wait_for_each_other(library: Library, report: str) -> None:
    """5 times 100 ns, of the time from the first to the last operation in the steps of both GPUs."""
    found = judged(library, report, "rank_imbalance", within="steps")
    assert found.facts["wait_ns"] == STEPS * 100
    assert found.facts["collectives"] == STEPS
    assert found.facts["last_gpu"] == 1
