"""Who did what, and when, kept in the catalog.

A change is written in the transaction of the change itself. Access (logins, downloads, questions ...) changes nothing,
comes more often, and has a table of its own, so that it never pushes a change out.
"""

import heapq
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Literal, get_args

from profiledb.errors import CatalogError, NotAllowedError
from profiledb.library.database import Connect, Connection
from profiledb.library.visitor import Visitor
from profiledb.words import visible

Change = Literal[
    "uploaded", "took in", "labeled", "marked", "linked", "unlinked", "deleted", "moved", "decided", "named columns",
    "made token", "removed token", "made space", "changed space", "removed space", "shared", "ended link",
    "saved question", "removed question", "dismissed", "tried again", "ended logins",
]  # fmt: skip
Access = Literal[
    "logged in", "logged out", "refused login", "refused token", "opened link", "refused link", "downloaded",
    "asked SQL", "backed up",
]  # fmt: skip
Action = Change | Access
"""What is written down."""
ACTIONS: tuple[Action, ...] = (*get_args(Change), *get_args(Access))
_TABLES: dict[str, tuple[Action, ...]] = {"audit": get_args(Change), "access_log": get_args(Access)}
LOGS = tuple(_TABLES)
"""The tables; both have the columns of an entry, and a number in the order of writing."""
MOST = 100_000
"""Entries of each table that are kept; the oldest go first."""
LONGEST = 500
"""Characters of what an entry says of a change."""
LONGEST_SEARCH = 200
AT_ONCE = 5_000
"""Entries that are read with one look at the catalog."""
COLUMNS = ("at", "who", "way", "action", "report_id", "report_name", "about")
_ENTRY = ", ".join(COLUMNS)
_ABOVE_ALL = (1 << 63) - 1
_log = logging.getLogger("warpdeck")


@dataclass(frozen=True)
class Entry:
    """One thing that somebody did.

    Args:
        at: when, ISO 8601 in UTC.
        who: what the identity provider or the token says of whoever did it.
        way: how they came in (``visitor.Way``).
        action: what they did (``ACTIONS``).
        report_id: to which report; empty where to none.
        report_name: its name at that time: the entry outlives the report.
        about: what exactly.
    """

    at: str
    who: str
    way: str
    action: str
    report_id: str
    report_name: str
    about: str


class Audit:
    """The audit of a library, as one visitor writes it. Raises what ``Catalog`` does.

    Args:
        connect: opens a transaction that tells lists of reports of a change.
        visitor: who writes.
        connect_quietly: opens one that tells them nothing, for access.
    """

    def __init__(self, connect: Connect, visitor: Visitor, connect_quietly: Connect | None = None) -> None:
        self._connect = connect
        self._connect_quietly = connect_quietly or connect
        self._visitor = visitor

    @property
    def who(self) -> str:
        """Who writes, as the entries have it."""
        return self._visitor.name

    def note(self, db: Connection, action: Action, report_id: str = "", about: str = "") -> None:
        """Writes an entry in the transaction at hand, so that it is there exactly where the change is."""
        table = _table(action)
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
        """Writes an entry of what is no change of the catalog."""
        connect = self._connect if _table(action) == "audit" else self._connect_quietly
        with connect() as db:
            self.note(db, action, report_id, about)

    def tell(self, action: Action, report_id: str = "", about: str = "") -> None:
        """The same of what goes on without the catalog: where that is away, the log has the entry."""
        try:
            self.write(action, report_id, about)
        except CatalogError as error:
            _log.error("The audit lacks that %s %s %r: %s", self.who, action, about, error.message)

    def entries(self, search: str = "", action: str = "", report_id: str = "", most: int = 1_000) -> list[Entry]:
        """The newest entries; see ``each``."""
        return list(self.each(search, action, report_id, most))

    def each(self, search: str = "", action: str = "", report_id: str = "", most: int = MOST) -> Iterator[Entry]:
        """Entries that hold a text anywhere, in any case of letters; of an action, of a report; the newest first.

        Raises:
            NotAllowedError: for somebody who does not see all reports: it tells of all.
        """
        if self._visitor.groups is not None or self._visitor.only:
            raise NotAllowedError("Only an admin may see the audit.", hint="Ask for the admin role.")
        held = " OR ".join(f"lower({column}) LIKE :held ESCAPE '!'" for column in COLUMNS)
        conditions = [f"({held})"] if search else []
        conditions += ["action = :action"] if action else []
        conditions += ["report_id = :report"] if report_id else []
        values = {"held": _pattern(search), "action": action, "report": report_id}
        where = " AND ".join(["id < :before", *conditions])
        tables = [table for table, actions in _TABLES.items() if not action or action in actions]
        found = (self._read(table, where, values, most) for table in tables)
        return islice(heapq.merge(*found, key=lambda entry: entry.at, reverse=True), max(0, most))

    def _read(self, table: str, where: str, values: dict[str, str], left: int) -> Iterator[Entry]:
        """Many entries come with many looks, each below the last one: none holds the catalog for long."""
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


def _table(action: Action) -> str:
    return next(table for table, actions in _TABLES.items() if action in actions)


def _pattern(search: str) -> str:
    """A text as LIKE finds it anywhere."""
    text = search[:LONGEST_SEARCH].lower()
    for sign in "!%_":
        text = text.replace(sign, f"!{sign}")
    return f"%{text}%"
