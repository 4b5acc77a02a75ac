"""Imports of the worker and of the conversion process, which add to the time of every dropped file."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.conversion.messages import Limits, Request
from tests.conftest import ROOT, SAMPLES
from tests.support.dropped_files import made

HEAVY = {"numpy", "pandas", "pyarrow"}
"""Libraries that take a tenth of a second to a whole one to import."""

CONVERSION = """
import sys
from ingest.conversion import job
assert job.main() == 0
sys.stdout.write(" ".join(sys.modules))
sys.stdout.flush()
"""


def imported(code: str, *argv: Path) -> set[str]:
    """The modules that a fresh process has when it has run the code."""
    tell = "\nimport sys; print('modules', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code + tell, *map(str, argv)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("modules")[2].split())


def test_the_worker_imports_nothing_that_reads_files() -> None:
    modules = imported("import ingest.__main__, ingest.command")
    assert "ingest.worker" in modules
    assert not modules & (HEAVY | {"ingest.conversion.job", "profiledb.query"})
    assert not modules & {"http.server", "watchdog"}, "which only a worker that stays needs, for metrics and events"


@pytest.mark.parametrize("name", ["attention.sqlite", "without enumerations"])
def test_the_conversion_of_an_export_needs_no_arrays(name: str, tmp_path: Path) -> None:
    """A sample's enumerations have names that look like secrets, which a function in Python judges."""
    (tmp_path / "work").mkdir()
    source = SAMPLES / name if "." in name else made(tmp_path / "a.sqlite")
    request = Request(source, tmp_path / "work", tmp_path / "library", Limits(60, 1 << 40, 1 << 32))
    with subprocess.Popen(
        [sys.executable, "-c", CONVERSION], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        print(json.dumps([request.to_dict()]), file=process.stdin, flush=True)
        *_, outcome, modules = process.stdout.read().splitlines()  # its input stays open until it has ended
    assert json.loads(outcome)["state"] == "ready"
    assert "ingest.nsys.load" in modules.split()
    assert not set(modules.split()) & (HEAVY - {"numpy"}), "which DuckDB imports for a function of Python"
