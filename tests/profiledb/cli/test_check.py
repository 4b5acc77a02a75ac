"""``warpdeck check``: what passes and what fails, budgets, formats, and what cannot be compared."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from profiledb.cli import check
from profiledb.cli.main import main
from profiledb.report.library import Library
from profiledb.studies.trends.measures import MEASURES
from profiledb.studies.trends.store import Row
from tests.support import serial

NEW = f"{50:016x}"


@pytest.fixture
def library(empty_library: Library) -> Library:
    for number in range(1, 9):
        meta = {**serial.facts(number).meta, "options.attention": "fused"}
        serial.put(empty_library, serial.facts(number, meta=meta), figures(1 + 0.001 * (number % 3)))
    return empty_library


def figures(scale: float = 1.0, softmax: float = 1e6) -> list[Row]:
    return serial.rows(8e6 * scale + softmax, {"gemm": 5e6 * scale, "softmax": softmax})


def run(library: Library, *arguments: str) -> int:
    return main(["check", NEW, "--library", str(library.folder), *arguments])


def test_measures_are_those_of_the_summaries() -> None:
    assert tuple(MEASURES) == check.MEASURES


def test_what_is_as_before_passes(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    serial.put(library, serial.facts(50), figures(1.001))
    assert run(library, "--against", "series") == 0
    said = capsys.readouterr().out
    assert said.startswith("### Warpdeck: within all limits")
    assert "the median of 8 reports" in said


def test_what_is_slower_fails_and_says_why(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    meta = {**serial.facts(50).meta, "options.attention": "naive"}
    serial.put(library, serial.facts(50, meta=meta, name="new|`x`\n.nsys-rep"), figures(softmax=2e6))
    assert run(library, "--against", "series", "--url", "https://deck.example/") == 1
    said = capsys.readouterr().out
    assert said.startswith("### Warpdeck: step time +11.")
    assert "by kernel: `softmax` +1.00 ms" in said
    assert "`options.attention: fused → naive`" in said
    assert f"[Compare both](https://deck.example/compare?report={7:016x}&other={NEW})" in said
    assert "\nnew" not in said, "a name stays on its line"
    assert run(library, "--against", "series", "--measure", "launches") == 0, "only what is asked for closes the gate"


def test_json_and_junit_say_the_same(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    serial.put(library, serial.facts(50), figures(softmax=2e6))
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
    serial.put(library, serial.facts(50), figures(1.03))
    library.catalog.set_labels(f"{3:016x}", ["release"])
    assert run(library, "--against", "release") == 0, "5 % are allowed where nothing tells the scatter"
    assert "label release" in capsys.readouterr().out
    assert run(library, "--against", f"report:{4:016x}") == 0
    assert run(library, "--against", "series:train") == 1, "2 % where it does"
    assert run(library, "--against", "nothing of that name") == 2


def test_what_ran_elsewhere_is_not_compared(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    serial.put(library, serial.facts(50, driver="590.2"), figures(1.2))
    assert run(library, "--against", "series") == 2
    assert "driver: 580.1 → 590.2" in capsys.readouterr().err
    assert run(library, "--against", "series", "--anywhere") == 1


def test_budgets(library: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [*figures(), Row("findings", 1), Row("finding", 12.0, "launch_bound")]
    serial.put(library, serial.facts(50), rows)
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
    serial.put(library, serial.facts(50), figures(1.3))
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
    serial.put(library, serial.facts(50), figures())
    budget = tmp_path / "budget.toml"
    budget.write_text(text)
    assert run(library, "--budget", str(budget)) == 2
    assert said in capsys.readouterr().err


def test_a_bad_address_is_refused(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    serial.put(library, serial.facts(50), figures())
    assert run(library, "--against", "series", "--url", "javascript:alert(1)") == 2
    assert run(library) == 2
    assert "needs --against or --budget" in capsys.readouterr().err
