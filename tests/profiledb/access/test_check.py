"""``warpdeck check``: passes and failures, budgets, formats, and reports that cannot be compared."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from profiledb.access.cli import check
from profiledb.access.cli.main import main
from profiledb.library.library import Library
from profiledb.studies.trends.measures import MEASURES
from profiledb.studies.trends.summary_store import Row
from tests.support import series_summaries

NEW = f"{50:016x}"


@pytest.fixture
def library(empty_library: Library) -> Library:
    for number in range(1, 9):
        meta = {**series_summaries.facts(number).meta, "options.attention": "fused"}
        series_summaries.put(
            empty_library, series_summaries.facts(number, meta=meta), figures(1 + 0.001 * (number % 3))
        )
    return empty_library


def figures(scale: float = 1.0, softmax: float = 1e6) -> list[Row]:
    return series_summaries.rows(8e6 * scale + softmax, {"gemm": 5e6 * scale, "softmax": softmax})


def run(library: Library, *arguments: str) -> int:
    return main(["check", NEW, "--library", str(library.folder), *arguments])


def test_measures_are_those_of_the_summaries() -> None:
    assert tuple(MEASURES) == check.MEASURES


def test_what_is_as_before_passes(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    series_summaries.put(library, series_summaries.facts(50), figures(1.001))
    assert run(library, "--against", "series") == 0
    said = capsys.readouterr().out
    assert said.startswith("### Warpdeck: within all limits")
    assert "the median of 8 reports" in said


def test_what_is_slower_fails_and_says_why(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    meta = {**series_summaries.facts(50).meta, "options.attention": "naive"}
    series_summaries.put(
        library, series_summaries.facts(50, meta=meta, name="new|`x`\n.nsys-rep"), figures(softmax=2e6)
    )
    assert run(library, "--against", "series", "--url", "https://deck.example/") == 1
    said = capsys.readouterr().out
    assert said.startswith("### Warpdeck: step time +11.")
    assert "by kernel: `softmax` +1.00 ms" in said
    assert "`options.attention: fused → naive`" in said
    assert f"[Compare both](https://deck.example/compare?report={7:016x}&other={NEW})" in said
    assert "\nnew" not in said, "a name stays on its line"
    assert run(library, "--against", "series", "--measure", "launches") == 0, "only what is asked for closes the gate"


def test_json_and_junit_say_the_same(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    series_summaries.put(library, series_summaries.facts(50), figures(softmax=2e6))
    assert run(library, "--against", "series", "--format", "json") == 1
    told = json.loads(capsys.readouterr().out)
    (wall,) = [one for one in told["measures"] if one["fails"]]
    assert (wall["measure"], wall["verdict"], wall["reports"]) == ("wall_ns", "worse", 8)
    change = sum(part["after_ns"] - part["before_ns"] for part in told["explained"]["work"])
    assert change == pytest.approx(told["explained"]["wall_change_ns"])
    assert run(library, "--against", "series", "--format", "junit") == 1
    suite = ET.fromstring(capsys.readouterr().out)
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert suite.find("testcase/failure") is not None


def test_against_a_label_or_a_report(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    series_summaries.put(library, series_summaries.facts(50), figures(1.03))
    library.catalog.set_labels(f"{3:016x}", ["release"])
    assert run(library, "--against", "release") == 0, "5 % are allowed where nothing tells the scatter"
    assert "label release" in capsys.readouterr().out
    assert run(library, "--against", f"report:{4:016x}") == 0
    assert run(library, "--against", "series:train") == 1, "2 % where it does"
    assert run(library, "--against", "nothing of that name") == 2


def test_what_ran_elsewhere_is_not_compared(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    series_summaries.put(library, series_summaries.facts(50, driver="590.2"), figures(1.2))
    assert run(library, "--against", "series") == 2
    assert "driver: 580.1 → 590.2" in capsys.readouterr().err
    assert run(library, "--against", "series", "--anywhere") == 1


def series_of(library: Library, *steps: float, of: int = 100, **changed: object) -> None:
    """Reports from number ``of`` on whose step time, in ms, these are, in a series of their own."""
    for number, step in enumerate(steps, start=of):
        meta = {**series_summaries.facts(number).meta, "workload": "creeping"}
        series_summaries.put(
            library,
            series_summaries.facts(number, meta=meta, **changed),
            series_summaries.rows(step * 1e6, {"gemm": step * 1e6}),
        )


def check_of(library: Library, number: int, *arguments: str) -> int:
    return main(["check", f"{number:016x}", "--against", "series", "--library", str(library.folder), *arguments])


def test_reports_captured_later_do_not_count(empty_library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    """8 reports of 10 ms, the one of 11 ms, then 20 of 11 ms that make their own level."""
    series_of(empty_library, *[10.0] * 8, *[11.0] * 21)
    assert check_of(empty_library, 108) == 1
    assert "step time +10.0 %" in (said := capsys.readouterr().out)
    assert "the median of 8 reports" in said
    assert check_of(empty_library, 100) == 2
    assert "was captured before this one" in capsys.readouterr().err
    assert check_of(empty_library, 128) == 0, "21 reports later 11 ms are the level"


def test_captures_of_one_moment_are_in_the_order_of_the_catalog(
    empty_library: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    """The order of the ids is the reverse of that in which the catalog received the reports."""
    at = "2026-03-01T00:00:00+00:00"
    for number, step in ((9, 10.0), (5, 30.0), (7, 11.0)):
        facts = series_summaries.facts(number, captured_at=at, meta={"workload": "same"})
        series_summaries.put(empty_library, facts, series_summaries.rows(step * 1e6, {}))
        listed = next(one for one in empty_library.list() if one.id == facts.report_id)
        empty_library.catalog.add_report(replace(listed, ingested_at=f"2026-04-{20 - number:02}T00:00:00+00:00"))
    assert check_of(empty_library, 7, "--format", "json") == 1
    (wall,) = [one for one in json.loads(capsys.readouterr().out)["measures"] if one["measure"] == "wall_ns"]
    assert (wall["before"], wall["reports"]) == (10e6, 1), "9 was taken in before 7, and 5 after it"
    assert check_of(empty_library, 9) == 2, "nothing was before 9"


CREEPING = [8 * (1 + 0.008 * number) for number in range(11)]
"""8 % over ten reports."""


def test_a_slow_drift_is_found_and_stopped(empty_library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    """First five: median 8 * 1.016 = 8.128 ms; last five: 8 * 1.064 = 8.512 ms, 4.72 % more.

    The third report is the last one at the base. The median of the ten before the last is 8.288 ms, so the last one,
    8.64 ms, is 4.2 % above it; three deviations of a drifting level are more.
    """
    series_of(empty_library, *CREEPING)
    assert check_of(empty_library, 110, "--format", "json") == 1
    told = json.loads(capsys.readouterr().out)
    assert not any(one["fails"] for one in told["measures"])
    (wall,) = [one for one in told["drifts"] if one["fails"]]
    assert (wall["measure"], wall["since"]) == ("wall_ns", f"{103:016x}")
    assert (wall["base"], wall["now"]) == pytest.approx((8.128e6, 8.512e6))
    assert wall["limit"] < 0.384e6
    assert check_of(empty_library, 110) == 1
    said = capsys.readouterr().out
    assert said.startswith("### Warpdeck: step time drifts, +4.7 % since 2026-06-12")
    assert "**Step time drifts (fails)**: +4.7 % since 2026-06-12 (`train_103.nsys-rep`)" in said
    assert check_of(empty_library, 110, "--format", "junit") == 1
    assert "Step time, drift" in capsys.readouterr().out
    assert check_of(empty_library, 110, "--measure", "launches") == 0, "only what is asked for closes the gate"
    assert "**Step time drifts**" in capsys.readouterr().out


def test_what_is_accepted_begins_a_base(empty_library: Library, tmp_path: Path) -> None:
    series_of(empty_library, *CREEPING, 8.64, 8.64)
    budget = tmp_path / "budget.toml"
    budget.write_text("[growth_pct]\nwall_ns = 10")
    assert check_of(empty_library, 112) == 1
    assert check_of(empty_library, 112, "--budget", str(budget)) == 0, "a drift may add up to what is allowed"
    assert main(["series", "--accept", f"{110:016x}", "--library", str(empty_library.folder)]) == 0
    assert check_of(empty_library, 112) == 0


def test_scatter_and_gain_are_no_drift(empty_library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    """Up and down around 8 ms by 3 %; and a series that gets 8 % faster."""
    series_of(empty_library, *[8.0, 8.24, 7.76] * 4)
    assert check_of(empty_library, 111, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["drifts"] == []
    series_of(empty_library, *CREEPING[::-1], of=200, gpu="NVIDIA H100")
    assert check_of(empty_library, 210, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["drifts"] == []


def test_a_series_that_changes_its_gpu(empty_library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody merged the series of two GPUs; the last report is on the first GPU again."""
    series_of(empty_library, *[10.0] * 9)
    series_of(empty_library, *[5.0] * 9, of=120, gpu="NVIDIA B200")
    series_of(empty_library, 11.0, of=140)
    for number in (*range(100, 109), *range(120, 129), 140):
        empty_library.catalog.decisions.choose(f"{number:016x}", "all")
    assert check_of(empty_library, 140, "--anywhere") == 1, "no setting has it compared across GPUs"
    said = capsys.readouterr().out
    assert "step time +10.0 %" in said
    assert "the median of 9 reports" in said
    assert "Not compared: 9 earlier reports of the series on another GPU (`NVIDIA B200`)." in said
    assert check_of(empty_library, 120, "--anywhere") == 2, "the first one on its GPU"
    error = capsys.readouterr().err
    assert "ran on NVIDIA B200 before this one, only on NVIDIA H200" in error
    assert check_of(empty_library, 121) == 0


def test_budgets(library: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [*figures(), Row("findings", 1), Row("finding", 12.0, "launch_bound")]
    series_summaries.put(library, series_summaries.facts(50), rows)
    budget = tmp_path / "budget.toml"
    budget.write_text(
        "never = ['launch_bound', 'pageable_copies']\n[most]\nstep_ms = 9.5\nlaunches = 1\n"
        "[most.range_ms]\nforward = 6.5\n"
    )
    assert run(library, "--budget", str(budget), "--format", "json") == 1
    told = {one["budget"]: one["holds"] for one in json.loads(capsys.readouterr().out)["budgets"]}
    assert told == {
        "step_ms": True, "launches": False, "range_ms forward": True, "launch_bound": False, "pageable_copies": True,
    }  # fmt: skip
    budget.write_text("[growth_pct]\nwall_ns = 50")
    series_summaries.put(library, series_summaries.facts(50), figures(1.3))
    assert run(library, "--budget", str(budget), "--against", "series") == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[most]\nstep_sm = 3", "most.step_sm is no budget"),
        ("[most]\nstep_ms = 'three'", "most.step_ms is not a number"),
        ("[most]\nstep_ms = nan", "most.step_ms is not a number"),
        ("[most]\nstep_ms = -1", "most.step_ms is not a number"),
        ("[most]\nrange_ms = 3", "most.range_ms is not a table"),
        ("never = ['no_such_rule']", "there is no finding 'no_such_rule'"),
        ("never = 'launch_bound'", "never is not a list"),
        ("[budget]\nx = 1", "budget is no budget"),
        ("x = ", "is not TOML"),
        ("[most.range_ms]\nbackward = 1", "No range 'backward'"),
        ("[most]\nmemory_gb = 1", "Peak GPU memory is not in this report"),
        ("#" * 70_000, "larger than 64 KB"),
    ],
)
def test_wrong_budgets_say_what_is_wrong(
    library: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    series_summaries.put(library, series_summaries.facts(50), figures())
    budget = tmp_path / "budget.toml"
    budget.write_text(text)
    assert run(library, "--budget", str(budget)) == 2
    assert said in capsys.readouterr().err


def test_a_bad_address_is_refused(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    series_summaries.put(library, series_summaries.facts(50), figures())
    assert run(library, "--against", "series", "--url", "javascript:alert(1)") == 2
    assert run(library) == 2
    assert "needs --against or --budget" in capsys.readouterr().err
