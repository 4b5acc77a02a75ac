"""The gate: is a new report worse than a series, the reports of a label, or one report?

A measure is worse if it exceeds the middle of the level before by more than the allowance and by more than three median
absolute deviations of that level; ``drift`` finds growth in smaller steps. Of a series only reports captured before the
new one count, so that a repeated check gives the same result. Reports with another driver, machine or recorded data are
not compared, because their difference is no change of the code. A series that moves to another GPU starts over there.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from profiledb.errors import AnalysisError, ReportNotFoundError
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.library.report_list import Filters
from profiledb.studies.trends import change_points, series_changes, summary_refresh
from profiledb.studies.trends.budget import Budget, BudgetResult, check_budget
from profiledb.studies.trends.drift import Drift, find_drift
from profiledb.studies.trends.explanation import Explanation
from profiledb.studies.trends.measures import MEASURES, Measure
from profiledb.studies.trends.series import Point, Series
from profiledb.studies.trends.series_board import Board
from profiledb.studies.trends.series_lines import MAIN
from profiledb.studies.trends.summary_store import Row
from profiledb.studies.trends.team_summary_store import open_summaries
from profiledb.studies.verdicts import store_verdicts

OWN = "series"
"""Name for the series of the new report itself."""
MOST = 30
"""Number of reports of a level that count, the last ones."""
ENOUGH = 5
"""Number of reports from which their scatter is known."""
GROWTH_PCT = (2.0, 5.0)
"""Default allowance: with known scatter, and with fewer reports. A drift may add up to as much."""
GPU = "GPU"
"""Entry of ``Point.around`` that no gate of a series ignores."""


@dataclass(frozen=True)
class Judged:
    """A measure of the new report and of the level before.

    ``limit`` is the allowed increase in its unit; ``fails`` is True if it closes the gate.
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
        """True if it closes the gate."""
        return self.counts and self.verdict == "worse"


@dataclass(frozen=True)
class CheckResult:
    """Result of a check.

    ``against`` describes the base, ``before`` is the report that represents it, ``series`` that of the new report, and
    ``elsewhere`` counts earlier reports by the other GPU that they ran on.
    """

    report: Point
    against: str
    before: Point | None
    series: Series | None
    judged: tuple[Judged, ...]
    drifts: tuple[Drift, ...]
    held: tuple[BudgetResult, ...]
    explained: Explanation | None
    elsewhere: Mapping[str, int]

    @property
    def fails(self) -> bool:
        """True if anything closes the gate."""
        worse = any(one.fails for one in self.judged) or any(one.counts for one in self.drifts)
        return worse or not all(one.holds for one in self.held)


@dataclass(frozen=True)
class _Base:
    """The base of a check: its description, its reports in order of time, and their series."""

    description: str
    points: Sequence[Point]
    series: Series | None = None


def check_report(
    library: Library,
    report: Manifest,
    against: str,
    budget: Budget,
    measures: Sequence[str] = (MAIN,),
    *,
    anywhere: bool = False,
) -> CheckResult:
    """Check a report against others and against budgets.

    Args:
        library: the library; missing summaries are made.
        report: the new one.
        against: ``OWN``, a series, a label or a report; empty for budgets only.
        budget: the limits.
        measures: measures that close the gate if they are worse.
        anywhere: also compare with reports from elsewhere.

    Raises:
        AnalysisError: nothing can be compared, or a budget cannot be checked.
        ReportNotFoundError: nothing has the name ``against``.
    """
    summary_refresh.refresh_reports(library, [report])
    if against:
        summary_refresh.refresh_missing(library)  # only summaries tell which reports belong to a series
    if budget.never or "findings" in budget.most:
        _ensure_findings(library, report)
    board = Board(library)
    own = board.series_of(report.id)
    if own is None:
        raise AnalysisError(
            f"{report.name} is in no series.", hint="It holds no timeline, or was left out: warpdeck series."
        )
    point = next(one for one in own.points if one.id == report.id)
    rows = board.summaries.of([report.id])[report.id]
    held = tuple(check_budget(budget, rows))
    if not against:
        return CheckResult(point, "", None, own, (), (), held, None, {})
    base = _find_base(board, own, point, against)
    points = [one for one in base.points if not _find_differences(one, point, base, anywhere=anywhere)]
    _require_base(base, points, point)
    if base.series:
        points = _read_level(board, base.series, points)
    counting = {*measures, *budget.growth_pct}
    judged = _judge_measures(board, rows, points[-MOST:], budget, counting)
    drifts = _find_drifts(board, [*points, point], budget, counting) if base.series else ()
    before = _find_nearest(board, points[-MOST:])
    explanation = board.explained(before, point)
    return CheckResult(
        point, base.description, before, own, judged, drifts, held, explanation, _count_other_gpus(base, point)
    )


def _ensure_findings(library: Library, report: Manifest) -> None:
    """Store the findings of a report unless a worker has done so."""
    if open_summaries(library).of([report.id], "findings")[report.id]:
        return
    store_verdicts(library, report)
    summary_refresh.refresh_reports(library, [report])


def _find_base(board: Board, own: Series, new: Point, against: str) -> _Base:
    """Return the base of a report; of a series, the reports captured before it.

    A name is that of a report, else a label, else a series; the prefix ``report:``, ``label:`` or ``series:`` decides.
    """
    kind, colon, name = against.partition(":")
    if not colon or kind not in ("report", "label", "series"):
        kind, name = "", against
    series_found = own if against == OWN else None
    if (
        series_found is None
        and kind in ("", "report")
        and (other := _find_report(board.library, name, must=kind == "report"))
    ):
        return _Base(f"report {other.name}", _drop_point(board.points([other]), new))
    if series_found is None and kind in ("", "label"):
        listing = board.library.catalog.listing
        having = listing.ids(Filters(labels=(name,)))
        if having or kind:
            points = board.points(list(listing.get(having).values()))
            return _Base(f"label {name}", _drop_point(points, new))
    series_found = series_found or board.find(name)
    before = _list_points_before(board, _drop_point(series_found.points, new), new)
    recent = board.library.catalog.listing.get(one.id for one in before[-MOST:])
    if summary_refresh.refresh_reports(board.library, recent.values(), skip_broken=True):
        series_found = Board(board.library).find(series_found.name)
        before = _list_points_before(board, _drop_point(series_found.points, new), new)
    return _Base(f"series {series_found.name}", before, series_found)


def _drop_point(points: Sequence[Point], new: Point) -> list[Point]:
    return [one for one in points if one.id != new.id]


def _list_points_before(board: Board, points: Sequence[Point], new: Point) -> list[Point]:
    """Return the points captured before the new one; of the same moment, those imported before it."""
    at = new.facts.captured_at
    of_that_moment = [one.id for one in points if one.facts.captured_at == at]
    manifests = board.library.catalog.listing.get([new.id, *of_that_moment])
    own = manifests[new.id]
    older = {one for one in of_that_moment if one not in manifests}  # retired: imported long before
    older |= {
        one.id
        for one in manifests.values()
        if one.ingested_at < own.ingested_at
        or (one.ingested_at == own.ingested_at and (one.name, one.id) > (own.name, own.id))
    }
    return [one for one in points if one.facts.captured_at < at or (one.facts.captured_at == at and one.id in older)]


def _find_differences(one: Point, new: Point, base: _Base, *, anywhere: bool) -> tuple[str, ...]:
    """Return the reasons why a report cannot be compared."""
    if not anywhere:
        return series_changes.describe_differences(one.around, new.around)
    of_gpu = [[fact for fact in side.around if fact[0] == GPU] for side in (one, new)]
    return series_changes.describe_differences(*of_gpu) if base.series else ()


def _count_other_gpus(base: _Base, new: Point) -> Counter[str]:
    """Count the reports of a series on other GPUs, by GPU."""
    return Counter(gpu for one in base.points if base.series and (gpu := _find_other_gpu(one, new)))


def _find_other_gpu(one: Point, new: Point) -> str:
    """Return the GPU of a report if it is known to differ from the new one's; else empty."""
    gpu, own = dict(one.around)[GPU], dict(new.around)[GPU]
    return gpu if own and gpu != own else ""


def _find_report(library: Library, name: str, *, must: bool) -> Manifest | None:
    """Return the report of a name; None if there is none or several, and the name may mean something else."""
    try:
        return library.find(name)
    except ReportNotFoundError:
        if must:
            raise
        return None


def _read_level(board: Board, level_series: Series, points: Sequence[Point]) -> list[Point]:
    """Return the reports of a series since its last change."""
    trend = board.one(Series(level_series.name, tuple(points)))
    return [trend.points[at] for at in trend.level] if trend else list(points)


def _require_base(base: _Base, usable: Sequence[Point], new: Point) -> None:
    if usable:
        return
    if not base.points:
        raise AnalysisError(
            f"No report of {base.description} was captured before this one."
            if base.series
            else f"There is no other report in {base.description}."
        )
    gpus = _count_other_gpus(base, new)
    if gpus.total() == len(base.points):
        raise AnalysisError(
            f"No report of {base.description} ran on {dict(new.around)[GPU]} before this one,"
            f" only on {', '.join(gpus)}.",
            hint="The next report on this GPU is compared with this one.",
        )
    differs = "; ".join(series_changes.describe_differences(base.points[-1].around, new.around))
    raise AnalysisError(
        f"No report of {base.description} ran like this one: {differs}.", hint="--anywhere compares all the same."
    )


def _judge_measures(
    board: Board, rows: Sequence[Row], points: Sequence[Point], budget: Budget, counting: set[str]
) -> tuple[Judged, ...]:
    new = {row.measure: row.value for row in rows if not row.name}
    old: dict[str, list[float]] = {}
    for every in board.summaries.of([one.id for one in points], whole=True).values():
        for row in every:
            old.setdefault(row.measure, []).append(row.value)
    for name in sorted(counting):
        if name not in new or name not in old:
            raise AnalysisError(f"{MEASURES[name].title} is missing in one of the reports, so it cannot be checked.")
    return tuple(
        judge_measure(measure, old[name], new[name], budget.growth_pct, counting)
        for name, measure in MEASURES.items()
        if name in new and name in old
    )


def _find_drifts(board: Board, points: Sequence[Point], budget: Budget, counting: set[str]) -> tuple[Drift, ...]:
    """Return the measures that drift over a level, which ends in the new report.

    A drift that somebody accepted starts a new base.
    """
    values = board.summaries.of([one.id for one in points], whole=True)
    drifts = []
    for name, measure in MEASURES.items():
        known = [(one, row.value) for one in points for row in values[one.id] if row.measure == name]
        accepted = [at for at, (one, _) in enumerate(known) if _is_accepted(board, one, name)]
        known = known[accepted[-1] if accepted else 0 :]
        allowed = budget.growth_pct.get(name, GROWTH_PCT[0]) / 100
        drifts.append(
            find_drift(
                measure, [one for one, _ in known], [value for _, value in known], allowed, counts=name in counting
            )
        )
    return tuple(one for one in drifts if one)


def _is_accepted(board: Board, point: Point, measure: str) -> bool:
    note = board.notes.get((point.id, measure))
    return note is not None and note.state == "accepted"


def judge_measure(
    measure: Measure, old: Sequence[float], new: float, growth_pct: Mapping[str, float], counting: set[str]
) -> Judged:
    level = median(old)
    known = len(old) >= ENOUGH
    allowed = growth_pct.get(measure.name, GROWTH_PCT[0] if known else GROWTH_PCT[1]) / 100 * abs(level)
    scatter = change_points.MADS * change_points.estimate_deviation(np.asarray(old) - level) if known else 0.0
    return Judged(measure, level, new, max(allowed, scatter), len(old), measure.name in counting)


def _find_nearest(board: Board, points: Sequence[Point]) -> Point:
    """Return the report that represents a level: the last of those nearest to its middle."""
    values = board.summaries.of([one.id for one in points], MAIN, whole=True)
    times = {one.id: next((row.value for row in values[one.id]), None) for one in points}
    known = [value for value in times.values() if value is not None]
    if not known:
        return points[-1]
    middle = median(known)
    having = [one for one in reversed(points) if times[one.id] is not None]
    return min(having, key=lambda one: abs((times[one.id] or 0.0) - middle))
