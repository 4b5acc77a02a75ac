"""The summaries of a team's library, in the database of its catalog."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from profiledb.library.catalog import Catalog
from profiledb.library.database import Connection, Shared
from profiledb.library.library import Library
from profiledb.studies.trends.summary_store import VERSION, Summaries

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

    def missing(self, catalog: Catalog) -> list[str]:
        """Return the ids of the listed reports with a timeline that have no summary of this version."""
        condition, values = catalog.visibility.condition("listing.report_id")
        query = (
            "SELECT report_id FROM listing WHERE timeline = 1 AND NOT EXISTS (SELECT 1 FROM summary"
            f" WHERE summary.report_id = listing.report_id AND version = ?) AND {condition}"
        )
        return [row["report_id"] for row in self.read_rows(query, [VERSION, *values])]

    def unlisted(self, catalog: Catalog) -> dict[str, str]:
        """Return the series of reports that are in one and that the visitor does not see, or that are deleted."""
        condition, values = catalog.visibility.condition("series_member.report_id")
        listed = "SELECT 1 FROM report WHERE report.id = series_member.report_id"
        retired = "SELECT 1 FROM retired WHERE retired.report_id = series_member.report_id"
        query = (
            "SELECT report_id, series FROM series_member"
            f" WHERE NOT EXISTS ({listed}) AND NOT EXISTS ({retired}) OR NOT ({condition})"
        )
        return {row["report_id"]: row["series"] for row in self.read_rows(query, values)}

    def open_for_cache(self) -> AbstractContextManager[Connection]:
        """Open a transaction whose writes may be lost, and after which no page refreshes."""
        return self._shared.connect("")

    def read_rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._shared.connect(TOPIC) as db:
            return db.execute(query, values).fetchall()

    def open_for_writing(self) -> AbstractContextManager[Connection]:
        return self._shared.connect(TOPIC)


def open_summaries(library: Library) -> Summaries:
    """Return the summaries of a library, wherever its catalog is."""
    shared = library.catalog.shared
    return SharedSummaries(shared) if shared else Summaries(library.folder)
