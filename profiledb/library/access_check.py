"""Which reports a visitor may see: all, those of their spaces and of no space, the one that a link opens, or none.

``Library`` and ``Catalog`` ask it in every operation about a report, so callers that get either from
``asked_by`` see no more. A report that the catalog does not know is hidden; one in a space that nobody made is for
admins alone.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import TypeVar

from profiledb.errors import NotAllowedError, ReportNotFoundError
from profiledb.library.database import Connect
from profiledb.library.spaces import EVERYBODY, find_space, read_groups
from profiledb.library.visitor import Visitor

T = TypeVar("T")
_AT_ONCE = 500
"""Reports in one question."""


@dataclass(frozen=True)
class _Visible:
    version: tuple[int, int]
    spaces: frozenset[str]
    known: dict[str, bool]


class Visibility:
    """The visibility of reports for a kind of visitor, read again when the catalog has changed. Threads may share it.

    Args:
        connect: opens a transaction.
        version: of the catalog; changes with it.
        visitor: who asks.
        inbox: folder below which folders name spaces.
    """

    def __init__(
        self, connect: Connect, version: Callable[[], tuple[int, int]], visitor: Visitor, inbox: PurePath | None
    ) -> None:
        self._connect = connect
        self._inbox = inbox
        self._version = version
        self._groups = visitor.groups
        self._only = visitor.only
        self._visible: _Visible | None = None
        self._lock = threading.Lock()
        self.sees_all = visitor.groups is None and not visitor.only
        """True if nothing has to be checked."""

    def cache_key(self) -> object:
        """Return a key that is equal for visitors who see the same: caches of lists use it."""
        return None if self.sees_all else self._only or self._read_current().spaces

    def condition(self, column: str) -> tuple[str, list[str]]:
        """Return the SQL condition that the report in a column is visible, and its values."""
        if self.sees_all:
            return "1 = 1", []
        if self._only:
            return f"{column} = ?", [self._only]
        spaces = sorted(self._read_current().spaces)
        marks = ", ".join("?" * len(spaces))
        query = f"SELECT 1 FROM report_space AS seen WHERE seen.report_id = {column} AND seen.space IN ({marks})"
        return f"EXISTS ({query})", spaces

    def report_ids(self) -> frozenset[str] | None:
        """Return the ids of the visible reports, some of which may be deleted; None for all. Reads them each time."""
        if self.sees_all or self._only:
            return frozenset({self._only}) if self._only else None
        condition, values = self.condition("placed.report_id")
        with self._connect() as db:
            rows = db.execute(f"SELECT DISTINCT report_id FROM report_space AS placed WHERE {condition}", values)
            return frozenset(row["report_id"] for row in rows)

    def filter_ids(self, report_ids: Iterable[str]) -> list[str]:
        """Return the visible ones of some ids, in their order."""
        asked = list(report_ids)
        if self.sees_all:
            return asked
        if self._only:
            return [report_id for report_id in asked if report_id == self._only]
        known = self._read_current().known
        unknown = list(dict.fromkeys(report_id for report_id in asked if report_id not in known))
        for at in range(0, len(unknown), _AT_ONCE):
            known |= self._ask_visible(unknown[at : at + _AT_ONCE])
        return [report_id for report_id in asked if known.get(report_id)]

    def _ask_visible(self, report_ids: list[str]) -> dict[str, bool]:
        """Return whether each report is visible."""
        condition, values = self.condition("placed.report_id")
        marks = ", ".join("?" * len(report_ids))
        query = f"SELECT report_id FROM report_space AS placed WHERE report_id IN ({marks}) AND {condition}"
        with self._connect() as db:
            seen = {row["report_id"] for row in db.execute(query, [*report_ids, *values])}
        return {report_id: report_id in seen for report_id in report_ids}

    def sees_report(self, report_id: str) -> bool:
        """Return True if the visitor may see a report."""
        return self.sees_all or bool(self.filter_ids([report_id]))

    def require_reports(self, *report_ids: str) -> None:
        """Raise ReportNotFoundError for a hidden report, as for one that does not exist."""
        seen = set(self.filter_ids(report_ids))
        for report_id in report_ids:
            if report_id not in seen:
                raise ReportNotFoundError(f"No report is called {report_id!r}.")

    def sees_space(self, name: str) -> bool:
        """Return True if the visitor may see the reports of a space."""
        return self.sees_all or name in self._read_current().spaces

    def sees_inbox_file(self, path: str) -> bool:
        """Return True if the visitor may see the outcome of a file of the inbox."""
        return self.sees_space(find_space(path, self._inbox))

    def require_inbox_file(self, path: str) -> None:
        """Raise NotAllowedError for a hidden file of the inbox."""
        if not self.sees_inbox_file(path):
            raise NotAllowedError("There is no such file.")

    def require_all(self) -> None:
        """Raise NotAllowedError unless the visitor sees every report."""
        if not self.sees_all:
            raise NotAllowedError("Only users who see every report may do this.", hint="Ask for the admin role.")

    def filter_by_id(self, by_report: Mapping[str, T]) -> dict[str, T]:
        """Return the entries of a mapping by report id whose report is visible."""
        return {report_id: by_report[report_id] for report_id in self.filter_ids(by_report)}

    def filter_items(self, items: Iterable[T], report_id: Callable[[T], str]) -> list[T]:
        """Return the items whose report is visible."""
        every = list(items)
        seen = set(self.filter_ids(map(report_id, every)))
        return [item for item in every if report_id(item) in seen]

    def _read_current(self) -> _Visible:
        version = self._version()
        with self._lock:
            if self._visible is None or self._visible.version != version:
                self._visible = self._read_visible(version)
            return self._visible

    def _read_visible(self, version: tuple[int, int]) -> _Visible:
        if self._only:
            return _Visible(version, frozenset(), {})
        own_groups = self._groups or frozenset()
        with self._connect() as db:
            groups_by_space = read_groups(db)
        own_spaces = (name for name, groups in groups_by_space.items() if not own_groups.isdisjoint(groups))
        return _Visible(version, frozenset({EVERYBODY, *own_spaces}), {})
