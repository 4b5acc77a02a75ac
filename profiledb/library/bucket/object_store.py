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
"""Seconds for which the list of all files counts."""
FAILED_S = 3.0
"""Seconds for which a failure counts, so that not every caller waits for a bucket that does not answer."""
_TRIES = 3
_AT_ONCE = 4
Files = dict[str, StoredFile]

_log = logging.getLogger("warpdeck")


@dataclass
class _Copied:
    """The files of a report as the catalog had them at a look, and the time of that look in seconds."""

    files: Files
    looked: float


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
        self._here: dict[str, _Copied] = {}
        self._failed: dict[str, tuple[float, StorageError]] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()
        self._listed: tuple[float, dict[str, Files]] = (0.0, {})
        self._listing = threading.Lock()
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
        here = self._here.get(report_id)
        return here is not None and time.monotonic() - here.looked < FRESH_S

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
        """Return the files of a report: the copies of one in use, else as the catalog lists them."""
        here = self._here.get(report_id)
        if here and time.monotonic() - here.looked < STALE_S:
            return here.files
        return self.list_files().get(report_id, {})

    def list_files(self) -> dict[str, Files]:
        """Return the files of all reports, at most ``LISTED_S`` old, or older while the catalog cannot be read."""
        if not self._is_fresh():
            with self._listing:
                if not self._is_fresh():  # no other thread has read it meanwhile
                    self._list_files()
        return self._listed[1]

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
        self._here.pop(report_id, None)
        self._failed.pop(report_id, None)
        with self._listing:
            moment, files = self._listed
            try:  # only this report: a worker that publishes thousands must not read thousands of rows each time
                self._listed = (moment, files | {report_id: self.index.files_of(report_id)}) if moment else (0.0, {})
            except CatalogError:
                self._listed = (0.0, {})

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

    def _is_fresh(self) -> bool:
        moment = self._listed[0]
        return bool(moment) and time.monotonic() - moment <= LISTED_S

    def _list_files(self) -> None:
        moment, files = self._listed
        try:
            files = self.index.all_files()
        except CatalogError:
            if not moment:
                raise
        self._listed = (time.monotonic(), files)

    def _renew_report(self, report_id: str) -> None:
        moment, error = self._failed.get(report_id, (0.0, None))
        if error and time.monotonic() - moment < FAILED_S:
            raise error
        here = self._here.get(report_id)
        try:
            files = self._fetch_needed(report_id, here)
        except StorageError as error:
            self._failed[report_id] = (time.monotonic(), error)
            raise
        self._failed.pop(report_id, None)
        if files:
            self._here[report_id] = _Copied(files, time.monotonic())
        else:
            self.remove_copies(report_id)

    def _read_rows(self, report_id: str, here: _Copied | None) -> Files:
        """Return the rows of a report; its copies if the catalog cannot be read."""
        try:
            return self.index.files_of(report_id)
        except CatalogError:
            if here is None:
                raise
            return here.files

    def _fetch_needed(self, report_id: str, here: _Copied | None, tries: int = _TRIES) -> Files:
        """Bring the needed files of a report and return all of its files."""
        files = self._read_rows(report_id, here)
        if files:
            self.copies.hold(report_id)
        try:
            for file in files.values():
                if self._needed(file.name):
                    self._fetch_copy(file)
        except GoneError:  # another object has replaced it since the look
            if not tries:
                raise
            return self._fetch_needed(report_id, here, tries - 1)
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
        with self._guard:
            return self._locks.setdefault(report_id, threading.Lock())
