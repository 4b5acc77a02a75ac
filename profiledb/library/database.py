"""The interface of a catalog's database: SQLite for one machine, PostgreSQL for a team, with the same SQL.

Statements run on both: ``?`` or ``:name`` for values, ``INSERT ... ON CONFLICT``, columns by name.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

CATALOG = "catalog"
"""Topic of everything that reports and people write; pages compare its version."""
FILES = "files"
"""Topic of the states of inbox files, which change all the time and do not concern lists of reports."""

LOGINS = "logins"
"""Topic of logins, checked by every request with a cookie."""

Values = Sequence[Any] | Mapping[str, Any]
"""Values for each ``?`` or ``:name`` of a statement."""


class Rows(Protocol):
    """Result of a statement; rows give values by position and by name."""

    @property
    def rowcount(self) -> int:
        """Number of rows written."""

    def fetchone(self) -> Any:
        """Return the next row; None at the end."""

    def fetchall(self) -> list[Any]:
        """Return all remaining rows."""

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """A transaction: committed if its block ends without an error, else rolled back."""

    def execute(self, sql: str, parameters: Values = ..., /) -> Rows:
        """Run one statement."""

    def executemany(self, sql: str, parameters: Iterable[Values], /) -> Rows:
        """Run a statement once for each of several sets of values."""


Connect = Callable[[], AbstractContextManager[Connection]]
"""Opens a transaction; raises CatalogError."""


class Database(Protocol):
    """The database of a catalog. May be shared by threads. A file has one version for all topics."""

    def connect(self, topic: str = CATALOG) -> AbstractContextManager[Connection]:
        """Open a transaction. Raises CatalogError if the catalog cannot be read or written."""

    def version(self, topic: str = CATALOG) -> tuple[int, int]:
        """Return a value that changes when another process may have written; cheap enough for every page view."""


class Shared(Database, Protocol):
    """The database of a team, which holds more than a catalog: each topic has a version of its own."""

    url: str

    def connect(self, topic: str = CATALOG) -> AbstractContextManager[Connection]:
        """Open a transaction; one that writes about a topic with a version is the only writer of that topic."""

    def version(self, topic: str = CATALOG) -> tuple[int, int]:
        """Return a value that changes within a second after somebody wrote about a topic."""

    def close(self) -> None:
        """Close idle connections."""


AT_ONCE = 500
"""Values in one statement."""


def cut_values(values: Iterable[str]) -> list[list[str]]:
    """Cut values into lists for one statement each."""
    every = list(values)
    return [every[at : at + AT_ONCE] for at in range(0, len(every), AT_ONCE)]


def make_marks(values: Sequence[Any]) -> str:
    """Return a placeholder for each value."""
    return ", ".join("?" * len(values))


def build_contains_pattern(text: str) -> str:
    """Return the pattern of ``LIKE ? ESCAPE '!'`` that matches a text anywhere."""
    for sign in "!%_":
        text = text.replace(sign, f"!{sign}")
    return f"%{text}%"
