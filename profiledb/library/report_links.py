"""Links between reports of one program, kept in the catalog."""

from typing import Literal

from profiledb.library.access_check import Visibility
from profiledb.library.audit import Audit
from profiledb.library.database import Connect, Connection

Partner = Literal["ncu", "trace"]
LINKS: dict[Partner, tuple[str, str]] = {"ncu": ("link", "ncu_id"), "trace": ("trace_link", "trace_id")}
"""Table and column of each kind of link: a Systems report to a Compute report, or to a trace with operators."""


class ReportLinks:
    """The links of all reports. Every call opens its own connection and raises as ``Catalog`` does."""

    def __init__(self, connect: Connect, audit: Audit, visibility: Visibility) -> None:
        self._connect = connect
        self._audit = audit
        self._visibility = visibility

    def all(self, to: Partner = "ncu") -> dict[str, str]:
        """Return the partner of each linked Systems report, if both are listed and visible."""
        table, column = LINKS[to]
        listed = f"nsys_id IN (SELECT id FROM report) AND {column} IN (SELECT id FROM report)"
        with self._connect() as db:
            pairs = dict(map(tuple, db.execute(f"SELECT nsys_id, {column} FROM {table} WHERE {listed}")))
        seen = set(self._visibility.filter_ids([*pairs, *pairs.values()]))
        return {nsys_id: other for nsys_id, other in pairs.items() if {nsys_id, other} <= seen}

    def put(self, nsys_id: str, partner: str, to: Partner = "ncu") -> None:
        """Link a Systems report to another one, in place of an earlier link of that kind."""
        self._visibility.require_reports(nsys_id, partner)
        table, column = LINKS[to]
        with self._connect() as db:
            db.execute(
                f"INSERT INTO {table} (nsys_id, {column}) VALUES (?, ?)"
                f" ON CONFLICT (nsys_id) DO UPDATE SET {column} = excluded.{column}",
                [nsys_id, partner],
            )
            self._audit.note(db, "linked", nsys_id, f"with {partner}")

    def remove(self, nsys_id: str, to: Partner = "ncu") -> None:
        """Remove the link of a Systems report, if it has one."""
        self._visibility.require_reports(nsys_id)
        with self._connect() as db:
            db.execute(f"DELETE FROM {LINKS[to][0]} WHERE nsys_id = ?", [nsys_id])
            self._audit.note(db, "unlinked", nsys_id, f"from its {'Compute report' if to == 'ncu' else 'trace'}")


def forget(db: Connection, report_id: str) -> None:
    """Remove all links of a deleted report."""
    for table, column in LINKS.values():
        db.execute(f"DELETE FROM {table} WHERE ? IN (nsys_id, {column})", [report_id])


def hand_over(db: Connection, before: str, after: str) -> None:
    """Copy the links between Systems and Compute reports to the report that takes another's place.

    Links to traces are not copied: they pair kernels by row, and the new report has other rows.
    """
    table, column = LINKS["ncu"]
    db.execute(
        f"INSERT INTO {table} (nsys_id, {column}) SELECT ?, {column} FROM {table} WHERE nsys_id = ?"
        " ON CONFLICT DO NOTHING",
        [after, before],
    )
    db.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", [after, before])
