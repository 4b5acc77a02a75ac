"""Report once that a team's database is lost, and once that it is back, whichever part of a worker noticed.

procrastinate and its connection pool would log each try with a traceback. Their messages about other errors stay.
"""

import logging
import threading
from collections.abc import Iterator

import psycopg
from procrastinate.exceptions import ConnectorException
from psycopg_pool import PoolTimeout

from profiledb import terminal
from profiledb.errors import CatalogError
from profiledb.library import postgres

CONNECTION_ERRORS = (CatalogError, ConnectorException, PoolTimeout, psycopg.OperationalError, psycopg.InterfaceError)
"""Errors raised when the database cannot be reached."""
_DEEPEST = 10


class DatabaseWatch:
    """Tracks whether a worker reaches the database: lost once one part loses it, back once all parts reach it.

    Args:
        parts: names of the worker's parts; each may be a thread.
    """

    def __init__(self, *parts: str) -> None:
        self._parts = frozenset(parts)
        self._lost_parts: frozenset[str] = frozenset()
        self._reason = ""
        self._lock = threading.Lock()

    def note_loss(self, error: BaseException) -> None:
        """Record that a part lost the database and report it once, and again for each new reason that PostgreSQL
        gives."""
        reason = next((one for one in map(postgres.find_refusal, _list_causes(error)) if one), "")
        with self._lock:
            if reason and reason != self._reason:
                terminal.say(f"The catalog's database refuses this worker; it is asked again. {reason}")
            elif not self._lost_parts:
                terminal.say("The catalog's database cannot be reached; it is asked again.")
            self._lost_parts, self._reason = self._parts, reason or self._reason

    def note_answer(self, part: str) -> None:
        """Record that the database answered a part."""
        with self._lock:
            if part in self._lost_parts:
                self._lost_parts -= {part}
                if not self._lost_parts:
                    self._reason = ""
                    terminal.say("The catalog's database can be reached again.")


def silence_procrastinate(worker: str) -> None:
    """Stop procrastinate's worker of this name from logging that the database cannot be reached."""
    logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)  # this logger reports connections only
    for name in ("asyncio", "procrastinate.utils", "procrastinate.worker", f"procrastinate.worker.{worker}"):
        logging.getLogger(name).addFilter(_is_other_error)


def _is_other_error(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not any(isinstance(one, CONNECTION_ERRORS) for one in _list_causes(error))


def _list_causes(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(_DEEPEST):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__
