"""Apply the retention rules once an hour, in a separate process (``warpdeck retain``)."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from profiledb.config import Settings
from profiledb.monitoring import logs

EVERY_S = 3600.0
ROOT = Path(__file__).resolve().parents[1]


class RetentionRunner:
    """Starts the process if rules are set; the first time when the worker starts."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._due = clock()
        self._process: subprocess.Popen[bytes] | None = None

    def run_if_due(self) -> None:
        """Start the process if an hour has passed. It prints errors on standard error and the next run tries again."""
        if not (self._settings.retention or self._settings.retention_by_default) or self._clock() < self._due:
            return
        if self._process is not None and self._process.poll() is None:
            return
        self._due = self._clock() + EVERY_S
        folders = ("--library", self._settings.library_text, "--inbox", self._settings.inbox_text)
        quiet = None if self._settings.log == logs.JSON else subprocess.DEVNULL
        argv = [sys.executable, "-m", "profiledb", "retain", "--by-worker", *folders]
        self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=quiet, cwd=ROOT)

    def stop(self) -> None:
        """End the process; each deletion is atomic."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None
