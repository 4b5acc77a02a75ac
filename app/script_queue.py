"""Run one page script at a time, first come, first served.

The threads of all sessions share one interpreter: running 50 scripts at once takes twice the CPU time of running them
one by one, and each page waits for all others (4.6 against 7.1 pages per second; ``make bench``, load).
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

MAX_WAIT_S = 10.0
"""Seconds a script waits before it runs anyway, beside the one that takes so long."""


class ScriptQueue:
    """A lock that threads get in the order in which they asked.

    Args:
        max_wait_s: seconds a thread waits before it goes on without the lock.
    """

    def __init__(self, max_wait_s: float = MAX_WAIT_S) -> None:
        self._max_wait_s = max_wait_s
        self._lock = threading.Lock()
        self._is_held = False
        self._waiting: deque[threading.Lock] = deque()
        self._thread = threading.local()

    @property
    def waiting(self) -> int:
        """Number of threads that wait."""
        return len(self._waiting)

    @contextmanager
    def wait_turn(self) -> Iterator[None]:
        """Hold the lock within the block; nested blocks of one thread do nothing."""
        if self._is_mine():
            yield
            return
        self._thread.holds = self._acquire()
        try:
            yield
        finally:
            self._release()

    @contextmanager
    def step_aside(self) -> Iterator[None]:
        """Let another script run within the block, while this thread waits for a query or another thread.

        Afterward this thread goes on at once, with the lock only if that is free: whoever holds it may be waiting for a
        result that this thread has to deliver.
        """
        if not self._is_mine():
            yield
            return
        self._release()
        try:
            yield
        finally:
            self._thread.holds = self._acquire_if_free()

    def _is_mine(self) -> bool:
        return getattr(self._thread, "holds", False)

    def _acquire(self) -> bool:
        """Wait for the lock; return False if this thread goes on without it."""
        handed_over = threading.Lock()
        with self._lock:
            if not self._is_held:
                self._is_held = True
                return True
            handed_over.acquire()
            self._waiting.append(handed_over)
        if handed_over.acquire(timeout=self._max_wait_s):
            return True
        with self._lock:
            if handed_over not in self._waiting:  # handed over just after the timeout
                return True
            self._waiting.remove(handed_over)
            return False

    def _acquire_if_free(self) -> bool:
        with self._lock:
            free, self._is_held = not self._is_held, True
        return free

    def _release(self) -> None:
        if not self._is_mine():
            return
        self._thread.holds = False
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_held = False


page_scripts = ScriptQueue()
"""The queue of this server's pages."""
