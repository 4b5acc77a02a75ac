"""Which report is in which series, kept beside the summaries, so that a new report costs itself alone.

Each series has a turn, a number that rises when a report joins, leaves or changes; what is kept of a series holds for
one turn.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from profiledb.errors import CatalogError
from profiledb.library.catalog import Catalog, upsert_sql
from profiledb.library.database import cut_values, make_marks
from profiledb.library.library import Library
from profiledb.library.series_decisions import LEFT_OUT
from profiledb.library.visitor import WORKER
from profiledb.rules.series import Rules
from profiledb.studies.trends import series
from profiledb.studies.trends.summary_store import VERSION, Summaries

_READ_STATE = "SELECT rules, number, turn FROM series_state"
_TRIES = 5
"""How often members are read anew because another process has written them meanwhile."""


@dataclass(frozen=True)
class _State:
    """The basis of the members: rules, place in the log of changed summaries, and the last turn."""

    rules: str = ""
    number: int = 0
    turn: int = 0


@dataclass(frozen=True)
class _Due:
    """Reports to place anew; None for all. ``hints`` has the facts beside its summary that place each report."""

    reports: frozenset[str] | None
    number: int
    hints: Mapping[str, str]


def refresh(library: Library, store: Summaries, rules: Rules) -> None:
    """Place new and changed reports in their series for all visitors; their visibility is applied later."""
    if not store.exists:
        return
    catalog = library.asked_by(WORKER).catalog
    for _ in range(_TRIES):
        state = _parse_state(store.read_rows(_READ_STATE))
        due = _find_due(store, catalog, rules, state)
        if due.reports is not None and not due.reports:
            return
        try:
            if _place(store, catalog, rules, state, due):
                return
        except CatalogError:
            if not state.turn:
                raise
            return  # a full disk: series are as they were


def _parse_state(rows: Sequence[Any]) -> _State:
    return _State(rows[0]["rules"], rows[0]["number"], rows[0]["turn"]) if rows else _State()


def _find_due(store: Summaries, catalog: Catalog, rules: Rules, state: _State) -> _Due:
    """Return the changes since the members were written."""
    labels, choices = catalog.listing.labels_with_values(), catalog.decisions.choices()
    hints = {key: _hash([labels.get(key, []), choices.get(key)]) for key in {*labels, *choices}}
    rows = store.read_rows("SELECT max(number) AS last, min(number) AS first FROM summary_change")
    last, first = (rows[0]["last"] or 0, rows[0]["first"] or 1) if rows else (0, 1)
    if state.rules != _key(rules) or not first - 1 <= state.number <= last:
        return _Due(None, last, hints)
    query = "SELECT DISTINCT report_id FROM summary_change WHERE number > ? AND number <= ?"
    changed = {row["report_id"] for row in store.read_rows(query, [state.number, last])}
    rows = store.read_rows("SELECT report_id, hint FROM series_member WHERE hint <> ''")
    before = {row["report_id"]: row["hint"] for row in rows}
    differing = {key for key in {*hints, *before} if hints.get(key) != before.get(key)}
    known = store.facts(sorted(differing - before.keys())).keys() | before.keys()  # most labels are of other reports
    return _Due(frozenset(changed | (differing & known)), last, hints)


def _place(store: Summaries, catalog: Catalog, rules: Rules, state: _State, due: _Due) -> bool:
    """Write the series of the due reports; return False if another process has written since ``state`` was read."""
    facts = store.facts(None if due.reports is None else sorted(due.reports))
    labels, choices = catalog.listing.labels_of(facts), catalog.decisions.choices()
    built = series.build_series(facts, rules, labels, choices)
    rows = {
        point.id: {"report_id": point.id, "series": name, "hint": due.hints.get(point.id, ""),
                   "at": point.at.isoformat(), "captured_at": point.facts.captured_at}
        for name, one in built.items() for point in one.points
    }  # fmt: skip
    for report_id in facts.keys() - rows.keys():
        nowhere = {"series": LEFT_OUT, "at": "", "captured_at": facts[report_id].captured_at}
        rows[report_id] = {"report_id": report_id, "hint": due.hints.get(report_id, ""), **nowhere}
    turn = state.turn + 1
    now = {"id": 1, "rules": _key(rules), "number": due.number, "turn": turn}
    with store.open_for_writing() as db:
        db.execute("DELETE FROM series_state WHERE id <> 1")  # of none: writers wait for each other before they read
        if _parse_state(db.execute(_READ_STATE).fetchall()) != state:
            return False
        touched = {row["series"] for row in rows.values()}
        if due.reports is None:
            db.execute("DELETE FROM series_member")
            db.execute("DELETE FROM series_line")
        else:
            for part in cut_values(sorted(due.reports)):
                which = f"WHERE report_id IN ({make_marks(part)})"
                touched |= {row["series"] for row in db.execute(f"SELECT series FROM series_member {which}", part)}
                db.execute(f"DELETE FROM series_member {which}", part)
        names = ("report_id", "series", "hint", "at", "captured_at")
        marks = ", ".join(f":{name}" for name in names)
        db.executemany(f"INSERT INTO series_member ({', '.join(names)}) VALUES ({marks})", rows.values())
        for name in sorted(touched - {LEFT_OUT}):
            ((count,),) = db.execute("SELECT count(*) FROM series_member WHERE series = ?", [name]).fetchall()
            db.execute("DELETE FROM series_line WHERE series = ?", [name])
            if count:
                db.execute("INSERT INTO series_line (series, turn, reports) VALUES (?, ?, ?)", [name, turn, count])
        db.execute(upsert_sql("series_state", list(now), "id"), now)
    return True


def _key(rules: Rules) -> str:
    """Return a key of the rules that place all reports."""
    return _hash([VERSION, asdict(rules)])


def _hash(content: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()[:16]
