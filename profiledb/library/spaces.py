"""Spaces: reports of some people. A file below a folder ``@NAME`` of the inbox is in the space NAME.

A report is in the spaces of all files of its content, and whoever sees one of them sees it. A file below no such
folder is everybody's. Who sees a space is told by groups: values of the claim that has the roles, or ``token:NAME``.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from profiledb.errors import AnalysisError
from profiledb.library.audit import Audit
from profiledb.library.database import Connect, Connection
from profiledb.report import file_names
from profiledb.report.manifest import Manifest

if TYPE_CHECKING:
    from profiledb.library.access_check import Sight

EVERYBODY = ""
"""The space of what is in none."""
UNKNOWN = "?"
"""That of a report of which nobody can say any more where it came from: no space can have this name."""
SIGN = file_names.SPACE_SIGN
OF_PROGRAMS = "token:"
"""What the group of a token begins with; no claim of a person does."""
MOST = 1_000
MOST_GROUPS = 100
LONGEST = 64
LONGEST_GROUP = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def space_of(path: str, inbox: PurePath | None = None) -> str:
    """The space of a file, by the innermost folder above it whose name says so; of a URL as well.

    Folders above the inbox say nothing of a file in it.
    """
    file = PurePath(path)
    below = file.relative_to(inbox) if inbox and file.is_relative_to(inbox) else file
    folders = below.parts[:-1]
    return next((one.removeprefix(SIGN) for one in reversed(folders) if len(one) > 1 and one[0] == SIGN), EVERYBODY)


def folder(space: str) -> str:
    """The folder of a space in the inbox; that of the inbox itself for ``EVERYBODY``."""
    return f"{SIGN}{space}" if space else ""


def read(db: Connection) -> dict[str, tuple[str, ...]]:
    """The spaces that were made, with the groups that see each."""
    return {row["name"]: tuple(json.loads(row["seen_by"])) for row in db.execute("SELECT name, seen_by FROM space")}


def put(db: Connection, report_id: str, space: str) -> None:
    """Writes down that a report is in a space, besides those that it is in."""
    values = [report_id, space]
    db.execute("INSERT INTO report_space (report_id, space) VALUES (?, ?) ON CONFLICT DO NOTHING", values)


def told(reports: Iterable[Sequence[str]]) -> list[tuple[str, str]]:
    """The id of each report and the space that its manifest names, for a catalog that lost or never had the table.

    One that cannot be read is for admins alone, until it is listed from its own manifest.
    """
    return [(report_id, _space_in(manifest)) for report_id, manifest in reports]


def _space_in(manifest: str) -> str:
    try:
        return Manifest.from_json(manifest).space
    except ValueError:
        return UNKNOWN


@dataclass(frozen=True)
class Space:
    """A space that somebody made, or that a folder of the inbox names.

    Args:
        name: what it is called.
        made: whether somebody made it.
        groups: who sees it besides admins.
        reports: how many are in it.
    """

    name: str
    made: bool
    groups: tuple[str, ...]
    reports: int

    @property
    def seen_by(self) -> str:
        """Who sees it, in words."""
        return ", ".join(self.groups) or "admins alone"


class Spaces:
    """The spaces of a library. Every call opens its own connection and raises what ``Catalog`` does."""

    def __init__(self, connect: Connect, audit: Audit, sight: "Sight") -> None:
        self._connect = connect
        self._audit = audit
        self._sight = sight

    def made(self) -> dict[str, tuple[str, ...]]:
        """The spaces that somebody made by their names, with the groups that see each, sorted."""
        with self._connect() as db:
            return dict(sorted(read(db).items()))

    def seen(self) -> list[str]:
        """The spaces that somebody made and that the visitor sees, by their names."""
        return [name for name in self.made() if self._sight.sees_space(name)]

    def counts(self) -> dict[str, int]:
        """How many reports are in each space, also in those that nobody has made, and in ``EVERYBODY``."""
        self._sight.require_whole()
        with self._connect() as db:
            query = (
                "SELECT space, count(*) AS reports FROM report_space WHERE report_id IN (SELECT id FROM report)"
                " GROUP BY space ORDER BY space"
            )
            return {row["space"]: row["reports"] for row in db.execute(query)}

    def of(self) -> dict[str, set[str]]:
        """The spaces of each report by its id."""
        self._sight.require_whole()
        found: dict[str, set[str]] = {}
        with self._connect() as db:
            for row in db.execute("SELECT report_id, space FROM report_space"):
                found.setdefault(row["report_id"], set()).add(row["space"])
        return found

    def listed(self) -> list[Space]:
        """All spaces by their names, but ``EVERYBODY``: those that somebody made, and those that have reports."""
        made, counts = self.made(), self.counts()
        names = sorted((made | counts).keys() - {EVERYBODY})
        return [Space(name, name in made, made.get(name, ()), counts.get(name, 0)) for name in names]

    def put(self, name: str, groups: Iterable[str]) -> None:
        """Makes a space, or says anew who sees it.

        Raises:
            AnalysisError: its name or a group is none, or there are too many.
            NotAllowedError: for somebody who does not see everything.
        """
        self._sight.require_whole()
        if len(name) > LONGEST or not _NAME.fullmatch(name):
            raise AnalysisError(
                f"A space takes a name of 1 to {LONGEST} letters, digits, dots, dashes and underscores.",
                hint="It begins with a letter or a digit.",
            )
        told = sorted({" ".join(group.split()) for group in groups} - {""})
        if len(told) > MOST_GROUPS or any(len(group) > LONGEST_GROUP or group == "*" for group in told):
            raise AnalysisError(
                f"A space takes up to {MOST_GROUPS} groups of at most {LONGEST_GROUP} characters, and no *.",
                hint="What everybody may see needs no space.",
            )
        with self._connect() as db:
            known = read(db)
            if name not in known and len(known) >= MOST:
                raise AnalysisError(f"A library has at most {MOST:,} spaces.", hint="Remove some first.")
            db.execute("DELETE FROM space WHERE name = ?", [name])
            db.execute("INSERT INTO space (name, seen_by) VALUES (?, ?)", [name, json.dumps(told)])
            self._audit.note(
                db, "changed space" if name in known else "made space", "", f"{name}: {', '.join(told) or 'nobody'}"
            )

    def remove(self, name: str) -> None:
        """Takes a space away: its reports are then seen by admins alone.

        Raises:
            AnalysisError: there is none of this name.
            NotAllowedError: for somebody who does not see everything.
        """
        self._sight.require_whole()
        with self._connect() as db:
            if not db.execute("DELETE FROM space WHERE name = ?", [name]).rowcount:
                raise AnalysisError(f"There is no space {name!r}.")
            self._audit.note(db, "removed space", "", name)
