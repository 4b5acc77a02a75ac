"""What a catalog is kept in: SQLite for one machine, PostgreSQL for many, asked by the same SQL.

That is written to run on both: ``?`` or ``:name`` for values, ``INSERT ... ON CONFLICT``, columns by their names.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

CATALOG = "catalog"
"""What pages ask the version of: everything that reports and people put down."""
FILES = "files"
"""How far the files of the inbox are: that changes all the time, and lists of reports need not hear of it."""

LOGINS = "logins"
"""Who is logged in: what every request with a cookie goes by."""

Values = Sequence[Any] | Mapping[str, Any]
"""What stands for each ``?`` of a statement, or for each ``:name``."""


class Rows(Protocol):
    """What a statement answered; each row has its values by position and by name."""

    @property
    def rowcount(self) -> int:
        """Rows that it wrote."""

    def fetchone(self) -> Any:
        """The next row; None where there is none."""

    def fetchall(self) -> list[Any]:
        """All rows that are left."""

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """A transaction: committed where its block ends well, else as if it had never been."""

    def execute(self, sql: str, parameters: Values = ..., /) -> Rows:
        """Runs one statement."""

    def executemany(self, sql: str, parameters: Iterable[Values], /) -> Rows:
        """Runs a statement for each of many values."""


Connect = Callable[[], AbstractContextManager[Connection]]
"""Opens a transaction; its errors are CatalogError, in words."""


class Database(Protocol):
    """Where a catalog is kept; may be shared by threads. A file has one version for all topics."""

    def connect(self, topic: str = CATALOG) -> AbstractContextManager[Connection]:
        """A transaction. Raises CatalogError where the catalog cannot be read or written."""

    def version(self, topic: str = CATALOG) -> tuple[int, int]:
        """Changes whenever another process may have written: cheap enough to ask at every look at a page."""


class Shared(Database, Protocol):
    """A database of many machines, which holds more than a catalog: each topic has a version of its own."""

    url: str

    def connect(self, topic: str = CATALOG) -> AbstractContextManager[Connection]:
        """A transaction; where it writes, it is the only one that writes about its topic, if that has a version."""

    def version(self, topic: str = CATALOG) -> tuple[int, int]:
        """Changes when somebody has written about a topic, after a second at the latest."""

    def close(self) -> None:
        """Closes the connections that nobody uses."""
