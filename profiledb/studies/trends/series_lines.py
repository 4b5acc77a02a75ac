"""The line of each series in lists, stored beside the summaries: a list reads one line per series, not its reports.

A line is made anew for a series that a report joined, left or changed, from the last figures of its measures.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from profiledb.errors import CatalogError
from profiledb.library.catalog import Catalog
from profiledb.library.database import cut_values, make_marks
from profiledb.library.series_decisions import Note
from profiledb.rules.series import Rules
from profiledb.studies.trends import change_points, series, series_changes
from profiledb.studies.trends.measures import MEASURES, Measure
from profiledb.studies.trends.series_changes import NEAR, Happening, Notes
from profiledb.studies.trends.summary_store import Summaries

MAIN = next(iter(MEASURES))
"""The main measure of a series: step time, or wall time without steps."""
LISTED = (MAIN, "kernel_ns", "memory_bytes", "launches")
"""Measures whose changes lists of series show, the first that became worse; idle time scatters too much."""
RECENT = 60
"""Last figures that a line has."""
_AT_ONCE = 20
"""Lines made until they are kept, so that a reader that is ended keeps most of its work."""
_JOINED = (
    "series_member AS member JOIN measure ON measure.report_id = member.report_id AND measure.measure = ?"
    " AND measure.name = '' WHERE member.series = ?"
)


@dataclass(frozen=True)
class LineChange(Happening):
    """The newest change of a line: the first report after it, and the fields of ``Shift``."""

    report_id: str
    at: datetime
    commit: str | None
    share: float | None
    around: tuple[str, ...]
    worse: bool
    note: Note | None = None


@dataclass(frozen=True)
class Line:
    """A measure over a series, as lists show it.

    Args:
        series: name of the series.
        measure: the measure.
        reports: number of reports that have it.
        first: time of the first of them.
        last: time of the last.
        recent: its last ``RECENT`` figures.
        drifts: True if it rises or falls steadily.
        change: the newest change.
    """

    series: str
    measure: Measure
    reports: int
    first: datetime
    last: datetime
    recent: tuple[float, ...]
    drifts: bool
    change: LineChange | None

    @property
    def key(self) -> str:
        """Key of the series in addresses."""
        return series.hash_name(self.series)


Version = tuple[str, int, frozenset[str]]
"""What lines are of: a series at one turn, without some reports."""


@dataclass(frozen=True)
class Reader:
    """Reads the lines of a library for one visitor."""

    store: Summaries
    catalog: Catalog
    rules: Rules

    def read(
        self, unlisted: Mapping[str, str], before: Mapping[Version, tuple[Line, ...]]
    ) -> dict[Version, tuple[Line, ...]]:
        """Return the lines of each series in which the visitor sees a report, without notes.

        Args:
            unlisted: reports that the visitor does not see, with their series.
            before: lines of an earlier call; those of the same version are taken as they are.
        """
        hidden: dict[str, set[str]] = {}
        for report_id, name in unlisted.items():
            hidden.setdefault(name, set()).add(report_id)
        rows = self.store.read_rows("SELECT series, turn, reports FROM series_line ORDER BY series")
        versions = [
            (row["series"], row["turn"], frozenset(hidden.get(row["series"], ())))
            for row in rows
            if row["reports"] > len(hidden.get(row["series"], ()))
        ]
        lines = {version: before[version] for version in versions if version in before}
        lines |= self._read_stored([version for version in versions if version not in lines and not version[2]])
        fresh: dict[Version, tuple[Line, ...]] = {}
        for version in versions:
            if version not in lines:
                fresh[version] = tuple(self._make_lines(version[0], version[2]))
            if len(fresh) == _AT_ONCE or version == versions[-1]:
                self._keep(fresh)
                lines |= fresh
                fresh = {}
        return {version: lines[version] for version in versions}

    def _read_stored(self, versions: Sequence[Version]) -> dict[Version, tuple[Line, ...]]:
        wanted = {(name, turn): (name, turn, none) for name, turn, none in versions}
        stored: dict[Version, tuple[Line, ...]] = {}
        for part in cut_values(name for name, _, _ in versions):
            query = f"SELECT series, turn, lines FROM series_line WHERE series IN ({make_marks(part)})"
            for row in self.store.read_rows(query, part):
                version = wanted.get((row["series"], row["turn"]))
                if version and (lines := _parse_lines(row["series"], row["lines"])) is not None:
                    stored[version] = lines
        return stored

    def _keep(self, fresh: Mapping[Version, tuple[Line, ...]]) -> None:
        """Keep lines of which nothing is left out; they may be lost."""
        rows = [(_format_lines(lines), name, turn) for (name, turn, hidden), lines in fresh.items() if not hidden]
        if not rows:
            return
        with suppress(CatalogError), self.store.open_for_cache() as db:
            db.executemany("UPDATE series_line SET lines = ? WHERE series = ? AND turn = ?", rows)

    def _make_lines(self, name: str, hidden: Collection[str]) -> Iterator[Line]:
        """Yield a line for each of ``LISTED`` that a report has."""
        figures = [(measure, *self._read_figures(name, measure, hidden)) for measure in LISTED]
        figures = [one for one in figures if one[2]]
        changes = series_changes.detect_changes(self.store, [[row["value"] for row in rows] for _, _, rows in figures])
        for (measure, (count, first), rows), known in zip(figures, changes, strict=True):
            yield Line(
                name, MEASURES[measure], count, datetime.fromisoformat(first), datetime.fromisoformat(rows[-1]["at"]),
                tuple(row["value"] for row in rows[-RECENT:]), known.drifts,
                self._make_change(MEASURES[measure], known.changes[-1], rows) if known.changes else None,
            )  # fmt: skip

    def _read_figures(self, name: str, measure: str, hidden: Collection[str]) -> tuple[tuple[int, str], list[Any]]:
        """Return how many reports have a measure, the time of the first, and the last figures in order of time."""
        order = "at DESC, captured_at DESC, member.report_id DESC"
        query = f"SELECT member.report_id, at, value FROM {_JOINED} ORDER BY {order}"
        if hidden:
            rows = [one for one in self.store.read_rows(query, [measure, name]) if one["report_id"] not in hidden]
            return (len(rows), rows[-1]["at"] if rows else ""), rows[: change_points.MOST][::-1]
        rows = self.store.read_rows(f"{query} LIMIT {change_points.MOST}", [measure, name])
        counted = self.store.read_rows(f"SELECT count(*) AS n, min(at) AS at FROM {_JOINED}", [measure, name])
        return (counted[0]["n"], counted[0]["at"]) if counted else (0, ""), rows[::-1]

    def _make_change(self, measure: Measure, change: change_points.Change, rows: Sequence[Any]) -> LineChange:
        low = max(0, change.index - NEAR - 1)
        ids = [row["report_id"] for row in rows[low : change.index + NEAR + 1]]
        facts, labels = self.store.facts(ids), self.catalog.listing.labels_of(ids)
        points = [series.make_lone_point(facts[one], self.rules, labels.get(one, ())) for one in ids]
        shift = series_changes.make_shift(replace(change, index=change.index - low), points, measure, {})
        return LineChange(
            shift.point.id, shift.point.at, shift.point.commit, change.share, shift.around, worse=shift.worse
        )


def annotate(line: Line, notes: Notes) -> Line:
    """Return a line with people's words about its change."""
    if line.change is None:
        return line
    return replace(line, change=replace(line.change, note=notes.get((line.change.report_id, line.measure.name))))


def _format_lines(lines: Sequence[Line]) -> str:
    """Return lines of one series as JSON, without notes."""
    entries = []
    for line in lines:
        entry = vars(line) | {
            "measure": line.measure.name,
            "first": line.first.isoformat(),
            "last": line.last.isoformat(),
        }
        if line.change:
            entry["change"] = vars(line.change) | {"at": line.change.at.isoformat(), "note": None}
        entries.append(entry)
    return json.dumps(entries)


def _parse_lines(name: str, text: str | None) -> tuple[Line, ...] | None:
    """Return the lines of a series; None if they have to be made."""
    try:
        return tuple(_parse_line(name, one) for one in json.loads(text or "null"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _parse_line(name: str, entry: Mapping[str, Any]) -> Line:
    change = entry["change"]
    if change is not None:
        around = tuple(map(str, change["around"]))
        change = LineChange(**{**change, "at": datetime.fromisoformat(change["at"]), "around": around})
    return Line(
        name, MEASURES[entry["measure"]], int(entry["reports"]), datetime.fromisoformat(entry["first"]),
        datetime.fromisoformat(entry["last"]), tuple(map(float, entry["recent"])), bool(entry["drifts"]), change,
    )  # fmt: skip
