"""Defer files while there is no space, no write permission or no bucket, and decide when to retry each."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ingest.conversion.failures import end_job
from profiledb.errors import CatalogError, ConversionError, StorageError
from profiledb.library import disk
from profiledb.library.catalog import Catalog, Job
from profiledb.library.disk import Trouble

STATE = "deferred"
AGAIN_S = 25.0
"""Seconds between two tries if nothing tells that there is space, as with a quota or a bucket. One of all files is
tried."""
PAUSE_PER_WORK = 2.0
"""The pause is at least this many times the duration of the last try, so that hopeless tries keep no processor busy."""
MORE_BYTES = 1 << 20
"""A retry at once needs at least this much more free space ..."""
MORE_SHARE = 1 / 64
"""... and at least this share of the earlier free space, because other programs write to the disk, too."""
_log = logging.getLogger("warpdeck")


@dataclass
class _Wait:
    since: float
    free: int
    pause_s: float


@dataclass
class Deferrals:
    """Decides when to retry each file. A restarted worker retries all of them at once.

    Args:
        clock: monotonic seconds.
        free: returns the free bytes on the disk of a folder.
    """

    clock: Callable[[], float] = time.monotonic
    free: Callable[[Path], int] = disk.measure_free
    _waits: dict[str, _Wait] = field(default_factory=dict)
    _tried_at: float = 0.0
    _trouble: Trouble | None = None

    def hold(self, catalog: Catalog, folder: Path, fresh: Sequence[Job], known: Mapping[str, Job]) -> bool:
        """Return True if the library's folder cannot be written now, and let these files wait without a try.

        The catalog shows them as waiting if it can still be written; the log gets one line.
        """
        trouble = disk.find_trouble(folder)
        if trouble != self._trouble:
            text = f"{trouble.message} New files wait." if trouble else "The library can be written again."
            _log.warning("%s", text)
        self._trouble = trouble
        if trouble is None:
            return False
        deferred = [_defer_job(job, trouble) for job in fresh]
        changed = [job for job in deferred if _read_visible_state(job) != _read_visible_state(known.get(job.path))]
        with suppress(CatalogError):
            if changed:
                catalog.put_job(*changed)
        return True

    def note(self, job: Job, folder: Path) -> None:
        """Record how an attempt ended."""
        before = self._waits.pop(job.path, None)
        if job.state == STATE:
            pause_s = max(AGAIN_S, PAUSE_PER_WORK * (getattr(job, "seconds", None) or 0.0))
            self._waits[job.path] = _Wait(self.clock(), self.free(folder), pause_s)
        elif before and job.report_id:  # space or a bucket is back, perhaps for all files
            self._waits.clear()

    def forget(self, path: str) -> None:
        """Drop a file that is gone, or that belongs to a report beside it."""
        self._waits.pop(path, None)

    def retry(self, job: Job, folder: Path) -> bool:
        """Return True if a deferred file is to be tried now."""
        if job.state != STATE:
            return False
        wait = self._waits.get(job.path)
        if wait is None or self.free(folder) >= wait.free + max(MORE_BYTES, int(wait.free * MORE_SHARE)):
            return True
        now, first = self.clock(), min(self._waits.values(), key=lambda one: one.since)
        if wait is not first or now < max(wait.since, self._tried_at) + wait.pause_s:
            return False
        self._tried_at = now
        return True


def describe_error(job: Job, error: Exception, folder: Path) -> Job:
    """Return the state of a file that the worker itself could not import; ``folder`` is the library's."""
    if trouble := disk.explain_error(error, folder):
        return _defer_job(job, trouble)
    if isinstance(error, StorageError):
        hint = "It is tried again in a while."
        return end_job(job, "store", state=STATE, message=error.message, hint=hint)
    if isinstance(error, ConversionError):
        return end_job(job, "size", state="failed", message=error.message, hint=error.hint)
    message = f"{job.name} could not be imported."
    return end_job(job, "worker", state="failed", message=message, hint="See the importer's log.")


def _defer_job(job: Job, trouble: Trouble) -> Job:
    return end_job(job, "disk", state=STATE, message=trouble.message, hint=trouble.hint)


def _read_visible_state(job: Job | None) -> tuple[str, str, str] | None:
    return (job.state, job.message, job.fingerprint) if job else None
