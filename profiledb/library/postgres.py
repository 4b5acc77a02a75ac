"""PostgreSQL as the database of a catalog: a connection pool, SQLite's style of statements, and readable errors.

A writer first increments the row of its topic in ``revision``. Writers of a topic therefore run one after another, as
in SQLite: each sees the writes of the previous one, and the number tells readers that something has changed.
"""

import math
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from importlib import resources
from typing import Any

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from profiledb import secret
from profiledb.errors import CatalogError, ConfigError, RefusedError
from profiledb.library import postgres_timeout, version
from profiledb.library.database import CATALOG, Connection, Rows, Values
from profiledb.library.postgres_timeout import Connection as Connected

MOST = 8
"""Connections of a process at a time; a caller that needs one more waits."""
PATIENCE_S = 30
"""Seconds that a statement, or the wait for another writer or a connection, may take."""
CONNECT_S = 5
"""Seconds that a server may take to answer; if none listens, the system says so at once."""
FRESH_S = 1.0
"""Seconds for which an answer to ``version`` is reused."""
_DEFAULTS = {
    "application_name": "warpdeck",
    "connect_timeout": CONNECT_S,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 1000 * PATIENCE_S,
    "options": f"-c statement_timeout={PATIENCE_S}s -c lock_timeout={PATIENCE_S}s"
    f" -c idle_in_transaction_session_timeout={2 * PATIENCE_S}s",
}
_COUNTED = (
    "INSERT INTO revision (topic, number) VALUES (%s, 1) ON CONFLICT (topic) DO UPDATE SET number = revision.number + 1"
    " RETURNING (SELECT max(version_num) FROM alembic_version)"
)
_REVISION = "SELECT version_num FROM alembic_version"
_REVISION_FILE = re.compile(r"r\d{4}_\w+\.py")
_LASTING = re.compile(r"pg_(try_)?advisory_xact_lock|set_config")
"""Functions of a SELECT whose effect lasts until the transaction ends."""
_MARKS = re.compile(r"'[^']*'|\"[^\"]*\"|::|%|\?|:([a-z_]\w*)")
_REACHED = "Check that the server of WARPDECK_DATABASE runs. It is asked again by itself."
_WORDS: tuple[tuple[type[psycopg.Error] | tuple[type[psycopg.Error], ...], str, str], ...] = (
    (
        (errors.UndefinedTable, errors.UndefinedColumn),
        "The catalog's database lacks tables of this version.",
        "A worker makes them when it starts; so does: warpdeck migrate",
    ),
    (
        (errors.LockNotAvailable, errors.QueryCanceled, errors.DeadlockDetected, errors.TooManyConnections),
        "The catalog's database is busy.",
        "Try again in a moment.",
    ),
    (errors.DiskFull, "The disk of the catalog's database is full.", "It goes on by itself when there is room."),
    (
        errors.ReadOnlySqlTransaction,
        "The catalog's database cannot be written.",
        "Check that its server is not a standby.",
    ),
    (errors.ProgramLimitExceeded, "A text is too long for the catalog.", "Shorten it."),
    (psycopg.OperationalError, "The catalog's database cannot be reached.", _REACHED),
    (psycopg.InterfaceError, "The catalog's database cannot be reached.", _REACHED),
)
_REFUSALS = (
    (
        r"authentication failed for|no password supplied",
        "password authentication failed",
        "Check user and password in WARPDECK_DATABASE, or PGPASSWORD_FILE.",
    ),
    (
        r"role .* does not exist|not permitted to log in",
        "there is no such user, or it must not log in",
        "Check the user in WARPDECK_DATABASE.",
    ),
    (
        r"database .* does not exist",
        "the database does not exist",
        "Check its name in WARPDECK_DATABASE, or create it with createdb.",
    ),
    (
        r"permission denied|must be owner|must be member",
        "permission denied",
        "docs/team.md lists the rights that the user in WARPDECK_DATABASE needs.",
    ),
    (
        r"pg_hba\.conf",
        "its pg_hba.conf does not let this machine or user in",
        "Add a line for it; where encryption is missing, append ?sslmode=require to WARPDECK_DATABASE.",
    ),
    (
        r"does not support SSL|certificate verify failed|certificate file|server certificate for",
        "no TLS as WARPDECK_DATABASE demands it",
        "Check sslmode and sslrootcert in WARPDECK_DATABASE.",
    ),
)
"""Errors of PostgreSQL and libpq that waiting does not mend, each with a short reason and a hint."""
_LONGEST_DETAIL = 600


def build_connection_arguments(url: str) -> dict[str, Any]:
    """Return the arguments with which psycopg connects to an address.

    Raises:
        ConfigError: the address is malformed; it is not repeated, because it may hold a password.
    """
    try:
        given = conninfo_to_dict(url)
        if not str(given.get("port", "")).replace(",", "0").isdigit() and given.get("port"):
            raise psycopg.ProgrammingError  # perhaps part of a password with a slash, which libpq would repeat
    except psycopg.Error:
        raise ConfigError(
            "WARPDECK_DATABASE is no address of a PostgreSQL database.",
            hint="It is written as postgresql://USER:PASSWORD@HOST/NAME; special characters of a password as %XX.",
        ) from None
    if not given.get("password") and (password := secret.read_secret("PGPASSWORD")):
        given["password"] = password
    return _DEFAULTS | given


@cache
def list_known_revisions() -> frozenset[str]:
    """Return the revisions of a database that this version knows (migrations/versions)."""
    names = (path.name for path in resources.files("profiledb.library.migrations").joinpath("versions").iterdir())
    return frozenset(name[1:5] for name in names if _REVISION_FILE.fullmatch(name))


class Postgres:
    """The database of a team (``database.Shared``).

    Raises NewerLibraryError if a later version of Warpdeck has changed it, also while this program runs.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._arguments = build_connection_arguments(url)
        self._free_slots = threading.BoundedSemaphore(MOST)
        self._idle: list[Connected] = []
        self._guard = postgres_timeout.SilenceGuard()
        weakref.finalize(self, _close_connections, self._idle)
        self._lock = threading.Lock()
        self._written = 0
        self._versions: dict[str, tuple[float, tuple[int, int]]] = {}

    @contextmanager
    def connect(self, topic: str = CATALOG) -> Iterator[Connection]:
        """Open a transaction; see ``database.Shared``."""
        if not self._free_slots.acquire(timeout=PATIENCE_S):
            raise CatalogError("The catalog's database is busy.", hint="Try again in a moment.")
        try:
            transaction = _Transaction(topic, self._acquire_connection)
            try:
                yield transaction
                transaction.commit()
            finally:
                self._give_back(transaction)
        except psycopg.Error as error:
            raise explain_error(error) from error
        finally:
            self._free_slots.release()

    def version(self, topic: str = CATALOG) -> tuple[int, int]:
        """Return a value that changes within a second after somebody wrote about a topic.

        While the database is away it stays the same, so that pages go on showing cached data.
        """
        asked_at, known = self._versions.get(topic, (-math.inf, None))
        if known and time.monotonic() - asked_at < FRESH_S:
            return known
        written = self._written
        try:
            with self.connect("") as db:  # the row's transaction id distinguishes it from a row restored from a backup
                query = (
                    "SELECT number, CAST(CAST(xmin AS text) AS bigint), (SELECT max(version_num) FROM alembic_version)"
                    " FROM revision WHERE topic = ?"
                )
                number, transaction, revision = db.execute(query, [topic]).fetchone() or (0, 0, None)
                version.require_revision(revision, list_known_revisions())
        except CatalogError:
            if known is None:
                raise
        else:
            known = (number, transaction)
        with self._lock:  # do not cache an answer from before this process's own write
            self._versions[topic] = (time.monotonic() if written == self._written else -math.inf, known)
        return known

    def close(self) -> None:
        """Close idle connections."""
        _close_connections(self._idle)

    def _acquire_connection(self) -> Connected:
        """Return a connection whose server answers: an idle one, else a new one."""
        with self._guard.enter():
            connection = self._take_idle()
            if connection is None:
                self.close()  # idle connections to it are dead, too
                connection = Connected.connect(**self._arguments, row_factory=_make_row_factory, autocommit=True)
                _require_known(connection)
            connection.patience_s = PATIENCE_S + CONNECT_S
            return connection

    def _take_idle(self) -> Connected | None:
        """Take an idle connection on which the server still answers; None if there is none."""
        try:
            connection = self._idle.pop()
        except IndexError:
            return None
        try:
            connection.patience_s = CONNECT_S
            connection.execute("SELECT 1")
        except postgres_timeout.SilentError:
            raise
        except psycopg.OperationalError:
            connection.close()
            return None
        return connection

    def _give_back(self, transaction: "_Transaction") -> None:
        connection = transaction.connection
        if connection is None:
            return
        with suppress(psycopg.Error):
            connection.rollback()  # does nothing after a commit
            connection.autocommit = True
        if not connection.closed:
            self._idle.append(connection)
        if transaction.writes:
            with self._lock:
                self._written += 1
                self._versions = {topic: (-math.inf, known) for topic, (_, known) in self._versions.items()}


def _require_known(connection: Connected) -> None:
    """Close a connection to a database that a later version has changed, and raise NewerLibraryError."""
    try:
        with connection.transaction():
            rows = connection.execute(_REVISION).fetchall()
        for row in rows:
            version.require_revision(row[0], list_known_revisions())
    except errors.UndefinedTable:  # the tables do not exist yet
        pass
    except BaseException:
        connection.close()
        raise


def _close_connections(connections: list[Connected]) -> None:
    while connections:
        connections.pop().close()


class _Transaction:
    """A transaction that begins with its first write, lock or setting.

    At PostgreSQL's own level of isolation each SELECT sees what is committed when it starts, within a transaction or
    without one; without one it costs one round trip instead of three.
    """

    def __init__(self, topic: str, acquire: Callable[[], Connected]) -> None:
        self.connection: Connected | None = None
        self.writes = False
        self._topic = topic
        self._acquire = acquire

    def execute(self, sql: str, parameters: Values = (), /) -> Rows:
        """Run one statement."""
        return self._get_ready(sql).execute(_translate_sql(sql), _clean_values(parameters))

    def executemany(self, sql: str, parameters: Iterable[Values], /) -> Rows:
        """Run a statement once for each of several sets of values."""
        cursor = self._get_ready(sql).cursor()
        cursor.executemany(_translate_sql(sql), [_clean_values(values) for values in parameters])
        return cursor

    def commit(self) -> None:
        if self.connection is not None:
            self.connection.commit()

    def _get_ready(self, sql: str) -> Connected:
        """Return the connection; before the first write, begin the transaction and increase the topic's number."""
        if self.connection is None:
            self.connection = self._acquire()
        reads = sql.lstrip().upper().startswith("SELECT")
        if self.connection.autocommit and (not reads or _LASTING.search(sql)):
            self.connection.autocommit = False
        if not self.writes and not reads:
            self.writes = True
            if self._topic:
                for row in self.connection.execute(_COUNTED, [self._topic]):
                    version.require_revision(row[0], list_known_revisions())
        return self.connection


class _Row:
    """A row by position and by name, like sqlite3.Row."""

    __slots__ = ("_at", "_values")

    def __init__(self, values: Sequence[Any], at: Mapping[str, int]) -> None:
        self._values = values
        self._at = at

    def __getitem__(self, key: int | str) -> Any:
        return self._values[key if isinstance(key, int) else self._at[key]]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def keys(self) -> list[str]:
        """Return the names of the columns; ``dict(row)`` needs them."""
        return list(self._at)


def _make_row_factory(cursor: "psycopg.Cursor[Any]") -> Any:
    at = {column.name: number for number, column in enumerate(cursor.description or ())}
    return lambda values: _Row(values, at)


@lru_cache(maxsize=512)
def _translate_sql(sql: str) -> Any:
    """Translate placeholders to those of psycopg; quoted names and texts stay as they are."""

    def mark(match: re.Match[str]) -> str:
        text = match[0]
        if text == "?":
            return "%s"
        return f"%({match[1]})s" if match[1] else text.replace("%", "%%")

    return _MARKS.sub(mark, sql)


def _clean_values(parameters: Values) -> Values:
    """Replace characters that PostgreSQL stores in no text: NUL and lone surrogates."""
    if isinstance(parameters, Mapping):
        return {name: _clean_text(value) for name, value in parameters.items()}
    return [_clean_text(value) for value in parameters]


def _clean_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def explain_error(error: psycopg.Error) -> Exception:
    """Translate an error of PostgreSQL; return the error itself if it is a programming mistake."""
    if refused := find_refusal(error):
        reason, hint = next((reason, hint) for pattern, reason, hint in _REFUSALS if re.search(pattern, refused))
        return RefusedError(f"PostgreSQL refuses the catalog: {reason}.", hint=hint, detail=refused)
    for kinds, message, hint in _WORDS:
        if isinstance(error, kinds):
            return CatalogError(message, hint=hint)
    return error


def find_refusal(error: BaseException) -> str:
    """Return PostgreSQL's own message if it refuses for a reason that waiting does not mend; else empty.

    libpq gives no code for a failed connection. If it tried several servers, the last one counts, because a refused
    password or name ends the search.
    """
    if not isinstance(error, psycopg.OperationalError | errors.InsufficientPrivilege):
        return ""
    message = error.diag.message_primary or str(error)
    lines = [line for line in message.splitlines() if line.strip() and not line.startswith((" ", "\t"))]
    last = lines[-1].rpartition("FATAL:")[2].strip()[:_LONGEST_DETAIL] if lines else ""
    return last if any(re.search(pattern, last) for pattern, _, _ in _REFUSALS) else ""
