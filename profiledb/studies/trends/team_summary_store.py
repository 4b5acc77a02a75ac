"""The summaries of a team's library, in the database of its catalog."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

from profiledb.errors import CatalogError
from profiledb.library.database import Connection, Shared
from profiledb.library.library import Library
from profiledb.studies.trends.summary_store import Summaries

TOPIC = "summaries"
"""Topic of their version: pages that show reports need not refresh for each summary."""


class SharedSummaries(Summaries):
    """The summaries in a database; threads may share it."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    @property
    def exists(self) -> bool:
        """Return True: the tables exist with those of the catalog."""
        return True

    def version(self) -> tuple[int, int]:
        """Return a value that changes with every write."""
        return self._shared.version(TOPIC)

    def _read_file_number(self) -> int:
        return 0

    def remember(self, changes: Mapping[str, str]) -> None:
        """Cache changes of series; they may be lost, and no page refreshes."""
        with suppress(CatalogError), self._shared.connect("") as db:
            self._remember(db, changes)

    def _read_rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._shared.connect(TOPIC) as db:
            return db.execute(query, values).fetchall()

    def _open_for_writing(self) -> AbstractContextManager[Connection]:
        return self._shared.connect(TOPIC)


def summaries_of(library: Library) -> Summaries:
    """Return the summaries of a library, wherever its catalog is."""
    shared = library.catalog.shared
    return SharedSummaries(shared) if shared else Summaries(library.folder)
