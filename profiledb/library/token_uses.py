"""When each token was used last, to a few minutes: a request writes nothing as long as that is fresh."""

import threading
import time
from datetime import UTC, datetime

from profiledb.library.database import Connect

FRESH_S = 300.0
"""Time between two notes of a process about one token."""


class TokenUses:
    """The last uses of the tokens of a library; one object a process. Raises what ``Catalog`` does."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._noted: dict[str, float] = {}

    def note(self, token_id: str) -> None:
        """Writes down that a token is used, unless this process did so a moment ago."""
        now = time.monotonic()
        with self._lock:
            if now - self._noted.get(token_id, -FRESH_S) < FRESH_S:
                return
            self._noted[token_id] = now
        with self._connect() as db:
            db.execute(
                "INSERT INTO token_use (token_id, used_at) VALUES (?, ?)"
                " ON CONFLICT (token_id) DO UPDATE SET used_at = excluded.used_at",
                [token_id, datetime.now(UTC).isoformat(timespec="seconds")],
            )

    def all(self) -> dict[str, str]:
        """When each token was used last, by its id; one that never was is missing."""
        with self._connect() as db:
            return {row["token_id"]: row["used_at"] for row in db.execute("SELECT token_id, used_at FROM token_use")}
