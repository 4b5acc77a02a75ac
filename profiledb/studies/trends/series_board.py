"""The board of all series for the page, the command line and the gate: it combines summaries, rules and decisions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.library.series_decisions import LEFT_OUT, Note
from profiledb.rules import series as rules
from profiledb.studies.trends import explanation, series, series_changes, series_lines, series_members, summary_refresh
from profiledb.studies.trends.explanation import Explanation
from profiledb.studies.trends.measures import MEASURES
from profiledb.studies.trends.series import Point, Series
from profiledb.studies.trends.series_changes import Trend
from profiledb.studies.trends.series_lines import LISTED, MAIN, Line, Version
from profiledb.studies.trends.summary_store import Row
from profiledb.studies.trends.team_summary_store import open_summaries

_RECENT = 100


class Board:
    """The series of a library as they are now, as one visitor sees them.

    Args:
        library: the library.
        before: the board before, of the same library and kind of visitor, whose list was read: only lines that
            changed since then are read.
    """

    def __init__(self, library: Library, before: "Board | None" = None) -> None:
        self.library = library
        self.summaries = open_summaries(library)
        self.rules = rules.read_current()
        self._before = before._lines if before else {}  # noqa: SLF001 (another one of this class)
        series_members.refresh(library, self.summaries, self.rules)

    @cached_property
    def _unlisted(self) -> Mapping[str, str]:
        """Reports of series that the visitor does not see."""
        return self.summaries.unlisted(self.library.catalog)

    @cached_property
    def _lines(self) -> dict[Version, tuple[Line, ...]]:
        reader = series_lines.Reader(self.summaries, self.library.catalog, self.rules)
        lines = reader.read(self._unlisted, self._before)
        self._before = {}
        return lines

    @cached_property
    def waiting(self) -> int:
        """The number of reports with a timeline that have no summary yet."""
        return len(self.summaries.missing(self.library.catalog))

    @cached_property
    def names(self) -> list[str]:
        """The names of all series, sorted."""
        hidden = Counter(self._unlisted.values())
        rows = self.summaries.read_rows("SELECT series, reports FROM series_line ORDER BY series")
        return [row["series"] for row in rows if row["reports"] > hidden[row["series"]]]

    def find(self, asked: str) -> Series:
        """Return the series with this name or key, or the only one whose name contains this text.

        Raises:
            AnalysisError: there is none, or several.
        """
        return self._read_series(series.find_name(self.names, asked))

    def series_of(self, report_id: str) -> Series | None:
        """Return the series of a report."""
        rows = self.summaries.read_rows("SELECT series FROM series_member WHERE report_id = ?", [report_id])
        name = rows[0]["series"] if rows and report_id not in self._unlisted else LEFT_OUT
        return self._read_series(name) if name != LEFT_OUT else None

    def names_by_report(self) -> dict[str, str]:
        """Return the name of the series of each report that is in one."""
        rows = self.summaries.read_rows("SELECT report_id, series FROM series_member WHERE series <> ?", [LEFT_OUT])
        return {row["report_id"]: row["series"] for row in rows if row["report_id"] not in self._unlisted}

    def _read_series(self, name: str) -> Series:
        rows = self.summaries.read_rows("SELECT report_id FROM series_member WHERE series = ?", [name])
        facts = self.summaries.facts([row["report_id"] for row in rows if row["report_id"] not in self._unlisted])
        labels, choices = self.library.catalog.listing.labels_of(facts), self.library.catalog.decisions.choices()
        built = series.build_series(facts, self.rules, labels, choices)
        return built.get(name, Series(name, ()))

    @cached_property
    def notes(self) -> dict[tuple[str, str], Note]:
        """Notes of people about changes."""
        return self.library.catalog.decisions.notes()

    @cached_property
    def listed(self) -> list[Line]:
        """For each series its most telling measure of ``LISTED``, those that became worse first.

        That is the first whose newest change is an open regression, else the first that changed, else ``MAIN``.
        """
        annotated = (
            [series_lines.annotate(line, self.notes) for line in lines] for lines in self._lines.values() if lines
        )
        return sorted((min(lines, key=_rank_line) for lines in annotated), key=_make_urgency_key)

    def one(self, series: Series, measure: str = MAIN) -> Trend | None:
        """Return a measure over one series; None if no report has it."""
        figures = self.summaries.of([point.id for point in series.points], measure, whole=True)
        rows = {report_id: row for report_id, every in figures.items() for row in every}
        return next(iter(series_changes.find_trends(self.summaries, [series], measure, rows, self.notes)), None)

    def measures(self, of: Series) -> list[str]:
        """Return the measures of the last reports of a series, in the order of ``MEASURES``."""
        rows = self.summaries.of([point.id for point in of.points[-_RECENT:]], whole=True)
        having = {row.measure for every in rows.values() for row in every}
        return [name for name in MEASURES if name in having]

    def points(self, reports: Sequence[Manifest]) -> list[Point]:
        """Return reports as points in order of time, whatever their series; missing summaries are made."""
        summary_refresh.refresh_reports(self.library, reports)
        ids = [one.id for one in reports]
        facts, labels = self.summaries.facts(ids), self.library.catalog.listing.labels_of(ids)
        made = [
            series.make_lone_point(facts[one.id], self.rules, labels.get(one.id, ()))
            for one in reports
            if one.id in facts
        ]
        return sorted(made, key=series.sort_key)

    def explained(self, before: Point, after: Point) -> Explanation | None:
        """Split the change from one report to another into its parts."""
        rows: dict[str, list[Row]] = self.summaries.of([before.id, after.id])
        return explanation.explain_change(rows[before.id], rows[after.id], (before.facts.gpus, after.facts.gpus))


def _rank_line(line: Line) -> int:
    """Return 0 if the newest change is an open regression, 1 if anything changed."""
    return 2 if line.change is None else 0 if line.change.regressed else 1


def _make_urgency_key(line: Line) -> tuple[int, int, float, str]:
    """Sort key: open regressions first, of the step time before others, the largest first."""
    size = abs(line.change.share or 0.0) if line.change else 0.0
    return _rank_line(line), LISTED.index(line.measure.name), -size, line.series
