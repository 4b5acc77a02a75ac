"""Marks with a note at moments of a report, kept in the catalog and visible to everybody who sees the report."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from profiledb.errors import AnalysisError
from profiledb.library.access_check import Visibility
from profiledb.library.audit import Audit
from profiledb.library.database import Connect
from profiledb.words import visible

MOST = 200
"""Marks per report."""
LONGEST = 200
"""Length limit of a note, in characters."""
FARTHEST_NS = 1 << 62


@dataclass(frozen=True)
class Mark:
    """A moment, ns from the start of the capture, and its note; an empty note removes the mark."""

    t_ns: int
    note: str


class Marks:
    """The marks of all reports. Every call opens its own connection and raises as ``Catalog`` does."""

    def __init__(self, connect: Connect, audit: Audit, visibility: Visibility) -> None:
        self._connect = connect
        self._audit = audit
        self._visibility = visibility

    def get(self, report_id: str) -> list[Mark]:
        """Return the marks of a report in order of time."""
        self._visibility.require_reports(report_id)
        with self._connect() as db:
            query = "SELECT t_ns, note FROM mark WHERE report_id = ? ORDER BY t_ns LIMIT ?"
            rows = db.execute(query, [report_id, MOST])
            return [Mark(row["t_ns"], row["note"]) for row in rows]

    def change(self, report_id: str, marks: Iterable[Mark]) -> None:
        """Write some marks of a report and leave its others, so that two people may write at once.

        Raises:
            AnalysisError: the report would have too many marks; then none is written.
        """
        self._visibility.require_reports(report_id)
        with self._connect() as db:
            for mark in marks:
                self._audit.note(db, "marked", report_id, f"{mark.t_ns} ns: {mark.note or 'mark removed'}")
                db.execute("DELETE FROM mark WHERE report_id = ? AND t_ns = ?", [report_id, mark.t_ns])
                if mark.note:
                    db.execute(
                        "INSERT INTO mark (report_id, t_ns, note) VALUES (?, ?, ?)", [report_id, mark.t_ns, mark.note]
                    )
            ((count,),) = db.execute("SELECT count(*) FROM mark WHERE report_id = ?", [report_id]).fetchall()
            if count > MOST:
                raise AnalysisError(f"A report has at most {MOST} marks.", hint="Remove some before you add more.")


def parse_marks(sent: Any) -> list[Mark]:
    """Parse the marks that a browser sent, ``[{"t": ns, "note": text}, ...]``; anything else is left out."""
    marks = []
    for one in sent[:MOST] if isinstance(sent, list) else []:
        t, note = (one.get("t"), one.get("note")) if isinstance(one, dict) else (None, None)
        if not isinstance(t, int | float) or isinstance(t, bool) or not isinstance(note, str):
            continue
        if -FARTHEST_NS < t < FARTHEST_NS:
            marks.append(Mark(round(t), " ".join(visible(note[:LONGEST]).split())[:LONGEST]))
    return marks
