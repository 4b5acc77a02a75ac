"""Whether a new report is worse than what it is held against: a series, the reports of a label, or one report.

A measure is worse where it exceeds the middle of the level before by more than is allowed and by more than three median
absolute deviations of that level; ``drift`` finds what becomes worse in smaller steps. Of a series only reports
captured before it count, so that a check says the same whenever it is repeated. What ran under another driver, on
another machine or with other recorded data is not compared: such a difference is no change of the code. A series that
goes to another GPU begins anew there.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from profiledb import config
from profiledb.errors import AnalysisError, ReportNotFoundError
from profiledb.findings import digest, judge, rulebook
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.studies.summary import document
from profiledb.studies.trends import change_points, series, series_changes, summary_refresh
from profiledb.studies.trends.budget import Budget, Held
from profiledb.studies.trends.budget import check as check_budget
from profiledb.studies.trends.drift import Drift
from profiledb.studies.trends.drift import find as find_drift
from profiledb.studies.trends.explain import Explained
from profiledb.studies.trends.measures import MEASURES, Measure
from profiledb.studies.trends.series import Point, Series
from profiledb.studies.trends.series_board import MAIN, Board
from profiledb.studies.trends.summary_store import Row
from profiledb.studies.trends.team_summary_store import summaries_of

OWN = "series"
"""What names the series of the new report itself."""
MOST = 30
"""Reports of a level that count, the last ones."""
ENOUGH = 5
"""Reports from which on their scatter is known."""
GROWTH_PCT = (2.0, 5.0)
"""What is allowed where nobody says: with the scatter known, and with fewer reports. A drift may add up to as much."""
GPU = "GPU"
"""What of ``Point.around`` no gate of a series looks past."""


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
    that of the new report, ``elsewhere`` counts the reports before it by the other GPU that they ran on.
    """

    report: Point
    against: str
    before: Point | None
    series: Series | None
    judged: tuple[Judged, ...]
    drifts: tuple[Drift, ...]
    held: tuple[Held, ...]
    explained: Explained | None
    elsewhere: Mapping[str, int]

    @property
    def fails(self) -> bool:
        """Whether anything closes the gate."""
        worse = any(one.fails for one in self.judged) or any(one.counts for one in self.drifts)
        return worse or not all(one.holds for one in self.held)


@dataclass(frozen=True)
class _Base:
    """What a report is held against: in words, its reports in the order of time, and the series that they are of."""

    told: str
    points: Sequence[Point]
    series: Series | None = None


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
    summary_refresh.ensure(library, [report])
    if against:
        summary_refresh.refresh(library)  # what belongs to a series is known of summaries alone
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
        return Checked(point, "", None, own, (), (), held, None, {})
    base = _base(board, own, point, against)
    points = [one for one in base.points if not _apart(one, point, base, anywhere=anywhere)]
    _need(base, points, point)
    if base.series:
        points = _level(board, base.series, points)
    counting = {*measures, *budget.growth_pct}
    judged = _judged(board, rows, points[-MOST:], budget, counting)
    drifts = _drifts(board, [*points, point], budget, counting) if base.series else ()
    before = _nearest(board, points[-MOST:])
    told = board.explained(before, point)
    return Checked(point, base.told, before, own, judged, drifts, held, told, _elsewhere(base, point))


def _judge(library: Library, report: Manifest) -> None:
    """Has the findings of a report kept, where no worker has done it."""
    if report.id in summaries_of(library).values("findings"):
        return
    rules = rulebook.load(config.load().rules)
    params = document.page_params(library, report, {})
    part = judge.steady_part(library, report, params)
    digest.write(library, report.id, rules, judge.judge(library, report, params, rules.values(), part))
    summary_refresh.ensure(library, [report])


def _base(board: Board, own: Series, new: Point, against: str) -> _Base:
    """What the report is held against; of a series the reports that were captured before it.

    A name is that of a report, else a label, else a series; ``report:``, ``label:`` or ``series:`` in front say it.
    """
    kind, colon, name = against.partition(":")
    if not colon or kind not in ("report", "label", "series"):
        kind, name = "", against
    of = own if against == OWN else None
    if of is None and kind in ("", "report") and (other := _report(board.library, name, must=kind == "report")):
        return _Base(f"report {other.name}", _others(board.points([other]), new))
    if of is None and kind in ("", "label"):
        catalog = board.library.catalog
        having = {one for one, labels in catalog.labels().items() if name in labels}
        if having or kind:
            points = board.points([one for one in board.library.list() if one.id in having])
            return _Base(f"label {name}", _others(points, new))
    of = of or series.find(board.series, name)
    return _Base(f"series {of.name}", _earlier(board, _others(of.points, new), new), of)


def _others(points: Sequence[Point], new: Point) -> list[Point]:
    return [one for one in points if one.id != new.id]


def _earlier(board: Board, points: Sequence[Point], new: Point) -> list[Point]:
    """Those that were captured before the new one; of the same moment those that the catalog took in before it."""
    at = new.facts.captured_at
    if any(one.facts.captured_at == at for one in points):
        newest_first = [one.id for one in board.library.list()]
        older = {new.id, *newest_first[newest_first.index(new.id) :]}
    else:
        older = set()
    return [one for one in points if one.facts.captured_at < at or (one.facts.captured_at == at and one.id in older)]


def _apart(one: Point, new: Point, base: _Base, *, anywhere: bool) -> tuple[str, ...]:
    """What keeps a report from being compared, in words."""
    if not anywhere:
        return series_changes.differences(one.around, new.around)
    of_gpu = [[fact for fact in side.around if fact[0] == GPU] for side in (one, new)]
    return series_changes.differences(*of_gpu) if base.series else ()


def _elsewhere(base: _Base, new: Point) -> Counter[str]:
    """The reports of a series on other GPUs, counted by that."""
    return Counter(gpu for one in base.points if base.series and (gpu := _other_gpu(one, new)))


def _other_gpu(one: Point, new: Point) -> str:
    """The GPU of a report where it is known to be another than that of the new one, else nothing."""
    gpu, own = dict(one.around)[GPU], dict(new.around)[GPU]
    return gpu if own and gpu != own else ""


def _report(library: Library, name: str, *, must: bool) -> Manifest | None:
    """The report of that name; None where there is none, or several, and it may be something else."""
    try:
        return library.find(name)
    except ReportNotFoundError:
        if must:
            raise
        return None


def _level(board: Board, of: Series, points: Sequence[Point]) -> list[Point]:
    """Of these reports of a series those since its last change."""
    trend = board.one(Series(of.name, tuple(points)))
    return [trend.points[at] for at in trend.level] if trend else list(points)


def _need(base: _Base, usable: Sequence[Point], new: Point) -> None:
    if usable:
        return
    if not base.points:
        raise AnalysisError(
            f"No report of {base.told} was captured before this one."
            if base.series
            else f"There is no other report in {base.told}."
        )
    gpus = _elsewhere(base, new)
    if gpus.total() == len(base.points):
        raise AnalysisError(
            f"No report of {base.told} ran on {dict(new.around)[GPU]} before this one, only on {', '.join(gpus)}.",
            hint="The next report on this GPU is held against this one.",
        )
    differs = "; ".join(series_changes.differences(base.points[-1].around, new.around))
    raise AnalysisError(
        f"No report of {base.told} ran like this one: {differs}.", hint="--anywhere compares all the same."
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


def _drifts(board: Board, points: Sequence[Point], budget: Budget, counting: set[str]) -> tuple[Drift, ...]:
    """The measures that drift over a level, which ends in the new report.

    One that somebody accepted begins a base of its own.
    """
    values = board.kept.of([one.id for one in points])
    drifts = []
    for name, measure in MEASURES.items():
        known = [(one, row.value) for one in points for row in values[one.id] if row.measure == name and not row.name]
        accepted = [at for at, (one, _) in enumerate(known) if _accepted(board, one, name)]
        known = known[accepted[-1] if accepted else 0 :]
        allowed = budget.growth_pct.get(name, GROWTH_PCT[0]) / 100
        drifts.append(
            find_drift(
                measure, [one for one, _ in known], [value for _, value in known], allowed, counts=name in counting
            )
        )
    return tuple(one for one in drifts if one)


def _accepted(board: Board, point: Point, measure: str) -> bool:
    note = board.notes.get((point.id, measure))
    return note is not None and note.state == "accepted"


def _one(
    measure: Measure, old: Sequence[float], new: float, growth_pct: Mapping[str, float], counting: set[str]
) -> Judged:
    level = median(old)
    known = len(old) >= ENOUGH
    allowed = growth_pct.get(measure.name, GROWTH_PCT[0] if known else GROWTH_PCT[1]) / 100 * abs(level)
    scatter = change_points.MADS * change_points.deviation(np.asarray(old) - level) if known else 0.0
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
