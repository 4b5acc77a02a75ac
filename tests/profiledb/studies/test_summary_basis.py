"""A summary has one number for busy and one for idle time, which add up, on any part of a report."""

from typing import Any

import pytest

from profiledb.findings import judge, rulebook
from profiledb.library.catalog import TIMELINE, Manifest
from profiledb.library.library import Library
from profiledb.studies.summary import answers, document
from tests.conftest import CORPUS, ROOT, Once, ingest_files
from tests.support.every_report import FILES, slow_but
from tests.support.gaps import MS
from tests.support.made_traces import event, launch, operator, taken_in
from tests.support.range_captures import Capture
from tests.support.summary_shares import Shares, read_shares, table

SUMMARIZED = "transformer_training.nsys-rep"
"""The report whose summary says most."""


def started_up(capture: Capture) -> str:
    """A kernel, 200 ms of start-up, 8 steps of 10 ms with 8 ms of work each, 50 ms until the last kernel."""
    steps = [(200 * MS + n * 10 * MS, 210 * MS + n * 10 * MS, f"step_{n}") for n in range(8)]
    work = [(0, 20, MS, "one"), (330 * MS, 331 * MS, 332 * MS, "one")]
    work += [(start + MS, start + MS + 20, start + 9 * MS, "two") for start, _, _ in steps]
    return capture(steps, sorted(work))


def test_it_covers_what_its_findings_judge(library: Library, capture: Capture) -> None:
    report = library.find(started_up(capture))
    text, every = (document.write_summary(library, report, {}, startup=one) for one in (False, True))
    said = read_shares(library, report, text)
    assert said.idle == pytest.approx({"headline": 20.0, "reasons": 20.0, "finding": 20.0}, abs=0.11)
    assert (said.busy, said.idle_by_gpu) == ([80.0], [20.0])
    assert "`two` takes all kernel time**: 64.0 ms in 8 launches." in text
    assert "- Steady part: This summary covers 8 steps (80.0 ms). It leaves out 200 ms from the GPU's first" in text
    assert "**The GPU is idle 80.1 % of the time** (266 ms)" in every
    assert "Steady part" not in every
    assert [row[1:3] for row in table(every, "GPU time")] == [["19.9 %", "80.1 %"]]
    assert [row[1] for row in table(text, "Steps")] == ["8", "8"], "of both sides; no first step is a warm-up again"


def test_steps_are_judged_with_all_that_count(library: Library, capture: Capture) -> None:
    """By hand: the first step waits for the GPU until 12 ms, so the part starts within its range."""
    report = library.find(started_up(capture))
    part = judge.find_steady_part(library, report, {})
    assert part is not None
    rules = [rulebook.load()[name] for name in ("step_outliers", "warmup_inside", "gpu_idle")]
    late = judge.Steady(8, part.from_ns + 2 * MS, part.to_ns, part.before_ns, part.after_ns)
    found = {one.rule.name: one for one in judge.judge(library, report, {}, rules, late)}
    assert found["step_outliers"].facts["steps"] == 8
    assert found["warmup_inside"].verdict == "clear"


def test_analyses_of_steps_see_the_whole_selection() -> None:
    part = judge.Steady(8, 200 * MS, 280 * MS, 0, 0)
    for name in ("iterations", "iteration_summary", "detected_iterations", "mfu", "tensor_growth", "tensor_steps"):
        assert answers.restrict_params(part, name) == {}, name
    assert answers.restrict_params(part, "time_split") == part.times


def test_remarks_on_the_work_are_those_of_the_steps(library: Library, capture: Capture) -> None:
    """By hand: 64 of 66 ms of kernels are in steps, all in one kernel, as the summary above says."""
    report = library.find(started_up(capture))
    part = judge.find_steady_part(library, report, {})
    (found,) = judge.judge(library, report, {}, [rulebook.load()["hot_kernel"]], part)
    assert found.value == 100


def test_steps_of_several_processes_count_once(library: Library, capture: Capture) -> None:
    """By hand: two processes with four steps each, as the two ranks of one report."""
    other = 1 << 24
    steps = [(200 * MS + n * 10 * MS, 210 * MS + n * 10 * MS, f"step_{n}") for n in range(8)]
    work = [(0, 20, MS, "one"), *((start + MS, start + MS + 20, start + 9 * MS, "two") for start, _, _ in steps)]
    turn = f"{{}} >= {200 * MS} AND {{}} // {10 * MS} % 2 = 1"
    moved = (
        f"UPDATE range SET global_tid = global_tid + {other} WHERE {turn.format('start_ns', 'start_ns')};"
        f"UPDATE api_call SET global_tid = global_tid + {other} WHERE {turn.format('start_ns', 'start_ns')};"
        f"UPDATE kernel SET global_pid = global_pid + {other} WHERE {turn.format('start_ns', 'start_ns')}"
    )
    part = judge.find_steady_part(library, library.find(capture(steps, work, after=moved)), {})
    assert part is not None
    assert part.steps == 4


def test_what_ran_before_the_capture_is_neither_busy_nor_idle(tmp_path: Any) -> None:
    """By hand: a kernel of 1 ms; a copy, launched then, starts 499 ms later, when older work is done."""
    noted = [event("user_annotation", "work", 0, 600_000), operator("aten::mm", 1, 599_000)]
    events = [*noted, *launch(1, 2, (10, 1_010)), *launch(2, 20, (500_000, 600_000))]
    events[-1]["args"]["stream"] = 8
    library, report_id = taken_in(tmp_path, events)
    report = library.find(report_id)
    text = document.write_summary(library, report, {})
    (row,) = table(text, "GPU time")
    assert row[1:3] == ["16.8 %", "0.0 %"]
    assert "For 499 ms at the start of the capture, work may run that was launched before it" in text


@pytest.fixture(scope="module")
def traces(once: Once) -> Library:
    """Traces of PyTorch: those of the samples, and of strangers where they are."""
    files = [*(ROOT / "sample_reports" / "torch").glob("*.json.gz"), *CORPUS.glob("*.json.gz")]
    files = [path for path in files if not path.name.startswith("rocprof")]
    return Library(once("all_traces", lambda folder: ingest_files(folder, files)) / "library")


@pytest.mark.parametrize("name", slow_but([SUMMARIZED], FILES, "the summary of every report there is"))
def test_of_every_report(every_report: Library, name: str) -> None:
    agrees(every_report, every_report.find(name))


@pytest.mark.slow("a summary of every trace")
def test_of_every_trace(traces: Library) -> None:
    for report in traces.list():
        agrees(traces, report)


def agrees(library: Library, report: Manifest) -> None:
    """Hold that a report's summary says one share of idle time, which the busy one completes; no share above 100 %, and
    no number twice.
    """
    if TIMELINE not in report.subjects:
        return
    said: Shares = read_shares(library, report)
    assert not said.too_large, report.name
    assert not said.repeated, report.name
    for busy, idle in zip(said.busy, said.idle_by_gpu, strict=True):
        assert busy + idle <= 100.1, report.name
    if not said.idle:
        return
    least, most = min(said.idle.values()), max(said.idle.values())
    assert most - least <= 0.7, (report.name, said.idle)  # each of up to ten reasons is rounded
    if len(said.busy) == 1:
        assert said.idle_by_gpu[0] == pytest.approx(most, abs=0.7), report.name
