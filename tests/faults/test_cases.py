"""The cases of docs/faults.md that have no other test, by number, and the places of all others."""

import ast
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from ingest.formats.nsys_report import END, MAGIC
from profiledb.errors import ReportNotFoundError
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.conftest import ROOT, SAMPLES, Ingest, is_converting, wait_until
from tests.support import exports
from tests.support.dropped_files import job_of, made, stand_in
from tests.support.linux_kernels import INOTIFY, without
from tests.support.processes import processes_in, start_worker

CASES = 58
REPORT = SAMPLES / "attention.nsys-rep"


def test_each_case_has_a_test_that_exists() -> None:
    text = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \|.*\| (tests/[\w/]+\.py)::(\w+) \|$", text, re.MULTILINE)
    assert [int(number) for number, _, _ in rows] == list(range(1, CASES + 1))
    for number, file, name in rows:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (number, file, name)


@contextmanager
def running(inbox: Path, library: Library, *before: str, nsys: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A worker that looks at the inbox ten times a second."""
    tool = "off" if nsys is None else str(nsys)
    worker = start_worker(inbox, library, before=before, WARPDECK_SCAN_S="0.1", WARPDECK_NSYS=tool)
    try:
        yield worker
    finally:
        worker.kill()
        worker.wait()


def held_nsys(folder: Path) -> tuple[Path, Path]:
    """An nsys that fails once a file is there, and that file: then the export beside the report is read."""
    go = folder / "go"
    return stand_in(folder, f"while [ ! -e {go} ]; do sleep 0.05; done; exit 1"), go


def with_export(inbox: Path) -> Path:
    """A report and its export in the inbox."""
    shutil.copy(SAMPLES / "attention.sqlite", inbox / "a.sqlite")
    return Path(shutil.copy(REPORT, inbox / "a.nsys-rep"))


@pytest.mark.integration
def test_case_01_killed_while_hashing(inbox: Path, empty_library: Library, tmp_path: Path, ingest: Ingest) -> None:
    source = inbox / "a.nsys-rep"
    with source.open("wb") as file:  # four GB of a sparse file: seconds of hashing
        file.write(MAGIC)
        file.truncate(4 << 30)
        file.seek(0, os.SEEK_END)
        file.write(END)
    tool, _ = held_nsys(tmp_path)
    with running(inbox, empty_library, nsys=tool):
        wait_until(lambda: is_converting(empty_library, "*/scratch"))
    wait_until(lambda: not processes_in(empty_library.work))
    assert empty_library.list() == []
    source.unlink()
    made(inbox / "b.sqlite")
    ingest(inbox, empty_library.folder)
    assert [report.name for report in empty_library.list()] == ["b.sqlite"]
    assert list(empty_library.work.iterdir()) == []


def test_case_07_truncated_then_whole(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    source = inbox / "a.nsys-rep"
    source.write_bytes(REPORT.read_bytes()[:-1000])
    ingest(inbox, empty_library.folder)
    job = job_of(empty_library, source)
    assert (job.state, "is incomplete" in job.message) == ("failed", True)
    assert ingest(inbox, empty_library.folder).lines == [], "it is not tried again as it is"
    with_export(inbox)
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    assert job_of(empty_library, source).state == "ready"


def test_case_08_two_empty_files(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    files = [inbox / name for name in ("a.nsys-rep", "b.nsys-rep", "c.sqlite")]
    for path in files:
        path.touch()
    ingest(inbox, empty_library.folder)
    jobs = [job_of(empty_library, path) for path in files]
    assert [(job.state, job.report_id) for job in jobs] == [("failed", None)] * len(files)
    assert all(job.message for job in jobs)
    assert empty_library.list() == []


def test_case_09_wrong_magic_starts_no_converter(
    ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path
) -> None:
    tool = stand_in(tmp_path, 'echo "$@" > "$TMPDIR/started"; sleep 600')
    files = [inbox / name for name in ("a.nsys-rep", "b.qdrep", "c.ncu-rep", "d.sqlite")]
    for path in files:
        path.write_bytes(b"#!/bin/sh\ntouch started\n" + os.urandom(200))
    done = ingest(inbox, empty_library.folder, WARPDECK_NSYS=str(tool), WARPDECK_NCU=str(tool))
    assert [line.split()[0] for line in done.lines] == ["failed"] * len(files)
    assert "did not finish" not in done.errors
    assert [job_of(empty_library, path).state for path in files] == ["failed"] * len(files)


@pytest.mark.integration
@pytest.mark.slow("waits for a file that is rewritten")
def test_case_14_rewritten_while_it_is_read(inbox: Path, empty_library: Library, tmp_path: Path) -> None:
    source = with_export(inbox)
    tool, go = held_nsys(tmp_path)
    with running(inbox, empty_library, nsys=tool):
        wait_until(lambda: is_converting(empty_library))
        content = bytearray(source.read_bytes())
        content[len(content) // 2] ^= 1
        source.write_bytes(content)
        go.touch()
        wait_until(lambda: bool(empty_library.list()))
    (report,) = empty_library.list()
    with empty_library.cursor(report.id) as cursor:
        ((digest,),) = cursor.execute("SELECT source_sha256 FROM report").fetchall()
    assert digest == sha256(content).hexdigest(), "of what was read first nothing is left"


@pytest.mark.integration
def test_case_17_deleted_while_it_is_converted(inbox: Path, empty_library: Library, tmp_path: Path) -> None:
    source = with_export(inbox)
    tool, go = held_nsys(tmp_path)
    with running(inbox, empty_library, nsys=tool):
        wait_until(lambda: is_converting(empty_library))
        source.unlink()
        (inbox / "a.sqlite").unlink()
        go.touch()
        made(inbox / "b.sqlite")
        wait_until(lambda: [report.name for report in empty_library.list()] == ["b.sqlite"])
        wait_until(lambda: not is_converting(empty_library, "*/scratch"))
        wait_until(lambda: empty_library.catalog.job(str(source)) is None)


@pytest.mark.integration
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the filter of system calls is that of x86-64")
def test_case_19_without_inotify(inbox: Path, empty_library: Library) -> None:
    with running(inbox, empty_library, *without(*INOTIFY)):
        made(inbox / "first.sqlite")
        wait_until(lambda: len(empty_library.list()) == 1)
        (inbox / "later").mkdir()
        made(inbox / "later" / "second.sqlite", 3)
        wait_until(lambda: len(empty_library.list()) == 2)


def test_case_41_a_filter_is_a_text(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    names = [(1, "a" * 30_000 + "!"), (2, "it's (a+)+$; DROP")]
    kernels = exports.kernels(*(exports.kernel(at, at + 1, name=at, correlation=at) for at, _ in names))
    exports.write(inbox / "a.sqlite", {**kernels, "StringIds": (("id", "value"), names)})
    ingest(inbox, empty_library.folder)
    (report,) = empty_library.list()
    for search, found in {"(a+)+$": 1, "it's": 1, "%": 0, "aaaa": 1, "(a|a)*b": 0, "'; DROP": 0}.items():
        assert len(analysis.run(empty_library, report.id, "kernels", {"search": search})) == found, search


def test_case_44_times_of_other_years(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """A clock that jumps shows as files from the future and the past; another clock tells whether a file is at rest."""
    for at, seconds in enumerate((0, 4_102_444_800), 1):
        os.utime(made(inbox / f"{at}.sqlite", 10 + at), (seconds, seconds))
    assert [line.split()[0] for line in ingest(inbox, empty_library.folder).lines] == ["ready", "ready"]
    assert ingest(inbox, empty_library.folder).lines == []


def test_case_47_deleted_while_it_is_read(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    made(inbox / "a.sqlite", 7)
    ingest(inbox, empty_library.folder)
    (report,) = empty_library.list()
    with empty_library.cursor(report.id) as cursor:
        other = Library(empty_library.folder)
        other.delete(report.id)
        assert cursor.execute("SELECT end_ns FROM kernel").fetchall() == [(7,)]
    with pytest.raises(ReportNotFoundError):
        analysis.run(Library(empty_library.folder), report.id, "kernels")
