"""Which reports a visitor sees: all, those of their spaces and those of nobody's, the one that a link opens, or none.

It is asked of every report that a library or a catalog is asked about (``Library``, ``Catalog``), so that whoever gets
either from ``asked_by`` cannot see more. What a catalog does not say of a report hides it: a space that nobody has
made, or that was lost, is for admins alone.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from inspect import isfunction, signature
from pathlib import PurePath
from typing import Any, ParamSpec, TypeVar

from profiledb.errors import NotAllowedError, ReportNotFoundError
from profiledb.library.database import Connect
from profiledb.library.spaces import EVERYBODY, read, space_of
from profiledb.library.visitor import Visitor

P = ParamSpec("P")
T = TypeVar("T")
OF_REPORTS = frozenset({"report_id", "partner", "nsys_id", "trace_id", "before", "after"})
"""What parameters of a library are called that take the id of a report."""


@dataclass(frozen=True)
class _Seen:
    version: tuple[int, int]
    spaces: frozenset[str]
    reports: frozenset[str]


class Sight:
    """What a kind of visitor sees, read again when the catalog has changed. May be shared by threads."""

    def __init__(
        self, connect: Connect, version: Callable[[], tuple[int, int]], visitor: Visitor, inbox: PurePath | None
    ) -> None:
        self._connect = connect
        self._inbox = inbox
        self._version = version
        self._groups = visitor.groups
        self._only = visitor.only
        self._seen: _Seen | None = None
        self._lock = threading.Lock()
        self.whole = visitor.groups is None and not visitor.only
        """Whether it is everything: then nothing is asked."""

    def kind(self) -> object:
        """What is the same for all who see the same, whatever else is known of them: by that lists are remembered."""
        return None if self.whole else self._only or self._now().spaces

    def reports(self) -> frozenset[str] | None:
        """The ids of the reports that are seen, with some that are no more; None: all."""
        return None if self.whole else self._now().reports

    def sees(self, report_id: str) -> bool:
        """Whether a report is seen."""
        return self.whole or report_id in self._now().reports

    def require(self, *report_ids: str) -> None:
        """Raises what is raised of a report that does not exist."""
        for report_id in report_ids:
            if not self.sees(report_id):
                raise ReportNotFoundError(f"No report is called {report_id!r}.")

    def sees_file(self, path: str) -> bool:
        """Whether what became of a file of the inbox is seen."""
        return self.sees_space(space_of(path, self._inbox))

    def sees_space(self, name: str) -> bool:
        """Whether the reports of a space are seen."""
        return self.whole or name in self._now().spaces

    def require_file(self, path: str) -> None:
        """Raises NotAllowedError for a file that is not seen."""
        if not self.sees_file(path):
            raise NotAllowedError("There is no such file.")

    def require_whole(self) -> None:
        """For what is about all reports; raises NotAllowedError."""
        if not self.whole:
            raise NotAllowedError("Only who sees every report may do this.", hint="Ask for the admin role.")

    def of(self, things: Mapping[str, T]) -> dict[str, T]:
        """Those of some things by report id whose report is seen."""
        return {key: thing for key, thing in things.items() if self.sees(key)}

    def those(self, things: Iterable[T], report_id: Callable[[T], str]) -> list[T]:
        """Those of some things whose report is seen."""
        return [thing for thing in things if self.sees(report_id(thing))]

    def _now(self) -> _Seen:
        version = self._version()
        with self._lock:
            if self._seen is None or self._seen.version != version:
                self._seen = self._read(version)
            return self._seen

    def _read(self, version: tuple[int, int]) -> _Seen:
        if self._only:
            return _Seen(version, frozenset(), frozenset({self._only}))
        groups = self._groups or frozenset()
        with self._connect() as db:
            made = read(db)
            spaces = frozenset({EVERYBODY, *(name for name, told in made.items() if not groups.isdisjoint(told))})
            marks = ", ".join("?" * len(spaces))
            rows = db.execute(f"SELECT report_id FROM report_space WHERE space IN ({marks})", sorted(spaces))
            return _Seen(version, spaces, frozenset(row["report_id"] for row in rows))


def look_first(cls: type) -> None:
    """Has each public method of a class of libraries ask, before anything else, whether its visitor sees the reports
    that it is told the ids of."""
    for name, method in list(vars(cls).items()):
        if not name.startswith("_") and isfunction(method) and not OF_REPORTS.isdisjoint(signature(method).parameters):
            setattr(cls, name, _looking_first(method))


def _looking_first(ask: Callable[P, T]) -> Callable[P, T]:
    of_reports = [(at, name) for at, name in enumerate(signature(ask).parameters) if name in OF_REPORTS]

    @wraps(ask)
    def asked(*args: P.args, **values: P.kwargs) -> T:
        library: Any = args[0]
        sight: Sight = library.catalog.sight
        if not sight.whole:
            given: list[Any] = [args[at] if at < len(args) else values.get(name) for at, name in of_reports]
            sight.require(*(one for one in given if one is not None))
        return ask(*args, **values)

    return asked
