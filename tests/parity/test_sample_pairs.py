"""The sample pairs show what they were made to show: a bad version, and the same work done well."""

from typing import Any

import pytest

from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.query import analysis, captures, views
from tests.conftest import SAMPLES
from tests.support.page_reports import records, run

MEASURED = {"warmup": "exclude", "mode": "process"}


def one(library: Library, report: str, name: str, **params: str) -> dict[str, Any]:
    """The first row of an analysis."""
    return records(analysis.run(library, library.find(f"{report}.nsys-rep").id, name, params))[0]


def busy(library: Library, report: str) -> dict[str, Any]:
    return one(library, report, "gpu_busy", **MEASURED)


def step_ns(library: Library, report: str) -> float:
    return float(one(library, report, "iteration_summary", warmup="exclude")["median_ns"])


def calls(library: Library, report: str) -> dict[str, int]:
    rows = records(analysis.run(library, library.find(f"{report}.nsys-rep").id, "cuda_api_sum", MEASURED))
    return {row["Name"]: row["Num Calls"] for row in rows}


def test_a_starved_loader_leaves_the_gpu_idle(nsys_samples: Library) -> None:
    starved, fixed = (busy(nsys_samples, f"dataloader_{mode}") for mode in ("starved", "fixed"))
    assert starved["kernel_ns"] == pytest.approx(fixed["kernel_ns"], rel=0.1)  # the same work
    assert starved["busy_active_pct"] < 15
    assert fixed["busy_active_pct"] > 90
    assert step_ns(nsys_samples, "dataloader_starved") > 10 * step_ns(nsys_samples, "dataloader_fixed")


def test_streams_overlap_copies_with_kernels(nsys_samples: Library) -> None:
    serial, overlapped = (busy(nsys_samples, f"streams_{mode}") for mode in ("serial", "overlapped"))
    assert serial["kernel_ns"] + serial["copy_ns"] == pytest.approx(serial["busy_ns"], rel=0.02)  # never both
    assert overlapped["kernel_ns"] + overlapped["copy_ns"] > 1.5 * overlapped["busy_ns"]
    assert step_ns(nsys_samples, "streams_serial") > 3 * step_ns(nsys_samples, "streams_overlapped")


def test_a_graph_launches_many_tiny_kernels_at_once(nsys_samples: Library) -> None:
    tiny, graph = (calls(nsys_samples, f"launches_{mode}") for mode in ("tiny", "graph"))
    launched = sum(count for name, count in tiny.items() if "LaunchKernel" in name)
    assert launched > 2000
    assert sum(count for name, count in graph.items() if "Launch" in name) < launched / 100
    assert busy(nsys_samples, "launches_tiny")["busy_active_pct"] < 20
    assert busy(nsys_samples, "launches_graph")["busy_active_pct"] > 75
    assert step_ns(nsys_samples, "launches_tiny") > 5 * step_ns(nsys_samples, "launches_graph")


def test_a_host_that_waits_every_step_leaves_the_gpu_idle(nsys_samples: Library) -> None:
    waiting, fixed = (busy(nsys_samples, f"idle_{mode}") for mode in ("host_bound", "fixed"))
    assert waiting["kernel_ns"] == pytest.approx(fixed["kernel_ns"], rel=0.1)
    assert waiting["busy_active_pct"] < 75
    assert fixed["busy_active_pct"] > 95


@pytest.mark.parametrize("tokens", [512, 1024, 2048, 4096])
def test_fused_attention_takes_a_fraction_of_the_time(nsys_samples: Library, tokens: int) -> None:
    naive, fused = (
        one(nsys_samples, "attention", "gpu_busy", range=f"tokens_{tokens}/{kind}")["kernel_ns"]
        for kind in ("naive", "fused")
    )
    assert naive > 3 * fused


def test_graphs_that_were_traced_as_wholes_are_not_taken_for_a_silent_driver(nsys_samples: Library) -> None:
    report = nsys_samples.find("launches_graph.nsys-rep")
    with pytest.raises(NotCapturedError, match="graphs were traced as a whole") as told:
        analysis.run(nsys_samples, report.id, "kernel_summary", {})
    assert "--cuda-graph-trace=node" in told.value.hint
    with nsys_samples.cursor(report.id, views=views.everything()) as cursor:
        assert "--cuda-graph-trace=node" in captures.missing(cursor)[0].flag


@pytest.mark.skipif(not (SAMPLES / "energy.sqlite").exists(), reason="no sample reports here")
def test_steps_within_batch_sizes_are_the_steps(nsys_samples: Library) -> None:
    """Those of each size are a loop of their own: they run other kernels, and take more energy by the hundred."""
    report = nsys_samples.find("energy.nsys-rep").id
    rows = run(nsys_samples, report, "iteration_summary", warmup="exclude")
    assert [(row["steps"], row["count"], row["warmup"]) for row in rows] == [
        ("batch_1/step_*", 3, 0), ("batch_8/step_*", 17, 0), ("batch_64/step_*", 126, 0), ("batch_512/step_*", 295, 0)
    ]  # fmt: skip
