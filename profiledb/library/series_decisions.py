"""Decisions of people about series, kept in the catalog: the series of a report, and notes about a change."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, get_args

from profiledb.errors import AnalysisError
from profiledb.library.access_check import Visibility
from profiledb.library.audit import Audit
from profiledb.library.database import Connect
from profiledb.words import visible

State = Literal["open", "accepted", "dismissed"]
LONGEST = 500
"""Length limit of a note, in characters."""
LONGEST_SERIES = 400
"""Length limit of the name of a series, in characters."""
LEFT_OUT = ""
"""Choice for a report that belongs to no series."""


@dataclass(frozen=True)
class Note:
    """A note about a change; ``changed_at`` is ISO 8601 in UTC."""

    state: State
    note: str
    changed_at: str = ""


class SeriesDecisions:
    """Choices and notes of all reports. Every call opens its own connection and raises as ``Catalog`` does."""

    def __init__(self, connect: Connect, audit: Audit, visibility: Visibility) -> None:
        self._connect = connect
        self._audit = audit
        self._visibility = visibility

    def choices(self) -> dict[str, str]:
        """Return the chosen series by report id; ``LEFT_OUT`` for none."""
        with self._connect() as db:
            chosen = {row["report_id"]: row["series"] for row in db.execute("SELECT * FROM series_choice")}
        return self._visibility.filter_by_id(chosen)

    def choose(self, report_id: str, series: str | None) -> None:
        """Move a report to a series, or out of all (``LEFT_OUT``); None returns it to the series of the rules."""
        self._visibility.require_reports(report_id)
        with self._connect() as db:
            db.execute("DELETE FROM series_choice WHERE report_id = ?", [report_id])
            if series is None:
                self._audit.note(db, "moved", report_id, "series by the rules")
            else:
                name = " ".join(visible(series).split())[:LONGEST_SERIES]
                self._audit.note(db, "moved", report_id, f"to the series {name}" if name else "out of all series")
                db.execute("INSERT INTO series_choice (report_id, series) VALUES (?, ?)", [report_id, name])

    def notes(self) -> dict[tuple[str, str], Note]:
        """Return the notes by the first report after the change, and the measure."""
        with self._connect() as db:
            rows = db.execute("SELECT * FROM change_note").fetchall()
        states = get_args(State)
        return {
            (row["report_id"], row["measure"]): Note(row["state"], row["note"], row["changed_at"])
            for row in self._visibility.filter_items(rows, lambda row: row["report_id"])
            if row["state"] in states
        }

    def write_note(self, report_id: str, measure: str, note: Note) -> None:
        """Write a note about a change in place of an earlier one; an open change without text has no note.

        Raises:
            AnalysisError: the state is unknown.
        """
        if note.state not in get_args(State):
            raise AnalysisError(f"A change cannot be {note.state!r}.", hint=f"It is {', '.join(get_args(State))}.")
        self._visibility.require_reports(report_id)
        text = " ".join(visible(note.note[: 4 * LONGEST]).split())[:LONGEST]
        with self._connect() as db:
            db.execute("DELETE FROM change_note WHERE report_id = ? AND measure = ?", [report_id, measure])
            self._audit.note(db, "decided", report_id, f"{measure} {note.state}: {text}")
            if note.state != "open" or text:
                moment = datetime.now(UTC).isoformat(timespec="seconds")
                names = "report_id, measure, state, note, changed_at"
                values = [report_id, measure, note.state, text, moment]
                db.execute(f"INSERT INTO change_note ({names}) VALUES (?, ?, ?, ?, ?)", values)
