"""Whether a measure creeps away from the base of its level, in steps that are each too small to be one.

A drift widens the scatter of the level that it runs through, and moves its median along: held against that, no report
is ever worse. So the median of the last reports is held against the first ones of the level, which stay where they are,
and scatter counts around both medians alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from profiledb.studies.trends import change_points
from profiledb.studies.trends.measures import Measure
from profiledb.studies.trends.series import Point

SIDE = 5
"""Reports of the base and of the end: the median of five stands where two of them are outliers."""


@dataclass(frozen=True)
class Drift:
    """A measure that has become worse little by little.

    Args:
        measure: the measure.
        base: median of the first ``SIDE`` reports.
        now: median of the last ones, the new one among them.
        limit: by how much that may be worse, in the unit of the measure.
        since: the first report after the last one that was no worse than the base.
        counts: whether the gate goes by it.
    """

    measure: Measure
    base: float
    now: float
    limit: float
    since: Point
    counts: bool


def find(
    measure: Measure, points: Sequence[Point], values: Sequence[float], allowed: float, *, counts: bool
) -> Drift | None:
    """The drift that a level ends in; None where there is none, or too few reports tell.

    Args:
        measure: what the values are of.
        points: the reports of a level in order, the new one last.
        values: their figures.
        allowed: by how much the end may be worse, as a share of the base.
        counts: whether the gate goes by it.
    """
    if len(values) < 2 * SIDE:
        return None
    first, last = np.asarray(values[:SIDE]), np.asarray(values[-SIDE:])
    base, now = median(values[:SIDE]), median(values[-SIDE:])
    scatter = change_points.MADS * change_points.deviation(np.concatenate([first - base, last - now]))
    limit = max(allowed * abs(base), scatter)
    if (now - base) * measure.worse <= limit:
        return None
    near = [at for at, value in enumerate(values) if (value - base) * measure.worse <= 0]
    return Drift(measure, base, now, limit, points[min(near[-1] + 1, len(points) - 1)], counts)
