"""Time limits for a PostgreSQL server that accepts connections and stays silent, as on a machine that hangs.

libpq would wait forever, because the other machine's kernel still acknowledges packets. A server that misses the limit
counts as lost. While it is silent, one thread at a time asks it and all others fail at once.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors

AGAIN_S = 2.0
"""Seconds between two tries while the server is silent."""


class SilentError(psycopg.OperationalError):
    """The server has not answered in time."""


class Connection(psycopg.Connection[Any]):
    """A connection that is closed if the server does not answer within ``patience_s`` seconds."""

    patience_s = 30.0

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for an answer."""
        try:
            return super().wait(gen, interval, timeout or self.patience_s)
        except errors._WaitTimeout:  # noqa: SLF001 - psycopg names it in the contract of this method
            self.close()
            raise SilentError("no answer") from None


class SilenceGuard:
    """Admits threads to the server: all of them, or one at a time while it is silent. May be shared by threads."""

    def __init__(self) -> None:
        self._silent = False
        self._again_at = 0.0
        self._one = threading.Lock()

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Ask the server in the block.

        Raises:
            SilentError: the server is silent, and another thread is asking or has just asked.
        """
        alone = self._silent
        if alone and (time.monotonic() < self._again_at or not self._one.acquire(blocking=False)):
            raise SilentError("no answer")
        try:
            yield
            self._silent = False
        except (SilentError, errors.ConnectionTimeout):
            self._silent, self._again_at = True, time.monotonic() + AGAIN_S
            raise
        except psycopg.Error:  # the server answers
            self._silent = False
            raise
        finally:
            if alone:
                self._one.release()
