"""Predictions for real reports: samples and their mended halves, every report there is, and the command."""

import json

import pytest

from profiledb.access.cli.main import main
from profiledb.access.operations.registry import list_operations
from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.library.library import Library
from profiledb.replay import prediction
from profiledb.replay.changes import CHANGES

STARVED, FIXED = "dataloader_starved.nsys-rep", "dataloader_fixed.nsys-rep"


def predict(library: Library, name: str, *changes: str) -> prediction.WhatIf:
    return prediction.predict(library, library.find(name).id, prediction.parse(changes))


def test_the_saving_of_a_faster_loader_is_the_measured_one(nsys_samples: Library) -> None:
    """The samples: a loop that waits for its data, and one whose workers prepare it; within a fifth."""
    starved, fixed = predict(nsys_samples, STARVED), predict(nsys_samples, FIXED)
    best = starved.predictions[0]
    assert best.changes == (("host_code", "next_batch"),)
    assert starved.steps == fixed.steps
    predicted = 1 - best.predicted_ns / starved.baseline_ns
    assert predicted == pytest.approx(1 - fixed.baseline_ns / starved.baseline_ns, rel=0.2)
    assert best.low_ns <= fixed.baseline_ns <= best.high_ns


def test_changes_together_save_no_less_than_each_alone(nsys_samples: Library) -> None:
    found = predict(nsys_samples, "transformer_training.nsys-rep", "without_waits", "faster_kernels=matmul:2")
    assert found.together is not None
    assert len(found.predictions) == 2
    assert found.together.predicted_ns <= min(one.predicted_ns for one in found.predictions) < found.baseline_ns
    assert sum(piece.ns for piece in found.path) == pytest.approx(found.baseline_ns, rel=0.01)


def test_a_larger_batch_is_told_for_as_many_items(nsys_samples: Library) -> None:
    found = predict(nsys_samples, "transformer_steps.nsys-rep", "batch=2").together
    assert found is not None
    assert found.baseline_ns / 2 < found.predicted_ns < found.baseline_ns
    assert sum(ns for _, ns in found.parts) == pytest.approx(found.predicted_ns, rel=0.01)


def test_the_command_and_the_api_say_the_same(nsys_samples: Library, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["whatif", STARVED, "--library", str(nsys_samples.folder), "--change", "faster_kernels=matmul:2"]
    assert main([*command, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    answer = list_operations()["get_what_if"].run(
        nsys_samples, {"report": STARVED, "change": ("faster_kernels=matmul:2",)}
    )
    assert told == json.loads(answer.written("json"))
    assert {"baseline_ns", "replayed_ns", "error_pct", "predicted_ns", "low_ns", "high_ns", "next"} <= told.keys()
    assert {"change", "predicted_ns", "low_ns", "high_ns", "next"} <= told["changes"][0].keys()
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("# What if: ")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("fly", "There is no change 'fly'."),
        ("host_code", "The change host_code takes a range: host_code=..."),
        ("cuda_graph=yes", "The change cuda_graph takes no value."),
        ("faster_kernels=matmul", "faster_kernels takes CLASS:TIMES"),
        ("faster_kernels=matmul:0", "faster_kernels takes CLASS:TIMES"),
        ("faster_kernels=matmul:nan", "faster_kernels takes CLASS:TIMES"),
        ("faster_kernels=matmul:1e-300", "faster_kernels takes CLASS:TIMES"),
        ("faster_kernels=:2", "faster_kernels takes CLASS:TIMES"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused(nsys_samples: Library, change: str, said: str) -> None:
    with pytest.raises(AnalysisError, match=said.replace("(", r"\(")):
        predict(nsys_samples, STARVED, change)


def test_one_question_has_a_bounded_number_of_changes(nsys_samples: Library) -> None:
    with pytest.raises(AnalysisError, match="At most 20 changes"):
        predict(nsys_samples, STARVED, *["cuda_graph"] * 21)


def test_a_change_that_fits_nothing_leaves_everything_as_it_is(nsys_samples: Library) -> None:
    found = predict(nsys_samples, STARVED, "host_code=nowhere")
    assert (found.predictions, found.together) == ([], None)


def test_a_report_without_work_on_a_gpu_has_no_replay(nsys_samples: Library) -> None:
    with pytest.raises(NotCapturedError, match="Nothing ran on a GPU"):
        predict(nsys_samples, "openmp_regions.nsys-rep")


def test_every_change_has_its_row_in_the_document() -> None:
    from tests.conftest import ROOT

    text = (ROOT / "docs" / "whatif.md").read_text(encoding="utf-8")
    for name, change in CHANGES.items():
        assert f"| `{name}{'=' if change.value else '`'}" in text, name


@pytest.mark.slow("replays every report there is")
def test_every_report_replays_or_says_why_not(every_report: Library) -> None:
    """Nine in ten reports with calls and GPU work replay, with at most 3 % unexplained; paths add up."""
    replayed, refused = [], []
    for report in every_report.list():
        if report.kind not in ("nsys", "torch"):
            continue
        try:
            found = prediction.predict(every_report, report.id, [("faster_kernels", "matmul:2")])
        except NotCapturedError as error:
            if "Nothing ran" not in error.message and "no CUDA calls" not in error.message:
                refused.append(report.name)
            continue
        assert found.error_pct <= prediction.MOST_ERROR_PCT, report.name
        assert sum(piece.ns for piece in found.path) <= found.baseline_ns * 1.001, report.name
        assert all(one.predicted_ns <= found.baseline_ns for one in found.predictions), report.name
        replayed.append(report.name)
    assert len(replayed) >= 0.9 * (len(replayed) + len(refused)), refused


def test_no_error_makes_a_program_shorter_than_the_work_of_its_busiest_stream(nsys_samples: Library) -> None:
    """Its kernels take 2.43 ms: as a graph they may take 15 % less in another run, but never zero."""
    report = nsys_samples.find("launches_tiny.nsys-rep").id
    found = prediction.predict(nsys_samples, report, [("cuda_graph", "")]).together
    assert found is not None
    begin, end = prediction.open_case(nsys_samples, report).find_span()
    with nsys_samples.cursor(report) as db:
        (busy_ns,) = db.execute(
            "SELECT sum(end_ns - start_ns) FROM kernel WHERE start_ns BETWEEN ? AND ?", [begin, end]
        ).fetchone() or (0,)
    assert found.low_ns == pytest.approx(0.85 * busy_ns, abs=1)
    assert found.low_ns < found.predicted_ns < found.high_ns
