"""Who changed what, and when: kept in the catalog, written in the transaction of the change itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, get_args

from profiledb.errors import NotAllowedError
from profiledb.report.database import Connect, Connection
from profiledb.report.visitor import Visitor
from profiledb.words import visible

Action = Literal[
    "uploaded", "took in", "labeled", "marked", "linked", "unlinked", "deleted", "moved", "decided", "named columns",
    "made token", "removed token", "made space", "changed space", "removed space", "shared", "ended link",
    "saved question", "removed question", "dismissed", "tried again",
]  # fmt: skip
"""What is written down."""
ACTIONS: tuple[Action, ...] = get_args(Action)
MOST = 100_000
"""Entries that are kept; the oldest go first."""
LONGEST = 500
"""Characters of what an entry says of a change."""
LONGEST_SEARCH = 200
AT_ONCE = 5_000
"""Entries that are read with one look at the catalog."""
COLUMNS = ("at", "who", "way", "action", "report_id", "report_name", "about")
_ENTRY = ", ".join(COLUMNS)
_ABOVE_ALL = (1 << 63) - 1


@dataclass(frozen=True)
class Entry:
    """One change.

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
    """The audit of a library, as one visitor writes it. Raises what ``Catalog`` does."""

    def __init__(self, connect: Connect, visitor: Visitor) -> None:
        self._connect = connect
        self._visitor = visitor

    @property
    def who(self) -> str:
        """Who writes, as the entries have it."""
        return self._visitor.name

    def note(self, db: Connection, action: Action, report_id: str = "", about: str = "") -> None:
        """Writes an entry in the transaction at hand, so that it is there exactly where the change is."""
        db.execute(
            f"INSERT INTO audit ({_ENTRY})"
            " VALUES (?, ?, ?, ?, ?, coalesce((SELECT name FROM report WHERE id = ?), ''), ?)",
            [
                datetime.now(UTC).isoformat(timespec="seconds"), self._visitor.name, self._visitor.way, action,
                report_id, report_id, visible(about[:LONGEST]),
            ],
        )  # fmt: skip
        db.execute("DELETE FROM audit WHERE id <= (SELECT max(id) FROM audit) - ?", [MOST])

    def write(self, action: Action, report_id: str = "", about: str = "") -> None:
        """Writes an entry of what is no change of the catalog."""
        with self._connect() as db:
            self.note(db, action, report_id, about)

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
        return self._read(" AND ".join(["id < :before", *conditions]), values, most)

    def _read(self, where: str, values: dict[str, str], left: int) -> Iterator[Entry]:
        """Many entries come with many looks, each below the last one: none holds the catalog for long."""
        query = f"SELECT id, {_ENTRY} FROM audit WHERE {where} ORDER BY id DESC LIMIT :most"
        before = _ABOVE_ALL
        while left > 0:
            most = min(left, AT_ONCE)
            with self._connect() as db:
                rows = db.execute(query, values | {"before": before, "most": most}).fetchall()
            yield from (Entry(*(row[name] for name in COLUMNS)) for row in rows)
            if len(rows) < most:
                return
            before, left = rows[-1]["id"], left - most


def _pattern(search: str) -> str:
    """A text as LIKE finds it anywhere."""
    text = search[:LONGEST_SEARCH].lower()
    for sign in "!%_":
        text = text.replace(sign, f"!{sign}")
    return f"%{text}%"
