"""The files of a library in a bucket: list them, copy those that are needed, and put new ones."""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from profiledb.errors import CatalogError, DamagedError, StorageError
from profiledb.library.bucket.bucket import Bucket, GoneError
from profiledb.library.bucket.copy_cache import CopyCache
from profiledb.library.bucket.object_index import FOLDER, ObjectIndex, StoredFile

FRESH_S = 5.0
"""Seconds for which a look at the catalog counts; after that every server sees what was put beside a report."""
STALE_S = 30.0
"""Seconds without a look after which a report counts as the catalog lists it, not as its copies were."""
LISTED_S = 10.0
"""Seconds for which the rows of a report whose files were not fetched count."""
MOST_LOOKS = 1_000
"""Reports whose rows a process remembers: the memory of a process must not grow with the library."""
FAILED_S = 3.0
"""Seconds for which a failure counts, so that not every caller waits for a bucket that does not answer."""
_TRIES = 3
_AT_ONCE = 4
_LOCKS = 256
Files = dict[str, StoredFile]

_log = logging.getLogger("warpdeck")


@dataclass(frozen=True)
class _Look:
    """The files of a report as the catalog had them at a look.

    Args:
        files: by name.
        moment: of the look, in seconds.
        fetched: whether those that queries need were brought here.
    """

    files: Files
    moment: float
    fetched: bool

    def is_younger(self, seconds: float) -> bool:
        return time.monotonic() - self.moment < seconds

    @property
    def counts(self) -> bool:
        """Return True if the files are to be taken as they were then."""
        return self.is_younger(STALE_S if self.fetched else LISTED_S)


class ObjectStore:
    """The files of all reports. May be shared by threads.

    Args:
        index: rows of the catalog.
        bucket: the objects.
        copies: the files on this machine.
        needed: returns True for the name of a file that queries need; other files are fetched one at a time.
    """

    def __init__(self, index: ObjectIndex, bucket: Bucket, copies: CopyCache, needed: Callable[[str], bool]) -> None:
        self.index = index
        self.bucket = bucket
        self.copies = copies
        self._needed = needed
        self._looks: dict[str, _Look] = {}
        self._failed: dict[str, tuple[float, StorageError]] = {}
        self._locks = [threading.Lock() for _ in range(_LOCKS)]
        self._guard = threading.Lock()
        self._in_background: set[StoredFile] = set()
        self._pool: ThreadPoolExecutor | None = None

    def fetch_report(self, report_id: str) -> None:
        """Bring the present files of a report that queries need to this machine; do nothing for an unknown report.

        Raises:
            StorageError: a file is neither here nor available.
            DamagedError: a file is damaged in the bucket.
        """
        if self.is_here(report_id):
            self.copies.note_use(report_id)
            return
        with self._get_lock(report_id):
            if not self.is_here(report_id):
                self._renew_report(report_id)

    def is_here(self, report_id: str) -> bool:
        """Return True if ``fetch_report`` has nothing to do."""
        look = self._looks.get(report_id)
        return look is not None and look.fetched and look.is_younger(FRESH_S)

    def fetch_file(self, report_id: str, name: str) -> None:
        """Bring one file of a report that queries do not need, if the catalog lists it."""
        if file := self.files(report_id).get(name):
            self.copies.hold(report_id)
            self.copies.fetch_copy(file)

    def fetch_in_background(self, report_id: str, name: str) -> None:
        """Start to fetch a small file in the background, if the catalog lists it and it is not here."""
        file = self.files(report_id).get(name)
        if file is None or file in self._in_background or self.copies.has_copy(file):
            return
        with self._guard:
            self._in_background.add(file)
            self._pool = self._pool or ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="warpdeck-soon")
        self._pool.submit(self._fetch_quietly, file)

    def files(self, report_id: str) -> Files:
        """Return the files of a report as a look some seconds ago had them, or an older one while the catalog cannot be
        read."""
        look = self._looks.get(report_id)
        if look and look.counts:
            return look.files
        files = self._read_rows(report_id, look)
        self._note_look(report_id, files, fetched=False)
        return files

    def look_at(self, report_ids: Iterable[str]) -> None:
        """Read the rows of several reports at once, for lists that ask for the files of each."""
        looks = ((report_id, self._looks.get(report_id)) for report_id in report_ids)
        unknown = [report_id for report_id, look in looks if not (look and look.counts)][:MOST_LOOKS]
        if unknown:
            with suppress(CatalogError):
                for report_id, files in self.index.files_of_several(unknown).items():
                    self._note_look(report_id, files, fetched=False)

    def put(self, report_id: str, name: str, path: Path) -> StoredFile:
        """Put a file beside a report, in place of the one with its name, and make it the copy here.

        Raises:
            StorageError: the bucket cannot be written.
        """
        file = StoredFile.from_path(report_id, name, path)
        self.bucket.put(file.key, path)
        before = self.index.put(file)
        self.copies.adopt(file, path)
        self.invalidate(report_id)
        if before and before.key != file.key:
            self.remove([before.key])
        return file

    def remove(self, keys: Iterable[str]) -> None:
        """Remove objects that no row names any more; the next start of a worker removes those that resist now."""
        try:
            self.bucket.delete(keys)
        except StorageError as error:
            _log.warning("%s Unneeded objects stay for now.", error)

    def invalidate(self, report_id: str) -> None:
        """Make the next question read the catalog."""
        self._looks.pop(report_id, None)
        self._failed.pop(report_id, None)

    def remove_copies(self, report_id: str) -> None:
        """Remove the copies of a deleted report."""
        self.copies.remove(report_id)
        self.invalidate(report_id)

    def check_copies(self, report_id: str) -> bool:
        """Return True if the copies of a report have the content that was put; remove those that differ."""
        files = self.index.files_of(report_id).values()
        wrong = [path for file in files if (path := self.copies.path(file)).exists() and not self.copies.verify(file)]
        for path in wrong:
            path.unlink(missing_ok=True)
            _log.warning("The copy %s was damaged; it is fetched again.", path)
        if wrong:
            self.invalidate(report_id)
        return not wrong

    def list_keys(self, report_id: str) -> list[str]:
        """Return the keys of all objects of a report."""
        return [one.key for one in self.bucket.list(f"{FOLDER}/{report_id}")]

    def _note_look(self, report_id: str, files: Files, *, fetched: bool) -> None:
        with self._guard:
            self._looks.pop(report_id, None)  # the newest look stands last
            self._looks[report_id] = _Look(files, time.monotonic(), fetched)
            while len(self._looks) > MOST_LOOKS:
                del self._looks[next(iter(self._looks))]

    def _renew_report(self, report_id: str) -> None:
        moment, error = self._failed.get(report_id, (0.0, None))
        if error and time.monotonic() - moment < FAILED_S:
            raise error
        try:
            files = self._fetch_needed(report_id, self._looks.get(report_id))
        except StorageError as error:
            self._failed[report_id] = (time.monotonic(), error)
            raise
        self._failed.pop(report_id, None)
        if files:
            self._note_look(report_id, files, fetched=True)
        else:
            self.remove_copies(report_id)

    def _read_rows(self, report_id: str, before: _Look | None) -> Files:
        """Return the rows of a report; those of the look before if the catalog cannot be read."""
        try:
            return self.index.files_of(report_id)
        except CatalogError:
            if before is None:
                raise
            return before.files

    def _fetch_needed(self, report_id: str, before: _Look | None, tries: int = _TRIES) -> Files:
        """Bring the needed files of a report and return all of its files."""
        files = self._read_rows(report_id, before)
        if files:
            self.copies.hold(report_id)
        try:
            for file in files.values():
                if self._needed(file.name):
                    self._fetch_copy(file)
        except GoneError:  # another object has replaced it since the look
            if not tries:
                raise
            return self._fetch_needed(report_id, before, tries - 1)
        return files

    def _fetch_copy(self, file: StoredFile) -> None:
        try:
            self.copies.fetch_copy(file)
        except DamagedError:
            self.index.mark_damaged(file)
            raise

    def _fetch_quietly(self, file: StoredFile) -> None:
        with suppress(StorageError, DamagedError, OSError):
            self.copies.fetch_copy(file)
        self._in_background.discard(file)

    def _get_lock(self, report_id: str) -> threading.Lock:
        return self._locks[hash(report_id) % _LOCKS]
