"""Imports of the worker and of the conversion process, which add to the time of every dropped file."""

import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT
from tests.support.dropped_files import made

HEAVY = {"numpy", "pandas", "pyarrow"}
"""Libraries that take a tenth of a second to a whole one to import."""

CONVERSION = """
import sys
from pathlib import Path
from ingest.conversion import job
from ingest.conversion.messages import Limits, Request
source, work = Path(sys.argv[1]), Path(sys.argv[2])
outcome = job.serve(Request(source, work, work.parent / "library", Limits(60, 1 << 40, 1 << 32)))
assert outcome.state == "ready", outcome
"""
"""An export without enumerations: what stands in for them is written, too."""


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


def test_the_conversion_of_an_export_needs_no_arrays(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    modules = imported(CONVERSION, made(tmp_path / "a.sqlite"), tmp_path / "work")
    assert "ingest.nsys.load" in modules
    assert not modules & (HEAVY - {"numpy"}), "which DuckDB imports for a function of Python (scrub.expression)"
