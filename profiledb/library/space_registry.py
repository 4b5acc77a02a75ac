"""The registry of spaces, with the groups that see each.

A group is a value of the login claim that carries the roles, or ``token:NAME``.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from profiledb.errors import AnalysisError
from profiledb.library.access_check import Visibility
from profiledb.library.audit import Audit
from profiledb.library.database import Connect
from profiledb.library.spaces import EVERYBODY, read_groups

OF_PROGRAMS = "token:"
"""Prefix of the group of a token; no claim of a person has it."""
MOST = 1_000
MOST_GROUPS = 100
LONGEST = 64
LONGEST_GROUP = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Space:
    """A registered space, or one that a folder of the inbox names.

    Args:
        name: its name.
        made: True if somebody registered it.
        groups: groups that see it besides admins.
        reports: number of reports in it.
    """

    name: str
    made: bool
    groups: tuple[str, ...]
    reports: int

    @property
    def seen_by(self) -> str:
        """Groups as text for a table."""
        return ", ".join(self.groups) or "admins alone"


class SpaceRegistry:
    """The spaces of a library. Every call opens its own connection and raises as ``Catalog`` does."""

    def __init__(self, connect: Connect, audit: Audit, visibility: Visibility) -> None:
        self._connect = connect
        self._audit = audit
        self._visibility = visibility

    def groups_by_space(self) -> dict[str, tuple[str, ...]]:
        """Return the groups that see each registered space, sorted by name."""
        with self._connect() as db:
            return dict(sorted(read_groups(db).items()))

    def visible_names(self) -> list[str]:
        """Return the names of the registered spaces that the visitor sees."""
        return [name for name in self.groups_by_space() if self._visibility.sees_space(name)]

    def count_reports(self) -> dict[str, int]:
        """Return the number of reports in each space, ``EVERYBODY`` and unregistered spaces included."""
        self._visibility.require_all()
        with self._connect() as db:
            query = (
                "SELECT space, count(*) AS reports FROM report_space WHERE report_id IN (SELECT id FROM report)"
                " GROUP BY space ORDER BY space"
            )
            return {row["space"]: row["reports"] for row in db.execute(query)}

    def spaces_by_report(self) -> dict[str, set[str]]:
        """Return the spaces of each report by its id."""
        self._visibility.require_all()
        spaces: dict[str, set[str]] = {}
        with self._connect() as db:
            for row in db.execute("SELECT report_id, space FROM report_space"):
                spaces.setdefault(row["report_id"], set()).add(row["space"])
        return spaces

    def list_all(self) -> list[Space]:
        """Return all spaces by name except ``EVERYBODY``: registered ones, and those that have reports."""
        made, counts = self.groups_by_space(), self.count_reports()
        names = sorted((made | counts).keys() - {EVERYBODY})
        return [Space(name, name in made, made.get(name, ()), counts.get(name, 0)) for name in names]

    def put(self, name: str, groups: Iterable[str]) -> None:
        """Register a space, or replace the groups that see it.

        Raises:
            AnalysisError: the name or a group is invalid, or there are too many.
            NotAllowedError: the visitor does not see everything.
        """
        self._visibility.require_all()
        if len(name) > LONGEST or not _NAME.fullmatch(name):
            raise AnalysisError(
                f"A space takes a name of 1 to {LONGEST} letters, digits, dots, dashes and underscores.",
                hint="It begins with a letter or a digit.",
            )
        cleaned = sorted({" ".join(group.split()) for group in groups} - {""})
        if len(cleaned) > MOST_GROUPS or any(len(group) > LONGEST_GROUP or group == "*" for group in cleaned):
            raise AnalysisError(
                f"A space takes up to {MOST_GROUPS} groups of at most {LONGEST_GROUP} characters, and no *.",
                hint="Reports for everybody need no space.",
            )
        with self._connect() as db:
            known = read_groups(db)
            if name not in known and len(known) >= MOST:
                raise AnalysisError(f"A library has at most {MOST:,} spaces.", hint="Remove some first.")
            db.execute("DELETE FROM space WHERE name = ?", [name])
            db.execute("INSERT INTO space (name, seen_by) VALUES (?, ?)", [name, json.dumps(cleaned)])
            self._audit.note(
                db, "changed space" if name in known else "made space", "", f"{name}: {', '.join(cleaned) or 'nobody'}"
            )

    def remove(self, name: str) -> None:
        """Remove a space from the registry: admins alone then see its reports.

        Raises:
            AnalysisError: the space is not registered.
            NotAllowedError: the visitor does not see everything.
        """
        self._visibility.require_all()
        with self._connect() as db:
            if not db.execute("DELETE FROM space WHERE name = ?", [name]).rowcount:
                raise AnalysisError(f"There is no space {name!r}.")
            self._audit.note(db, "removed space", "", name)
