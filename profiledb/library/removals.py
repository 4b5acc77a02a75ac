"""Reports that retention removed, with the figures that stay, and removals that it announces. Part of the catalog."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from profiledb.library.access_check import Visibility
from profiledb.library.database import Connect, Connection

MOST = 1_000_000
"""Announcements that are read at once."""
LONGEST_PAUSE = timedelta(days=1)
"""Time between two looks after which every announcement begins anew: the clock may have jumped."""


@dataclass(frozen=True)
class Removal:
    """An announced removal.

    Args:
        what: ``report`` or ``upload``.
        thing: id of the report, or path of the upload.
        name: for people; untrusted text.
        why: the rule, as part of a sentence.
        bytes: what it takes.
        announced_at: ISO 8601, UTC.
    """

    what: str
    thing: str
    name: str
    why: str
    bytes: int
    announced_at: str = ""


_COLUMNS = tuple(Removal.__dataclass_fields__)


class Removals:
    """Announcements and retired reports. Every call is a transaction and raises as ``Catalog`` does."""

    def __init__(self, connect: Connect, visibility: Visibility) -> None:
        self._connect = connect
        self._visibility = visibility

    def announce(self, coming: Iterable[Removal], now: datetime) -> list[Removal]:
        """Replace all announcements by these; return them, each with the time of its first announcement.

        After a pause, or where the clock went back, all are announced anew.
        """
        self._visibility.require_all()
        with self._connect() as db:
            db.execute(
                "DELETE FROM removal_look WHERE id <> 1"
            )  # of none: writers wait for each other before they read
            rows = db.execute("SELECT at FROM removal_look").fetchall()
            steady = bool(rows) and timedelta(0) <= now - datetime.fromisoformat(rows[0]["at"]) <= LONGEST_PAUSE
            rows = db.execute("SELECT what, thing, announced_at FROM removal").fetchall() if steady else []
            known = {(row["what"], row["thing"]): row["announced_at"] for row in rows}
            moment = now.isoformat(timespec="seconds")
            removals = [
                Removal(**vars(one) | {"announced_at": known.get((one.what, one.thing), moment)}) for one in coming
            ]
            db.execute("DELETE FROM removal")
            marks = ", ".join(f":{name}" for name in _COLUMNS)
            db.executemany(f"INSERT INTO removal ({', '.join(_COLUMNS)}) VALUES ({marks})", map(vars, removals))
            db.execute("DELETE FROM removal_look")
            db.execute("INSERT INTO removal_look (id, at) VALUES (1, ?)", [moment])
        return removals

    def announced(self, most: int = MOST) -> list[Removal]:
        """Return the announcements, the earliest first."""
        self._visibility.require_all()
        query = f"SELECT {', '.join(_COLUMNS)} FROM removal ORDER BY announced_at, what, thing LIMIT {most:d}"
        with self._connect() as db:
            return [Removal(*(row[name] for name in _COLUMNS)) for row in db.execute(query)]

    def count(self) -> tuple[int, int]:
        """Return the number of visible reports that are announced, and their bytes."""
        condition, values = self._visibility.condition("removal.thing")
        query = f"SELECT count(*), coalesce(sum(bytes), 0) FROM removal WHERE what = 'report' AND {condition}"
        with self._connect() as db:
            ((count, size),) = db.execute(query, values).fetchall()
        return int(count), int(size)

    def retired(self) -> Mapping[str, str]:
        """Return when each visible report was retired that was, ISO 8601 in UTC."""
        condition, values = self._visibility.condition("retired.report_id")
        with self._connect() as db:
            rows = db.execute(f"SELECT report_id, retired_at FROM retired WHERE {condition}", values)
            return {row["report_id"]: row["retired_at"] for row in rows}

    def summary(self, report_id: str) -> str | None:
        """Return the stored figures of a retired report; None if it is not retired."""
        self._visibility.require_reports(report_id)
        with self._connect() as db:
            rows = db.execute("SELECT summary FROM retired WHERE report_id = ?", [report_id]).fetchall()
        return rows[0]["summary"] if rows else None


def retire(db: Connection, report_id: str, moment: str, summary: str) -> None:
    """Store the figures of a report, in the transaction that removes it."""
    unretire(db, report_id)
    db.execute("INSERT INTO retired (report_id, retired_at, summary) VALUES (?, ?, ?)", [report_id, moment, summary])


def unretire(db: Connection, report_id: str) -> None:
    """Forget that a report was retired: it is back, or somebody deleted it."""
    db.execute("DELETE FROM retired WHERE report_id = ?", [report_id])
    db.execute("DELETE FROM removal WHERE what = 'report' AND thing = ?", [report_id])
