"""Files that have to wait for room, for the right to write, or for a bucket, and when each is tried again."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ingest.conversion.outcome import ended
from profiledb.errors import CatalogError, ConversionError, StorageError
from profiledb.library import disk
from profiledb.library.catalog import Catalog, Job
from profiledb.library.disk import Trouble

STATE = "deferred"
AGAIN_S = 25.0
"""Between two tries where nothing tells that there is room, as with a quota or a bucket: of all files one is tried."""
WORKED = 2.0
"""... or so many times as long as the last try took: what needs more room than there is keeps no processor busy."""
MORE_BYTES = 1 << 20
"""At least so much more room makes another try worth while at once, ..."""
MORE_SHARE = 1 / 64
"""... and at least this share of what was free: other programs write to the disk, too."""
_log = logging.getLogger("warpdeck")


@dataclass
class _Wait:
    since: float
    free: int
    pause_s: float


@dataclass
class Deferrals:
    """When each file is tried again; a worker that starts anew tries all of them at once.

    Args:
        clock: seconds that never go back.
        free: bytes free on the disk of a folder.
    """

    clock: Callable[[], float] = time.monotonic
    free: Callable[[Path], int] = disk.free_bytes
    _waits: dict[str, _Wait] = field(default_factory=dict)
    _tried_at: float = 0.0
    _trouble: Trouble | None = None

    def hold(self, catalog: Catalog, folder: Path, fresh: Sequence[Job], known: Mapping[str, Job]) -> bool:
        """Whether nothing can be written to the library's folder now: these files then wait without being tried.

        The catalog says so where it takes that much; the log says it once.
        """
        trouble = disk.find_trouble(folder)
        if trouble != self._trouble and (told := trouble or self._trouble):
            _log.warning("%s", f"{told.message} New files wait." if trouble else "The library can be written again.")
        self._trouble = trouble
        if trouble is None:
            return False
        held = [_deferred(job, trouble) for job in fresh]
        changed = [job for job in held if _shown(job) != _shown(known.get(job.path))]
        with suppress(CatalogError):
            if changed:
                catalog.put_job(*changed)
        return True

    def note(self, job: Job, folder: Path) -> None:
        """Remembers how an attempt ended."""
        before = self._waits.pop(job.path, None)
        if job.state == STATE:
            pause_s = max(AGAIN_S, WORKED * (getattr(job, "seconds", None) or 0.0))
            self._waits[job.path] = _Wait(self.clock(), self.free(folder), pause_s)
        elif before and job.report_id:  # what it waited for has come, and perhaps for all
            self._waits.clear()

    def forget(self, path: str) -> None:
        """Drops a file that is gone."""
        self._waits.pop(path, None)

    def retry(self, job: Job, folder: Path) -> bool:
        """Whether a file that had to wait is to be tried now."""
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


def of_error(job: Job, error: Exception, folder: Path) -> Job:
    """What became of a file that the worker itself could not take in; ``folder`` is the library's."""
    if trouble := disk.explain_error(error, folder):
        return _deferred(job, trouble)
    if isinstance(error, StorageError):
        hint = "It is tried again in a while."
        return ended(job, "store", state=STATE, message=error.message, hint=hint)
    if isinstance(error, ConversionError):
        return ended(job, "size", state="failed", message=error.message, hint=error.hint)
    said = f"{job.name} could not be imported."
    return ended(job, "worker", state="failed", message=said, hint="See the importer's log.")


def _deferred(job: Job, trouble: Trouble) -> Job:
    return ended(job, "disk", state=STATE, message=trouble.message, hint=trouble.hint)


def _shown(job: Job | None) -> tuple[str, str, str] | None:
    return (job.state, job.message, job.fingerprint) if job else None
