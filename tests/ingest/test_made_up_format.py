"""A made-up format becomes a report: its reader stages plain rows, and every analysis answers.

The expected numbers are worked out by hand from the trace in tests/support/made_up_format.py; times are in ns.
"""

import pytest

from profiledb.errors import NotCapturedError, NotLinkedError
from profiledb.query import analysis, header
from profiledb.studies.summary import document
from tests.support.made_up_format import HELPER, MAIN, MATMUL, OWN, SOFTMAX, TRACE, Make, Report

ANALYSES = header.list_analyses().values()


@pytest.fixture
def report(make: Make) -> Report:
    return make(TRACE)


def test_kernels(report: Report) -> None:
    columns = "name class total_ns share_pct calls median_ns min_ns max_ns"
    assert report.rows("kernels", columns) == [
        (MATMUL, "matmul", 340, 68, 5, 50, 50, 100),
        (SOFTMAX, "softmax", 90, 18, 2, 45, 30, 60),
        (OWN, "other", 70, 14, 3, 20, 10, 40),
    ]
    columns = "name class rank kernels total_ns share_pct calls first_ns last_ns"
    assert report.rows("kernel_summary", columns, kernel=f"{SOFTMAX}(int)") == [
        (SOFTMAX, "softmax", 2, 3, 90, 18, 2, 170, 580)
    ]
    assert report.rows("class_split", "class total_ns calls") == [
        ("matmul", 340, 5),
        ("softmax", 90, 2),
        ("other", 70, 3),
    ]


def test_kernels_by_phase(report: Report) -> None:
    assert report.rows("top_kernels", "phase rank name total_ns calls", mode="process") == [
        ("all", 1, MATMUL, 340, 5),
        ("all", 2, SOFTMAX, 90, 2),
        ("all", 3, OWN, 70, 3),
        ("forward", 1, MATMUL, 150, 3),
        ("forward", 2, SOFTMAX, 30, 1),
        ("backward", 1, MATMUL, 190, 2),
        ("backward", 2, SOFTMAX, 60, 1),
        ("optimizer", 1, OWN, 30, 2),
        ("none", 1, OWN, 40, 1),
    ]


def test_ranges(report: Report) -> None:
    assert report.rows("range_summary", "name style total_ns instances") == [
        ("step", "PushPop", 1000, 1),
        ("backward", "PushPop", 500, 1),
        ("forward", "PushPop", 300, 1),
        ("attention", "PushPop", 100, 1),
        ("optimizer", "PushPop", 80, 1),
    ]


def test_what_ranges_ran_in_both_modes(report: Report) -> None:
    """Softmax runs beside a matmul of the backward pass for 40 ns; the helper thread launched the pass."""
    columns = "level path cpu_ns self_ns gpu_ns busy_ns kernel_ns operations"
    forward = [
        (1, "step/forward", 300, 200, 240, 180, 180, 4),
        (2, "step/forward/attention", 100, 100, 90, 80, 80, 2),
    ]
    optimizer = (1, "step/optimizer", 80, 80, 50, 30, 30, 2)
    assert report.rows("nvtx_tree", columns, mode="process") == [
        (0, "step", 1000, 120, 860, 420, 460, 9),
        *forward,
        (1, "step/backward", 500, 500, 240, 210, 250, 3),
        optimizer,
    ]
    assert report.rows("nvtx_tree", columns, mode="thread") == [
        (0, "step", 1000, 120, 860, 210, 210, 6),
        *forward,
        (1, "step/backward", 500, 500, None, None, None, 0),
        optimizer,
    ]
    assert report.rows("attribution", "category operations gpu_ns share_pct") == [
        ("attributed", 6, 210, 42),
        ("inferred", 3, 250, 50),
        ("unattributed", 1, 40, 8),
    ]


def test_when_the_gpu_worked(report: Report) -> None:
    columns = "gpu_id operations busy_ns kernel_ns first_ns active_ns capture_ns"
    assert report.rows("gpu_busy", columns) == [(0, 10, 460, 500, 120, 940, 1100)]
    columns = "start_ns duration_ns reason next range next_range launched_ns launch thread"
    launch, main, helper = "cudaLaunchKernel", "7 / 7", "7 / 8"
    assert report.rows("idle_gaps", columns, min_ns=1) == [
        (700, 230, "host code", OWN, "step/backward", "step/optimizer", 220, launch, main),
        (360, 100, "host code", MATMUL, "step/backward", "step/backward", 90, launch, helper),
        (260, 50, "host code", MATMUL, "step/forward", "step/forward", 40, launch, main),
        (980, 40, "host code", OWN, None, None, 30, launch, main),
        (580, 30, "host code", MATMUL, "step/backward", "step/backward", 20, launch, helper),
        (940, 20, "host code", OWN, "step/optimizer", "step/optimizer", 10, launch, main),
        (200, 10, "launch call", MATMUL, "step/forward/attention", "step/forward/attention", 0, launch, main),
    ]


def test_threads_and_the_one_that_drives(report: Report) -> None:
    assert report.query("SELECT pid, tid, name FROM thread ORDER BY tid") == [(7, 7, "python"), (7, 8, "pt_autograd_0")]
    assert report.query("FROM thread_driver") == [(HELPER, MAIN, 100)]


def test_impossible_rows_ranges_that_cross_and_calls_of_no_range(make: Make) -> None:
    report = make(
        {
            "range": [(0, 100, "all"), (10, 60, "first"), (40, 90, "second")],
            "call": [(50, 52, MAIN, 1), (70, 72, MAIN, 2), (95, 200, HELPER, 3)],
            "kernel": [(60, 70, OWN, 1), (80, 85, OWN, 2), (90, 80, OWN, 3), (210, 220, OWN, 3), (230, 235, OWN, 4)],
        }
    )
    assert report.rows("nvtx_tree", "path kernel_ns operations", mode="thread") == [
        ("all", 15, 2),
        ("all/first", 10, 1),
        ("all/second", 15, 2),
    ]
    assert report.query("SELECT source, row_json::JSON->>'start_ns' FROM rejected_row") == [("kernel", "90")]
    assert report.query("SELECT kernel_id, call_id FROM kernel ORDER BY 1") == [(1, 1), (2, 2), (4, 3), (5, None)]
    assert report.query("SELECT text FROM diagnostic") == [
        ("1 rows of kernel have impossible times and are excluded everywhere.",)
    ]


def test_kernels_alone(make: Make) -> None:
    report = make({"range": [], "call": [], "kernel": TRACE["kernel"]})
    assert report.rows("gpu_busy", "operations busy_ns") == [(10, 460)]
    assert report.rows("class_split", "class calls") == [("matmul", 5), ("softmax", 2), ("other", 3)]
    assert report.query("SELECT count(*) FROM thread") == [(2,)]


def test_every_analysis_answers_whose_needs_are_met(report: Report) -> None:
    """Its columns are those of the header; an analysis without its table, sidecar or Compute report says so."""
    filled = report.manifest.rows
    answering = {one.name for one in ANALYSES if all(any(map(filled.get, tables)) for tables in one.needs)}
    answered = set()
    for one in ANALYSES:
        try:
            rows = analysis.run(report.library, report.id, one.name)
        except (NotCapturedError, NotLinkedError):
            continue
        assert list(rows.columns) == [column.name for column in one.columns]
        answered.add(one.name)
    assert answered == answering
    assert {"kernels", "nvtx_tree", "api_calls", "launch_times", "idle_reasons", "matmul_split"} <= answered


def test_its_summary(report: Report) -> None:
    text = document.write_summary(
        report.library, report.manifest, document.get_page_params(report.library, report.manifest, {})
    )
    assert "- Captured with: `Made up`" in text
    assert "Matmul takes **68.0 %** of kernel time" in text
    assert "| 0 | 48.9 % | 51.1 % | 460 ns | 940 ns | 500 ns | – |" in text
    assert "NVTX ranges" not in text.partition("## Not in this capture")[2]
