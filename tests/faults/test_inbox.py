"""Inbox entries that are no files: logged once, and shown on the Library page as long as they exist."""

import os
import shutil
import socket
import stat
from contextlib import suppress
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ingest.skipped_files import MOST, STATE
from profiledb.library.catalog import Job
from profiledb.library.library import Library
from tests.conftest import ROOT, Ingest, wait_until
from tests.support.dropped_files import made
from tests.support.processes import start_worker, without_privileges


def entries(library: Library) -> dict[str, Job]:
    return {job.name: job for job in library.catalog.jobs() if job.state == STATE}


def test_links_pipes_sockets_and_names_are_told_once(
    inbox: Path, empty_library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = made(tmp_path / "outside.sqlite")
    (inbox / "link.sqlite").symlink_to(outside)
    (inbox / "loop").symlink_to(inbox)
    os.mkfifo(inbox / "pipe.nsys-rep")
    listening = socket.socket(socket.AF_UNIX)
    monkeypatch.chdir(inbox)
    listening.bind("socket.nsys-rep")
    bad = os.fsencode(inbox) + b"/caf\xe9 <b>[x](a).sqlite"
    shutil.copy(os.fsencode(outside), bad)
    with suppress(OSError):  # what tests run as may make none
        os.mknod(inbox / "device.nsys-rep", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    devices = {path.name for path in inbox.glob("device*")}
    (inbox / ".hidden.sqlite").symlink_to(outside)
    log = tmp_path / "log"
    with log.open("wb") as errors:
        worker = start_worker(inbox, empty_library, stderr=errors.fileno(), WARPDECK_SCAN_S="0.2")
    try:
        legible = "caf\\xe9 <b>[x](a).sqlite"
        wait_until(lambda: len(entries(empty_library)) == 5 + len(devices))
        found = entries(empty_library)
        assert found.keys() == {"link.sqlite", "loop", "pipe.nsys-rep", "socket.nsys-rep", legible} | devices
        assert found["loop"].message == "loop is a link, and links are not followed."
        assert found[legible].hint == "Rename it."
        told = page(empty_library, inbox, monkeypatch)
        assert sum("caf" in line for line in told) == 1
        assert not any("<b>" in line or "[x](" in line for line in told)

        made(inbox / "z.sqlite", 3)
        wait_until(lambda: any(job.state == "ready" for job in empty_library.catalog.jobs()))
        assert [report.name for report in empty_library.list()] == ["z.sqlite"]
        assert log.read_text().count("is a link") == 2
        assert log.read_text().count("is a pipe") == log.read_text().count("is a socket") == 1
        for name in ("link.sqlite", "loop", "pipe.nsys-rep", "socket.nsys-rep", *devices):
            (inbox / name).unlink()
        Path(os.fsdecode(bad)).rename(inbox / "good.sqlite")
        wait_until(lambda: not entries(empty_library))
        wait_until(lambda: len(empty_library.list()) == 2)
    finally:
        listening.close()
        worker.terminate()
        assert worker.wait(timeout=30) == 0


@pytest.mark.slow("starts a worker of its own, and waits for it six times")
def test_an_inbox_that_vanishes_and_a_folder_without_rights(
    inbox: Path, empty_library: Library, tmp_path: Path
) -> None:
    made(inbox / "a.sqlite")
    (inbox / "bad.sqlite").write_bytes(b"x")
    closed = inbox / "closed"
    closed.mkdir(mode=0)
    log = tmp_path / "log"
    with log.open("wb") as errors:
        worker = start_worker(
            inbox, empty_library, before=without_privileges([]), stderr=errors.fileno(), WARPDECK_SCAN_S="0.2"
        )
    try:
        wait_until(lambda: {job.state for job in empty_library.catalog.jobs()} >= {"ready", "failed", STATE})
        assert [*entries(empty_library)] == ["closed"]
        closed.chmod(0o755)
        wait_until(lambda: not entries(empty_library))
        inbox.rename(tmp_path / "away")
        wait_until(lambda: [*entries(empty_library)] == [str(inbox)])
        assert entries(empty_library)[str(inbox)].message == f"{inbox} is not there."
        assert {job.state for job in empty_library.catalog.jobs()} == {"ready", "failed", STATE}, "nothing is deleted"
        assert len(empty_library.list()) == 1
        assert not inbox.exists(), "nobody makes a folder where a disk is to be mounted"
        (tmp_path / "away").rename(inbox)
        wait_until(lambda: not entries(empty_library))
        assert log.read_text().count("is not there.") == 1
        assert log.read_text().count("may not read") == 1
    finally:
        worker.terminate()
        assert worker.wait(timeout=30) == 0


def test_many_entries_are_counted(inbox: Path, empty_library: Library, ingest: Ingest) -> None:
    for number in range(MOST + 7):
        (inbox / f"link-{number}").symlink_to(inbox)
    done = ingest(inbox, empty_library.folder)
    assert len(entries(empty_library)) == MOST + 1
    assert "7 more entries of the inbox are skipped, too." in done.errors
    assert done.errors.count("is a link") == MOST


def page(library: Library, inbox: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The Markdown texts of the Library page."""
    settings = {"WARPDECK_LIBRARY": library.folder, "WARPDECK_INBOX": inbox, "WARPDECK_WORKER": "off"}
    for name, value in settings.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(ROOT)
    return [
        str(one.value) for one in AppTest.from_file(str(ROOT / "app/dashboard.py"), default_timeout=60).run().markdown
    ]
