"""Everything that can be dropped into the inbox, good and bad, through the real worker and the real converters."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from profiledb.catalog import Job
from profiledb.library import Library
from tests import exports
from tests.conftest import CORPUS, ROOT, SAMPLES, Ingest, wait_until
from tests.exports import kernel, kernels

needs_corpus = pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared/corpus")
SAMPLE = SAMPLES / "transformer_training.nsys-rep"


def made(path: Path, end: int = 2) -> Path:
    return exports.write(path, kernels(kernel(1, end)))


def job_of(library: Library, path: Path) -> Job:
    job = library.catalog.job(str(path))
    assert job is not None
    return job


BAD = {
    "empty.nsys-rep": (b"", "is empty"),
    "noise.nsys-rep": (b"\x07" * 5000, "does not begin as an Nsight Systems report does"),
    "noise.ncu-rep": (b"\x07" * 5000, "does not begin as an Nsight Compute report does"),
    "notes.txt": (b"bring milk", "is no report that Warpdeck reads"),
    "damaged.sqlite": (b"SQLite format 3\0" + b"\xff" * 4096, "damaged or not complete"),
    "raw.qdstrm": (b"\x01\x02", "raw capture data"),
}


def test_bad_files_fail_with_a_sentence_and_the_next_goes_on(
    ingest: Ingest, inbox: Path, empty_library: Library
) -> None:
    for name, (content, _) in BAD.items():
        (inbox / name).write_bytes(content)
    good = made(inbox / "z.sqlite")
    done = ingest(inbox, empty_library.folder, "--strict")
    assert done.status == 1
    for name, (content, message) in BAD.items():
        job = job_of(empty_library, inbox / name)
        assert (job.state, message in job.message, bool(job.hint)) == ("failed", True, True), job
        assert (inbox / name).read_bytes() == content
    assert job_of(empty_library, good).state == "ready"


@pytest.mark.nsight
@pytest.mark.parametrize("cut", [1, 1000, 200_000], ids=lambda n: f"{n} bytes short")
def test_truncated_report(ingest: Ingest, inbox: Path, empty_library: Library, cut: int) -> None:
    (inbox / "cut.nsys-rep").write_bytes(SAMPLE.read_bytes()[:-cut])
    done = ingest(inbox, empty_library.folder)
    assert "cut.nsys-rep is not complete" in done.lines[1]
    assert empty_library.list() == []


@needs_corpus
@pytest.mark.nsight
def test_flipped_bits_never_become_a_report(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    data = bytearray((CORPUS / "openacc_v100.nsys-rep").read_bytes())
    data[len(data) // 2 : len(data) // 2 + 64] = bytes(64)
    (inbox / "flipped.nsys-rep").write_bytes(data)
    assert ingest(inbox, empty_library.folder).lines[0].startswith("failed")
    job = job_of(empty_library, inbox / "flipped.nsys-rep")
    assert "is damaged" in job.message
    assert job.detail, "the converter's own words"


@needs_corpus
@pytest.mark.nsight
def test_too_new_says_what_to_install(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    shutil.copy(CORPUS / "too_new_2026.nsys-rep", inbox / "new.nsys-rep")
    ingest(inbox, empty_library.folder)
    job = job_of(empty_library, inbox / "new.nsys-rep")
    assert "was made by Nsight Systems 2026.1.1" in job.message
    assert "Install nsys 2026.1.1 or newer" in job.hint
    assert "newer than" in job.detail


@needs_corpus
@pytest.mark.nsight
def test_an_export_that_arrives_later_mends_the_failure(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    shutil.copy(CORPUS / "too_new_2026.nsys-rep", inbox)
    assert ingest(inbox, empty_library.folder).lines[0].startswith("failed")
    shutil.copy(CORPUS / "too_new_2026.sqlite", inbox)
    done = ingest(inbox, empty_library.folder)
    assert [line.split()[:2] for line in done.lines] == [["ready", "too_new_2026.nsys-rep"]]
    (manifest,) = empty_library.list()
    assert manifest.converter == "SQLite export, written by nsys 2026.1.1.204"


@needs_corpus
def test_an_export_of_another_capture_is_a_report_of_its_own(
    ingest: Ingest, inbox: Path, empty_library: Library
) -> None:
    shutil.copy(CORPUS / "too_new_2026.nsys-rep", inbox / "x.nsys-rep")
    made(inbox / "x.sqlite")
    os.utime(inbox / "x.sqlite", (0, 0))
    done = ingest(inbox, empty_library.folder, WARPDECK_NSYS="off")
    assert sorted(line.split()[0] for line in done.lines if line[0] != " ") == ["failed", "ready"]


def test_samples_load_without_any_converter(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    for path in SAMPLES.glob("transformer_*"):
        shutil.copy(path, inbox)
    done = ingest(inbox, empty_library.folder, "--strict", WARPDECK_NSYS="off", WARPDECK_NCU="off")
    assert done.status == 0, done.lines
    assert {m.name for m in empty_library.list()} == {p.name for p in SAMPLES.glob("transformer_*rep")}


def test_same_content_under_two_names_is_one_report(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    shutil.copy(made(inbox / "a.sqlite"), inbox / "b.sqlite")
    done = ingest(inbox, empty_library.folder)
    assert [line.split()[:2] for line in done.lines] == [["ready", "a.sqlite"], ["duplicate", "b.sqlite"]]
    assert len(empty_library.list()) == 1


def test_new_content_under_one_name_is_a_new_report(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    for end in (2, 3):
        (inbox / "a.sqlite").unlink(missing_ok=True)
        made(inbox / "a.sqlite", end)
        ingest(inbox, empty_library.folder)
    first, second = sorted(empty_library.list(), key=lambda m: m.ingested_at)
    assert first.name == second.name == "a.sqlite"
    assert first.id != second.id


@pytest.mark.parametrize(
    "name", ["a b'c\"d;$(touch x).sqlite", "-rf.sqlite", "zä\N{RIGHT-TO-LEFT OVERRIDE}.sqlite", "x" * 240 + ".sqlite"]
)
def test_odd_names_are_only_names(ingest: Ingest, inbox: Path, empty_library: Library, name: str) -> None:
    made(inbox / name)
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    assert empty_library.list()[0].name == name


@pytest.mark.nsight
@needs_corpus
def test_nsys_reads_reports_whose_names_have_spaces(ingest: Ingest, empty_library: Library, tmp_path: Path) -> None:
    inbox = tmp_path / "an inbox"
    inbox.mkdir()
    shutil.copy(CORPUS / "streams_4090.nsys-rep", inbox / "-my report (2).nsys-rep")
    done = ingest(inbox, tmp_path / "the library")
    assert done.lines[0].startswith("ready"), done.lines


def test_what_is_no_file_is_passed_over(ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path) -> None:
    os.mkfifo(inbox / "pipe.nsys-rep")
    (inbox / "loop").symlink_to(inbox)
    (inbox / "outside.sqlite").symlink_to(made(tmp_path / "outside.sqlite"))
    (inbox / ".hidden.sqlite").write_bytes(b"x")
    (inbox / "coming.nsys-rep.part").write_bytes(b"x")
    assert ingest(inbox, empty_library.folder).lines == []


def test_folders_are_searched(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    (inbox / "team" / "run 1").mkdir(parents=True)
    made(inbox / "team" / "run 1" / "a.sqlite")
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")


def test_deleted_stays_deleted_until_the_file_changes(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    path = made(inbox / "a.sqlite")
    ingest(inbox, empty_library.folder)
    empty_library.delete(empty_library.list()[0].id)
    assert ingest(inbox, empty_library.folder).lines == []
    os.utime(path)
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")


def test_a_second_worker_leaves_the_first_alone(inbox: Path, empty_library: Library, ingest: Ingest) -> None:
    worker = start_worker(inbox, empty_library)
    try:
        made(inbox / "a.sqlite")
        wait_until(lambda: bool(empty_library.list()))
        done = ingest(inbox, empty_library.folder)
        assert (done.status, "Another worker" in done.errors) == (3, True)
    finally:
        worker.kill()
        worker.wait()
    assert ingest(inbox, empty_library.folder).status == 0, "the lock ended with the worker"


def test_the_worker_ends_with_whoever_started_it(inbox: Path, empty_library: Library) -> None:
    worker = start_worker(inbox, empty_library, "--until-stdin-closes", stdin=subprocess.PIPE)
    made(inbox / "a.sqlite")
    wait_until(lambda: bool(empty_library.list()))
    assert worker.stdin is not None
    worker.stdin.close()
    assert worker.wait(timeout=30) == 0


def test_kill_9_in_the_middle_leaves_nothing_half(
    inbox: Path, empty_library: Library, tmp_path: Path, ingest: Ingest
) -> None:
    (inbox / "a.nsys-rep").write_bytes(SAMPLE.read_bytes())
    worker = start_worker(inbox, empty_library, WARPDECK_NSYS=str(stand_in(tmp_path, "sleep 600")))
    wait_until(lambda: any(empty_library.work.glob("*/scratch/report.nsys-rep")))
    worker.kill()
    worker.wait()
    wait_until(lambda: not processes_in(empty_library.work), seconds=10)
    assert empty_library.list() == []
    shutil.copy(SAMPLES / "transformer_training.sqlite", inbox / "a.sqlite")
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    assert list(empty_library.work.iterdir()) == []


def test_a_report_published_before_the_crash_is_listed_after_it(
    ingest: Ingest, inbox: Path, empty_library: Library
) -> None:
    made(inbox / "a.sqlite")
    ingest(inbox, empty_library.folder)
    (empty_library.folder / "catalog.sqlite").unlink()
    again = Library(empty_library.folder)
    assert again.list() == []
    assert [line.split()[0] for line in ingest(inbox, again.folder).lines] == ["duplicate"]
    assert [m.name for m in again.list()] == ["a.sqlite"]


def test_a_vanished_inbox_deletes_nothing(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    made(inbox / "a.sqlite")
    (inbox / "bad.sqlite").write_bytes(b"x")
    ingest(inbox, empty_library.folder)
    shutil.rmtree(inbox)
    ingest(inbox, empty_library.folder)
    assert len(empty_library.list()) == 1


FAULTS = {
    "exit 0, no output": ("exit 0", "is damaged"),
    "exit 0, words of an error": ("echo 'Error writing bytes to file'; mkdir -p export", "The disk is full"),
    "exit 1, half an output": ("mkdir -p export; echo broken >&2; exit 1", "is damaged"),
    "it hangs": ("sleep 600", "did not finish within"),
    "it is killed": ("kill -9 $$", "is damaged"),
}


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_converter_that_misbehaves(
    ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path, fault: str
) -> None:
    commands, message = FAULTS[fault]
    (inbox / "a.nsys-rep").write_bytes(SAMPLE.read_bytes())
    nsys = str(stand_in(tmp_path, commands))
    ingest(inbox, empty_library.folder, WARPDECK_NSYS=nsys, WARPDECK_CONVERT_TIMEOUT_S="2")
    job = job_of(empty_library, inbox / "a.nsys-rep")
    assert (job.state, message in job.message) == ("failed", True), job
    assert empty_library.list() == []
    assert list(empty_library.work.iterdir()) == []


@pytest.mark.nsight
def test_a_failure_is_tried_again_with_another_converter(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    (inbox / "a.nsys-rep").write_bytes(SAMPLE.read_bytes())
    ingest(inbox, empty_library.folder, WARPDECK_NSYS="off")
    assert ingest(inbox, empty_library.folder, WARPDECK_NSYS="off").lines == []
    assert job_of(empty_library, inbox / "a.nsys-rep").message.startswith("There is no nsys")
    ingest(inbox, empty_library.folder)
    assert "was made by a newer Nsight Systems" in job_of(empty_library, inbox / "a.nsys-rep").message


def test_a_growing_file_is_left_alone_until_it_stands_still(
    inbox: Path, empty_library: Library, tmp_path: Path
) -> None:
    whole = made(tmp_path / "whole.sqlite").read_bytes()
    worker = start_worker(inbox, empty_library, WARPDECK_SCAN_S="0.5")
    try:
        with (inbox / "slow.sqlite").open("wb", buffering=0) as file:
            for begin in range(0, len(whole), 1 + len(whole) // 20):
                file.write(whole[begin : begin + 1 + len(whole) // 20])
                assert empty_library.catalog.job(str(inbox / "slow.sqlite")) is None
                time.sleep(0.1)  # the pace of the writer, which is what is tested
        wait_until(lambda: bool(empty_library.list()))
    finally:
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=30) == 0


def start_worker(
    inbox: Path, library: Library, *options: str, stdin: int | None = None, **environment: str
) -> subprocess.Popen[bytes]:
    """The worker as it runs for good; the caller ends it."""
    argv = [sys.executable, "-m", "ingest", "--inbox", str(inbox), "--library", str(library.folder), *options]
    return subprocess.Popen(argv, cwd=ROOT, env=os.environ | environment, stdin=stdin, stdout=subprocess.DEVNULL)


def processes_in(folder: Path) -> list[str]:
    """Processes whose working folder is below this one."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            found += [str(link)] if folder in link.readlink().parents else []
    return found


def stand_in(folder: Path, commands: str) -> Path:
    """A converter with a fault that the real one shows only on a full or broken machine."""
    script = folder / "nsys"
    version = "NVIDIA Nsight Systems version 2025.3.1.90-253135822126v0"
    script.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo "{version}"; exit; fi\n{commands}\n')
    script.chmod(0o755)
    return script


def test_list_names_what_failed(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    made(inbox / "good.sqlite")
    (inbox / "bad.sqlite").write_bytes(b"x")
    ingest(inbox, empty_library.folder)
    argv = [sys.executable, "-m", "profiledb", "list", "--format", "json", "--library", str(empty_library.folder)]
    listed = json.loads(subprocess.run(argv, cwd=ROOT, capture_output=True, check=True).stdout)
    assert [(entry["name"], entry["status"]) for entry in listed] == [
        ("good.sqlite", "ready"),
        ("bad.sqlite", "failed"),
    ]
    assert set(listed[0]) >= {"id", "name", "kind", "status", "source_sha256", "gpu", "captured_at", "labels"}
