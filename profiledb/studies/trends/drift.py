"""Drift: a measure that creeps away from the base of its level, in steps that are each too small to be a change.

A drift widens the scatter of the level and moves its median along, so that no report is ever worse than that. So the
median of the last reports is compared with the first ones of the level, which stay fixed, and scatter counts around
these two medians only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from profiledb.studies.trends import change_points
from profiledb.studies.trends.measures import Measure
from profiledb.studies.trends.series import Point

SIDE = 5
"""Reports of the base and of the end: the median of five holds with two outliers."""


@dataclass(frozen=True)
class Drift:
    """A measure that has become worse little by little.

    Args:
        measure: the measure.
        base: median of the first ``SIDE`` reports.
        now: median of the last ones, the new one included.
        limit: allowed increase, in the unit of the measure.
        since: first report after the last one that was no worse than the base.
        counts: True if it closes the gate.
    """

    measure: Measure
    base: float
    now: float
    limit: float
    since: Point
    counts: bool


def find_drift(
    measure: Measure, points: Sequence[Point], values: Sequence[float], allowed: float, *, counts: bool
) -> Drift | None:
    """Return the drift at the end of a level; None if there is none or too few reports.

    Args:
        measure: the measure of the values.
        points: the reports of a level in order, the new one last.
        values: their figures.
        allowed: allowed increase at the end, as a share of the base.
        counts: True if it closes the gate.
    """
    if len(values) < 2 * SIDE:
        return None
    first, last = np.asarray(values[:SIDE]), np.asarray(values[-SIDE:])
    base, now = median(values[:SIDE]), median(values[-SIDE:])
    scatter = change_points.MADS * change_points.estimate_deviation(np.concatenate([first - base, last - now]))
    limit = max(allowed * abs(base), scatter)
    if (now - base) * measure.worse <= limit:
        return None
    near = [at for at, value in enumerate(values) if (value - base) * measure.worse <= 0]
    return Drift(measure, base, now, limit, points[min(near[-1] + 1, len(points) - 1)], counts)
