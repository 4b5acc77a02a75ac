"""Limits of one file: a converter with endless output, bombs, and processes that try to outlive it."""

import itertools
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from ingest import tools
from ingest.conversion import limits, processes
from ingest.prefetch import IDLE_S
from profiledb import config, confinement
from profiledb.library.library import Library
from tests.conftest import ROOT, SAMPLES, Ingest, wait_until
from tests.support.dropped_files import SAMPLE, job_of, made, stand_in
from tests.support.processes import start_worker


def zstd(path: Path, chunk: bytes, times: int) -> Path:
    """A compressed file of a chunk again and again."""
    import pyarrow as pa

    with pa.CompressedOutputStream(str(path), "zstd") as stream:
        stream.write(b"NVR\0")
        for _ in range(times):
            stream.write(chunk)
    return path


BOMBS = {"zeros": (bytes(1 << 20), 1500), "small headers": (b"\x02\0\0\0\x08\x01" * (1 << 17), 1000)}


def test_a_bomb_holds_nothing_up(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """All of them at once, with a sound file."""
    paths = [zstd(inbox / f"bomb {kind}.ncu-repz", *BOMBS[kind]) for kind in BOMBS]
    assert all(path.stat().st_size < 2_000_000 for path in paths)
    made(inbox / "zz_good.sqlite")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = ingest(inbox, empty_library.folder, WARPDECK_NCU="off")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert sorted(line.split()[0] for line in done.lines) == [*["failed"] * len(paths), "ready"]
    for path in paths:
        assert "truncated or damaged" in job_of(empty_library, path).message
    assert after.ru_utime - before.ru_utime < 30


def test_a_converter_that_prints_without_end(inbox: Path, empty_library: Library, tmp_path: Path) -> None:
    """It is stopped in time, and no process holds its output in memory."""
    tool = stand_in(tmp_path, "cat /dev/zero & exec cat /dev/zero >&2")
    (inbox / "a.nsys-rep").write_bytes(SAMPLE.read_bytes())
    worker = start_worker(inbox, empty_library, WARPDECK_NSYS=str(tool), WARPDECK_CONVERT_TIMEOUT_S="2")
    most = 0

    def ended() -> bool:
        nonlocal most
        job = empty_library.catalog.job(str(inbox / "a.nsys-rep"))
        for one in (psutil.Process(worker.pid), *psutil.Process(worker.pid).children(recursive=True)):
            try:
                most = max(most, one.memory_info().rss)
            except psutil.Error:
                continue
        return job is not None and job.state == "failed"

    try:
        wait_until(ended, seconds=90)
    finally:
        worker.terminate()
        assert worker.wait(timeout=30) == 0
    assert most < 600 << 20
    assert "used up the processor time" in job_of(empty_library, inbox / "a.nsys-rep").message


def test_a_converter_that_leaves_the_session_does_not_survive(
    ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path
) -> None:
    mark = f"warpdeck-stray-{os.getpid()}"
    stray = f"setsid setsid {sys.executable} -c 'import time; time.sleep(600)' {mark} >/dev/null 2>&1 &"
    tool = stand_in(tmp_path, f"{stray}\nsleep 0.2; exit 1")
    (inbox / "a.nsys-rep").write_bytes(SAMPLE.read_bytes())
    done = ingest(inbox, empty_library.folder, WARPDECK_NSYS=str(tool))
    assert done.lines[0].startswith("failed")
    assert not strays(mark)


def test_a_correction_of_the_clock_hides_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the clock is set, psutil reports other start times of all processes, also between two looks."""
    starts = itertools.count(time.time() - 1e6, -10)
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: next(starts))
    monkeypatch.setattr(processes, "_adopts", True)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        others = {one.pid for one in processes._list_children()} - {child.pid}
        processes.end_adopted(keep=others)
        assert not psutil.pid_exists(child.pid)
    finally:
        child.kill()
        child.wait()


@pytest.mark.integration
def test_nothing_survives_a_worker_that_is_killed(inbox: Path, empty_library: Library, tmp_path: Path) -> None:
    """Not even a process whose parents each started a session of their own."""
    mark = f"warpdeck-orphan-{os.getpid()}"
    stray = f"setsid sh -c 'setsid {sys.executable} -c \"import time; time.sleep(600)\" {mark} & wait'"
    tool = stand_in(tmp_path, f"{stray} &\nsleep 600")
    (inbox / "a.nsys-rep").write_bytes(SAMPLE.read_bytes())
    worker = start_worker(inbox, empty_library, WARPDECK_NSYS=str(tool))
    wait_until(lambda: bool(strays(mark)))
    below = psutil.Process(worker.pid).children(recursive=True)
    worker.kill()
    worker.wait()
    _, left = psutil.wait_procs(below, timeout=20)
    assert not left
    assert not strays(mark)


def test_no_converter_starts_in_a_process_that_ends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The converter at hand was killed, and the conversion would go on with the next one."""
    monkeypatch.setattr(tools, "_starting", threading.Lock())
    tools.stop_starting()
    next_one = threading.Thread(target=tools.run, args=(["touch", tmp_path / "started"],), daemon=True)
    next_one.start()
    next_one.join(0.5)
    assert next_one.is_alive()
    assert not (tmp_path / "started").exists()


def strays(mark: str) -> list[int]:
    return [one.pid for one in psutil.process_iter(["cmdline"]) if mark in " ".join(one.info["cmdline"] or [])]


def test_a_converter_writes_nowhere_but_in_its_folder(
    ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    tool = stand_in(
        tmp_path,
        f"echo x > {outside}/written; echo x > {inbox}/written; rm -f {inbox}/a.nsys-rep; mkdir export"
        "\nmkdir -p $HOME/h $TMPDIR/t || exit 9; exit 1",
    )
    (inbox / "a.nsys-rep").write_bytes(SAMPLE.read_bytes())
    done = ingest(inbox, empty_library.folder, WARPDECK_NSYS=str(tool))
    assert done.lines[0].startswith("failed")
    if _landlock():
        assert not list(outside.iterdir())
        assert [path.name for path in inbox.iterdir()] == ["a.nsys-rep"]


def _landlock() -> bool:
    return confinement.read_version() >= 1


def test_a_closed_process_reads_only_what_it_needs(tmp_path: Path) -> None:
    if not _landlock():
        pytest.skip("this kernel has no Landlock")
    (tmp_path / "secret").write_text("x")
    (tmp_path / "work").mkdir()
    source = made(tmp_path / "in.sqlite")
    code = f"""
import socket, sys
from pathlib import Path
from ingest.conversion import limits, sandbox
from ingest.conversion.messages import Limits, Request
folder = Path({str(tmp_path)!r})
request = Request(Path({str(source)!r}), folder / "work", folder, Limits(1, 1 << 40, 1 << 30))
assert sandbox.close(request.work) and sandbox.close_reads(request)
request.source.read_bytes()
(request.work / "own").write_text("x")
def refused(action):
    try:
        action()
    except PermissionError:
        return True
    return False
assert refused(lambda: (folder / "secret").read_text())
assert refused(lambda: (folder / "new").write_text("x"))
assert refused(lambda: request.source.write_text("x"))
assert refused(lambda: (folder / "secret").unlink())
assert refused(lambda: (folder / "secret").rename(request.work / "moved"))
assert refused(lambda: socket.create_connection(("127.0.0.1", 9)))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_memory_of_a_conversion_is_bounded(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    (inbox / "a.sqlite").write_bytes((SAMPLES / "transformer_training.sqlite").read_bytes())
    done = ingest(inbox, empty_library.folder, WARPDECK_CONVERT_MEMORY_MB="0")
    job = job_of(empty_library, inbox / "a.sqlite")
    assert done.status == 0
    assert job.state in ("failed", "ready"), "little is left beside what threads reserve"
    assert "Traceback" not in job.detail


def test_a_file_gets_time_by_its_size(tmp_path: Path) -> None:
    settings = config.load()
    small, large = (limits.compute_limits(size, tmp_path, settings) for size in (1000, 1 << 30))
    assert (small.time_s, large.time_s) == (120, settings.convert_timeout_s)
    assert limits.compute_limits(225 << 20, tmp_path, settings).time_s == pytest.approx(900)
    assert limits.compute_limits(1, tmp_path, config.load(convert_timeout_s="5")).time_s == 5
    assert 0 < small.file_bytes <= settings.convert_disk_mb << 20


LOOK_S = 0.25
"""Seconds between two looks of the idle worker: eight times as many as without the setting."""


@pytest.mark.integration
@pytest.mark.slow("imports large reports, and watches the worker for a minute and a half")
def test_an_idle_worker_is_idle(inbox: Path, empty_library: Library) -> None:
    """A look takes under 20 ms, 1 % of the 2 s between looks, with finished files of every kind in the inbox."""
    for path in SAMPLES.glob("transformer_*"):
        (inbox / path.name).write_bytes(path.read_bytes())
    made(inbox / "b.sqlite")
    (inbox / "broken.nsys-rep").write_bytes(b"NVIDIA Tegra Profiler Report 1")
    (inbox / "alone.timings.csv").write_text("label,step,seconds\nx,0,1\n")
    # what it prepares for pages takes what nobody else wants, which may be long in coming here
    worker = start_worker(inbox, empty_library, WARPDECK_SCAN_S=str(LOOK_S), WARPDECK_ANSWERS_MB="0")
    try:
        wait_until(lambda: len(empty_library.catalog.jobs()) >= 9 and not open_jobs(empty_library), seconds=280)
        process = psutil.Process(worker.pid)
        # the last children count when they have ended; the process that prepares waits for further reports (IDLE_S)
        wait_until(Still(process).is_so, seconds=280 + IDLE_S)
        took_s = min(measure_looks(process) for _ in range(3))  # others on the machine make single ones dearer
    finally:
        worker.terminate()
        worker.wait(timeout=30)
    assert took_s < 0.01 * 60, f"{took_s:.2f} s for as many looks as in a minute"


def measure_looks(process: psutil.Process) -> float:
    """Return the CPU seconds of as many looks as a worker takes in a minute."""
    started, before = time.monotonic(), sum(process.cpu_times()[:4])
    wait_until(lambda: time.monotonic() - started >= 60 * LOOK_S / 2)
    return sum(process.cpu_times()[:4]) - before


class Still:
    """Whether a process has started no child but its server, and no child of it has ended, for five seconds."""

    def __init__(self, process: psutil.Process) -> None:
        self.process = process
        self.since, self.spent = time.monotonic(), -1.0

    def is_so(self) -> bool:
        spent = sum(self.process.cpu_times()[2:4])
        if spent != self.spent or len(self.process.children()) > 1:
            self.since, self.spent = time.monotonic(), spent
        return time.monotonic() - self.since > 5


def open_jobs(library: Library) -> list[str]:
    return [job.name for job in library.catalog.jobs() if job.state in ("waiting", "converting", "loading")]
