"""What the page, the command line and the gate ask of all series: one place that reads summaries, rules and choices."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.library.series_decisions import Note
from profiledb.rules import series as rules
from profiledb.studies.trends import explain, series, series_changes, summary_refresh
from profiledb.studies.trends.explain import Explained
from profiledb.studies.trends.measures import MEASURES
from profiledb.studies.trends.series import Point, Series
from profiledb.studies.trends.series_changes import Trend
from profiledb.studies.trends.summary_store import Row, Summaries
from profiledb.studies.trends.team_summary_store import summaries_of

MAIN = next(iter(MEASURES))
"""The measure that a series is about: step time, or wall time of what has no steps."""
LISTED = (MAIN, "kernel_ns", "memory_bytes", "launches")
"""The measures whose changes lists of series tell, the first that became worse: idle time scatters too much for it."""


_RECENT = 100


@dataclass(frozen=True)
class Board:
    """The series of a library as they are now."""

    library: Library
    kept: Summaries = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kept", summaries_of(self.library))

    @cached_property
    def series(self) -> dict[str, Series]:
        """All series by name."""
        return series.of_library(self.library, self.kept.facts(), rules.current())

    @cached_property
    def notes(self) -> dict[tuple[str, str], Note]:
        """What people said of changes."""
        return self.library.catalog.decisions.notes()

    @cached_property
    def listed(self) -> list[Trend]:
        """For each series the measure of ``LISTED`` that tells most of it; those that became worse first.

        That is the first whose newest change is an open regression, else the first that changed, else ``MAIN``.
        """
        of_series: dict[str, list[Trend]] = {}
        for measure in LISTED:
            for trend in series_changes.trends(
                self.kept, self.series.values(), measure, self.kept.values(measure), self.notes
            ):
                of_series.setdefault(trend.series.name, []).append(trend)
        return sorted((min(told, key=_telling) for told in of_series.values()), key=_urgency)

    def one(self, of: Series, measure: str = MAIN) -> Trend | None:
        """A measure over one series; None where no report of it has it."""
        rows = {
            report_id: row
            for report_id, every in self.kept.of([point.id for point in of.points], measure).items()
            for row in every
            if not row.name
        }
        return next(iter(series_changes.trends(self.kept, [of], measure, rows, self.notes)), None)

    def measures(self, of: Series) -> list[str]:
        """The measures that the last reports of a series have, in the order of ``MEASURES``."""
        rows = self.kept.of([point.id for point in of.points[-_RECENT:]])
        having = {row.measure for every in rows.values() for row in every if not row.name}
        return [name for name in MEASURES if name in having]

    def points(self, reports: Sequence[Manifest]) -> list[Point]:
        """Reports as points in the order of time, whatever series they are in; their summaries are made."""
        summary_refresh.ensure(self.library, reports)
        facts, labels = self.kept.facts(), self.library.catalog.labels()
        found = [
            series.of_facts(facts[one.id], rules.current(), labels.get(one.id, ()))
            for one in reports
            if one.id in facts
        ]
        return sorted(found, key=series.order)

    def explained(self, before: Point, after: Point) -> Explained | None:
        """What the change from one report to another is made up of."""
        rows: dict[str, list[Row]] = self.kept.of([before.id, after.id])
        return explain.explain(rows[before.id], rows[after.id], (before.facts.gpus, after.facts.gpus))


def _telling(trend: Trend) -> int:
    """0 where the newest change is an open regression, 1 where anything changed."""
    return 0 if trend.regressed else 1 if trend.shifts else 2


def _urgency(trend: Trend) -> tuple[int, int, float, str]:
    """Open regressions first, of the step time before others, the largest first."""
    size = abs(trend.shifts[-1].change.share or 0.0) if trend.shifts else 0.0
    return _telling(trend), LISTED.index(trend.measure.name), -size, trend.series.name
