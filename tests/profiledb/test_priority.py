"""Work in the background steps back behind pages: the process, and its session where it leads one."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ingest.conversion import limits
from ingest.conversion.child import Request, Runner
from profiledb import priority
from tests.conftest import ROOT
from tests.support.dropped import made

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="niceness of sessions is Linux's")

STEP_BACK = "import os; from profiledb import priority; priority.{}; print(os.nice(0), os.sched_getscheduler(0))"
TELL_SESSION = "; print(open('/proc/self/autogroup').read().split()[-1])"
HAS_SESSIONS = Path("/proc/self/autogroup").exists()


def run(call: str, *, leads: bool) -> list[int]:
    """What a process says after it: its niceness, how it is scheduled, and the niceness of its session."""
    code = STEP_BACK.format(call) + (TELL_SESSION if HAS_SESSIONS else "")
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True, start_new_session=leads)
    return [int(word) for word in done.stdout.split()]


def session_of(pid: int) -> int:
    """The niceness of a session."""
    return int(Path(f"/proc/{pid}/autogroup").read_text(encoding="ascii").split()[-1])


def test_a_session_steps_back_with_the_process_that_leads_it() -> None:
    own = os.nice(0)
    assert run("step_back(7)", leads=True)[:2] == [min(19, own + 7), os.SCHED_OTHER]
    assert run("only_idle()", leads=True)[:2] == [19, os.SCHED_IDLE]
    if HAS_SESSIONS:
        assert run("step_back(7)", leads=True)[2] == 7
        assert run("step_back(7)", leads=False)[2] == session_of(os.getpid())


def test_a_conversion_steps_back(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    request = Request(
        made(tmp_path / "a.sqlite"), tmp_path / "work", tmp_path / "library", limits.Limits(60, 1 << 40, 1 << 32)
    )
    runner, found = Runner(), list[tuple[int, int]]()

    def look(_: str) -> None:
        (pid,) = runner.forks.running()
        found.append((psutil.Process(pid).nice(), session_of(pid) if HAS_SESSIONS else priority.CONVERSION))

    (outcome,) = runner.run([request], look)
    assert outcome["state"] == "ready", outcome
    assert set(found) == {(min(19, os.nice(0) + priority.CONVERSION), priority.CONVERSION)}
