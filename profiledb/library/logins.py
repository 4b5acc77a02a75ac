"""Logins: a random generation per person, which the cookie of a login has to carry.

The first login of a person creates the generation; logging out removes it, and with it all logins that carry it. It is
random instead of a counter, so that a catalog that was lost or restored from an old copy opens nothing.
"""

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from profiledb.errors import CatalogError
from profiledb.library.database import Connect

FRESH_S = 1.0
"""Seconds for which a value is reused, even if the version says that nobody has written."""


@dataclass(frozen=True)
class Login:
    """A person who is logged in, however often.

    Args:
        person: digest of the identity provider's id.
        name: name in the audit.
        at: time of the last login, ISO 8601 in UTC.
    """

    person: str
    name: str
    at: str


class Logins:
    """The logins of a library; one object per process, shared by threads. Raises as ``Catalog`` does.

    Args:
        connect: opens a transaction.
        version: returns a value that changes when another process may have written.
    """

    def __init__(self, connect: Connect, version: Callable[[], tuple[int, int]]) -> None:
        self._connect = connect
        self._version = version
        self._lock = threading.Lock()
        self._known: dict[str, str] = {}
        self._seen: tuple[int, int] | None = None
        self._read_at = 0.0

    def begin(self, person: str, name: str, hours: float) -> str:
        """Record a login and return the person's generation, which the cookie carries.

        Args:
            person: who logs in.
            name: name in the audit.
            hours: duration of a login; people whose last login is older are forgotten.
        """
        now = datetime.now(UTC)
        try:
            before = now - timedelta(hours=hours)
        except OverflowError:
            before = datetime.min.replace(tzinfo=UTC)
        row = {"person": person, "name": name, "generation": secrets.token_hex(16), "at": _format_moment(now)}
        with self._connect() as db:
            db.execute("DELETE FROM login WHERE at < ?", [_format_moment(before)])
            db.execute(
                "INSERT INTO login (person, name, generation, at) VALUES (:person, :name, :generation, :at)"
                " ON CONFLICT (person) DO UPDATE SET name = excluded.name, at = excluded.at",
                row,
            )
            ((generation,),) = db.execute("SELECT generation FROM login WHERE person = ?", [person]).fetchall()
        self._forget_cached()
        return str(generation)

    def generation(self, person: str) -> str:
        """Return the generation that a cookie of this person has to carry; empty if they are not logged in.

        While the database is away the last answer counts, so that people stay logged in.
        """
        version = self._version()
        with self._lock:
            if version == self._seen and time.monotonic() - self._read_at < FRESH_S:
                return self._known.get(person, "")
        try:
            with self._connect() as db:
                rows = db.execute("SELECT person, generation FROM login").fetchall()
        except CatalogError:
            with self._lock:
                if version != self._seen:
                    raise
                self._read_at = time.monotonic()
                return self._known.get(person, "")
        with self._lock:
            self._known = {row["person"]: row["generation"] for row in rows}
            self._seen, self._read_at = version, time.monotonic()
            return self._known.get(person, "")

    def end(self, person: str) -> bool:
        """End every login of a person; return True if there was one."""
        with self._connect() as db:
            ended = db.execute("DELETE FROM login WHERE person = ?", [person]).rowcount
        self._forget_cached()
        return ended > 0

    def all(self) -> list[Login]:
        """Return everybody who is logged in, last login first; some may have expired."""
        with self._connect() as db:
            return [Login(*row) for row in db.execute("SELECT person, name, at FROM login ORDER BY at DESC, person")]

    def _forget_cached(self) -> None:
        """Drop cached values, so that this process's own write counts at once."""
        with self._lock:
            self._seen = None


def _format_moment(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
