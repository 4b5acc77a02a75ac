"""Runs one conversion (ingest.job) as a process group that can be ended as a whole."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def convert(
    source: Path, work: Path, library: Path, *, timeout_s: float, on_step: Callable[[str], None]
) -> dict[str, Any]:
    """Converts a file and returns the outcome (ingest.job.Outcome as a dict), whatever happens to the process.

    The process gets a session of its own: at the time limit, and in any case at the end, all that it started dies
    with it. Its standard input is held open until then: where it closes early, this process has died, and the
    conversion ends itself. A crash of the converter or of the database is a failed outcome, not an error here.
    """
    argv = [sys.executable, "-m", "ingest.job", str(source), str(work), str(library)]
    errors = work / "stderr"
    with errors.open("wb") as stderr:
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, start_new_session=True, cwd=ROOT
        )
    late = threading.Event()

    def stop() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(timeout_s, stop)
    timer.start()
    try:
        outcome = _listen(process, on_step)
    finally:
        timer.cancel()
        _kill(process)
        process.wait()
        if process.stdin:
            process.stdin.close()
    if outcome is not None:
        return outcome
    return _died(process.returncode, errors.read_text(errors="replace")[-4000:], timeout_s if late.is_set() else None)


def _listen(process: subprocess.Popen[bytes], on_step: Callable[[str], None]) -> dict[str, Any] | None:
    assert process.stdout is not None
    outcome = None
    with process.stdout:
        for line in process.stdout:
            said: dict[str, Any] = json.loads(line)
            if "step" in said:
                on_step(said["step"])
            else:
                outcome = said
    return outcome


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends the whole group: a converter may have outlived the process that started it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _died(status: int, words: str, timeout_s: float | None) -> dict[str, Any]:
    if timeout_s is not None:
        message = f"The conversion did not finish within {timeout_s:.0f} seconds and was stopped."
        hint = "Capture a shorter window, or raise WARPDECK_CONVERT_TIMEOUT_S."
    else:
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        message = f"The conversion ended without an answer ({how})."
        hint = "Often this is too little memory; try again, or capture a shorter window."
    return {"state": "failed", "report_id": None, "manifest": "", "message": message, "hint": hint, "detail": words}
