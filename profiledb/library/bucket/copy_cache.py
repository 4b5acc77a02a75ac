"""Copies of a bucket's files in a folder of bounded size, which the processes of a machine share.

A copy counts once its content has the SHA-256 that the catalog lists; each process looks once. One process fetches a
file, the others wait for it (``locks/<first two digits>.get``), under another name until it is whole. What was not used
for the longest goes first, with its answers, but nothing that a process holds open (``locks/<report>.use``).
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
from profiledb.library.bucket.object_index import File
from profiledb.library.derived_files import derived_files
from profiledb.library.file_hashes import digest
from profiledb.report.attachments import State, state

MOST_HELD = 48
"""Reports that a process keeps from being removed; it opens fewer at once (attached.py)."""
GRACE_S = 10.0
"""A report that was asked for so lately is about to be opened."""
_FULL_TO = 0.9
_TRIES = 2


class Copies:
    """The copies in the folder of a library. May be shared by threads.

    Args:
        folder: of the library; copies go into ``reports`` and ``derived``, as the files of any library do.
        bucket: where they come from.
        most: bytes of all copies, besides answers.
        let_go: closes a report that no query of this process is using; False where one is.
    """

    def __init__(self, folder: Path, bucket: Bucket, most: int, let_go: Callable[[str], bool]) -> None:
        self._derived = derived_files(folder)
        self._reports = folder / "reports"
        self._locks = folder / "locks"
        self._half = folder / "fetching"
        self._bucket = bucket
        self._most = most
        self._let_go = let_go
        self._true: dict[Path, tuple[State, str]] = {}
        self._held: dict[str, int] = {}
        self._used: dict[str, float] = {}
        self._guard = threading.Lock()
        for made in (self._reports, self._locks, self._half):
            made.mkdir(parents=True, exist_ok=True)
        self._derived.remove_earlier()

    def path(self, file: File) -> Path:
        """Where the copy of a file is, whether there is one or not."""
        return self._derived.place(file.report_id, file.name) or self._reports / file.name

    def has(self, file: File) -> bool:
        """Whether there is a copy with the content that the file has."""
        path = self.path(file)
        found = state(path)
        if found is None or found[1] != file.bytes:
            return False
        if self._true.get(path) != (found, file.sha256):
            if digest(path) != file.sha256:
                return False
            self._true[path] = (found, file.sha256)
        return True

    def proven(self, file: File) -> bool:
        """The same by a look at all of its content now, where there is a copy."""
        self._true.pop(self.path(file), None)
        return self.has(file)

    def bring(self, file: File) -> Path:
        """The copy of a file, which is fetched where there is none.

        Raises:
            GoneError: it is not in the bucket any more.
            StorageError: the bucket cannot be read.
            DamagedError: what is in the bucket is not what was put there.
            OSError: the disk does not take it.
        """
        path = self.path(file)
        if self.has(file):
            return path
        with self._locked(file.report_id):
            if not self.has(file):
                self._fetch(file, path)
        return path

    def adopt(self, file: File, source: Path) -> None:
        """Makes a file that was put into the bucket the copy of it; it is on the disk of this folder, and is moved."""
        os.utime(source, ns=(time.time_ns(), file.time_ns))
        path = self.path(file)
        if source != path:
            path.parent.mkdir(parents=True, exist_ok=True)
            source.replace(path)
        self._note(path, file)
        self._make_room(0, file.report_id)

    def fetched(self, report_id: str) -> int:
        """Bytes that have arrived of what is being fetched of a report, by any process of this machine."""
        sizes = 0
        for path in self._half.glob(f"{report_id}.*"):
            with suppress(OSError):
                sizes += path.stat().st_size
        return sizes

    def hold(self, report_id: str) -> None:
        """Keeps the copies of a report from being removed, until this process lets go of them for others."""
        self._used[report_id] = time.monotonic()
        with self._guard:
            if report_id in self._held:
                with suppress(OSError):
                    os.utime(self._held[report_id])
                return
            while True:
                number = os.open(self._locks / f"{report_id}.use", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                fcntl.flock(number, fcntl.LOCK_SH)
                if _is_there(number, self._locks / f"{report_id}.use"):
                    break
                os.close(number)
            os.utime(number)
            self._held[report_id] = number
            others = sorted(self._held.keys() - {report_id}, key=lambda one: self._used.get(one, 0.0))
            for other in others[: max(0, len(self._held) - MOST_HELD)]:
                self._release(other)

    def use(self, report_id: str) -> None:
        """Notes that a report is asked for."""
        self._used[report_id] = time.monotonic()

    def drop(self, report_id: str) -> None:
        """Removes the copies and the answers of a report; queries that run keep what they have."""
        for path in (*self._reports.glob(f"{report_id}.*"), *self._derived.of(report_id)):
            path.unlink(missing_ok=True)
            self._true.pop(path, None)
        self._derived.remove(report_id)

    def close(self) -> None:
        """Lets go of everything."""
        with self._guard:
            for report_id in list(self._held):
                os.close(self._held.pop(report_id))

    def _fetch(self, file: File, path: Path) -> None:
        self._make_room(file.bytes, file.report_id)
        half = self._half / f"{file.report_id}.{file.name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            for _ in range(_TRIES):
                if self._bucket.fetch(file.key, half) == file.sha256:
                    os.utime(half, ns=(time.time_ns(), file.time_ns))
                    half.replace(path)
                    self._note(path, file)
                    return
        finally:
            half.unlink(missing_ok=True)
        raise DamagedError(f"{file.name} in the bucket {self._bucket.name} is damaged.")

    def _note(self, path: Path, file: File) -> None:
        if found := state(path):
            self._true[path] = (found, file.sha256)

    @contextmanager
    def _locked(self, report_id: str) -> Iterator[None]:
        """One process, and one thread of it, fetches files of a report at a time; some reports share a lock, so that
        there are at most 256 of them."""
        with (self._locks / f"{report_id[:2]}.get").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _make_room(self, need: int, keep: str) -> None:
        """Removes reports that nobody holds, those first that were not used for the longest."""
        sizes = self._derived.sizes()
        with os.scandir(self._reports) as listing:
            for entry in listing:
                with suppress(OSError):
                    report_id = entry.name.partition(".")[0]
                    sizes[report_id] = sizes.get(report_id, 0) + entry.stat().st_size
        total = sum(sizes.values()) + need
        if total <= self._most:
            return
        for report_id in sorted(sizes.keys() - {keep}, key=self._last_use):
            if total <= _FULL_TO * self._most:
                break
            if self._evict(report_id):
                total -= sizes[report_id]

    def _last_use(self, report_id: str) -> float:
        try:
            return (self._locks / f"{report_id}.use").stat().st_mtime
        except OSError:
            return 0.0

    def _evict(self, report_id: str) -> bool:
        path = self._locks / f"{report_id}.use"
        with self._guard:
            if report_id in self._held and not self._release(report_id):
                return False
        with path.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return False
            if not _is_there(file.fileno(), path):  # another process removed it meanwhile, and a third may hold it anew
                return False
            self.drop(report_id)
            path.unlink(missing_ok=True)
        return True

    def _release(self, report_id: str) -> bool:
        """Lets go of a report, if nothing here is using it or about to."""
        if time.monotonic() - self._used.get(report_id, 0.0) < GRACE_S or not self._let_go(report_id):
            return False
        os.close(self._held.pop(report_id))
        return True


def _is_there(number: int, path: Path) -> bool:
    """Whether an open file is still the one of its name: a lock on one that was removed locks nothing."""
    found = state(path)
    return found is not None and found[0] == os.fstat(number).st_ino
