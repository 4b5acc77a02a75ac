"""A report is listed while its file is converted, and the worker ends between preview and completion."""

import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.generate import Options, generate
from profiledb.errors import PreparingError
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.conftest import Ingest, Once, wait_until
from tests.support.processes import start_worker

KERNELS = 220_000
"""More than from which on there is a preview, so that the conversion goes on for a second or two."""
PATIENCE_S = 240
"""Conversions step back for everything else that runs."""


@pytest.fixture
def source(once: Once, inbox: Path) -> Path:
    made = once("large export", lambda folder: generate(Options(KERNELS), folder / "run", "parquetdir"))
    return shutil.copytree(made / "run", inbox / "run")


@pytest.fixture
def worker(source: Path, empty_library: Library) -> Iterator[subprocess.Popen[bytes]]:
    """A worker that has listed the preview of the file, and goes on."""
    process = start_worker(source.parent, empty_library, WARPDECK_SAMPLES="off", WARPDECK_SCAN_S="0.1")
    try:
        wait_until(lambda: bool(empty_library.list()), PATIENCE_S)
        yield process
    finally:
        process.kill()
        process.wait()


def state(library: Library) -> str:
    return library.catalog.jobs()[0].state


def test_a_report_is_listed_before_it_is_complete(worker: subprocess.Popen[bytes], empty_library: Library) -> None:
    assert worker.poll() is None
    (early,) = empty_library.list()
    assert early.preparing
    kernels = analysis.run(empty_library, early.id, "kernels")
    assert kernels["calls"].sum() == KERNELS
    with pytest.raises(PreparingError):
        analysis.run(empty_library, early.id, "nvtx_sum")
    empty_library.waits = True
    late = empty_library.find("run")
    assert (late.id, late.preparing) == (early.id, False)
    assert not analysis.run(empty_library, late.id, "nvtx_sum").empty
    wait_until(lambda: state(empty_library) == "ready", PATIENCE_S)


@pytest.mark.slow("converts a large export twice")
def test_a_worker_that_is_killed_before_completion_starts_over(
    worker: subprocess.Popen[bytes], empty_library: Library, source: Path, ingest: Ingest
) -> None:
    worker.kill()
    worker.wait()
    (early,) = empty_library.list()
    assert early.preparing
    with pytest.raises(PreparingError):
        analysis.run(empty_library, early.id, "nvtx_sum")
    done = ingest(source.parent, empty_library.folder)
    assert [line.split()[0] for line in done.lines] == ["ready"]
    (late,) = empty_library.list()
    assert (late.id, late.preparing) == (early.id, False)
    assert not analysis.run(empty_library, late.id, "nvtx_sum").empty


def test_a_worker_that_ends_takes_its_preview_along(
    worker: subprocess.Popen[bytes], empty_library: Library, source: Path
) -> None:
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=30) == 0
    assert empty_library.list() == []
    assert source.exists()
    assert not [job for job in empty_library.catalog.jobs() if job.state == "failed"]


@pytest.mark.slow("converts a large export with a worker of its own")
def test_a_file_that_is_removed_before_completion_leaves_no_report(
    worker: subprocess.Popen[bytes], empty_library: Library, source: Path
) -> None:
    shutil.rmtree(source)
    wait_until(lambda: not list(empty_library.reports.iterdir()), PATIENCE_S)
    assert worker.poll() is None
    assert empty_library.list() == []


@pytest.mark.slow("converts a large export with a worker of its own")
def test_a_report_that_is_deleted_before_completion_stays_deleted(
    worker: subprocess.Popen[bytes], empty_library: Library
) -> None:
    empty_library.delete(empty_library.list()[0].id)
    wait_until(lambda: state(empty_library) == "deleted", PATIENCE_S)
    assert worker.poll() is None
    assert empty_library.list() == []
    assert not list(empty_library.reports.iterdir())
