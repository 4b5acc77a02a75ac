"""Has what the rules of retention let go removed once an hour, by a process of its own (``warpdeck retain``)."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from profiledb.config import Settings
from profiledb.monitoring import logs

EVERY_S = 3600.0
ROOT = Path(__file__).resolve().parents[1]


class Retaining:
    """Starts that process where rules are set and it is time; the first time at the start of the worker."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._due = clock()
        self._process: subprocess.Popen[bytes] | None = None

    def look(self) -> None:
        """Starts it where it is time. What goes wrong there is on standard error, and is tried again."""
        if self._settings.retention is None or self._clock() < self._due:
            return
        if self._process is not None and self._process.poll() is None:
            return
        self._due = self._clock() + EVERY_S
        folders = ("--library", self._settings.library_text, "--inbox", self._settings.inbox_text)
        quiet = None if self._settings.log == logs.JSON else subprocess.DEVNULL
        argv = [sys.executable, "-m", "profiledb", "retain", "--by-worker", *folders]
        self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=quiet, cwd=ROOT)

    def stop(self) -> None:
        """Ends it: each deletion is whole by itself."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None
