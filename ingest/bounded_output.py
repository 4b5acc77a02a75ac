"""Reads what a program prints to its end, and keeps a bounded part of it: a program may print without end."""

import threading
from typing import IO

KEPT = 64 << 10
"""Bytes that are kept of the beginning, and as many of the end."""


class Tail:
    """The beginning and the end of what comes out of a pipe; it is read by a thread of its own until it closes."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._head = b""
        self._last = b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._pipe:
            while block := self._pipe.read1(KEPT):  # type: ignore[attr-defined] # of a pipe that is buffered
                room = KEPT - len(self._head)
                self._head += block[:room]
                self._last = (self._last + block[room:])[-KEPT:]

    def text(self, patience_s: float = 5.0) -> str:
        """What was kept, as text; waits for the other end to close, unless a process that was left behind holds it."""
        self._thread.join(patience_s)
        return (self._head + self._last).decode("utf-8", "replace")
