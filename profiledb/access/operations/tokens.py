"""Tokens for programs: each has a name, a role and an expiry; hashes lie in the library's folder or the team's
database.
"""

import hashlib
import hmac
import json
import os
import re
import secrets
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, get_args

from profiledb.config import Settings
from profiledb.errors import AnalysisError, WarpdeckError
from profiledb.library import team_database
from profiledb.library.database import Shared
from profiledb.report import durable
from profiledb.words import counted, visible

Role = Literal["viewer", "editor", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
MOST = 200
"""Tokens per library."""
LONGEST_NAME = 100
DAYS = 90
"""Default lifetime of a token in days, and that of an earlier version's token from the upgrade on."""
MOST_DAYS = 3_650
NEVER = ""
"""Expiry of a token that has none."""
LARGEST = 1 << 20
"""Size limit of the file, in bytes."""
FILE = "tokens.json"
_TOKEN = re.compile(r"wd_([0-9a-f]{12})_([0-9a-f]{64})")


@dataclass(frozen=True)
class Token:
    """A token without its secret: ``digest`` is the SHA-256 of the secret, which holds 256 random bits.

    ``ends_at`` is ISO 8601 in UTC, or ``NEVER``; None for a token of an earlier version until ``date`` sets it.
    """

    id: str
    name: str
    role: Role
    digest: str
    created_at: str
    ends_at: str | None = None

    @property
    def has_ended(self) -> bool:
        """Return True if the token has expired or its expiry is unreadable."""
        try:
            return bool(self.ends_at) and datetime.fromisoformat(str(self.ends_at)) <= datetime.now(UTC)
        except (TypeError, ValueError):
            return True

    @property
    def lasts(self) -> str:
        """Describe the remaining lifetime."""
        if not self.ends_at:
            return "never ends"
        return f"{'ended' if self.has_ended else 'ends'} {self.ends_at}"


class Tokens:
    """The tokens of a folder. Every call reads the file, so that a removed token stops working at once."""

    def __init__(self, library: Path) -> None:
        self._file = library / FILE

    def all(self) -> list[Token]:
        """Return all tokens; none if the file cannot be read."""
        try:
            with self._file.open("rb") as file:
                stored = json.loads(file.read(LARGEST))
            tokens = [Token(**one) for one in stored]
        except (OSError, ValueError, TypeError):
            return []
        return [one for one in tokens if one.role in ROLES and isinstance(one.digest, str)]

    def new(self, name: str, role: Role, days: int | None = DAYS) -> str:
        """Make a token and return its text, which cannot be retrieved later.

        Args:
            name: name in lists and in the audit.
            role: its permissions.
            days: its lifetime; None until somebody removes it.

        Raises:
            AnalysisError: the name is empty, too long or taken, the lifetime is too long, or there are too many tokens.
            WarpdeckError: the library cannot be written.
        """
        name = " ".join(visible(name).split())
        if not name or len(name) > LONGEST_NAME:
            raise AnalysisError(f"A token takes a name of 1 to {LONGEST_NAME} characters.")
        if days is not None and not 1 <= days <= MOST_DAYS:
            raise AnalysisError(f"A token lasts from 1 to {MOST_DAYS:,} days.")
        known = self.all()
        if any(one.name == name for one in known):
            raise _make_name_taken_error(name)
        if len(known) >= MOST:
            raise AnalysisError(f"A library has at most {MOST} tokens.", hint="Remove some first.")
        number, secret = secrets.token_hex(6), secrets.token_hex(32)
        made = datetime.now(UTC).isoformat(timespec="seconds")
        self._add_token(Token(number, name, role, _digest_secret(secret), made, _compute_expiry(days)))
        return f"wd_{number}_{secret}"

    def remove(self, name: str) -> None:
        """Remove a token; raises AnalysisError if it is unknown."""
        if not self._drop_token(name):
            raise AnalysisError(f"There is no token {name!r}.", hint="warpdeck token list shows all.")

    def shown(self, text: str) -> Token | None:
        """Return the token with this text, expired or not; None if it is unknown."""
        match = _TOKEN.fullmatch(text)
        if not match:
            return None
        number, digest = match[1], _digest_secret(match[2])
        return next((one for one in self.all() if one.id == number and hmac.compare_digest(one.digest, digest)), None)

    def date(self) -> None:
        """Let tokens of an earlier version expire ``DAYS`` from now; raises WarpdeckError if they cannot be written."""
        known = self.all()
        if any(one.ends_at is None for one in known):
            self._write_tokens(
                [replace(one, ends_at=_compute_expiry(DAYS)) if one.ends_at is None else one for one in known]
            )

    def _add_token(self, token: Token) -> None:
        self._write_tokens([*self.all(), token])

    def _drop_token(self, name: str) -> bool:
        known = self.all()
        rest = [one for one in known if one.name != name]
        if is_known := len(rest) < len(known):
            self._write_tokens(rest)
        return is_known

    def _write_tokens(self, tokens: list[Token]) -> None:
        text = json.dumps([asdict(one) for one in tokens], indent=1)
        temporary = self._file.with_name(f".{FILE}.{os.getpid()}")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            temporary.touch(mode=0o600)
            durable.write_text(self._file, text, temporary)
        except OSError as error:
            raise WarpdeckError(f"The tokens cannot be written: {error.strerror}.") from error


class SharedTokens(Tokens):
    """The tokens of a team."""

    def __init__(self, shared: Shared) -> None:
        self._connect = shared.connect

    def all(self) -> list[Token]:
        with self._connect() as db:
            query = "SELECT id, name, role, digest, created_at, ends_at FROM token ORDER BY created_at, id"
            rows = db.execute(query).fetchall()
        return [Token(*row) for row in rows if row["role"] in ROLES]

    def date(self) -> None:
        with self._connect() as db:
            if db.execute("SELECT 1 FROM token WHERE ends_at IS NULL").fetchone():
                db.execute("UPDATE token SET ends_at = ? WHERE ends_at IS NULL", [_compute_expiry(DAYS)])

    def _add_token(self, token: Token) -> None:
        with self._connect() as db:
            added = db.execute(
                "INSERT INTO token (id, name, role, digest, created_at, ends_at)"
                " VALUES (:id, :name, :role, :digest, :created_at, :ends_at) ON CONFLICT DO NOTHING",
                asdict(token),
            )
            if not added.rowcount:  # another process was faster
                raise _make_name_taken_error(token.name)

    def _drop_token(self, name: str) -> bool:
        with self._connect() as db:
            return db.execute("DELETE FROM token WHERE name = ?", [name]).rowcount > 0


def open_tokens(settings: Settings) -> Tokens:
    """Return the tokens of the settings, wherever they are kept."""
    if settings.database:
        return SharedTokens(team_database.open_database(settings.database))
    return Tokens(settings.library)


def _make_name_taken_error(name: str) -> AnalysisError:
    return AnalysisError(f"There is a token {name!r} already.", hint="Remove it, or choose another name.")


def describe_days(days: int | None) -> str:
    """Describe a lifetime for the audit."""
    return "never ends" if days is None else counted(days, "day")


def _compute_expiry(days: int | None) -> str:
    """Return the expiry of a token that lasts this many days from now."""
    return NEVER if days is None else (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")


def _digest_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
