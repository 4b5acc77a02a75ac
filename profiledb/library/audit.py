"""The audit: who did what, and when. Part of the catalog.

A change is written in the transaction of the change itself. Access (logins, downloads, questions ...) changes nothing
and is more frequent, so it has a table of its own and never pushes a change out.
"""

import heapq
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Literal, get_args

from profiledb.errors import CatalogError, NotAllowedError
from profiledb.library.database import Connect, Connection, contains
from profiledb.library.visitor import Visitor
from profiledb.words import visible

Change = Literal[
    "uploaded", "took in", "labeled", "renamed", "marked", "linked", "unlinked", "deleted", "moved", "decided",
    "named columns", "made token", "removed token", "made space", "changed space", "removed space", "shared",
    "ended link", "saved question", "removed question", "dismissed", "tried again", "ended logins",
]  # fmt: skip
Access = Literal[
    "logged in", "logged out", "refused login", "refused token", "opened link", "refused link", "downloaded",
    "asked SQL", "backed up",
]  # fmt: skip
Action = Change | Access
"""An action in the audit."""
ACTIONS: tuple[Action, ...] = (*get_args(Change), *get_args(Access))
_TABLES: dict[str, tuple[Action, ...]] = {"audit": get_args(Change), "access_log": get_args(Access)}
LOGS = tuple(_TABLES)
"""Names of the tables; both have the columns of an entry, and a number in the order of writing."""
MOST = 100_000
"""Entries kept in each table; the oldest are removed first."""
LONGEST = 500
"""Length limit of an entry's details, in characters."""
LONGEST_SEARCH = 200
AT_ONCE = 5_000
"""Entries read in one transaction."""
COLUMNS = ("at", "who", "way", "action", "report_id", "report_name", "about")
_ENTRY = ", ".join(COLUMNS)
_ABOVE_ALL = (1 << 63) - 1
_log = logging.getLogger("warpdeck")


@dataclass(frozen=True)
class Entry:
    """One action of somebody.

    Args:
        at: time, ISO 8601 in UTC.
        who: name from the identity provider or the token.
        way: how they came in (``visitor.Way``).
        action: one of ``ACTIONS``.
        report_id: the report acted on; empty for none.
        report_name: its name at that time, because the entry outlives the report.
        about: details.
    """

    at: str
    who: str
    way: str
    action: str
    report_id: str
    report_name: str
    about: str


class Audit:
    """The audit of a library, as one visitor writes it. Raises as ``Catalog`` does.

    Args:
        connect: opens a transaction that makes lists of reports refresh.
        visitor: who writes.
        connect_quietly: opens a transaction that does not, for access.
    """

    def __init__(self, connect: Connect, visitor: Visitor, connect_quietly: Connect | None = None) -> None:
        self._connect = connect
        self._connect_quietly = connect_quietly or connect
        self._visitor = visitor

    @property
    def who(self) -> str:
        """Name of the writer, as entries have it."""
        return self._visitor.name

    def note(self, db: Connection, action: Action, report_id: str = "", about: str = "") -> None:
        """Write an entry in the given transaction, so that it exists exactly if the change does."""
        table = _find_table(action)
        db.execute(
            f"INSERT INTO {table} ({_ENTRY})"
            " VALUES (?, ?, ?, ?, ?, coalesce((SELECT name FROM report WHERE id = ?), ''), ?)",
            [
                datetime.now(UTC).isoformat(timespec="seconds"), self._visitor.name, self._visitor.way, action,
                report_id, report_id, visible(about[:LONGEST]).encode(errors="replace").decode(),
            ],
        )  # fmt: skip
        db.execute(f"DELETE FROM {table} WHERE id <= (SELECT max(id) FROM {table}) - ?", [MOST])

    def write(self, action: Action, report_id: str = "", about: str = "") -> None:
        """Write an entry in a transaction of its own."""
        connect = self._connect if _find_table(action) == "audit" else self._connect_quietly
        with connect() as db:
            self.note(db, action, report_id, about)

    def write_or_log(self, action: Action, report_id: str = "", about: str = "") -> None:
        """Write an entry about something that works without the catalog; log it instead if the catalog is away."""
        try:
            self.write(action, report_id, about)
        except CatalogError as error:
            _log.error("The audit has no entry that %s %s %r: %s", self.who, action, about, error.message)

    def entries(self, search: str = "", action: str = "", report_id: str = "", most: int = 1_000) -> list[Entry]:
        """Return the newest entries; see ``iterate``."""
        return list(self.iterate(search, action, report_id, most))

    def iterate(self, search: str = "", action: str = "", report_id: str = "", most: int = MOST) -> Iterator[Entry]:
        """Yield entries, newest first, that contain a text in any column and case, or have an action or a report.

        Raises:
            NotAllowedError: the visitor does not see all reports, which the audit tells about.
        """
        if self._visitor.groups is not None or self._visitor.only:
            raise NotAllowedError("Only an admin may see the audit.", hint="Ask for the admin role.")
        held = " OR ".join(f"lower({column}) LIKE :held ESCAPE '!'" for column in COLUMNS)
        conditions = [f"({held})"] if search else []
        conditions += ["action = :action"] if action else []
        conditions += ["report_id = :report"] if report_id else []
        values = {"held": contains(search[:LONGEST_SEARCH].lower()), "action": action, "report": report_id}
        where = " AND ".join(["id < :before", *conditions])
        tables = [table for table, actions in _TABLES.items() if not action or action in actions]
        logs = (self._read_entries(table, where, values, most) for table in tables)
        return islice(heapq.merge(*logs, key=lambda entry: entry.at, reverse=True), max(0, most))

    def _read_entries(self, table: str, where: str, values: dict[str, str], left: int) -> Iterator[Entry]:
        """Yield entries in several short transactions, each below the last one, so that none holds the catalog for
        long.
        """
        query = f"SELECT id, {_ENTRY} FROM {table} WHERE {where} ORDER BY id DESC LIMIT :most"
        before = _ABOVE_ALL
        while left > 0:
            most = min(left, AT_ONCE)
            with self._connect() as db:
                rows = db.execute(query, values | {"before": before, "most": most}).fetchall()
            yield from (Entry(*(row[name] for name in COLUMNS)) for row in rows)
            if len(rows) < most:
                return
            before, left = rows[-1]["id"], left - most


def _find_table(action: Action) -> str:
    return next(table for table, actions in _TABLES.items() if action in actions)
