"""Whether a new report is worse than what it is held against: a series, the reports of a label, or one report.

A measure is worse where it exceeds the middle of the level before by more than is allowed and by more than three median
absolute deviations of that level. What ran under another driver, on another machine or with other recorded data is
not compared: such a difference is no change of the code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from profiledb import config
from profiledb.errors import AnalysisError, ReportNotFoundError
from profiledb.findings import digest, judge, rulebook
from profiledb.report.catalog import Manifest
from profiledb.report.library import Library
from profiledb.studies.summary import document
from profiledb.studies.trends import changes, found, keeping, series
from profiledb.studies.trends.board import MAIN, Board
from profiledb.studies.trends.budget import Budget, Held
from profiledb.studies.trends.budget import check as check_budget
from profiledb.studies.trends.explain import Explained
from profiledb.studies.trends.measures import MEASURES, Measure
from profiledb.studies.trends.series import Point, Series
from profiledb.studies.trends.shared import summaries_of
from profiledb.studies.trends.store import Row

OWN = "series"
"""What names the series of the new report itself."""
MOST = 30
"""Reports of a level that count, the last ones."""
ENOUGH = 5
"""Reports from which on their scatter is known."""
GROWTH_PCT = (2.0, 5.0)
"""What is allowed where nobody says: with the scatter known, and with fewer reports."""


@dataclass(frozen=True)
class Judged:
    """A measure of the new report beside the level that it is held against.

    ``limit`` is by how much it may be worse, in its unit; ``fails`` whether the gate goes by it and it is too much.
    """

    measure: Measure
    before: float
    after: float
    limit: float
    reports: int
    counts: bool

    @property
    def verdict(self) -> str:
        """worse, better or same."""
        by = (self.after - self.before) * self.measure.worse
        return "worse" if by > self.limit else "better" if -by > self.limit else "same"

    @property
    def fails(self) -> bool:
        """Whether the gate closes for it."""
        return self.counts and self.verdict == "worse"


@dataclass(frozen=True)
class Checked:
    """What came of a check.

    ``against`` says in words what the report is held against, ``before`` is the report that stands for it, ``series``
    that of the new report.
    """

    report: Point
    against: str
    before: Point | None
    series: Series | None
    judged: tuple[Judged, ...]
    held: tuple[Held, ...]
    explained: Explained | None

    @property
    def fails(self) -> bool:
        """Whether anything closes the gate."""
        return any(one.fails for one in self.judged) or not all(one.holds for one in self.held)


def check(
    library: Library,
    report: Manifest,
    against: str,
    budget: Budget,
    measures: Sequence[str] = (MAIN,),
    *,
    anywhere: bool = False,
) -> Checked:
    """Holds a report against others and against budgets.

    Args:
        library: the library, whose summaries are made where they are missing.
        report: the new one.
        against: ``OWN``, a series, a label or a report; empty: budgets alone.
        budget: what is allowed.
        measures: what closes the gate where it is worse.
        anywhere: compare with whatever ran elsewhere, too.

    Raises:
        AnalysisError: nothing can be compared, or a budget cannot be checked.
        ReportNotFoundError: nothing is called ``against``.
    """
    keeping.ensure(library, [report])
    if against:
        keeping.refresh(library)  # what belongs to a series is known of summaries alone
    if budget.never or "findings" in budget.most:
        _judge(library, report)
    board = Board(library)
    own = series.of_report(board.series, report.id)
    if own is None:
        raise AnalysisError(
            f"{report.name} is in no series.", hint="It holds no timeline, or was left out: warpdeck series."
        )
    point = next(one for one in own.points if one.id == report.id)
    rows = board.kept.of([report.id])[report.id]
    held = tuple(check_budget(budget, rows))
    if not against:
        return Checked(point, "", None, own, (), held, None)
    told, points = _baseline(board, report, own, against)
    points = [one for one in points if one.id != report.id]
    usable = points if anywhere else [one for one in points if not found.differences(one.around, point.around)]
    _need(points, usable, told, point)
    judged = _judged(board, rows, usable[-MOST:], budget, {*measures, *budget.growth_pct})
    before = _nearest(board, usable[-MOST:])
    return Checked(point, told, before, own, judged, held, board.explained(before, point))


def _judge(library: Library, report: Manifest) -> None:
    """Has the findings of a report kept, where no worker has done it."""
    if report.id in summaries_of(library).values("findings"):
        return
    rules = rulebook.load(config.load().rules)
    params = document.page_params(library, report, {})
    digest.write(library, report.id, rules, judge.judge(library, report, params, rules.values(), steady=True))
    keeping.ensure(library, [report])


def _baseline(board: Board, report: Manifest, own: Series, against: str) -> tuple[str, Sequence[Point]]:
    """What the report is held against, in words, and its reports in the order of time.

    A name is that of a report, else a label, else a series; ``report:``, ``label:`` or ``series:`` in front say it.
    """
    kind, colon, name = against.partition(":")
    if not colon or kind not in ("report", "label", "series"):
        kind, name = "", against
    if against == OWN:
        return f"series {own.name}", _level(board, own, report)
    if kind in ("", "report") and (other := _report(board.library, name, must=kind == "report")):
        return f"report {other.name}", board.points([other])
    if kind in ("", "label"):
        catalog = board.library.catalog
        having = {one for one, labels in catalog.labels().items() if name in labels}
        if having or kind:
            return f"label {name}", board.points([one for one in board.library.list() if one.id in having])
    of = series.find(board.series, name)
    return f"series {of.name}", _level(board, of, report)


def _report(library: Library, name: str, *, must: bool) -> Manifest | None:
    """The report of that name; None where there is none, or several, and it may be something else."""
    try:
        return library.find(name)
    except ReportNotFoundError:
        if must:
            raise
        return None


def _level(board: Board, of: Series, report: Manifest) -> list[Point]:
    """The reports of a series since its last change, without the new one."""
    trend = board.one(Series(of.name, tuple(one for one in of.points if one.id != report.id)))
    return [trend.points[at] for at in trend.level] if trend else []


def _need(points: Sequence[Point], usable: Sequence[Point], told: str, new: Point) -> None:
    if not points:
        raise AnalysisError(f"There is no other report in {told}.")
    if not usable:
        differs = "; ".join(found.differences(points[-1].around, new.around))
        raise AnalysisError(
            f"No report of {told} ran like this one: {differs}.", hint="--anywhere compares all the same."
        )


def _judged(
    board: Board, rows: Sequence[Row], points: Sequence[Point], budget: Budget, counting: set[str]
) -> tuple[Judged, ...]:
    new = {row.measure: row.value for row in rows if not row.name}
    old: dict[str, list[float]] = {}
    for every in board.kept.of([one.id for one in points]).values():
        for row in every:
            if not row.name:
                old.setdefault(row.measure, []).append(row.value)
    for name in sorted(counting):
        if name not in new or name not in old:
            raise AnalysisError(f"{MEASURES[name].title} is not told on both sides, so it cannot be checked.")
    return tuple(
        _one(measure, old[name], new[name], budget.growth_pct, counting)
        for name, measure in MEASURES.items()
        if name in new and name in old
    )


def _one(
    measure: Measure, old: Sequence[float], new: float, growth_pct: Mapping[str, float], counting: set[str]
) -> Judged:
    level = median(old)
    known = len(old) >= ENOUGH
    allowed = growth_pct.get(measure.name, GROWTH_PCT[0] if known else GROWTH_PCT[1]) / 100 * abs(level)
    scatter = changes.MADS * changes.deviation(np.asarray(old) - level) if known else 0.0
    return Judged(measure, level, new, max(allowed, scatter), len(old), measure.name in counting)


def _nearest(board: Board, points: Sequence[Point]) -> Point:
    """The report that stands for a level: the last of those nearest to its middle."""
    values = board.kept.of([one.id for one in points], MAIN)
    times = {one.id: next((row.value for row in values[one.id] if not row.name), None) for one in points}
    known = [value for value in times.values() if value is not None]
    if not known:
        return points[-1]
    middle = median(known)
    having = [one for one in reversed(points) if times[one.id] is not None]
    return min(having, key=lambda one: abs((times[one.id] or 0.0) - middle))
