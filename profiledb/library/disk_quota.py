"""How full the folder of answers is: query/answer_store.py writes what was asked, stored/ what a worker prepared."""

import threading
from contextlib import suppress
from functools import cache
from pathlib import Path

_FULL_TO = 0.9
_LOOK_EVERY = 1 / 16
"""After so much of what is allowed the folder is measured again: other processes write into it, too."""


class Room:
    """Removes what was not read for the longest where the folder is fuller than allowed. May be shared by threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._bytes = 0
        self._unmeasured = 0.0

    def add(self, size: int, most: int) -> None:
        """Notes files of so many bytes, and makes room for them."""
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
    """That of a library's folder, one a process."""
    return Room(answers)
