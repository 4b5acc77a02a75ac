"""Says once that a team's database is lost, and once that it is back, whichever part of a worker noticed.

procrastinate and the pool of its connections would log each try, with a trace. What they say of other errors stays.
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

LOST = (CatalogError, ConnectorException, PoolTimeout, psycopg.OperationalError, psycopg.InterfaceError)
"""What is raised where the database cannot be reached."""
_DEEPEST = 10


class Reached:
    """Whether a worker reaches the database: it is lost when a part says so, and back when all parts have said that.

    Args:
        parts: their names; each may be a thread of its own.
    """

    def __init__(self, *parts: str) -> None:
        self._parts = frozenset(parts)
        self._waits_for: frozenset[str] = frozenset()
        self._reason = ""
        self._lock = threading.Lock()

    def lost(self, error: BaseException) -> None:
        """Notes that a part does not reach it, and says so once; PostgreSQL's reason, too, where it gives a new one."""
        reason = next((one for one in map(postgres.find_refusal, _causes(error)) if one), "")
        with self._lock:
            if reason and reason != self._reason:
                terminal.say(f"The catalog's database refuses this worker; it is asked again. {reason}")
            elif not self._waits_for:
                terminal.say("The catalog's database cannot be reached; it is asked again.")
            self._waits_for, self._reason = self._parts, reason or self._reason

    def back(self, part: str) -> None:
        """Notes that a part reaches it; called whenever it has answered."""
        with self._lock:
            if part in self._waits_for:
                self._waits_for -= {part}
                if not self._waits_for:
                    self._reason = ""
                    terminal.say("The catalog's database can be reached again.")


def quiet(worker: str) -> None:
    """Has procrastinate's worker of this name log nothing of a database that cannot be reached."""
    logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)  # all that it says is about connections
    for name in ("asyncio", "procrastinate.utils", "procrastinate.worker", f"procrastinate.worker.{worker}"):
        logging.getLogger(name).addFilter(_is_other)


def _is_other(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not any(isinstance(one, LOST) for one in _causes(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(_DEEPEST):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__
