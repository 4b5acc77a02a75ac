"""The workflow of docs/ci.md: its shell steps run unchanged, on a sample in place of a capture."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

from profiledb.findings import rulebook
from profiledb.library.library import Library
from profiledb.library.series_decisions import LEFT_OUT
from profiledb.studies.trends import budget
from tests.conftest import ROOT, SAMPLES

TEXT = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
STEP = re.compile(
    r"^ {6}- name: (?P<name>.+)\n(?: {8}if: .+\n)?"
    r" {8}run: (?:\|\n(?P<lines>(?: {10}.*\n)+)|(?P<line>.+)\n)",
    re.MULTILINE,
)
SAMPLE = SAMPLES / "transformer_inference.sqlite"


def block(kind: str) -> str:
    found = re.search(rf"```{kind}\n(.*?)```", TEXT, re.DOTALL)
    assert found
    return found[1]


def steps() -> dict[str, str]:
    return {found["name"]: textwrap.dedent(found["lines"] or found["line"]) for found in STEP.finditer(block("yaml"))}


def run(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    argv = ["bash", "-e", "-c", script]
    return subprocess.run(argv, cwd=folder, env=os.environ | environment, text=True, capture_output=True, check=False)


def test_the_example_of_budgets_is_one(tmp_path: Path) -> None:
    (tmp_path / "budget.toml").write_text(block("toml"))
    read = budget.read_budget(tmp_path / "budget.toml", list(rulebook.load()))
    assert set(read.most) | {"range_ms"} == set(tomllib.loads(block("toml"))["most"])


@pytest.mark.slow("all steps of a workflow, each a command")
@pytest.mark.skipif(not SAMPLE.is_file(), reason="no sample reports here")
def test_the_steps_of_the_workflow_run(tmp_path: Path) -> None:
    assert list(steps()) == ["Capture", "Say what was captured", "Take in", "Check", "Leave pull requests out"]
    (tmp_path / "perf").mkdir()
    (tmp_path / "perf" / "budget.toml").write_text("[most]\nstep_ms = 1000\n")
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "warpdeck").write_text(f'#!/bin/sh\nexec {sys.executable} -m warpdeck "$@"\n')
    (tools / "warpdeck").chmod(0o755)
    for arguments in ("init -q", "-c user.name=x -c user.email=x@example.org commit -q --allow-empty -m x"):
        subprocess.run(["git", *arguments.split()], cwd=tmp_path, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, check=True, text=True, capture_output=True)
    environment = {
        "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "GITHUB_SHA": head.stdout.strip(),
        "WARPDECK_LIBRARY": str(tmp_path / "library"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "DASHBOARD": "http://warpdeck.example:8501", "WARPDECK_SAMPLES": "off",
    }  # fmt: skip
    before = tmp_path / "perf-new"
    before.mkdir()
    shutil.copy(SAMPLE, before / "train-before.sqlite")
    (before / "train-before.meta.json").write_text('{"series": "train"}')
    new = before / f"train-{environment['GITHUB_SHA']}.sqlite"
    shutil.copy(SAMPLE, new)
    with sqlite3.connect(new) as db:
        db.execute("UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = utcEpochNs + 1000000000")  # captured later
    for name in list(steps())[1:]:
        done = run(steps()[name], tmp_path, **environment)
        assert done.returncode == 0, f"{name}: {done.stderr}"
    assert list(Library(tmp_path / "library").catalog.decisions.choices().values()) == [LEFT_OUT]
    said = (tmp_path / "summary.md").read_text()
    assert "within all limits" in said
    assert "http://warpdeck.example:8501/compare?report=" in said
    assert f"`train-{environment['GITHUB_SHA']}.sqlite`" in said
