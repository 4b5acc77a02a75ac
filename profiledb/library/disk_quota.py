"""The size limit of the folder of answers, shared by stored answers (query/answer_store.py) and unpacked packages."""

import threading
from contextlib import suppress
from functools import cache
from pathlib import Path

_FULL_TO = 0.9
_LOOK_EVERY = 1 / 16
"""Fraction of the limit after which the folder is measured again, because other processes write into it, too."""


class Room:
    """Removes the least recently read files when the folder exceeds its limit. May be shared by threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._bytes = 0
        self._unmeasured = 0.0

    def add(self, size: int, most: int) -> None:
        """Count new files of ``size`` bytes, and remove others if the folder exceeds ``most`` bytes."""
        with self._lock:
            self._bytes += size
            self._unmeasured -= size
            if self._unmeasured <= 0 or self._bytes > most:
                self._tidy(most)
                self._unmeasured = _LOOK_EVERY * most

    def _tidy(self, most: int) -> None:
        files = []
        for path in self._folder.glob("*/*"):
            with suppress(OSError):
                state = path.stat()
                files.append((state.st_mtime_ns, state.st_size, path))
        self._bytes = sum(size for _, size, _ in files)
        if self._bytes <= most:
            return
        for _, size, path in sorted(files):
            if self._bytes <= _FULL_TO * most:
                break
            path.unlink(missing_ok=True)
            self._bytes -= size


@cache
def room(answers: Path) -> Room:
    """Return the quota of a library's folder of answers, one per process."""
    return Room(answers)
