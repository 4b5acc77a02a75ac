"""Starts the ingest worker beside the dashboard and says how it is doing.

The worker decides by itself whether it may work: where another one holds the library's lock it exits. It reads from a
pipe that only this process holds open, so it ends with the dashboard, however that ends.
"""

import asyncio
import fcntl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Literal

from profiledb import config
from profiledb.config import Settings
from profiledb.errors import CatalogError, NewerLibraryError
from profiledb.library import team_database
from profiledb.library.locations import refuse_newer
from profiledb.library.workers import WorkerInfo, Workers
from profiledb.monitoring import logs
from profiledb.terminal import sentence

BUSY = 3
"""Exit status of a worker that found the library held by another."""

BACK_OFF_S = (2.0, 5.0, 15.0, 60.0)
"""Waits before each further start; the last one repeats."""

STEADY_S = 300.0
"""After so long a life, a death counts as the first again."""

LOOK_S = 5.0
"""Time between two looks of the server itself."""

State = Literal["here", "elsewhere", "off", "starting", "stopped", "refused"]


@dataclass(frozen=True)
class Status:
    """Where the worker is, and if it has stopped or is not started, why (its last words)."""

    state: State
    reason: str = ""


def status() -> Status:
    """How ingest is doing; a worker that died is started again by this look, once its wait is over."""
    settings = config.load()
    if settings.worker == "off":
        with suppress(CatalogError):
            return Status("elsewhere" if held(settings.library) or team(settings) else "off")
        return Status("elsewhere")
    return _keeper(settings).look()


async def keep() -> None:
    """Looks at the worker every few seconds, for as long as the server runs."""
    while True:
        await asyncio.to_thread(status)
        await asyncio.sleep(LOOK_S)


@cache
def _keeper(settings: Settings) -> "Keeper":
    """One a process: pages and the server's own look share it."""
    return Keeper(settings)


def refusal(settings: Settings | None = None) -> str:
    """Why no worker is started, and nothing is written to the library: a later version changed it. Empty: nothing."""
    try:
        refuse_newer(settings or config.load())
    except NewerLibraryError as error:
        return sentence(error)
    return ""


def held(library: Path) -> bool:
    """Whether some process holds the worker's lock of a library. Takes a shared lock for a moment: a worker that
    starts within it finds the lock taken and is started again at the next look."""
    try:
        with (library / "worker.lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def team(settings: Settings) -> list[WorkerInfo]:
    """The workers of a team that are alive; none where there is no team. Raises CatalogError: nobody can say now."""
    return Workers(team_database.open_database(settings.database)).all() if settings.database else []


def command(settings: Settings) -> list[str]:
    """The command line of the worker."""
    samples = str(settings.samples) if settings.samples else "off"
    return [
        *(sys.executable, "-m", "ingest", "--until-stdin-closes"),
        *("--inbox", settings.inbox_text, "--library", settings.library_text, "--samples", samples),
    ]


class Keeper:
    """Keeps one worker process running; may be shared by threads."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._said = ""
        self._deaths = 0
        self._started_at = 0.0
        self._next_start = 0.0

    def look(self) -> Status:
        """The worker's state; starts it where it does not run and may."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                return Status("here")
            if self._process is not None:
                self._bury(self._process)
            if held(self._settings.library):
                return Status("elsewhere")
            if said := refusal(self._settings):
                return Status("refused", said)
            if self._clock() >= self._next_start:
                self._start()
                return Status("starting")
            return Status("stopped", self._said)

    def stop(self) -> None:
        """Ends the worker as the end of the dashboard would, and waits for it."""
        with self._lock:
            if self._process is not None:
                self._bury(self._process)

    def _start(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the process that writes to it)
        self._started_at = self._clock()
        self._process = subprocess.Popen(
            command(self._settings),
            stdin=subprocess.PIPE,
            stdout=None if self._settings.log == logs.JSON else subprocess.DEVNULL,
            stderr=self._errors,
            cwd=config.ROOT,
        )

    def _bury(self, process: subprocess.Popen[bytes]) -> None:
        """Closes what belonged to a process, keeps its last words, and settles when the next one may start."""
        assert process.stdin is not None
        assert self._errors is not None
        process.stdin.close()
        process.wait(timeout=30)
        with self._errors as errors:
            errors.seek(0)
            self._said = errors.read().decode(errors="replace").strip()[-2000:]
        steady = self._clock() - self._started_at > STEADY_S
        self._deaths = 1 if steady or process.returncode == BUSY else self._deaths + 1
        self._next_start = self._clock() + BACK_OFF_S[min(self._deaths, len(BACK_OFF_S)) - 1]
        self._process = self._errors = None
