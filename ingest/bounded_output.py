"""Read a program's output to its end and store a bounded part of it."""

import threading
from typing import IO

KEPT_BYTES = 64 << 10
"""Bytes stored of the start of the output, and as many of its end."""


class Tail:
    """Start and end of the output of a pipe, read by its own thread until the pipe closes."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._head = b""
        self._last = b""
        self._thread = threading.Thread(target=self._read_pipe, daemon=True)
        self._thread.start()

    def _read_pipe(self) -> None:
        with self._pipe:
            while block := self._pipe.read1(KEPT_BYTES):  # type: ignore[attr-defined] # buffered pipes have it
                room = KEPT_BYTES - len(self._head)
                self._head += block[:room]
                self._last = (self._last + block[room:])[-KEPT_BYTES:]

    def text(self, patience_s: float = 5.0) -> str:
        """Return the stored output as text, after the other end closed or ``patience_s`` seconds passed."""
        self._thread.join(patience_s)
        return (self._head + self._last).decode("utf-8", "replace")
