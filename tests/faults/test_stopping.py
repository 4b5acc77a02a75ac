"""Worker and dashboard are stopped, and folders arrive in parts."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import psutil
import pytest

from bench.pages import run_server
from profiledb.library.library import Library
from profiledb.library.worker_lock import is_library_locked
from profiledb.shutdown_deadline import SHUTDOWN_S
from tests.conftest import ROOT, SAMPLES, Ingest, is_converting, wait_until
from tests.support.dropped_files import SAMPLE, stand_in
from tests.support.processes import processes_in, start_worker


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_conversion_at_hand(
    inbox: Path, empty_library: Library, tmp_path: Path, number: signal.Signals, ingest: Ingest
) -> None:
    for name in ("a", "b", "c"):
        (inbox / f"{name}.nsys-rep").write_bytes(SAMPLE.read_bytes() + name.encode() + b"U3w[END]")
    worker = start_worker(inbox, empty_library, WARPDECK_NSYS=str(stand_in(tmp_path, "sleep 600")))
    wait_until(lambda: is_converting(empty_library))
    worker.send_signal(number)
    assert worker.wait(timeout=10) == 0
    assert not processes_in(empty_library.work)
    assert not [job for job in empty_library.catalog.jobs() if job.state == "failed"], "it was ended, it did not fail"
    done = ingest(inbox, empty_library.folder, WARPDECK_NSYS="off")
    assert sorted(line.split()[1] for line in done.lines) == ["a.nsys-rep", "b.nsys-rep", "c.nsys-rep"]


def test_a_signal_that_interrupts_a_wait_for_events_ends_the_worker() -> None:
    """The handler runs in the thread that holds the lock of the event that it should set."""
    code = """
import os, signal, threading
from ingest import command
from ingest.end_event import EndEvent
end, wake = EndEvent(), threading.Event()
end.add_actions(wake.set)
command._handle_end_signals(end, until_stdin_closes=False)
with wake._cond:
    os.kill(os.getpid(), signal.SIGTERM)
    end.wait()
wake.wait()
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=30)


@pytest.mark.integration
def test_the_worker_ends_with_a_dashboard_that_is_killed_in_the_middle_of_a_conversion(
    inbox: Path, empty_library: Library, tmp_path: Path
) -> None:
    (inbox / "a.nsys-rep").write_bytes(SAMPLE.read_bytes())
    (inbox / "b.nsys-rep").write_bytes(SAMPLE.read_bytes() + b"b U3w[END]")
    settings = {
        "WARPDECK_INBOX": str(inbox),
        "WARPDECK_LIBRARY": str(empty_library.folder),
        "WARPDECK_NSYS": str(stand_in(tmp_path, "sleep 600")),
        "WARPDECK_SAMPLES": "off",
    }
    code = "import time; from app import worker_process; worker_process.check_worker(); time.sleep(600)"
    dashboard = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=os.environ | settings)
    try:
        wait_until(lambda: is_converting(empty_library))
    finally:
        dashboard.kill()
        dashboard.wait()
    wait_until(lambda: not is_library_locked(empty_library.folder), seconds=15)
    wait_until(lambda: not processes_in(empty_library.work), seconds=15)


@pytest.mark.integration
def test_a_server_ends_in_time_whoever_still_talks_to_it(tmp_path: Path) -> None:
    settings = {"WARPDECK_DATA": str(tmp_path), "WARPDECK_SAMPLES": "off", "WARPDECK_WORKER": "off"}
    upload = [
        "POST /api/v1/uploads?name=a.nsys-rep HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/octet-stream",
        "Content-Length: 100",
    ]
    with run_server(settings, {"address": "127.0.0.1"}) as dashboard:
        address = urlsplit(dashboard.address)
        with socket.create_connection((address.hostname, address.port)) as stalled:
            stalled.sendall("\r\n".join([*upload, "", "half"]).encode())
            wait_until(lambda: any((tmp_path / "inbox").rglob("*")))
            process = psutil.Process(dashboard.pid)
            process.terminate()
            wait_until(lambda: process.status() == psutil.STATUS_ZOMBIE, seconds=SHUTDOWN_S + 8)
        assert b"Thread 0x" in dashboard.log.read_bytes(), "the log has the stacks"


def parquet(folder: Path) -> Path:
    """An export as nsys writes one: a file a table."""
    folder.mkdir()
    source = SAMPLES / "transformer_inference.sqlite"
    with duckdb.connect() as db:
        from ingest.nsys import sqlite

        for extension in sqlite.get_access(source).extensions:
            db.execute(f"LOAD '{extension}'")
        db.execute(f"ATTACH '{source}' AS s (TYPE sqlite, READ_ONLY)")
        for name in sqlite.list_tables(source):
            db.execute(f"COPY (SELECT * FROM s.\"{name}\") TO '{folder}/{name}.parquet'")
    return folder


def test_a_folder_that_came_in_parts_is_one_report(
    ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path
) -> None:
    whole = parquet(tmp_path / "whole")
    target = inbox / "whole"
    target.mkdir()
    names = sorted(path.name for path in whole.iterdir())
    late = {"NVTX_EVENTS.parquet", "CUPTI_ACTIVITY_KIND_MEMCPY.parquet", "TARGET_INFO_SESSION_START_TIME.parquet"}
    assert late <= set(names)
    for name in set(names) - late:
        shutil.copy(whole / name, target / name)
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    (part,) = empty_library.list()
    empty_library.catalog.set_labels(part.id, ["mine"])
    for name in late:
        shutil.copy(whole / name, target / name)
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    (report,) = empty_library.list()
    assert report.id != part.id
    assert empty_library.catalog.labels() == {report.id: ["mine"]}
    assert report.rows["range"] > 0
    assert not part.rows.get("range")


@pytest.mark.slow("takes a folder of Parquet files in twice")
def test_another_capture_in_the_same_folder_is_another_report(
    ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path
) -> None:
    whole = parquet(inbox / "whole")
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    (whole / "CUPTI_ACTIVITY_KIND_MEMCPY.parquet").unlink()
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    assert len(empty_library.list()) == 2, "a file is gone: this is no part that has grown"
