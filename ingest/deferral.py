"""Files that have to wait: where the disk was full they are tried again when there is more room, or after a while."""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ingest.conversion.outcome import ended
from ingest.disk import is_full
from profiledb.errors import ConversionError, StorageError
from profiledb.report.catalog import Job

STATE = "deferred"
WAITS_S = (30.0, 60.0, 120.0, 300.0)
"""Time to the next attempt where nothing has changed; the last one repeats."""
MORE_BYTES = 32 << 20
"""So much more room makes another attempt worth while at once."""


@dataclass
class _Wait:
    attempts: int
    until: float
    free: int


@dataclass
class Deferrals:
    """When each file is tried again; a worker that starts anew tries all of them at once.

    Args:
        clock: seconds that never go back.
        free: bytes free on the disk of a folder.
    """

    clock: Callable[[], float] = time.monotonic
    free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free
    _waits: dict[str, _Wait] = field(default_factory=dict)

    def note(self, job: Job, folder: Path) -> None:
        """Remembers how an attempt ended."""
        if job.state != STATE:
            self._waits.pop(job.path, None)
            return
        attempts = self._waits[job.path].attempts + 1 if job.path in self._waits else 0
        pause = WAITS_S[min(attempts, len(WAITS_S) - 1)]
        self._waits[job.path] = _Wait(attempts, self.clock() + pause, self.free(folder))

    def retry(self, job: Job, folder: Path) -> bool:
        """Whether a file that had to wait is to be tried now."""
        if job.state != STATE:
            return False
        wait = self._waits.get(job.path)
        return wait is None or self._is_over(wait, folder)

    def _is_over(self, wait: _Wait, folder: Path) -> bool:
        return self.clock() >= wait.until or self.free(folder) >= wait.free + MORE_BYTES


def of_error(job: Job, error: Exception) -> Job:
    """What became of a file that the worker itself could not take in."""
    if is_full(error):
        hint = "It is tried again when there is more space."
        return ended(job, "disk", state=STATE, message="The disk is full.", hint=hint)
    if isinstance(error, StorageError):
        hint = "It is tried again in a while."
        return ended(job, "store", state=STATE, message=error.message, hint=hint)
    if isinstance(error, ConversionError):
        return ended(job, "size", state="failed", message=error.message, hint=error.hint)
    said = f"{job.name} could not be imported."
    return ended(job, "worker", state="failed", message=said, hint="See the importer's log.")
