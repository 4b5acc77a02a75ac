"""Ends, full disks and folders that come in parts."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from app.worker import held
from ingest.deferral import MORE_BYTES, STATE, WAITS_S, Deferrals
from profiledb.report.catalog import Job
from profiledb.report.library import Library
from tests.conftest import ROOT, SAMPLES, Ingest, wait_until
from tests.support.dropped import SAMPLE, job_of, made, stand_in
from tests.support.processes import processes_in, start_worker


@pytest.mark.sweep(parts=6, of="faults")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_conversion_at_hand(
    inbox: Path, empty_library: Library, tmp_path: Path, number: signal.Signals, ingest: Ingest
) -> None:
    for name in ("a", "b", "c"):
        (inbox / f"{name}.nsys-rep").write_bytes(SAMPLE.read_bytes() + name.encode() + b"U3w[END]")
    worker = start_worker(inbox, empty_library, WARPDECK_NSYS=str(stand_in(tmp_path, "sleep 600")))
    wait_until(lambda: any(empty_library.work.glob("*/scratch/report.nsys-rep")))
    worker.send_signal(number)
    assert worker.wait(timeout=10) == 0
    assert not processes_in(empty_library.work)
    assert not [job for job in empty_library.catalog.jobs() if job.state == "failed"], "it was ended, it did not fail"
    done = ingest(inbox, empty_library.folder, WARPDECK_NSYS="off")
    assert sorted(line.split()[1] for line in done.lines) == ["a.nsys-rep", "b.nsys-rep", "c.nsys-rep"]


@pytest.mark.slow
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
    code = "import time; from app import worker; worker.status(); time.sleep(600)"
    dashboard = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=os.environ | settings)
    try:
        wait_until(lambda: any(empty_library.work.glob("*/scratch/report.nsys-rep")))
    finally:
        dashboard.kill()
        dashboard.wait()
    wait_until(lambda: not held(empty_library.folder), seconds=15)
    wait_until(lambda: not processes_in(empty_library.work), seconds=15)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 24 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk takes root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.sweep(parts=6, of="faults")
@pytest.mark.slow
def test_a_full_disk_is_waited_for(inbox: Path, small_disk: Path) -> None:
    library = Library(small_disk / "library")
    filler = small_disk / "filler"
    filler.write_bytes(bytes(22 << 20))
    shutil.copy(SAMPLES / "transformer_training.sqlite", inbox)
    path = inbox / "transformer_training.sqlite"
    worker = start_worker(inbox, library, WARPDECK_SCAN_S="0.5")
    try:
        wait_until(lambda: (job := library.catalog.job(str(path))) is not None and job.state == STATE, seconds=120)
        job = job_of(library, path)
        assert (job.message, job.hint) == ("The disk is full.", "It is tried again when there is more space.")
        filler.unlink()
        wait_until(lambda: job_of(library, path).state == "ready", seconds=120)
    finally:
        worker.terminate()
        assert worker.wait(timeout=30) == 0


@pytest.mark.sweep(parts=6, of="faults")
@pytest.mark.slow
def test_a_worker_starts_on_a_full_disk_and_goes_on_when_there_is_room(inbox: Path, small_disk: Path) -> None:
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file:
        while True:
            try:
                file.write(bytes(4096))
            except OSError:
                break
    made(inbox / "a.sqlite")
    library = small_disk / "library"
    argv = [sys.executable, "-m", "ingest", "--inbox", str(inbox), "--library", str(library)]
    with (inbox.parent / "log").open("wb") as log:
        worker = subprocess.Popen(argv, cwd=ROOT, env=os.environ | {"WARPDECK_SCAN_S": "0.5"}, stderr=log)
    try:
        wait_until(lambda: b"free space" in (inbox.parent / "log").read_bytes())
        assert worker.poll() is None
        filler.unlink()
        wait_until(lambda: bool(library.exists() and Library(library).list()), seconds=60)
    finally:
        worker.terminate()
        assert worker.wait(timeout=30) == 0


def test_when_a_file_that_had_to_wait_is_tried_again(tmp_path: Path) -> None:
    now, free = [0.0], [100]
    waits = Deferrals(lambda: now[0], lambda _: free[0])
    job = Job("a", "a", "1:1", STATE)
    assert waits.retry(job, tmp_path), "a worker that starts anew tries at once"
    for attempt in range(6):
        waits.note(job, tmp_path)
        pause = WAITS_S[min(attempt, len(WAITS_S) - 1)]
        now[0] += pause - 1
        assert not waits.retry(job, tmp_path)
        now[0] += 1
        assert waits.retry(job, tmp_path)
    waits.note(job, tmp_path)
    free[0] += MORE_BYTES
    assert waits.retry(job, tmp_path), "there is more room"
    waits.note(Job("a", "a", "1:1", "ready"), tmp_path)
    assert not waits.retry(Job("a", "a", "1:1", "ready"), tmp_path)


def parquet(folder: Path) -> Path:
    """An export as nsys writes one: a file a table."""
    folder.mkdir()
    source = SAMPLES / "transformer_inference.sqlite"
    with duckdb.connect() as db:
        from ingest.nsys import sqlite

        for extension in sqlite.access(source).extensions:
            db.execute(f"LOAD '{extension}'")
        db.execute(f"ATTACH '{source}' AS s (TYPE sqlite, READ_ONLY)")
        for name in sqlite.tables(source):
            db.execute(f"COPY (SELECT * FROM s.\"{name}\") TO '{folder}/{name}.parquet'")
    return folder


@pytest.mark.sweep(parts=6, of="faults")
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


@pytest.mark.sweep(parts=6, of="faults")
def test_another_capture_in_the_same_folder_is_another_report(
    ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path
) -> None:
    whole = parquet(inbox / "whole")
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    (whole / "CUPTI_ACTIVITY_KIND_MEMCPY.parquet").unlink()
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    assert len(empty_library.list()) == 2, "a file is gone: this is no part that has grown"
