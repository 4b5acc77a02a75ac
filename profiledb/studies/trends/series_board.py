"""The board of all series for the page, the command line and the gate: it combines summaries, rules and decisions."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.library.series_decisions import Note
from profiledb.rules import series as rules
from profiledb.studies.trends import explain, series, series_changes, series_state, summary_refresh
from profiledb.studies.trends.explain import Explanation
from profiledb.studies.trends.measures import MEASURES
from profiledb.studies.trends.series import Point, Series
from profiledb.studies.trends.series_changes import Trend
from profiledb.studies.trends.series_state import Changes, Grouping
from profiledb.studies.trends.summary_store import Facts, Row
from profiledb.studies.trends.team_summary_store import summaries_of

MAIN = next(iter(MEASURES))
"""The main measure of a series: step time, or wall time without steps."""
LISTED = (MAIN, "kernel_ns", "memory_bytes", "launches")
"""Measures whose changes lists of series show, the first that became worse; idle time scatters too much."""


_RECENT = 100


class Board:
    """The series of a library as they are now.

    Args:
        library: the library, as one visitor sees it.
        before: the board before, of the same library and kind of visitor, whose list was read: only what changed
            since then is read.
    """

    def __init__(self, library: Library, before: "Board | None" = None) -> None:
        self.library = library
        self.kept = summaries_of(library)
        self._before: tuple[Grouping | None, Changes | None] = (None, None)
        if before:
            self._before = (before._grouping, before._changes)  # noqa: SLF001 (another one of this class)

    @cached_property
    def _grouping(self) -> Grouping:
        return series_state.group(self.library, self.kept, rules.current(), self._before[0])

    @cached_property
    def _changes(self) -> Changes:
        changes = series_state.look_for_changes(self.kept, self._grouping, self.notes, LISTED, self._before[1])
        self._before = (None, None)
        return changes

    @property
    def facts(self) -> Mapping[str, Facts]:
        """Facts about the listed reports that have a summary, by id."""
        return self._grouping.facts

    @property
    def series(self) -> Mapping[str, Series]:
        """All series by name."""
        return self._grouping.series

    @cached_property
    def notes(self) -> dict[tuple[str, str], Note]:
        """Notes of people about changes."""
        return self.library.catalog.decisions.notes()

    @cached_property
    def listed(self) -> list[Trend]:
        """For each series its most telling measure of ``LISTED``, those that became worse first.

        That is the first whose newest change is an open regression, else the first that changed, else ``MAIN``.
        """
        of_series: dict[str, list[Trend]] = {}
        for measure in LISTED:
            for name in self.series:
                if trend := self._changes.trends.get((name, measure)):
                    of_series.setdefault(name, []).append(trend)
        return sorted((min(trends, key=_rank_trend) for trends in of_series.values()), key=_make_urgency_key)

    def one(self, series: Series, measure: str = MAIN) -> Trend | None:
        """Return a measure over one series; None if no report has it."""
        rows = {
            report_id: row
            for report_id, every in self.kept.of([point.id for point in series.points], measure).items()
            for row in every
            if not row.name
        }
        return next(iter(series_changes.find_trends(self.kept, [series], measure, rows, self.notes)), None)

    def measures(self, of: Series) -> list[str]:
        """Return the measures of the last reports of a series, in the order of ``MEASURES``."""
        rows = self.kept.of([point.id for point in of.points[-_RECENT:]])
        having = {row.measure for every in rows.values() for row in every if not row.name}
        return [name for name in MEASURES if name in having]

    def points(self, reports: Sequence[Manifest]) -> list[Point]:
        """Return reports as points in order of time, whatever their series; missing summaries are made."""
        summary_refresh.refresh_reports(self.library, reports)
        facts, labels = self.kept.facts(), self.library.catalog.labels()
        made = [
            series.make_lone_point(facts[one.id], rules.current(), labels.get(one.id, ()))
            for one in reports
            if one.id in facts
        ]
        return sorted(made, key=series.sort_key)

    def explained(self, before: Point, after: Point) -> Explanation | None:
        """Split the change from one report to another into its parts."""
        rows: dict[str, list[Row]] = self.kept.of([before.id, after.id])
        return explain.explain_change(rows[before.id], rows[after.id], (before.facts.gpus, after.facts.gpus))


def _rank_trend(trend: Trend) -> int:
    """Return 0 if the newest change is an open regression, 1 if anything changed."""
    return 0 if trend.regressed else 1 if trend.shifts else 2


def _make_urgency_key(trend: Trend) -> tuple[int, int, float, str]:
    """Sort key: open regressions first, of the step time before others, the largest first."""
    size = abs(trend.shifts[-1].change.share or 0.0) if trend.shifts else 0.0
    return _rank_trend(trend), LISTED.index(trend.measure.name), -size, trend.series.name
