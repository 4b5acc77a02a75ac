"""The audit: who did what, and when. Part of the catalog.

A change is written in the transaction of the change itself. Access (logins, downloads, questions ...) changes nothing
and is more frequent, so it has a table of its own. Entries are kept for WARPDECK_AUDIT_DAYS and read month by month;
the tables stay whole, because in a team the user of servers and workers may not create partitions.
"""

import heapq
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Literal, get_args

from profiledb import config
from profiledb.errors import CatalogError, NotAllowedError
from profiledb.library.database import Connect, Connection, build_contains_pattern
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
MOST = 50_000_000
"""Entries kept in each table at most; the oldest are removed first."""
LEAST = 1_000
"""Newest entries that stay however old they are, so that a clock that jumps ahead removes nothing."""
LONGEST = 500
"""Length limit of an entry's details, in characters."""
LONGEST_SEARCH = 200
AT_ONCE = 5_000
"""Entries read in one transaction."""
COLUMNS = ("at", "who", "way", "action", "report_id", "report_name", "about")
_ENTRY = ", ".join(COLUMNS)
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
        _remove_old(db, table)

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

    def months(self) -> list[str]:
        """Return the months from the last entry to the first, as ``2026-11``."""
        self._require_admin()
        return sorted({month for table in LOGS for month in self._read_months(table)}, reverse=True)

    def iterate(
        self, search: str = "", action: str = "", report_id: str = "", most: int = MOST, month: str = ""
    ) -> Iterator[Entry]:
        """Yield entries, newest first, that contain a text in any column and case, or have an action or a report, or
        are of a month (``2026-11``).

        Raises:
            NotAllowedError: the visitor does not see all reports, which the audit tells about.
        """
        self._require_admin()
        held = " OR ".join(f"lower({column}) LIKE :held ESCAPE '!'" for column in COLUMNS)
        conditions = [f"({held})"] if search else []
        conditions += ["action = :action"] if action else []
        conditions += ["report_id = :report"] if report_id else []
        values = {
            "held": build_contains_pattern(search[:LONGEST_SEARCH].lower()),
            "action": action,
            "report": report_id,
        }
        below = "at >= :begin AND at <= :at AND (at < :at OR id < :before)"
        where = " AND ".join([below, *conditions])
        tables = [table for table, actions in _TABLES.items() if not action or action in actions]
        logs = (self._read_entries(table, where, values, most, month) for table in tables)
        return islice(heapq.merge(*logs, key=lambda entry: entry.at, reverse=True), max(0, most))

    def _require_admin(self) -> None:
        if self._visitor.groups is not None or self._visitor.only:
            raise NotAllowedError("Only an admin may see the audit.", hint="Ask for the admin role.")

    def _read_months(self, table: str) -> list[str]:
        """Return the months from the last entry of a table to the first."""
        with self._connect() as db:
            ((first, last),) = db.execute(f"SELECT min(at), max(at) FROM {table}").fetchall()
        months = [last[:7]] if last else []
        while months and months[-1] > first[:7]:
            months.append(_add_months(months[-1], -1))
        return months

    def _read_entries(
        self, table: str, where: str, values: Mapping[str, Any], left: int, month: str
    ) -> Iterator[Entry]:
        """Yield entries in several short transactions, each of one month and below the last one, so that none holds
        the catalog for long.
        """
        query = f"SELECT id, {_ENTRY} FROM {table} WHERE {where} ORDER BY at DESC, id DESC LIMIT :most"
        for one in [month] if month else self._read_months(table):
            at: dict[str, str | int] = {"at": _add_months(one, 1), "before": 0}
            while left > 0:
                most = min(left, AT_ONCE)
                with self._connect() as db:
                    rows = db.execute(query, {**values, **at, "begin": one, "most": most}).fetchall()
                yield from (Entry(*(row[name] for name in COLUMNS)) for row in rows)
                left -= len(rows)
                if len(rows) < most:
                    break
                at = {"at": rows[-1]["at"], "before": rows[-1]["id"]}


def _add_months(month: str, count: int) -> str:
    """Return the month so many months later, as ``2026-11``."""
    year, number = divmod(12 * int(month[:4]) + int(month[5:]) - 1 + count, 12)
    return f"{year:04}-{number + 1:02}"


def _remove_old(db: Connection, table: str) -> None:
    """Remove the entries that are older than the setting says, but none of the last ``LEAST``."""
    days = config.load().audit_days
    if not days:
        return
    newest = f"SELECT at FROM {table} ORDER BY id DESC LIMIT {LEAST}"
    ((at,),) = db.execute(f"SELECT min(at) FROM ({newest}) AS newest").fetchall()
    end = min(at, (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds"))
    db.execute(f"DELETE FROM {table} WHERE at < ?", [end])


def _find_table(action: Action) -> str:
    return next(table for table, actions in _TABLES.items() if action in actions)
