"""Each way in which the reading process can end gives a sentence; some files are tried again."""

import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ingest import process_endings
from ingest.process_endings import ENDINGS, TRIES
from profiledb.library.library import Library
from tests.conftest import ROOT, SAMPLES, Ingest, wait_until
from tests.support.dropped_files import SAMPLE, job_of, made, stand_in
from tests.support.linux_kernels import LANDLOCK, without
from tests.support.processes import start_worker

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the filter of system calls is that of x86-64")
HELP = '[ "$2" = --help ] && exit\necho x >> "$(dirname "$0")/runs"\n'
"""A stand-in tells its options, and counts its other runs."""
AGAIN = f" Warpdeck has tried {TRIES} times."
WAYS = {
    "killed": ("kill -9 $$", "killed", f"nsys export was killed (SIGKILL).{AGAIN}", TRIES),
    "a shell around it is told": ("exit 137", "killed", f"nsys export was killed (SIGKILL).{AGAIN}", TRIES),
    "crashed": ("kill -SEGV $$", "crashed", f"nsys export crashed (SIGSEGV).{AGAIN}", TRIES),
    "aborted": ("kill -ABRT $$", "crashed", f"nsys export crashed (SIGABRT).{AGAIN}", TRIES),
    "memory": (
        "echo 'terminate called: std::bad_alloc' >&2; kill -ABRT $$",
        "memory",
        "nsys export needs more memory than a conversion may use.",
        1,
    ),
    "time": (
        "while :; do :; done",
        "time",
        "The conversion of a.nsys-rep used up the processor time that a file of its size may take: 3 seconds.",
        1,
    ),
    "hang": ("sleep 600", "hang", "The conversion of a.nsys-rep hung: it did nothing for 3 seconds.", 1),
}
"""What a converter does, the cause, the sentence, and how often it is run."""
QUICK = ("killed", "memory", "hang")
"""One that is tried again, one that is not, and one that is waited for."""
FREE = without(*LANDLOCK)
"""A worker whose stand-ins may write beside themselves."""


def once(inbox: Path, library: Library, tool: Path, **environment: str) -> str:
    """Return the output of a worker that imports the files of an inbox with this nsys."""
    argv = [*FREE, sys.executable, "-m", "ingest", "--once", "--inbox", str(inbox), "--library", str(library.folder)]
    told = os.environ | {"WARPDECK_NSYS": str(tool)} | environment
    return subprocess.run(argv, cwd=ROOT, env=told, capture_output=True, text=True, check=False).stderr


@pytest.mark.integration
@pytest.mark.parametrize(
    "way",
    [
        one if one in QUICK else pytest.param(one, marks=pytest.mark.slow("starts a worker for each end"))
        for one in WAYS
    ],
)
def test_each_end_of_a_converter_has_its_sentence(
    inbox: Path, empty_library: Library, tmp_path: Path, way: str
) -> None:
    commands, cause, message, runs = WAYS[way]
    shutil.copy(SAMPLE, inbox / "a.nsys-rep")
    tool = stand_in(tmp_path, HELP + commands)
    limit = "3" if cause in ("time", "hang") else "60"
    once(inbox, empty_library, tool, WARPDECK_CONVERT_TIMEOUT_S=limit)
    job = job_of(empty_library, inbox / "a.nsys-rep")
    assert (job.state, job.message) == ("failed", message)
    assert job.hint == ENDINGS[cause].hint
    assert ENDINGS[cause].again == (runs > 1)
    assert (tmp_path / "runs").read_text().split() == ["x"] * runs
    assert not list(empty_library.work.iterdir())


def exporter(folder: Path, commands: str) -> Path:
    """An nsys of 2023.1, which exports SQLite, that does something before that."""
    export = made(folder / "export.sqlite")
    tool = stand_in(folder, f'{HELP}{commands}\ncp {export} "$7"')
    tool.write_text(tool.read_text().replace("2025.3.1.90-253135822126v0", "2023.1.1.1-0"))
    return tool


@pytest.mark.integration
def test_a_converter_that_crashes_twice_and_then_works(inbox: Path, empty_library: Library, tmp_path: Path) -> None:
    shutil.copy(SAMPLE, inbox / "a.nsys-rep")
    tool = exporter(tmp_path, f'[ $(wc -l < "$(dirname "$0")/runs") -lt {TRIES} ] && kill -9 $$')
    said = once(inbox, empty_library, tool)
    assert job_of(empty_library, inbox / "a.nsys-rep").state == "ready", said
    assert (tmp_path / "runs").read_text().split() == ["x"] * TRIES


@pytest.mark.integration
@pytest.mark.slow("waits for a converter that takes twelve seconds")
def test_a_converter_that_is_slow_on_a_busy_machine(inbox: Path, empty_library: Library, tmp_path: Path) -> None:
    """It works now and then, over three times the time that its CPU limit would allow."""
    shutil.copy(SAMPLE, inbox / "a.nsys-rep")
    tool = exporter(tmp_path, "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1; done")
    said = once(inbox, empty_library, tool, WARPDECK_CONVERT_TIMEOUT_S="4")
    job = job_of(empty_library, inbox / "a.nsys-rep")
    assert job.state == "ready", said
    assert job.seconds is not None
    assert job.seconds > 12


@pytest.mark.integration
@pytest.mark.slow("starts three workers")
def test_attempts_are_counted_over_restarts_of_a_worker_that_is_killed(
    inbox: Path, empty_library: Library, tmp_path: Path
) -> None:
    """A worker that is asked to stop uses up no attempt of its file."""
    path = inbox / "a.nsys-rep"
    shutil.copy(SAMPLE, path)
    tool = stand_in(tmp_path, f"{HELP}sleep 600")
    runs = tmp_path / "runs"

    @contextmanager
    def started() -> Iterator[subprocess.Popen[bytes]]:
        before = runs.read_text() if runs.exists() else ""
        worker = start_worker(inbox, empty_library, before=FREE, WARPDECK_NSYS=str(tool), WARPDECK_SCAN_S="0.2")
        try:
            wait_until(lambda: runs.exists() and runs.read_text() != before)
            yield worker
        finally:
            worker.kill()
            worker.wait()

    for _ in range(TRIES - 1):
        with started():
            pass
    with started() as worker:
        worker.terminate()
        assert worker.wait(timeout=30) == 0
    assert empty_library.catalog.job(str(path)) is None
    for _ in range(TRIES):
        with started():
            pass
    worker = start_worker(inbox, empty_library, before=FREE, WARPDECK_NSYS=str(tool), WARPDECK_SCAN_S="0.2")
    try:
        wait_until(lambda: (job := empty_library.catalog.job(str(path))) is not None and job.state == "failed")
    finally:
        worker.terminate()
        worker.wait()
    job = job_of(empty_library, path)
    assert job.message == f"The worker was killed while it read a.nsys-rep.{AGAIN}"
    assert job.detail == ""


def test_one_file_at_a_time_is_tried_again(inbox: Path, empty_library: Library, tmp_path: Path) -> None:
    """At first the converters of two files run at the same time; later attempts never do."""
    for sample in sorted(SAMPLES.glob("*.nsys-rep"), key=lambda path: path.stat().st_size)[:2]:
        shutil.copy(sample, inbox)
    together = min(2, os.cpu_count() or 1)
    run = f"""log="$(dirname "$0")/log"
        echo "begin $$" >> "$log"
        until [ "$(grep -c begin "$log")" -ge {together} ]; do sleep 0.05; done
        sleep 0.5
        echo "end $$" >> "$log"
        kill -9 $$"""
    once(inbox, empty_library, stand_in(tmp_path, HELP + run))
    told = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    assert len(told) == 2 * 2 * TRIES
    first = [pid for what, pid in told if what == "begin"][:2]
    assert [what for what, _ in told[:together]] == ["begin"] * together
    assert [what for what, pid in told if pid not in first] == ["begin", "end"] * (2 * TRIES - 2)


def test_the_kernel_says_whom_it_killed_for_want_of_memory() -> None:
    error = process_endings.find_ending(
        "nsys export", -signal.SIGKILL, "", oom_kills_before=process_endings.count_oom_kills() - 1
    )
    assert error is not None
    assert error.message == "nsys export was killed because the machine or its container ran out of memory."
    assert ENDINGS[error.cause].again


@pytest.mark.integration
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(
            "sleep 600",
            "nsys --version hung: it did nothing for 30 seconds.",
            marks=pytest.mark.slow("waits for half a minute"),
        ),
        ("echo hello", "nsys does not say its version."),
        pytest.param(
            "kill -SEGV $$",
            "nsys --version crashed (SIGSEGV).",
            marks=pytest.mark.slow("starts a worker for another answer"),
        ),
    ],
)
def test_an_nsys_that_does_not_say_its_version(
    ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path, answer: str, message: str
) -> None:
    shutil.copy(SAMPLE, inbox / "a.nsys-rep")
    tool = tmp_path / "nsys"
    tool.write_text(f"#!/bin/sh\n{answer}\n")
    tool.chmod(0o755)
    ingest(inbox, empty_library.folder, WARPDECK_NSYS=str(tool))
    job = job_of(empty_library, inbox / "a.nsys-rep")
    assert (job.state, job.message) == ("failed", message)
    assert f"Run {tool} --version on the worker's machine" in job.hint


@pytest.mark.slow("starts a worker, as the 17th case does")
def test_a_file_that_is_deleted_while_it_is_read(inbox: Path, empty_library: Library, tmp_path: Path) -> None:
    go, path = tmp_path / "go", inbox / "a.nsys-rep"
    tool = stand_in(tmp_path, f"{HELP}while [ ! -e {go} ]; do sleep 0.05; done; exit 1")
    shutil.copy(SAMPLE, path)
    log = tmp_path / "log"
    with log.open("wb") as errors:
        worker = start_worker(
            inbox, empty_library, before=FREE, stderr=errors.fileno(), WARPDECK_NSYS=str(tool), WARPDECK_SCAN_S="0.2"
        )
    try:
        wait_until((tmp_path / "runs").exists)
        path.unlink()
        go.touch()
        wait_until(lambda: empty_library.catalog.job(str(path)) is None)
    finally:
        worker.terminate()
        worker.wait()
    assert "damaged" not in log.read_text()


def test_a_name_of_255_bytes(ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path) -> None:
    """Its export cannot lie beside it, because the name would be too long."""
    name = "n" * 248 + ".qdrep"
    shutil.copy(SAMPLE, inbox / name)
    done = ingest(inbox, empty_library.folder, WARPDECK_NSYS="off")
    job = job_of(empty_library, inbox / name)
    assert (job.state, job.message) == ("failed", "This machine has no nsys to read the report with.")
    assert "Traceback" not in done.errors


def test_an_archive_that_cannot_be_unpacked(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    whole = inbox / "whole.zip"
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("trace.json", '{"traceEvents": []}' * 1000)
    content = whole.read_bytes()
    whole.unlink()
    (inbox / "cut.zip").write_bytes(content[: len(content) // 2])
    ingest(inbox, empty_library.folder)
    job = job_of(empty_library, inbox / "cut.zip")
    assert (job.state, job.message) == ("failed", "cut.zip is damaged: its ZIP archive cannot be unpacked.")


def test_the_table_of_the_documentation_has_every_end() -> None:
    text = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| (yes|no) \|$", text, re.MULTILINE)
    assert rows == [(cause, one.message, "yes" if one.again else "no") for cause, one in ENDINGS.items()]
