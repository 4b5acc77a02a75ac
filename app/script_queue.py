"""Pages take turns: of the scripts of all sessions one at a time runs, in the order in which they began.

Python runs one thread at a time anyway. Where many share it, each page waits for all others, and each takes twice the
processor's time: fifty sessions got 4.6 views a second, and 7.1 one after the other (``make bench``, load).
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

MAX_WAIT_S = 10.0
"""So long a script waits for its turn; then it runs beside the one that takes so long."""


class ScriptQueue:
    """A lock that is handed on in the order of asking. May be shared by threads."""

    def __init__(self, patience_s: float = MAX_WAIT_S) -> None:
        self._patience = patience_s
        self._lock = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Lock] = deque()
        self._mine = threading.local()

    @property
    def waiting(self) -> int:
        """How many threads wait."""
        return len(self._waiting)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Waits for the turn of this thread and ends it; within a turn of the same thread it does nothing."""
        if self._has():
            yield
            return
        self._mine.has = self._take()
        try:
            yield
        finally:
            self._end()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Lets others have their turn while this thread waits for something else, such as a query.

        It goes on at once afterward, with the turn where nobody has it: it may hold what the one waits for who does.
        """
        if not self._has():
            yield
            return
        self._end()
        try:
            yield
        finally:
            self._mine.has = self._take_free()

    def _has(self) -> bool:
        return getattr(self._mine, "has", False)

    def _take(self) -> bool:
        """Whether this thread has the turn; False where it has waited long enough to go on without."""
        handed = threading.Lock()
        with self._lock:
            if not self._taken:
                self._taken = True
                return True
            handed.acquire()
            self._waiting.append(handed)
        if handed.acquire(timeout=self._patience):
            return True
        with self._lock:
            if handed not in self._waiting:  # handed over at the last moment
                return True
            self._waiting.remove(handed)
            return False

    def _take_free(self) -> bool:
        with self._lock:
            free, self._taken = not self._taken, True
        return free

    def _end(self) -> None:
        if not self._has():
            return
        self._mine.has = False
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False


page_scripts = ScriptQueue()
"""Those of this server's pages."""
