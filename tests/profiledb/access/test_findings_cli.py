"""``warpdeck findings``: formats, thresholds, exit statuses."""

import json
from pathlib import Path

import pytest

from profiledb.access.cli.main import main
from profiledb.library.library import Library

REPORT = "dataloader_starved.nsys-rep"


def run(library: Library, *arguments: str) -> int:
    return main(["findings", "--library", str(library.folder), *arguments])


def test_json_is_a_list_with_the_costliest_first(nsys_samples: Library, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(nsys_samples, REPORT, "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    fires = [one for one in found if one["verdict"] == "fires"]
    first = [one for one in fires if one["severity"] in ("high", "medium") and not one["parent"]]
    savings = [one["saving_ns"] for one in first]
    assert savings
    assert savings == sorted(savings, reverse=True)
    under = [number for number, one in enumerate(found) if one["parent"]]
    assert under
    for number in under:
        above = next(one for one in reversed(found[:number]) if not one["parent"])
        assert found[number]["parent"] == above["rule"], "each stands below the one that explains it"
    assert fires[0]["value"] >= fires[0]["threshold"]
    assert {one["verdict"] for one in found} == {"fires", "clear", "cannot_judge"}


def test_the_selection_of_the_pages_is_the_default(nsys_samples: Library, capsys: pytest.CaptureFixture[str]) -> None:
    run(nsys_samples, REPORT, "--format", "csv")
    usual = capsys.readouterr().out
    run(nsys_samples, REPORT, "--format", "csv", "--param", "warmup=exclude")
    assert capsys.readouterr().out == usual
    run(nsys_samples, REPORT, "--format", "csv", "--param", "warmup=include")
    assert capsys.readouterr().out != usual


def test_the_exit_status_says_whether_it_fires(
    nsys_samples: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(nsys_samples, REPORT, "--fail-on", "gpu_idle", "-o", str(tmp_path / "f.md")) == 1
    assert "next_batch" in (tmp_path / "f.md").read_text()
    assert run(nsys_samples, REPORT, "--fail-on", "high", "-o", str(tmp_path / "f.md")) == 1
    raised = ("--set", "gpu_idle.threshold=99")
    assert run(nsys_samples, REPORT, "--fail-on", "gpu_idle", *raised, "-o", str(tmp_path / "f.md")) == 0
    assert run(nsys_samples, REPORT, "--fail-on", "gpu_busy") == 2
    assert run(nsys_samples, REPORT, "--set", "gpu_idle.threshold=lots") == 2
    assert run(nsys_samples, REPORT, "--set", "nothing") == 2
    assert run(nsys_samples, "nowhere.nsys-rep") == 2
    assert run(nsys_samples) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_rules_are_listed(nsys_samples: Library, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(nsys_samples, "--rules") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 40
    assert any(line.startswith("gpu_idle ") and "above 15 %" in line for line in lines)
