"""Background work yields to pages: the process, and its session if it leads one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ingest.conversion.messages import Limits, Request
from ingest.conversion.runner import Runner
from profiledb import priority
from tests.conftest import ROOT
from tests.support.dropped_files import made

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="niceness of sessions is Linux's")

STEP_BACK = "import os; from profiledb import priority; priority.{}; print(os.nice(0), os.sched_getscheduler(0))"
IN_A_CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', {!r}], check=True)"
TELL_SESSION = "; print(open('/proc/self/autogroup').read().split()[-1])"
HAS_SESSIONS = Path("/proc/self/autogroup").exists()
"""Whether each session has a niceness of its own; what the system's first process starts may be in none."""
NO_ROOT = ["setpriv", "--bounding-set=-sys_admin"] if os.geteuid() == 0 else []


def start(code: str, under: list[str]) -> "subprocess.Popen[str]":
    """Start a process that leads a session and prints its result."""
    argv = [*under, sys.executable, "-c", code + (TELL_SESSION if HAS_SESSIONS else "")]
    return subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)


def said(process: "subprocess.Popen[str]") -> list[int]:
    """The numbers that a process printed."""
    printed = process.communicate(timeout=60)[0]
    assert process.returncode == 0
    return [int(word) for word in printed.split()]


def run(code: str) -> list[int]:
    """Return the output of a process that leads a session: its niceness, its scheduling, its session's niceness."""
    return said(start(code, []))


def session_of(pid: int) -> int:
    """The niceness of a session."""
    return int(Path(f"/proc/{pid}/autogroup").read_text(encoding="ascii").split()[-1])


def test_a_session_steps_back_with_the_process_that_leads_it() -> None:
    own = os.nice(0)
    assert run(STEP_BACK.format("step_back(7)"))[:2] == [min(19, own + 7), os.SCHED_OTHER]
    assert run(STEP_BACK.format("use_idle_only()"))[:2] == [19, os.SCHED_IDLE]
    if HAS_SESSIONS:
        assert run(STEP_BACK.format("step_back(7)"))[2] == 7
        assert run(IN_A_CHILD.format(STEP_BACK.format("step_back(7)")))[2] == 0


@pytest.mark.skipif(
    not HAS_SESSIONS or (os.geteuid() == 0 and shutil.which("setpriv") is None),
    reason="sessions have no niceness here, or root cannot give up its right to change many at once",
)
def test_sessions_of_a_user_that_is_not_root_all_step_back() -> None:
    started = [start(STEP_BACK.format("step_back(7)"), NO_ROOT) for _ in range(4)]
    assert [said(process)[2] for process in started] == [7] * 4


def test_a_conversion_steps_back(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    request = Request(
        made(tmp_path / "a.sqlite"), tmp_path / "work", tmp_path / "library", Limits(60, 1 << 40, 1 << 32)
    )
    runner, found = Runner(), list[tuple[int, int]]()

    def look(_: str) -> None:
        (pid,) = runner.forks.running_pids()
        found.append((psutil.Process(pid).nice(), session_of(pid) if HAS_SESSIONS else priority.CONVERSION))

    (outcome,) = runner.run([request], look)
    assert outcome.state == "ready", outcome
    assert set(found) == {(min(19, os.nice(0) + priority.CONVERSION), priority.CONVERSION)}
