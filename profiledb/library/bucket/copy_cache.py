"""Copies of a bucket's files in a folder of bounded size that the processes of a machine share.

A copy is valid once its content has the SHA-256 in the catalog; each process checks once. One process fetches a file
under a temporary name while the others wait (``locks/<first two digits>.get``). The least recently used reports are
removed first, with their answers, but none that a process holds open (``locks/<report>.use``).
"""

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from profiledb.errors import DamagedError
from profiledb.library.bucket.bucket import Bucket
from profiledb.library.bucket.object_index import StoredFile
from profiledb.report.attachments import State, read_state
from profiledb.report.derived_files import get_derived_files
from profiledb.report.file_hashes import hash_file

MOST_HELD = 48
"""Reports that a process protects from removal; it opens fewer at once (attachments.py)."""
MOST_VERIFIED = 5_000
"""Copies whose content a process remembers to be right, some 3 MB; others are read again."""
GRACE_S = 10.0
"""Seconds during which a report that was asked for counts as about to be opened."""
_FULL_TO = 0.9
_TRIES = 2


class CopyCache:
    """The copies in the folder of a library. May be shared by threads.

    Args:
        folder: of the library; copies go into ``reports`` and ``derived``, like the files of a folder library.
        bucket: their source.
        most: size limit of all copies except answers, in bytes.
        let_go: closes a report; returns False if a query of this process is using it.
    """

    def __init__(self, folder: Path, bucket: Bucket, most: int, let_go: Callable[[str], bool]) -> None:
        self._derived = get_derived_files(folder)
        self._reports = folder / "reports"
        self._locks = folder / "locks"
        self._fetching = folder / "fetching"
        self._bucket = bucket
        self._most = most
        self._let_go = let_go
        self._verified: dict[Path, tuple[State, str]] = {}
        self._held: dict[str, int] = {}
        self._used: dict[str, float] = {}
        self._guard = threading.Lock()
        for made in (self._reports, self._locks, self._fetching):
            made.mkdir(parents=True, exist_ok=True)
        self._derived.remove_earlier()

    def path(self, file: StoredFile) -> Path:
        """Return the path of a file's copy, whether it exists or not."""
        return self._derived.place(file.report_id, file.name) or self._reports / file.name

    def has_copy(self, file: StoredFile) -> bool:
        """Return True if a copy with the file's content exists."""
        path = self.path(file)
        present = read_state(path)
        if present is None or present[1] != file.bytes:
            return False
        if self._verified.get(path) != (present, file.sha256):
            if hash_file(path) != file.sha256:
                return False
            self._note_verified(path, present, file)
        return True

    def verify(self, file: StoredFile) -> bool:
        """Return True if a copy exists and its content, read again in full, is right."""
        self._verified.pop(self.path(file), None)
        return self.has_copy(file)

    def fetch_copy(self, file: StoredFile) -> Path:
        """Return the path of a file's copy, fetching it if necessary.

        Raises:
            GoneError: the object no longer exists.
            StorageError: the bucket cannot be read.
            DamagedError: the object differs from the file that was put.
            OSError: the disk refuses the copy.
        """
        path = self.path(file)
        if self.has_copy(file):
            return path
        with self._lock_fetching(file.report_id):
            if not self.has_copy(file):
                self._fetch_file(file, path)
        return path

    def adopt(self, file: StoredFile, source: Path) -> None:
        """Move a file that was put into the bucket into the place of its copy; it lies on the disk of this folder."""
        os.utime(source, ns=(time.time_ns(), file.time_ns))
        path = self.path(file)
        if source != path:
            path.parent.mkdir(parents=True, exist_ok=True)
            source.replace(path)
        self._note_verified(path, read_state(path), file)
        self._free_space(0, file.report_id)

    def fetched_bytes(self, report_id: str) -> int:
        """Return the bytes that have arrived of the report's file being fetched by any process of this machine."""
        sizes = 0
        for path in self._fetching.glob(f"{report_id}.*"):
            with suppress(OSError):
                sizes += path.stat().st_size
        return sizes

    def hold(self, report_id: str) -> None:
        """Protect the copies of a report from removal until this process releases it in favor of others."""
        self._used[report_id] = time.monotonic()
        with self._guard:
            if report_id in self._held:
                with suppress(OSError):
                    os.utime(self._held[report_id])
                return
            while True:
                number = os.open(self._locks / f"{report_id}.use", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                fcntl.flock(number, fcntl.LOCK_SH)
                if _has_name(number, self._locks / f"{report_id}.use"):
                    break
                os.close(number)
            os.utime(number)
            self._held[report_id] = number
            others = sorted(self._held.keys() - {report_id}, key=lambda one: self._used.get(one, 0.0))
            for other in others[: max(0, len(self._held) - MOST_HELD)]:
                self._release_report(other)

    def note_use(self, report_id: str) -> None:
        """Note that a report was asked for."""
        if report_id in self._held:
            self._used[report_id] = time.monotonic()

    def remove(self, report_id: str) -> None:
        """Remove the copies and the derived files of a report; running queries keep theirs."""
        for path in (*self._reports.glob(f"{report_id}.*"), *self._derived.of(report_id)):
            path.unlink(missing_ok=True)
            self._verified.pop(path, None)
        self._derived.remove(report_id)

    def close(self) -> None:
        """Release every report."""
        with self._guard:
            for report_id in list(self._held):
                os.close(self._held.pop(report_id))
            self._used.clear()

    def _fetch_file(self, file: StoredFile, path: Path) -> None:
        self._free_space(file.bytes, file.report_id)
        half = self._fetching / f"{file.report_id}.{file.name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            for _ in range(_TRIES):
                if self._bucket.fetch(file.key, half) == file.sha256:
                    os.utime(half, ns=(time.time_ns(), file.time_ns))
                    half.replace(path)
                    self._note_verified(path, read_state(path), file)
                    return
        finally:
            half.unlink(missing_ok=True)
        raise DamagedError(f"{file.name} in the bucket {self._bucket.name} is damaged.")

    def _note_verified(self, path: Path, present: State | None, file: StoredFile) -> None:
        if present:
            with self._guard:
                self._verified[path] = (present, file.sha256)
                while len(self._verified) > MOST_VERIFIED:
                    del self._verified[next(iter(self._verified))]

    @contextmanager
    def _lock_fetching(self, report_id: str) -> Iterator[None]:
        """Let one thread of one process fetch files of a report at a time.

        Reports share 256 locks by the first digits of their ids.
        """
        with (self._locks / f"{report_id[:2]}.get").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _free_space(self, need: int, keep: str) -> None:
        """Remove reports that nobody holds, least recently used first."""
        sizes = self._derived.sizes()
        with os.scandir(self._reports) as listing:
            for entry in listing:
                with suppress(OSError):
                    report_id = entry.name.partition(".")[0]
                    sizes[report_id] = sizes.get(report_id, 0) + entry.stat().st_size
        total = sum(sizes.values()) + need
        if total <= self._most:
            return
        for report_id in sorted(sizes.keys() - {keep}, key=self._read_last_use):
            if total <= _FULL_TO * self._most:
                break
            if self._evict_report(report_id):
                total -= sizes[report_id]

    def _read_last_use(self, report_id: str) -> float:
        try:
            return (self._locks / f"{report_id}.use").stat().st_mtime
        except OSError:
            return 0.0

    def _evict_report(self, report_id: str) -> bool:
        path = self._locks / f"{report_id}.use"
        with self._guard:
            if report_id in self._held and not self._release_report(report_id):
                return False
        with path.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return False
            if not _has_name(
                file.fileno(), path
            ):  # another process removed it meanwhile, and a third may hold it again
                return False
            self.remove(report_id)
            path.unlink(missing_ok=True)
        return True

    def _release_report(self, report_id: str) -> bool:
        """Release a report unless a query of this process is using it or is about to."""
        if time.monotonic() - self._used.get(report_id, 0.0) < GRACE_S or not self._let_go(report_id):
            return False
        os.close(self._held.pop(report_id))
        self._used.pop(report_id, None)
        return True


def _has_name(number: int, path: Path) -> bool:
    """Return True if an open file still has its name: a lock on a removed file locks nothing."""
    present = read_state(path)
    return present is not None and present[0] == os.fstat(number).st_ino
