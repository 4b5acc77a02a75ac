"""The summaries of a team's library: in the database of its catalog, which all its workers write."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

from profiledb.errors import CatalogError
from profiledb.library.database import Connection, Shared
from profiledb.library.library import Library
from profiledb.studies.trends.summary_store import Summaries

TOPIC = "summaries"
"""What their version is asked by: pages that show reports need not hear of each summary."""


class SharedSummaries(Summaries):
    """The summaries of a database; threads may share it."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    @property
    def exists(self) -> bool:
        """Whether there is a place for summaries: with the tables of the catalog."""
        return True

    def version(self) -> tuple[int, int]:
        """Changes whenever somebody has written."""
        return self._shared.version(TOPIC)

    def remember(self, found: Mapping[str, str]) -> None:
        """Remembers what was found; it may be lost, and is no news to anybody."""
        with suppress(CatalogError), self._shared.connect("") as db:
            self._remember(db, found)

    def _read(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._shared.connect(TOPIC) as db:
            return db.execute(query, values).fetchall()

    def _writing(self) -> AbstractContextManager[Connection]:
        return self._shared.connect(TOPIC)


def summaries_of(library: Library) -> Summaries:
    """The summaries of a library, wherever its catalog is."""
    shared = library.catalog.shared
    return SharedSummaries(shared) if shared else Summaries(library.folder)
