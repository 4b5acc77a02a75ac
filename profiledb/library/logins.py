"""Who is logged in: a generation per person, without which the cookie of a login opens nothing.

The first login of a person makes their generation, logging out removes it with all logins that carry it. It is random,
not a number that rises: a catalog that was lost, or restored from an old copy, then opens nothing by itself.
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
"""So long what was read counts, even where the version says that nobody has written."""


@dataclass(frozen=True)
class Login:
    """A person who is logged in, as often as they are.

    Args:
        person: digest of what the identity provider calls them.
        name: what the audit calls them.
        at: when they logged in last, ISO 8601 in UTC.
    """

    person: str
    name: str
    at: str


class Logins:
    """The logins of a library; one object a process, which threads share. Raises what ``Catalog`` does.

    Args:
        connect: opens a transaction.
        version: changes when another process may have written.
    """

    def __init__(self, connect: Connect, version: Callable[[], tuple[int, int]]) -> None:
        self._connect = connect
        self._version = version
        self._lock = threading.Lock()
        self._known: dict[str, str] = {}
        self._seen: tuple[int, int] | None = None
        self._read_at = 0.0

    def begin(self, person: str, name: str, hours: float) -> str:
        """Notes a login and answers the generation of the person, which the cookie carries.

        Args:
            person: who logs in.
            name: what the audit calls them.
            hours: how long a login lasts; whoever logged in longer ago is forgotten.
        """
        now = datetime.now(UTC)
        try:
            before = now - timedelta(hours=hours)
        except OverflowError:
            before = datetime.min.replace(tzinfo=UTC)
        row = {"person": person, "name": name, "generation": secrets.token_hex(16), "at": _text(now)}
        with self._connect() as db:
            db.execute("DELETE FROM login WHERE at < ?", [_text(before)])
            db.execute(
                "INSERT INTO login (person, name, generation, at) VALUES (:person, :name, :generation, :at)"
                " ON CONFLICT (person) DO UPDATE SET name = excluded.name, at = excluded.at",
                row,
            )
            ((generation,),) = db.execute("SELECT generation FROM login WHERE person = ?", [person]).fetchall()
        self._forget()
        return str(generation)

    def generation(self, person: str) -> str:
        """The generation that a cookie of this person has to carry; empty where they are not logged in.

        While the database is away the answer stays what it was, so that people who are logged in go on.
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
        """Ends every login of a person; whether there was any."""
        with self._connect() as db:
            found = db.execute("DELETE FROM login WHERE person = ?", [person]).rowcount
        self._forget()
        return found > 0

    def all(self) -> list[Login]:
        """Everybody who is logged in, the last login first; those whose hours are over may be among them."""
        with self._connect() as db:
            return [Login(*row) for row in db.execute("SELECT person, name, at FROM login ORDER BY at DESC, person")]

    def _forget(self) -> None:
        """What this process wrote counts at once."""
        with self._lock:
            self._seen = None


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
