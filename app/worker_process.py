"""Start the ingest worker beside the dashboard, keep it running, and report its state.

The worker exits by itself if another one holds the library's lock. It reads from a pipe that only this process holds
open, so that it ends with the dashboard, however that ends.
"""

import asyncio
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import IO, Literal

from profiledb import config
from profiledb.config import Settings
from profiledb.errors import CatalogError, NewerLibraryError
from profiledb.library import team_database
from profiledb.library.locations import refuse_newer
from profiledb.library.worker_lock import is_library_locked
from profiledb.library.workers import WorkerInfo, Workers
from profiledb.monitoring import logs
from profiledb.terminal import describe_error

EXIT_LIBRARY_BUSY = 3
"""Exit status of a worker that found the library locked by another."""

BACK_OFF_S = (2.0, 5.0, 15.0, 60.0)
"""Seconds to wait before each further start; the last wait repeats."""

STEADY_AFTER_S = 300.0
"""Seconds after which the next crash of a worker counts as the first again."""

CHECK_INTERVAL_S = 5.0
"""Seconds between two checks by the server itself."""

WorkerState = Literal["here", "elsewhere", "off", "starting", "stopped", "refused"]


@dataclass(frozen=True)
class WorkerStatus:
    """State of the worker. ``reason``: its last output if it stopped, or why it is not started."""

    state: WorkerState
    reason: str = ""


def check_worker() -> WorkerStatus:
    """Return the state of ingest; restart a worker that died, once its wait is over."""
    settings = config.load()
    if settings.worker == "off":
        with suppress(CatalogError):
            return WorkerStatus(
                "elsewhere" if is_library_locked(settings.library) or list_team_workers(settings) else "off"
            )
        return WorkerStatus("elsewhere")
    return _get_keeper(settings).check()


async def keep_worker_running() -> None:
    """Check the worker every few seconds, for as long as the server runs."""
    while True:
        await asyncio.to_thread(check_worker)
        await asyncio.sleep(CHECK_INTERVAL_S)


@cache
def _get_keeper(settings: Settings) -> "WorkerKeeper":
    """Return the keeper of this process, which pages and the server's own checks share."""
    return WorkerKeeper(settings)


def explain_refusal(settings: Settings | None = None) -> str:
    """Return why nothing may write to the library: a later version of Warpdeck changed it. Empty if it may."""
    try:
        refuse_newer(settings or config.load())
    except NewerLibraryError as error:
        return describe_error(error)
    return ""


def list_team_workers(settings: Settings) -> list[WorkerInfo]:
    """Return the workers of a team that are alive; empty without a team.

    Raises:
        CatalogError: the database is unreachable.
    """
    return Workers(team_database.open_database(settings.database)).all() if settings.database else []


def build_command(settings: Settings) -> list[str]:
    """Return the command line of the worker."""
    samples = str(settings.samples) if settings.samples else "off"
    return [
        *(sys.executable, "-m", "ingest", "--until-stdin-closes"),
        *("--inbox", settings.inbox_text, "--library", settings.library_text, "--samples", samples),
    ]


class WorkerKeeper:
    """Keep one worker process running. Thread-safe."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._error_file: IO[bytes] | None = None
        self._last_output = ""
        self._crashes = 0
        self._started_at = 0.0
        self._next_start = 0.0

    def check(self) -> WorkerStatus:
        """Return the worker's state; start it if it does not run and may."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                return WorkerStatus("here")
            if self._process is not None:
                self._end_process(self._process)
            if is_library_locked(self._settings.library):
                return WorkerStatus("elsewhere")
            if reason := explain_refusal(self._settings):
                return WorkerStatus("refused", reason)
            if self._clock() >= self._next_start:
                self._start_process()
                return WorkerStatus("starting")
            return WorkerStatus("stopped", self._last_output)

    def stop(self) -> None:
        """End the worker like the end of the dashboard does, and wait for it."""
        with self._lock:
            if self._process is not None:
                self._end_process(self._process)

    def _start_process(self) -> None:
        self._error_file = tempfile.TemporaryFile()  # noqa: SIM115 (stays open as long as the process that writes to it)
        self._started_at = self._clock()
        self._process = subprocess.Popen(
            build_command(self._settings),
            stdin=subprocess.PIPE,
            stdout=None if self._settings.log == logs.JSON else subprocess.DEVNULL,
            stderr=self._error_file,
            cwd=config.ROOT,
        )

    def _end_process(self, process: subprocess.Popen[bytes]) -> None:
        """Release a process that ended or has to, keep its last output, and schedule the next start."""
        assert process.stdin is not None
        assert self._error_file is not None
        process.stdin.close()
        process.wait(timeout=30)
        with self._error_file as error_file:
            error_file.seek(0)
            self._last_output = error_file.read().decode(errors="replace").strip()[-2000:]
        steady = self._clock() - self._started_at > STEADY_AFTER_S
        self._crashes = 1 if steady or process.returncode == EXIT_LIBRARY_BUSY else self._crashes + 1
        self._next_start = self._clock() + BACK_OFF_S[min(self._crashes, len(BACK_OFF_S)) - 1]
        self._process = self._error_file = None
