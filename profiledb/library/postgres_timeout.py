"""A PostgreSQL that takes connections and says nothing, as on a machine that hangs: nobody waits for it for long.

libpq waits for ever there: the other machine's kernel goes on to confirm what arrives. What is not answered in time
counts as lost. As long as nothing is answered one thread at a time asks; all others hear at once that it is lost.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors

AGAIN_S = 2.0
"""Between two tries while nothing is answered."""


class SilentError(psycopg.OperationalError):
    """The server has not answered in time."""


class Connection(psycopg.Connection[Any]):
    """A connection that is closed where the server does not answer within ``patience_s`` seconds."""

    patience_s = 30.0

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Waits for an answer."""
        try:
            return super().wait(gen, interval, timeout or self.patience_s)
        except errors._WaitTimeout:  # noqa: SLF001 - psycopg names it in the contract of this method
            self.close()
            raise SilentError("no answer") from None


class Turns:
    """Who may ask the server: everybody, or one at a time while it is silent. May be shared by threads."""

    def __init__(self) -> None:
        self._silent = False
        self._again_at = 0.0
        self._one = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """The block asks the server.

        Raises:
            SilentError: it is silent, and another thread asks, or one has just done so.
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
        except psycopg.Error:  # it says something
            self._silent = False
            raise
        finally:
            if alone:
                self._one.release()
