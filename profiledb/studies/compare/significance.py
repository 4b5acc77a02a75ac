"""How sure a change of a mean duration is: bootstrap intervals over sampled executions.

They tell the scatter between the executions of two captures from a change. How much one capture differs from the next
of the same program (clocks, neighbors on the machine) no single pair of captures can say.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
LEVEL_PCT = 95
FEWEST = 8
"""Executions a side below which a bootstrap says nothing."""

_SEED = 20_261_121
Floats = NDArray[np.float64]


def ratio_intervals(pairs: Sequence[tuple[Floats, Floats]]) -> Floats:
    """The 95 % intervals of mean(b) / mean(a), of all pairs (a, b) of durations in ns at once.

    Executions are drawn anew with replacement on each side, ``RESAMPLES`` times, always by the same seed; the spread of
    the drawn means is widened by as much as it is too narrow where executions are few (``_widening``). The order of the
    durations must have nothing to do with their size. To swap a and b gives the reciprocals.

    Returns:
        A row a pair: lower and upper end; NaN where a side has fewer than ``FEWEST`` executions or a mean of 0.
    """
    ends = np.full((len(pairs), 2), np.nan)
    usable = [n for n, (a, b) in enumerate(pairs) if min(len(a), len(b)) >= FEWEST and a.any() and b.any()]
    if not usable:
        return ends
    means = _resampled_means([pairs[n] for n in usable])
    margin = (100 - LEVEL_PCT) / 200
    ends[usable] = np.exp(np.quantile(np.log(means[1]) - np.log(means[0]), [margin, 1 - margin], axis=1)).T
    return ends


def _resampled_means(pairs: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Means of the resamples, of the shape (side, pair, resample).

    Samples of one size share what is drawn, so that one product of matrices serves them all. The two samples of a pair
    never do: which of the two streams a sample takes goes by the samples themselves, not by their sides.
    """
    tasks: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for number, (a, b) in enumerate(pairs):
        a_first = (a.mean(), len(a), a.tobytes()) <= (b.mean(), len(b), b.tobytes())
        tasks[len(a), 0 if a_first else 1].append((0, number))
        tasks[len(b), 1 if a_first else 0].append((1, number))
    means = np.empty((2, len(pairs), RESAMPLES))
    for (size, stream), places in tasks.items():
        values = np.stack([pairs[number][side] for side, number in places], axis=1).astype(float)
        center = values.mean(axis=0)
        drawn = center + (_weights(size, stream) @ values - center) * _widening(size)
        for column, (side, number) in enumerate(places):
            means[side, number] = np.maximum(drawn[:, column], center[column] * 1e-9)
    return means


def _weights(size: int, stream: int) -> Floats:
    """How often each of ``size`` executions is drawn, over ``size``; a row a resample."""
    drawn = np.random.default_rng((_SEED, size, stream)).integers(size, size=(RESAMPLES, size))
    places = drawn + size * np.arange(RESAMPLES)[:, None]
    return np.bincount(places.ravel(), minlength=RESAMPLES * size).reshape(RESAMPLES, size) / size


def _widening(size: int) -> float:
    """The expanded percentile interval of Hesterberg, "What Teachers Should Know About the Bootstrap", 2015.

    A bootstrap of n values is too narrow by sqrt((n - 1) / n), and takes the quantile of a normal distribution where it
    is that of Student's with n - 1 degrees of freedom (by its expansion in 1 / (n - 1)).
    """
    z, freedom = 1.959964, size - 1
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    student = z + first / freedom + second / freedom**2
    return float(np.sqrt(size / freedom) * student / z)
