"""Time of the last use of each token, to a few minutes, so that most requests write nothing."""

import threading
import time
from datetime import UTC, datetime

from profiledb.library.database import Connect

FRESH_S = 300.0
"""Seconds between two notes of a process about one token."""


class TokenUses:
    """The last uses of the tokens of a library; one object per process. Raises as ``Catalog`` does."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._noted: dict[str, float] = {}

    def note(self, token_id: str) -> None:
        """Write that a token is used, unless this process did so recently."""
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
        """Return the time of each token's last use by its id; unused tokens are missing."""
        with self._connect() as db:
            return {row["token_id"]: row["used_at"] for row in db.execute("SELECT token_id, used_at FROM token_use")}
