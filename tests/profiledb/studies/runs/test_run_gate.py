"""``warpdeck check --run``: a run against its earlier runs and against another one."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.runs import Late, vary
from profiledb.access.cli import check
from profiledb.access.cli.main import main
from profiledb.library.library import Library
from profiledb.studies import run_gate, run_lookup
from profiledb.studies.run_figures import RUN_MEASURES
from tests.conftest import copy_data
from tests.support import series_summaries
from tests.support.made_ranks import MS, real

DAY_NS = 24 * 3_600_000_000_000


def put_run(library: Library, number: int, late: Late | None = None, size: int = 4, gpu: str = "H100") -> None:
    """List a run of 30 steps with figures alone, captured on the day of its number."""
    for one in vary(real(), size, 30, late, seed=number):
        facts = series_summaries.facts(1_000 * number + (one.rank or 0), name=f"train_{number}_rank{one.rank}.sqlite")
        begin = number * DAY_NS
        named = replace(
            one, report_id=facts.report_id, run=f"train_{number}", run_id=f"job {number}", gpu=gpu, begin_ns=begin,
            end_ns=begin + 1,
        )  # fmt: skip
        series_summaries.put(library, facts, [], [named])


@pytest.fixture(scope="module")
def six_runs(tmp_path_factory: pytest.TempPathFactory) -> Library:
    library = Library(tmp_path_factory.mktemp("runs") / "library")
    for number in range(1, 7):
        put_run(library, number)
    return library


@pytest.fixture(name="library")
def make_library(six_runs: Library, tmp_path: Path) -> Library:
    copy_data(six_runs.folder, tmp_path / "library")
    return Library(tmp_path / "library")


def run(library: Library, *arguments: str) -> int:
    return main(["check", "--run", "--library", str(library.folder), *arguments])


def test_measures_of_the_command_are_those_of_runs() -> None:
    assert tuple(RUN_MEASURES) == check.RUN_MEASURES


def test_a_run_like_those_before_passes(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(library, "train_6", "--against", "series") == 0
    said = capsys.readouterr().out
    assert said.startswith("### Warpdeck: within all limits")
    assert "Run `train_6` against the median of 5 earlier runs of `train · 4 ranks · H100`." in said
    assert main(["check", "train_6", "--library", str(library.folder), "--against", "series"]) == 0
    assert capsys.readouterr().out == said, "the name of a run needs no --run"


def test_a_run_with_a_straggler_fails_and_says_what_it_costs(
    library: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    put_run(library, 7, Late(2, 0, "idle", 2 * MS))
    assert run(library, "train_7", "--against", "series", "--measure", "late_ns", "--format", "json") == 1
    told = json.loads(capsys.readouterr().out)
    figures = {one["measure"]: one for one in told["measures"]}
    assert figures["late_ns"]["after"] == pytest.approx(2 * MS, rel=0.1)
    assert (figures["late_ns"]["before"], figures["late_ns"]["fails"], figures["late_ns"]["runs"]) == (0, True, 6)
    assert figures["wall_ns"]["verdict"] == "worse"
    assert figures["compute_ns"]["verdict"] == "same"
    assert run(library, "train_7", "--against", "train_1") == 1
    assert "against run `train_1`" in capsys.readouterr().out
    assert run(library, "train_1", "--against", "train_7") == 0, "better"


def test_small_parts_may_grow_by_a_hundredth_of_the_step(library: Library) -> None:
    """Waits of some microseconds differ by more than 5 % from run to run."""
    checked = run_gate.check_run(library, "train_2", "train_1", list(RUN_MEASURES))
    held = next(one for one in checked.judged if one.measure.name == "held_ns")
    assert held.limit >= 0.01 * 10 * MS > abs(held.after - held.before) > 0.05 * held.before
    assert not checked.fails


def test_runs_of_other_sizes_and_gpus_do_not_compare(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    put_run(library, 8, size=2)
    assert run(library, "train_8", "--against", "series") == 2
    assert "No run of train · 2 ranks · H100 began before this one." in capsys.readouterr().err
    assert run(library, "train_8", "--against", "train_6") == 2
    assert "ranks 4 before, 2 now" in capsys.readouterr().err
    assert run(library, "train_8", "--against", "train_6", "--anywhere") == 0
    put_run(library, 9, gpu="B200")
    assert run(library, "train_9", "--against", "train_6") == 2
    assert "GPU H100 before, B200 now" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("train_6",), "needs --against"),
        (("train_6", "--against", "train_6"), "is the run itself"),
        (("train_6", "--against", "series", "--measure", "mfu_pct"), "Runs have no mfu_pct"),
        (("nothing", "--against", "series"), "nothing"),
        (("train_6", "--against", "series", "--budget", "budget.toml"), "takes no budget"),
    ],
)
def test_what_cannot_be_checked_says_so(
    library: Library, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str
) -> None:
    assert run(library, *arguments) == 2
    assert says in capsys.readouterr().err


def test_junit_and_links(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(library, "train_6", "--against", "series", "--format", "junit", "--url", "https://deck.example") == 0
    said = capsys.readouterr().out
    assert 'tests="1" failures="0"' in said
    assert f"https://deck.example/run?report={6_000:016x}" in said


def test_a_listed_run_has_its_figures_once_worked_out(library: Library) -> None:
    lines = run_lookup.list_lines(library)
    assert {one.figures for one in lines} == {None}
    run_lookup.list_lines(library, work_out=True)
    known = run_lookup.complete_lines(library, lines)
    assert [one.run.name for one in known] == [f"train_{number}" for number in range(1, 7)]
    assert all(one.figures and one.figures["wall_ns"] > 10 * MS and one.worst for one in known)
    assert len(run_gate.list_before(known, known[3].run)) == 3


def test_a_series_of_runs_tells_what_became_worse_first(library: Library) -> None:
    put_run(library, 7, Late(2, 0, "idle", 2 * MS))
    put_run(library, 8, size=2)
    lines = run_lookup.list_lines(library, work_out=True)
    assert {one.run.name: one.straggler for one in lines if one.straggler is not None} == {"train_7": 2}
    large, small = run_gate.list_series(reversed(lines))
    assert (large.name, [one.run.name for one in large.lines]) == (
        "train · 4 ranks · H100", [f"train_{number}" for number in range(1, 8)]
    )  # fmt: skip
    assert large.leading is not None
    assert (large.leading.measure.name, large.leading.verdict, large.leading.reports) == ("wall_ns", "worse", 6)
    assert large.list_values("late_ns")[-1] == pytest.approx(2 * MS, rel=0.1)
    assert (small.name, small.leading, small.judged) == ("train · 2 ranks · H100", None, ())
    checked = run_gate.check_run(library, "train_7", "series", ["wall_ns"])
    assert large.judged == tuple(replace(one, counts=False) for one in checked.judged), "those of the gate"
    assert run_gate.list_series(run_lookup.list_lines(library)[:0]) == []
