"""Split a change into the parts of a step before and after, which add up as in Compare.

Wall time is kernels, copies, memsets and idle time of a GPU, minus overlap; kernel time is the sum of its classes, of
its kernels, and of the ranges with the kernels outside them. With several GPUs all but the wall time are means.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from profiledb.studies.trends.measures import PARTS
from profiledb.studies.trends.series import Point
from profiledb.studies.trends.series_changes import Trend
from profiledb.studies.trends.summary_store import Row

WORK = {"kernel_ns": "Kernels", "copy_ns": "Copies", "memset_ns": "Memsets", "idle_ns": "Idle GPU"}
"""Parts of wall time, besides overlap."""
OVERLAP = "Overlap and other GPU work"
REST = {"class": "other classes", "kernel": "all other kernels", "range": "outside these ranges"}
FEW = 0.005
"""Share of the largest change below which parts are summed up as others."""


@dataclass(frozen=True)
class Part:
    """A part of a change: ns per step before and after, and its full name if that differs."""

    title: str
    before: float
    after: float
    name: str = ""

    @property
    def change(self) -> float:
        """Contribution to the change, ns."""
        return self.after - self.before


@dataclass(frozen=True)
class Explanation:
    """The parts of a change of wall time, and of its kernel time by class, range and kernel.

    Each list adds up to its whole; the largest change comes first, the rest last.
    """

    wall: Part
    work: tuple[Part, ...]
    kernels: Part | None
    by: Mapping[str, tuple[Part, ...]]


def explain_change(
    before: Sequence[Row], after: Sequence[Row], gpus: tuple[int | None, int | None]
) -> Explanation | None:
    """Split the change between two reports; None if one has no wall time, or their numbers of GPUs differ.

    Args:
        before: all figures of the report before.
        after: of the report after.
        gpus: number of GPUs that worked in each.
    """
    sides = [{(row.measure, row.name): row for row in rows} for rows in (before, after)]
    if any(("wall_ns", "") not in side for side in sides) or gpus[0] != gpus[1]:
        return None
    share = gpus[0] or 1
    wall = _make_part("Step time", sides, ("wall_ns", ""), 1)
    work = [_make_part(title, sides, (measure, ""), share) for measure, title in WORK.items()]
    rest = Part(OVERLAP, wall.before - sum(p.before for p in work), wall.after - sum(p.after for p in work))
    kernels = work[0] if any(("kernel_ns", "") in side for side in sides) else None
    by = {kind: _divide_by(kind, sides, kernels, share) for kind in PARTS} if kernels else {}
    largest = sorted((part for part in (*work, rest) if part.before or part.after), key=lambda part: -abs(part.change))
    return Explanation(wall, tuple(largest), kernels, {kind: parts for kind, parts in by.items() if parts})


def level_reports(trend: Trend, index: int) -> tuple[Point, Point]:
    """Return the reports that represent the levels before and after a change: in each, the nearest to its middle.

    Of equally near ones, the one next to the change counts.
    """
    bounds = [0, *(shift.change.index for shift in trend.shifts), len(trend.points)]
    at = bounds.index(index)
    shift = trend.shifts[at - 1].change
    first = min(range(bounds[at - 1], index), key=lambda i: (abs(trend.values[i] - shift.before), -i))
    second = min(range(index, bounds[at + 1]), key=lambda i: (abs(trend.values[i] - shift.after), i))
    return trend.points[first], trend.points[second]


def _make_part(title: str, sides: Sequence[Mapping[tuple[str, str], Row]], key: tuple[str, str], share: int) -> Part:
    first, second = (side[key].value / share if key in side else 0.0 for side in sides)
    return Part(title, first, second, key[1])


def _divide_by(kind: str, sides: Sequence[Mapping[tuple[str, str], Row]], whole: Part, share: int) -> tuple[Part, ...]:
    """Return the parts of one kind that changed most, and the rest as one, so that they add up to the whole."""
    keys = dict.fromkeys(key for side in sides for key in side if key[0] == kind)
    if not keys:
        return ()
    titles = {key: row.title or key[1] for side in sides for key, row in side.items()}
    parts = [_make_part(titles[key], sides, key, share) for key in keys]
    least = FEW * max((abs(part.change) for part in parts), default=0.0)
    largest = sorted((part for part in parts if abs(part.change) > least), key=lambda part: -abs(part.change))[:12]
    before, after = (sum(getattr(part, side) for part in largest) for side in ("before", "after"))
    rest = Part(REST[kind], whole.before - before, whole.after - after)
    return (*largest, rest) if abs(rest.change) > 0.5 or rest.before > 0.5 else tuple(largest)
