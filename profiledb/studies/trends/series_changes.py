"""The changes of a series: where a measure moves to another level, and whether the code or its surroundings changed.

Changes of the same values are cached beside the summaries, so that lists of all series stay fast.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from profiledb.library.series_decisions import Note
from profiledb.studies.trends import change_points
from profiledb.studies.trends.change_points import Change, ChangePoints
from profiledb.studies.trends.measures import MEASURES, Measure
from profiledb.studies.trends.series import Point, Series
from profiledb.studies.trends.summary_store import Row, Summaries

VERSION = 1
"""Raise when the same values have other changes."""
_EVER_NEW = re.compile("git|commit|sha|date|time", re.IGNORECASE)
LEAST = 8
"""Number of values below which nothing is searched: no order of fewer is as rare as a change has to be."""
NEAR = 1
"""Distance in reports within which a change counts as due to a change of the surroundings."""


class Happening:
    """The meaning of a change of a measure, by other changes at the same report and people's words about it."""

    around: tuple[str, ...]
    worse: bool
    note: Note | None

    @property
    def kind(self) -> str:
        """``regression``, ``improvement``, or ``surroundings`` if those changed, too."""
        if self.around:
            return "surroundings"
        return "regression" if self.worse else "improvement"

    @property
    def open(self) -> bool:
        """True if nobody has accepted or dismissed it."""
        return self.note is None or self.note.state == "open"

    @property
    def regressed(self) -> bool:
        """True if it is for the worse and open."""
        return self.kind == "regression" and self.open


@dataclass(frozen=True)
class Shift(Happening):
    """A change of a series.

    Args:
        change: the change point; its index is that in ``Trend.points``.
        point: the first report after it.
        before: the last report before it.
        around: changes of the surroundings at it: ``driver 550.1 → 580.2``.
        versions: changed versions of libraries at it.
        worse: True if the measure became worse.
        note: somebody's note about it.
    """

    change: Change
    point: Point
    before: Point
    around: tuple[str, ...]
    versions: tuple[str, ...]
    worse: bool
    note: Note | None


@dataclass(frozen=True)
class Trend:
    """A measure over a series: the points that have it, their figures, and the changes."""

    series: Series
    measure: Measure
    points: tuple[Point, ...]
    rows: tuple[Row, ...]
    shifts: tuple[Shift, ...]
    drifts: bool = False

    @property
    def values(self) -> list[float]:
        """The figures in the order of the points."""
        return [row.value for row in self.rows]

    @property
    def level(self) -> tuple[int, ...]:
        """Return the indexes of the points since the last change that nobody has dismissed: the base of a new
        report.
        """
        begins = [one.change.index for one in self.shifts if one.note is None or one.note.state != "dismissed"]
        return tuple(range(begins[-1] if begins else 0, len(self.points)))


Notes = Mapping[tuple[str, str], Note]


def find_trends(
    store: Summaries, every: Iterable[Series], measure: str, values: Mapping[str, Row], notes: Notes
) -> list[Trend]:
    """Return a measure over each of these series, without those in which no report has it."""
    having = [(one, [point for point in one.points if point.id in values]) for one in every]
    having = [(one, points) for one, points in having if points]
    rows = [tuple(values[point.id] for point in points) for _, points in having]
    changes = detect_changes(store, [[row.value for row in one] for one in rows])
    return [
        _make_trend(one, MEASURES[measure], points, row, change, notes)
        for (one, points), row, change in zip(having, rows, changes, strict=True)
    ]


def _make_trend(
    series: Series,
    measure: Measure,
    points: Sequence[Point],
    rows: tuple[Row, ...],
    change_points: ChangePoints,
    notes: Notes,
) -> Trend:
    shifts = tuple(make_shift(one, points, measure, notes) for one in change_points.changes)
    return Trend(series, measure, tuple(points), rows, shifts, change_points.drifts)


def make_shift(change: Change, points: Sequence[Point], measure: Measure, notes: Notes) -> Shift:
    """Return a change with its meaning; ``NEAR`` + 1 points before it and ``NEAR`` after it decide."""
    at = change.index
    near = [place for place in range(at - NEAR, at + NEAR + 1) if 0 < place < len(points)]
    around = [text for place in near for text in describe_differences(points[place - 1].around, points[place].around)]
    point, before = points[at], points[at - 1]
    return Shift(
        change,
        point,
        before,
        tuple(dict.fromkeys(around)),
        describe_differences(before.versions, point.versions),
        (change.after - change.before) * measure.worse > 0,
        notes.get((point.id, measure.name)),
    )


def describe_differences(before: Sequence[tuple[str, str]], after: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Describe the differences of two lists of facts: ``driver 550.1 → 580.2``; a missing fact is no difference."""
    old = dict(before)
    return tuple(
        f"{what}: {old[what]} → {value}" for what, value in after if value and old.get(what) and old[what] != value
    )


def describe_program_differences(before: Point, after: Point) -> tuple[str, ...]:
    """Describe the differences of two programs' own facts, without commits and dates."""
    sides = [
        [(key, value) for key, value in point.facts.meta.items() if not _EVER_NEW.search(key)]
        for point in (before, after)
    ]
    return describe_differences(*sides)


def detect_changes(store: Summaries, every: Sequence[Sequence[float]]) -> list[ChangePoints]:
    """Return the change points of each of some series of values, which are looked for once."""
    cuts = [max(0, len(values) - change_points.MOST) for values in every]
    keys = [_compute_cache_key(values[cut:]) for values, cut in zip(every, cuts, strict=True)]
    known = {key: cached for key, text in store.detected(keys).items() if (cached := _parse_changes(text))}
    fresh: dict[str, str] = {}
    for key, cut, values in zip(keys, cuts, every, strict=True):
        if key not in known:
            known[key] = change_points.find_changes(values[cut:]) if len(values) >= LEAST else ChangePoints(())
            fresh[key] = json.dumps(asdict(known[key]))
    store.remember(fresh)
    return [
        replace(known[key], changes=tuple(replace(one, index=cut + one.index) for one in known[key].changes))
        for key, cut in zip(keys, cuts, strict=True)
    ]


def _compute_cache_key(values: Sequence[float]) -> str:
    content = f"{VERSION} ".encode() + np.asarray(values, dtype=np.float64).tobytes()
    return hashlib.sha256(content).hexdigest()[:32]


def _parse_changes(text: str) -> ChangePoints | None:
    try:
        content = json.loads(text)
        return ChangePoints(tuple(Change(**one) for one in content["changes"]), bool(content["drifts"]))
    except (ValueError, KeyError, TypeError):
        return None
