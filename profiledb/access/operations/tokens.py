"""Tokens for programs: kept as hashes in the library's folder, or a team's database, each with a name, a role and an
end."""

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
"""Tokens of a library."""
LONGEST_NAME = 100
DAYS = 90
"""How long a token lasts where nobody says otherwise, and one of an earlier version from the upgrade on."""
MOST_DAYS = 3_650
NEVER = ""
"""The end of a token that has none."""
LARGEST = 1 << 20
"""Bytes of the file that are read."""
FILE = "tokens.json"
_TOKEN = re.compile(r"wd_([0-9a-f]{12})_([0-9a-f]{64})")


@dataclass(frozen=True)
class Token:
    """A token without its secret: ``digest`` is the SHA-256 of that, which holds 256 random bits.

    ``ends_at`` is ISO 8601 in UTC, or ``NEVER``; None for a token of an earlier version, whose end ``date`` sets.
    """

    id: str
    name: str
    role: Role
    digest: str
    created_at: str
    ends_at: str | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it opens nothing any more; so does one whose end cannot be read."""
        try:
            return bool(self.ends_at) and datetime.fromisoformat(str(self.ends_at)) <= datetime.now(UTC)
        except (TypeError, ValueError):
            return True

    @property
    def lasts(self) -> str:
        """How long, in words."""
        if not self.ends_at:
            return "never ends"
        return f"{'ended' if self.has_ended else 'ends'} {self.ends_at}"


class Tokens:
    """The tokens of a folder. Every call reads the file, so that one that is taken away ends at once."""

    def __init__(self, library: Path) -> None:
        self._file = library / FILE

    def all(self) -> list[Token]:
        """All tokens; a file that cannot be read has none, so that it opens nothing."""
        try:
            with self._file.open("rb") as file:
                told = json.loads(file.read(LARGEST))
            found = [Token(**one) for one in told]
        except (OSError, ValueError, TypeError):
            return []
        return [one for one in found if one.role in ROLES and isinstance(one.digest, str)]

    def new(self, name: str, role: Role, days: int | None = DAYS) -> str:
        """Makes a token and answers its text, which nobody can tell again.

        Args:
            name: what lists and the audit call it.
            role: what it allows.
            days: how long it lasts; None: until somebody removes it.

        Raises:
            AnalysisError: the name is empty, too long or taken, there are too many, or it would last too long.
            WarpdeckError: the library cannot be written.
        """
        name = " ".join(visible(name).split())
        if not name or len(name) > LONGEST_NAME:
            raise AnalysisError(f"A token takes a name of 1 to {LONGEST_NAME} characters.")
        if days is not None and not 1 <= days <= MOST_DAYS:
            raise AnalysisError(f"A token lasts from 1 to {MOST_DAYS:,} days.")
        known = self.all()
        if any(one.name == name for one in known):
            raise _taken(name)
        if len(known) >= MOST:
            raise AnalysisError(f"A library has at most {MOST} tokens.", hint="Remove some first.")
        number, secret = secrets.token_hex(6), secrets.token_hex(32)
        made = datetime.now(UTC).isoformat(timespec="seconds")
        self._add(Token(number, name, role, _digest(secret), made, _after(days)))
        return f"wd_{number}_{secret}"

    def remove(self, name: str) -> None:
        """Takes a token away; raises AnalysisError where there is none of this name."""
        if not self._drop(name):
            raise AnalysisError(f"There is no token {name!r}.", hint="warpdeck token list shows all.")

    def shown(self, text: str) -> Token | None:
        """The token that a program shows, also one that has ended; None where it is none of ours."""
        match = _TOKEN.fullmatch(text)
        if not match:
            return None
        number, digest = match[1], _digest(match[2])
        return next((one for one in self.all() if one.id == number and hmac.compare_digest(one.digest, digest)), None)

    def date(self) -> None:
        """Has tokens of an earlier version end ``DAYS`` from now; raises WarpdeckError where they cannot be written."""
        known = self.all()
        if any(one.ends_at is None for one in known):
            self._write([replace(one, ends_at=_after(DAYS)) if one.ends_at is None else one for one in known])

    def _add(self, token: Token) -> None:
        self._write([*self.all(), token])

    def _drop(self, name: str) -> bool:
        known = self.all()
        rest = [one for one in known if one.name != name]
        if found := len(rest) < len(known):
            self._write(rest)
        return found

    def _write(self, tokens: list[Token]) -> None:
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
        """All tokens."""
        with self._connect() as db:
            query = "SELECT id, name, role, digest, created_at, ends_at FROM token ORDER BY created_at, id"
            rows = db.execute(query).fetchall()
        return [Token(*row) for row in rows if row["role"] in ROLES]

    def date(self) -> None:
        """The same."""
        with self._connect() as db:
            if db.execute("SELECT 1 FROM token WHERE ends_at IS NULL").fetchone():
                db.execute("UPDATE token SET ends_at = ? WHERE ends_at IS NULL", [_after(DAYS)])

    def _add(self, token: Token) -> None:
        with self._connect() as db:
            added = db.execute(
                "INSERT INTO token (id, name, role, digest, created_at, ends_at)"
                " VALUES (:id, :name, :role, :digest, :created_at, :ends_at) ON CONFLICT DO NOTHING",
                asdict(token),
            )
            if not added.rowcount:  # somebody else was quicker
                raise _taken(token.name)

    def _drop(self, name: str) -> bool:
        with self._connect() as db:
            return db.execute("DELETE FROM token WHERE name = ?", [name]).rowcount > 0


def tokens_of(settings: Settings) -> Tokens:
    """The tokens that the settings name, wherever they are kept."""
    if settings.database:
        return SharedTokens(team_database.open_database(settings.database))
    return Tokens(settings.library)


def _taken(name: str) -> AnalysisError:
    return AnalysisError(f"There is a token {name!r} already.", hint="Remove it, or choose another name.")


def told_days(days: int | None) -> str:
    """How long a token lasts, as the audit says it."""
    return "never ends" if days is None else counted(days, "day")


def _after(days: int | None) -> str:
    """The end of a token that lasts so many days from now."""
    return NEVER if days is None else (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
