"""Which reports of one program are linked to each other; kept in the catalog, like labels."""

from typing import Literal

from profiledb.library.access_check import Visibility
from profiledb.library.audit import Audit
from profiledb.library.database import Connect, Connection

Partner = Literal["ncu", "trace"]
LINKS: dict[Partner, tuple[str, str]] = {"ncu": ("link", "ncu_id"), "trace": ("trace_link", "trace_id")}
"""What a Systems report is linked to: a Compute report, a trace with operators. Table and column in the catalog."""


class ReportLinks:
    """The links of all reports. Every call opens its own connection and raises what ``Catalog`` does."""

    def __init__(self, connect: Connect, audit: Audit, visibility: Visibility) -> None:
        self._connect = connect
        self._audit = audit
        self._visibility = visibility

    def all(self, to: Partner = "ncu") -> dict[str, str]:
        """The partner of each Systems report that is linked to one; only pairs of which both are listed."""
        table, column = LINKS[to]
        listed = f"nsys_id IN (SELECT id FROM report) AND {column} IN (SELECT id FROM report)"
        with self._connect() as db:
            pairs = dict(map(tuple, db.execute(f"SELECT nsys_id, {column} FROM {table} WHERE {listed}")))
        return {
            nsys_id: other
            for nsys_id, other in self._visibility.filter_by_id(pairs).items()
            if self._visibility.sees_report(other)
        }

    def put(self, nsys_id: str, partner: str, to: Partner = "ncu") -> None:
        """Links a Systems report to another one, in place of the one of that kind that it was linked to."""
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
        """Takes the link of a Systems report away, where it has one."""
        self._visibility.require_reports(nsys_id)
        with self._connect() as db:
            db.execute(f"DELETE FROM {LINKS[to][0]} WHERE nsys_id = ?", [nsys_id])
            self._audit.note(db, "unlinked", nsys_id, f"from its {'Compute report' if to == 'ncu' else 'trace'}")


def forget(db: Connection, report_id: str) -> None:
    """Takes all links of a report away that is deleted."""
    for table, column in LINKS.values():
        db.execute(f"DELETE FROM {table} WHERE ? IN (nsys_id, {column})", [report_id])


def hand_over(db: Connection, before: str, after: str) -> None:
    """Gives the links between Systems and Compute reports to the one that takes a report's place.

    Not those to traces: which kernels are which is kept by their rows, and the new report has others.
    """
    table, column = LINKS["ncu"]
    db.execute(
        f"INSERT INTO {table} (nsys_id, {column}) SELECT ?, {column} FROM {table} WHERE nsys_id = ?"
        " ON CONFLICT DO NOTHING",
        [after, before],
    )
    db.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", [after, before])
