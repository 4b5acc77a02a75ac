"""A library on a disk that is full, fills up or is read-only; the real worker goes on without a restart."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ingest.deferred_files import STATE
from profiledb.errors import CatalogError
from profiledb.library import disk
from profiledb.library.catalog import Job
from profiledb.library.library import Library
from tests.conftest import ROOT, SAMPLES, Ingest, wait_until
from tests.support.dropped_files import SAMPLE, job_of, made
from tests.support.processes import cpu_seconds, runs_below, without_privileges

SAID = "The disk is full. New files wait."


@dataclass
class Small:
    """A disk of 48 MB with a library and, beside it, an inbox and the log of a worker."""

    folder: Path
    inbox: Path
    log: Path
    fillers: list[Path] = field(default_factory=list)

    @property
    def library(self) -> Library:
        return Library(self.folder / "library")

    def fill(self, leave: int = 0) -> None:
        """Leaves so many bytes free."""
        path = self.folder / f"filler-{len(self.fillers)}"
        self.fillers.append(path)
        with path.open("wb", buffering=0) as file:
            while disk.measure_free(self.folder) > leave:
                try:
                    file.write(bytes(min(1 << 16, disk.measure_free(self.folder) - leave)))
                except OSError:
                    break

    def free(self) -> None:
        while self.fillers:
            self.fillers.pop().unlink()

    def said(self) -> str:
        return self.log.read_text()

    def job(self, name: str) -> Job | None:
        return self.library.catalog.job(str(self.inbox / name))

    def is_ready(self, *names: str) -> bool:
        return all((job := self.job(name)) is not None and job.state == "ready" for name in names)

    @contextmanager
    def worker(
        self, run: Callable[[list[str]], list[str]] = list, **environment: str
    ) -> Iterator[subprocess.Popen[bytes]]:
        argv = [sys.executable, "-m", "ingest", "--inbox", str(self.inbox), "--library", str(self.folder / "library")]
        settings = os.environ | {"WARPDECK_SCAN_S": "0.5", "WARPDECK_ANSWERS_MB": "0"} | environment
        with self.log.open("wb") as log:
            process = subprocess.Popen(run(argv), cwd=ROOT, env=settings, stderr=log, stdout=log)
        try:
            yield process
            assert process.poll() is None, "nobody has to start it again"
        finally:
            process.terminate()
            assert process.wait(timeout=30) == 0, self.said()


@pytest.fixture
def small(tmp_path: Path, inbox: Path) -> Iterator[Small]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk takes root")
    disk_of_test = Small(folder, inbox, tmp_path / "log")
    yield disk_of_test
    if disk_of_test.log.exists():  # pytest shows it if the test failed
        print(disk_of_test.said())
    disk_of_test.free()
    with suppress(CatalogError):
        print(*disk_of_test.library.catalog.jobs(), sep="\n")
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.integration
@pytest.mark.slow("fills a disk twice, and watches a worker that waits")
def test_a_first_start_on_a_full_disk_and_a_disk_that_fills_between(small: Small) -> None:
    """Once there is room, files are imported in order; meanwhile old reports stay, and the log mentions it once."""
    small.fill()
    made(small.inbox / "first.sqlite")
    with small.worker() as process:
        wait_until(lambda: "The disk is full." in small.said())
        small.free()
        wait_until(lambda: (small.folder / "library").exists() and small.is_ready("first.sqlite"))
        assert "damaged" not in small.said()

        small.fill()
        for at, name in enumerate(("b", "c", "a")):
            os.utime(made(small.inbox / f"{name}.sqlite", 3 + at), (1000 + at, 1000 + at))
        wait_until(lambda: SAID in small.said())
        before, since = cpu_seconds(process), time.monotonic()
        library = small.library
        (report,) = library.list()
        with library.cursor(report.id) as cursor:
            assert cursor.execute("SELECT count(*) FROM kernel").fetchone() == (1,)
        wait_until(lambda: time.monotonic() - since > 3)
        assert cpu_seconds(process) - before < 1, "it waits, and does not try"
        assert small.said().count(SAID) == 1
        small.free()
        wait_until(lambda: small.is_ready("a.sqlite", "b.sqlite", "c.sqlite"), seconds=30)
    taken = [line.split()[1] for line in small.said().splitlines() if line.startswith("ready")]
    assert taken == ["first.sqlite", "b.sqlite", "c.sqlite", "a.sqlite"], "in the order in which they came"


@pytest.mark.integration
@pytest.mark.slow("fills a disk while a converter runs")
def test_a_catalog_that_cannot_be_written_between_taking_and_recording(small: Small) -> None:
    """The disk fills to the last byte while a converter runs, so the worker can record nothing about the file.

    The converter waits before the conversion writes anything, whose removal would make space for the catalog.
    """
    library = small.library
    go, asked, tool = (small.inbox.parent / name for name in ("go", "asked", "nsys"))
    version = "NVIDIA Nsight Systems version 2025.3.1.90-253135822126v0"
    tool.write_text(
        f'#!/bin/sh\nif [ "$1" = --version ]; then\n  if [ -e {asked} ]; then while [ ! -e {go} ]; do sleep 0.1; done\n'
        f'  else touch {asked}; fi\n  echo "{version}"; exit\nfi\n[ "$2" = --help ] && exit\nexit 1\n'
    )
    tool.chmod(0o755)
    shutil.copy(SAMPLE, small.inbox / "a.nsys-rep")
    shutil.copy(SAMPLES / "transformer_training.sqlite", small.inbox / "a.sqlite")
    with small.worker(WARPDECK_NSYS=str(tool)) as process:
        wait_until(lambda: (job := small.job("a.nsys-rep")) is not None and job.state == "converting")
        wait_until(lambda: runs_below(process, tool))
        small.fill()
        made(small.inbox / "b.sqlite")
        go.touch()
        wait_until(lambda: "catalog cannot be written" in small.said())
        assert job_of(library, small.inbox / "a.nsys-rep").state == "converting", "the catalog could not be told"
        small.free()
        wait_until(lambda: small.is_ready("a.nsys-rep", "b.sqlite"), seconds=120)
    assert not {job.state for job in library.catalog.jobs()} & {"waiting", "converting", "loading", "failed"}


@pytest.mark.integration
def test_a_nearly_full_disk_is_not_taken_for_a_setting(small: Small) -> None:
    """The file needs more than is free, but never more than the setting allows."""
    shutil.copy(SAMPLES / "transformer_training.sqlite", small.inbox / "large.sqlite")
    small.fill(leave=disk.LEAST_BYTES + (1 << 16))
    with small.worker():
        wait_until(
            lambda: (job := small.job("large.sqlite")) is not None and job.state not in ("waiting", "converting")
        )
        job = job_of(small.library, small.inbox / "large.sqlite")
        assert (job.state, job.message) == (STATE, disk.FULL.message), job
        small.free()
        wait_until(lambda: job_of(small.library, small.inbox / "large.sqlite").state != STATE, seconds=30)
        wait_until(lambda: small.is_ready("large.sqlite"), seconds=120)


@pytest.mark.slow("a worker of its own and a full disk")
def test_what_needs_more_than_the_setting_fails_for_good(ingest: Ingest, small: Small) -> None:
    """Even if the disk is full at the end as well; the message mentions both."""
    shutil.copy(SAMPLES / "transformer_training.sqlite", small.inbox / "large.sqlite")
    ingest(small.inbox, small.library.folder, WARPDECK_CONVERT_DISK_MB="2")
    job = job_of(small.library, small.inbox / "large.sqlite")
    assert (job.state, job.message) == ("failed", "large.sqlite needs a file of more than 2 MB."), job
    assert job.hint == "Capture a shorter window, or raise WARPDECK_CONVERT_DISK_MB."
    small.library.catalog.forget_job(job.path)
    small.fill(leave=disk.LEAST_BYTES + (1 << 16))
    ingest(small.inbox, small.library.folder, WARPDECK_CONVERT_DISK_MB="2")
    again = job_of(small.library, small.inbox / "large.sqlite")
    assert (again.state, again.hint) == ("failed", f"{job.hint} The disk is full as well."), again


@pytest.mark.integration
def test_a_library_that_is_read_only_is_waited_for(small: Small) -> None:
    library = small.library
    with small.worker(without_privileges):
        made(small.inbox / "a.sqlite")
        wait_until(lambda: small.is_ready("a.sqlite"))
        subprocess.run(["chmod", "-R", "a-w", str(library.folder)], check=True)
        made(small.inbox / "b.sqlite", 3)
        wait_until(lambda: "The library cannot be written." in small.said())
        assert [report.name for report in library.list()] == ["a.sqlite"]
        assert small.job("b.sqlite") is None
        subprocess.run(["chmod", "-R", "u+w", str(library.folder)], check=True)
        wait_until(lambda: small.is_ready("b.sqlite"))
    subprocess.run(["chmod", "-R", "a-w", str(library.folder)], check=True)
    made(small.inbox / "c.sqlite", 4)
    with small.worker(without_privileges):
        wait_until(lambda: "The library cannot be written." in small.said())
        subprocess.run(["chmod", "-R", "u+w", str(library.folder)], check=True)
        wait_until(lambda: small.is_ready("c.sqlite"))
