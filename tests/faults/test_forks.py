"""The server that forks conversions, started or forked itself: conversions are sandboxed, and it may die any time."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import duckdb
import psutil
import pytest

from ingest.conversion.fork_client import SERVER
from ingest.process_endings import TRIES
from profiledb.library.library import Library
from tests.conftest import ROOT, is_converting, wait_until
from tests.support.dropped_files import SAMPLE, job_of, made, stand_in
from tests.support.processes import processes_in, start_worker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the server is there on Linux")

ASKED = """
import os, sys
from ingest.conversion import processes
from ingest.conversion.fork_client import ForkClient
processes.adopt()
forks = ForkClient()
"""
"""A worker's side of the server, for what the tests add."""
STARTED = "forks.warm(prepare=True)"
FORKED = """
kept = open("/etc/passwd"), os.pipe()
forks.fork_server()
assert forks._server
forks.warm(prepare=True)
"""
"""With files that the server must not inherit."""


def tell(code: str, start: str = STARTED) -> list[str]:
    """Return the output of a new process that runs the code with a server."""
    argv = [sys.executable, "-c", f"{ASKED}{start}\n{code}"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def server_of(worker: int) -> psutil.Process | None:
    for child in psutil.Process(worker).children():
        if tuple(child.cmdline()[1:]) == SERVER[1:]:
            return child
    return None


@pytest.fixture
def worker(inbox: Path, empty_library: Library, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A worker whose converter hangs, with its server."""
    tool = stand_in(tmp_path, "sleep 600")
    process = start_worker(inbox, empty_library, WARPDECK_NSYS=str(tool), WARPDECK_SCAN_S="0.2")
    try:
        wait_until(lambda: server_of(process.pid) is not None)
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_server_that_is_killed_is_started_again(
    worker: subprocess.Popen[bytes], inbox: Path, empty_library: Library
) -> None:
    made(inbox / "a.sqlite")
    wait_until(lambda: len(empty_library.list()) == 1)
    first = server_of(worker.pid)
    assert first is not None
    first.kill()
    made(inbox / "b.sqlite", 3)
    wait_until(lambda: len(empty_library.list()) == 2)
    second = server_of(worker.pid)
    assert second is not None
    assert second.pid != first.pid


@pytest.mark.slow("starts a worker whose converter hangs")
def test_what_it_forked_outlives_it_and_is_ended_by_the_worker(
    worker: subprocess.Popen[bytes], inbox: Path, empty_library: Library
) -> None:
    (inbox / "a.nsys-rep").write_bytes(SAMPLE.read_bytes())
    wait_until(lambda: is_converting(empty_library))
    server = server_of(worker.pid)
    assert server is not None
    (conversion,) = [child for child in psutil.Process(worker.pid).children() if child.pid != server.pid]
    server.kill()
    wait_until(lambda: server.status() == psutil.STATUS_ZOMBIE)
    assert conversion.status() != psutil.STATUS_ZOMBIE
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=20) == 0
    wait_until(lambda: not conversion.is_running())
    assert not processes_in(empty_library.work)


def test_a_conversion_that_is_killed_is_the_failure_of_its_file(
    worker: subprocess.Popen[bytes], inbox: Path, empty_library: Library
) -> None:
    path = inbox / "a.nsys-rep"
    path.write_bytes(SAMPLE.read_bytes())
    wait_until(lambda: is_converting(empty_library))
    server = server_of(worker.pid)
    assert server is not None
    over: list[psutil.Process] = [server]
    while len(over) <= TRIES:
        wait_until(lambda: len(_beside(worker, over)) == 1 and is_converting(empty_library))
        (conversion,) = _beside(worker, over)
        conversion.send_signal(signal.SIGSEGV)
        over.append(conversion)
    wait_until(lambda: job_of(empty_library, path).state == "failed")
    said = "The conversion of a.nsys-rep crashed (SIGSEGV). Warpdeck has tried 3 times."
    assert job_of(empty_library, path).message == said
    assert not processes_in(empty_library.work), "the converter went with it"
    made(inbox / "b.sqlite")
    wait_until(lambda: len(empty_library.list()) == 1)
    assert server_of(worker.pid) == server


def _beside(worker: subprocess.Popen[bytes], known: Sequence[psutil.Process]) -> list[psutil.Process]:
    """The other conversions below the worker, which briefly adopts the children of a killed one."""
    return [child for child in psutil.Process(worker.pid).children() if child not in known and _converts(child)]


def _converts(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return any("ingest.conversion" in word for word in process.cmdline())
    return False


def test_the_server_ends_with_a_worker_that_is_killed(worker: subprocess.Popen[bytes]) -> None:
    server = server_of(worker.pid)
    assert server is not None
    worker.kill()
    worker.wait()
    wait_until(lambda: not server.is_running())


@pytest.mark.parametrize("start", [STARTED, FORKED], ids=["started", "forked"])
def test_a_conversion_has_its_own_three_files_and_a_session(start: str) -> None:
    """It inherits neither the server's socket to the worker nor prepared files, and has its output open once."""
    code = """
import contextlib, time
process, limit = forks.start(), time.monotonic() + 30
def read_links():
    links = {}
    for fd in os.listdir(f"/proc/{process.pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed since
            links[fd] = os.readlink(f"/proc/{process.pid}/fd/{fd}")
    return links
messages = f"pipe:[{os.fstat(process.stdout.fileno()).st_ino}]"  # a copy of its standard output
def has_own():
    return all("memfd:sqlite" in link or link == messages for fd, link in read_links().items() if fd not in set("012"))
while not has_own() and time.monotonic() < limit:
    time.sleep(0.02)  # it closes the server's line first
print(os.getsid(process.pid) == process.pid, os.getpgid(process.pid) == process.pid)
print(all(read_links()[fd].startswith("pipe:") for fd in "012"))
print(has_own())
print(forks.end(process), forks.running_pids())
forks.close()
print(processes.end_adopted(), len(os.listdir("/proc/self/fd")) < 12)
"""
    assert tell(code, start) == ["True", "True", "True", "True", "-9", "[]", "None", "True"]


def test_a_forked_server_keeps_nothing_of_the_worker_but_its_modules() -> None:
    """It has three files and its socket, one thread, a session, and the variables that keep libraries from threads."""
    code = """
import contextlib, time
server, place = forks._server.pid, f"/proc/{forks._server.pid}"
def list_files():
    links = {}
    for fd in os.listdir(f"{place}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed since
            links[int(fd)] = os.readlink(f"{place}/fd/{fd}")
    return links
def has_own(files):
    line = [link for fd, link in files.items() if fd > 2]
    return {files.get(0), files.get(1)} == {"/dev/null"} and len(line) == 1 and line[0].startswith("socket:")
limit = time.monotonic() + 30
while not has_own(list_files()) and time.monotonic() < limit:
    time.sleep(0.02)
print(has_own(list_files()), len(os.listdir(f"{place}/task")), os.getsid(server) == server)
from ingest.conversion.messages import ROOT
print(os.readlink(f"{place}/cwd") == str(ROOT))
print(forks.end(forks.start()))
forks.close()
print(os.path.exists(place))
"""
    start = "kept = open('/etc/passwd'), os.pipe()\nos.chdir('/var')\nforks.fork_server()"
    assert tell(code, start) == ["True", "1", "True", "True", "-9", "False"]


def test_conversions_of_a_forked_server_may_not_read_the_folder_of_the_user(tmp_path: Path) -> None:
    """``python -m`` puts that folder on Python's path."""
    code = f"""
import os, sys
from pathlib import Path
from ingest.conversion import fork_server, sandbox
from ingest.conversion.messages import Limits, Request
folder = Path({str(tmp_path)!r})
request = Request(folder / "inbox/a.sqlite", folder / "work", folder / "library", Limits(1, 1, 1))
os.chdir(folder)
sys.path[0] = str(folder)
print(folder in sandbox._list_readable(request))
fork_server.leave_folder()
print(folder in sandbox._list_readable(request), Path.cwd() == fork_server.ROOT)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True", "False", "True"], done.stderr


def test_a_forked_server_that_dies_is_followed_by_a_started_one() -> None:
    code = """
import signal
os.kill(forks._server.pid, signal.SIGKILL)
print(forks.end(forks.start()))
with open(f"/proc/{forks._server.pid}/cmdline") as file:
    print("ingest.conversion.fork_server" in file.read())
"""
    assert tell(code, FORKED) == ["-9", "True"]


def test_a_process_with_threads_forks_no_server() -> None:
    """A fork would copy its locks without the threads that hold them; the next file starts a server instead."""
    code = """
print(forks._server, forks.end(forks.start()))
with open(f"/proc/{forks._server.pid}/cmdline") as file:
    print("ingest.conversion.fork_server" in file.read())
"""
    start = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    assert tell(code, f"{start}forks.fork_server()") == ["None", "-9", "True"]


@pytest.fixture
def once(inbox: Path, empty_library: Library, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A command that takes in one file, whose converter hangs; its server is forked."""
    (inbox / "a.nsys-rep").write_bytes(SAMPLE.read_bytes())
    tool = stand_in(tmp_path, "sleep 600")
    process = start_worker(inbox, empty_library, "--once", "--strict", WARPDECK_NSYS=str(tool))
    try:
        wait_until(lambda: is_converting(empty_library))
        assert server_of(process.pid) is None
        yield process
    finally:
        process.kill()
        process.wait()


def test_all_that_a_command_forked_ends_with_it(once: subprocess.Popen[bytes], empty_library: Library) -> None:
    wait_until(lambda: len(psutil.Process(once.pid).children(recursive=True)) >= 3)
    below = psutil.Process(once.pid).children(recursive=True)
    assert len(below) >= 3, "the server, the conversion and its converter"
    once.kill()
    once.wait()
    wait_until(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in below))
    assert not processes_in(empty_library.work)


@pytest.mark.slow("a command whose conversions are killed three times")
def test_a_conversion_of_a_command_that_is_killed_is_the_failure_of_its_file(
    once: subprocess.Popen[bytes], inbox: Path, empty_library: Library
) -> None:
    over: set[int] = set()
    for _ in range(TRIES):
        wait_until(lambda: bool(_busy(once, over)) and is_converting(empty_library))
        (conversion,) = _busy(once, over)
        conversion.send_signal(signal.SIGSEGV)
        over.add(conversion.pid)
    assert once.wait(timeout=20) == 1
    said = "The conversion of a.nsys-rep crashed (SIGSEGV). Warpdeck has tried 3 times."
    assert job_of(empty_library, inbox / "a.nsys-rep").message == said


def _busy(worker: subprocess.Popen[bytes], over: set[int]) -> list[psutil.Process]:
    """Conversions: children of the worker that have started a converter."""
    busy = []
    for child in psutil.Process(worker.pid).children():
        with suppress(psutil.NoSuchProcess):  # it has ended since
            busy += [child] if child.pid not in over and child.children() else []
    return busy


def test_what_prepares_reports_goes_on_when_a_conversion_ends() -> None:
    """Other processes below the worker end with the worker."""
    code = """
import subprocess
helper, stray = forks.start_helper(["sleep", "60"]), subprocess.Popen(["sleep", "60"])
print(forks.end(forks.start()), helper.poll(), psutil.pid_exists(stray.pid))
helper.kill()
print(helper.wait())
"""
    assert tell("import psutil" + code) == ["-9", "None", "False", "-9"]


def test_without_a_server_files_are_read_all_the_same() -> None:
    code = """
from ingest.conversion import fork_client as module
forks.close()
module.SERVER = ("/bin/false",)
process = forks.start()
while len(words := open(f"/proc/{process.pid}/cmdline").read().split("\\0")) < 3:
    pass  # the kernel is starting it
print(words[2], forks.end(process))
"""
    assert tell(code) == ["ingest.conversion.job", "-9"]


def test_the_server_has_one_thread_whatever_it_imports() -> None:
    code = """
from ingest.conversion import fork_server
fork_server.import_modules(arrays=False)
fork_server.import_modules(arrays=True)
print("numpy" in sys.modules, len(os.listdir("/proc/self/task")))
"""
    argv = [sys.executable, "-c", "import os, sys" + code]
    from ingest.conversion.fork_client import QUIET

    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, env=os.environ | QUIET, check=False)
    assert done.stdout.split() == ["True", "1"], done.stderr


PREPARED = """
import os, time
from pathlib import Path
from ingest.conversion import fork_server, prepared_files
fork_server.import_modules(arrays=False)
made = prepared_files.PreparedFiles()
made.start()
limit = time.monotonic() + 60
while not prepared_files.list_ready().empty and time.monotonic() < limit:
    made.collect()
    time.sleep(0.01)
(name, sealed), = prepared_files.list_ready().extensions.items()
"""


def test_what_was_checked_cannot_be_changed() -> None:
    code = """
def refused(action):
    try:
        action()
    except OSError:
        return True
    return False
print(refused(lambda: os.pwrite(sealed, b"x", 0)), refused(lambda: os.ftruncate(sealed, 0)))
print(refused(lambda: os.write(os.open(f"/proc/self/fd/{sealed}", os.O_RDWR), b"x")))
"""
    done = subprocess.run(
        [sys.executable, "-c", PREPARED + code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["True", "True", "True"], done.stderr


def test_an_extension_that_duckdb_did_not_sign_is_not_prepared(tmp_path: Path) -> None:
    """No conversion loads it: each asks DuckDB, which refuses."""
    changed = tmp_path / "sqlite_scanner.duckdb_extension"
    code = f"""
import time
from pathlib import Path
from ingest.conversion import fork_server, prepared_files
from ingest.nsys import sqlite
from profiledb.report.store import Access
fork_server.import_modules(arrays=False)
content = bytearray(sqlite.get_access(Path("x")).extensions[0].read_bytes())
content[len(content) // 2] ^= 1
changed = Path({str(changed)!r})
changed.write_bytes(content)
sqlite.get_access = lambda path: Access((path,), (changed,))
made = prepared_files.PreparedFiles()
made.start()
while made._maker is not None:
    made.collect()
    time.sleep(0.01)
print(prepared_files.list_ready())
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "Ready(empty=b'', extensions={})", done.stderr
    with duckdb.connect() as db, pytest.raises(duckdb.Error, match="signature"):
        db.execute(f"LOAD '{changed}'")
