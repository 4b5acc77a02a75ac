"""Significance of a change of a mean duration: bootstrap intervals over sampled executions.

They distinguish a change from the scatter between executions of two captures. The scatter between captures of one
program (clocks, other programs on the machine) cannot be told from a single pair.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
LEVEL_PCT = 95
FEWEST = 8
"""Executions per side below which a bootstrap is meaningless."""

_SEED = 20_261_121
Floats = NDArray[np.float64]


def compute_intervals(pairs: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Return the 95 % intervals of mean(b) / mean(a) for all pairs (a, b) of durations in ns at once.

    Executions are drawn with replacement on each side, ``RESAMPLES`` times with a fixed seed; the spread of the drawn
    means is widened by the factor that it lacks for few executions (``_compute_widening_factor``). The order of the
    durations must be independent of their size. Swapping a and b gives the reciprocals.

    Returns:
        One row per pair: lower and upper end; NaN if a side has fewer than ``FEWEST`` executions or a mean of 0.
    """
    ends = np.full((len(pairs), 2), np.nan)
    usable = [n for n, (a, b) in enumerate(pairs) if min(len(a), len(b)) >= FEWEST and a.any() and b.any()]
    if not usable:
        return ends
    means = _resample_means([pairs[n] for n in usable])
    margin = (100 - LEVEL_PCT) / 200
    ends[usable] = np.exp(np.quantile(np.log(means[1]) - np.log(means[0]), [margin, 1 - margin], axis=1)).T
    return ends


def _resample_means(pairs: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Return means of the resamples, shaped (side, pair, resample).

    Samples of one size share their draws, so that one matrix product serves them all. The two samples of a pair use
    different streams, chosen by the samples themselves and not by their sides.
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
        drawn = center + (_draw_weights(size, stream) @ values - center) * _compute_widening_factor(size)
        for column, (side, number) in enumerate(places):
            means[side, number] = np.maximum(drawn[:, column], center[column] * 1e-9)
    return means


def _draw_weights(size: int, stream: int) -> Floats:
    """Return how often each of ``size`` executions is drawn, divided by ``size``; one row per resample."""
    drawn = np.random.default_rng((_SEED, size, stream)).integers(size, size=(RESAMPLES, size))
    places = drawn + size * np.arange(RESAMPLES)[:, None]
    return np.bincount(places.ravel(), minlength=RESAMPLES * size).reshape(RESAMPLES, size) / size


def _compute_widening_factor(size: int) -> float:
    """Return the factor of Hesterberg's expanded percentile interval ("What Teachers Should Know About the Bootstrap",
    2015).

    A bootstrap of n values is too narrow by sqrt((n - 1) / n), and uses the quantile of a normal distribution instead
    of Student's with n - 1 degrees of freedom (here by its expansion in 1 / (n - 1)).
    """
    z, freedom = 1.959964, size - 1
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    student = z + first / freedom + second / freedom**2
    return float(np.sqrt(size / freedom) * student / z)
