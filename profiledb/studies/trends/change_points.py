"""Change points: where a series of measurements moves to another level and stays there.

Candidates are found as in E-divisive (Matteson and James 2014, arXiv 1306.4933; Apache Otava and MongoDB find
regressions with it): at the split whose sides differ most by their distances. Its significance comes from random orders
of the same values: how often is a split as clear? Outliers are pulled in first, so that they decide nothing. A change
also has to be large against the noise. A steady rise or fall is a drift, which has no moment.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

P = 0.001
"""Probability by chance below which a change counts."""
LEAST_SHARE = 0.02
"""Smallest share of the level before that counts as a change."""
MADS = 3.0
"""Smallest change in median absolute deviations from the levels on its sides."""
MOST = 500
"""Number of values used, the last ones."""
_SIDE = 2
"""Smallest number of values in a level."""
_LEAST_WINDOW = 12
_ORDERS = (200, 1001)
"""Random orders to judge a part; the first number suffices for most parts without a change."""
_FARTHEST = 5.0
"""Standard deviations of the noise from the median at which a value is capped."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """A change point.

    Args:
        index: first value of the new level.
        before: level before it, the median back to the previous change.
        after: level from it on, up to the next change.
        share: size of the change as a share of ``before``; None if that is 0.
        low: lower end of the 95 % interval of that share; None likewise.
        high: its upper end.
        p: probability of a change as clear by chance, in the part in which it was found; at least 1 / 1,002.
    """

    index: int
    before: float
    after: float
    share: float | None
    low: float | None
    high: float | None
    p: float


@dataclass(frozen=True)
class ChangePoints:
    """The change points of a series in order, and whether it drifts instead."""

    changes: tuple[Change, ...]
    drifts: bool = False


def find_changes(values: Sequence[float] | Floats) -> ChangePoints:
    """Find the change points of a series.

    Args:
        values: finite measurements in order of time; the last ``MOST`` count.

    Raises:
        ValueError: a value is not finite.
    """
    series: Floats = np.asarray(values, dtype=np.float64)
    if not np.isfinite(series).all():
        raise ValueError("A series of measurements has a value that is no number.")
    left_out = max(0, len(series) - MOST)
    series = series[left_out:]
    chances = _find_splits(series, 0, len(series))
    splits = _merge_levels(series, list(chances))
    if not splits:
        return ChangePoints(())
    if _is_line(series, splits):
        return ChangePoints((), drifts=True)
    bounds = [0, *splits, len(series)]
    changes = [
        _make_change(series[low:at], series[at:high], left_out + at, chances[at])
        for low, at, high in zip(bounds, bounds[1:], bounds[2:], strict=False)
    ]
    return ChangePoints(tuple(changes))


def find_candidate(series: Floats) -> int:
    """Return the first index of the second side where the sides of a series differ most by E-divisive's measure.

    The second side may end before the series does. The shape is (n,), n at least 2 * ``_SIDE``.
    """
    n = len(series)
    distances = np.abs(series[:, None] - series[None, :])
    whole = np.zeros((n + 1, n + 1))
    whole[1:, 1:] = distances.cumsum(axis=0).cumsum(axis=1)
    starts, ends = np.arange(_SIDE, n - _SIDE + 1)[:, None], np.arange(2 * _SIDE, n + 1)[None, :]
    first, second = starts.astype(np.float64), (ends - starts).astype(np.float64)
    within = np.diagonal(whole)
    across = whole[starts, ends] - within[starts]  # between [0, start) and [start, end)
    right = within[ends] - within[starts] - 2 * across
    fits = second >= _SIDE
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = 2 * across / (first * second)
        inner = within[starts] / (first * (first - 1)) + right / (second * (second - 1))
        measure = np.where(fits, first * second / (first + second) * (apart - inner), -np.inf)
    return int(np.unravel_index(np.argmax(measure), measure.shape)[0]) + _SIDE


def estimate_chance(series: Floats) -> float:
    """Return the probability that these values in random order split as clearly into two levels, at least 1 / 1,002."""
    clear = _find_clearest_split(series[None, :])[0] - 1e-9
    random, asked, clearer = np.random.default_rng(len(series)), 0, 0
    for orders in _ORDERS:
        rows = np.tile(series, (orders - asked, 1))
        clearer += int((_find_clearest_split(random.permuted(rows, axis=1)) >= clear).sum())
        asked = orders
        if clearer > P * _ORDERS[-1]:
            break
    return (1 + clearer) / (1 + asked)


def cap_outliers(series: Floats) -> Floats:
    """Return the series with outliers capped at ``_FARTHEST`` standard deviations of its noise from its median.

    The noise is the difference of neighbors, most of which are not around a change.
    """
    steps = np.abs(np.diff(series))
    spread = float(np.median(steps)) / (0.6745 * np.sqrt(2))
    if not spread:
        spread = float(steps.mean())
    middle = float(np.median(series))
    return np.clip(series, middle - _FARTHEST * spread, middle + _FARTHEST * spread)


def _find_splits(series: Floats, low: int, high: int) -> dict[int, float]:
    """Return the splits of a part of the series in order, each with its chance in the part in which it was found."""
    if high - low < 2 * _SIDE:
        return {}
    part = cap_outliers(series[low:high])
    if part.min() == part.max() or (p := estimate_chance(part)) >= P:
        return {}
    at = low + find_candidate(part)
    return _find_splits(series, low, at) | {at: p} | _find_splits(series, at, high)


def _merge_levels(series: Floats, splits: list[int]) -> list[int]:
    """Drop splits whose levels are too close, the closest first; levels are compared again after each."""
    while splits:
        bounds = [0, *splits, len(series)]
        room = [
            _compute_relative_size(series[low:at], series[at:high])
            for low, at, high in zip(bounds, bounds[1:], bounds[2:], strict=False)
        ]
        worst = int(np.argmin(room))
        if room[worst] >= 0:
            break
        splits = [*splits[:worst], *splits[worst + 1 :]]
    return splits


def _compute_relative_size(before: Floats, after: Floats) -> float:
    """Return the size of a change over the size that it needs; noise grows with the level, as times do."""
    level, now = float(np.median(before)), float(np.median(after))
    scale = level / now if level and now else 1.0
    noise = estimate_deviation(np.concatenate([before - level, scale * (after - now)]))
    least = max(LEAST_SHARE * abs(level), MADS * noise)
    size = abs(float(np.median(_sort_differences(before, after))))
    return size / least - 1 if least else 1.0


def estimate_deviation(rest: Floats) -> float:
    """Return the median absolute deviation of normal noise, from the quartile of distances (Rousseeuw and Croux 1993,
    Qn).

    It is as robust as the median of deviations, and twice as precise for the same number of values.
    """
    n = len(rest)
    first, second = np.triu_indices(n, 1)
    half = n // 2 + 1
    place = half * (half - 1) // 2 - 1
    few = n / (n + (1.4 if n % 2 else 3.8))  # corrects the bias of few values
    return few * 2.2219 * 0.6745 * float(np.partition(np.abs(rest[first] - rest[second]), place)[place])


def _make_change(before: Floats, after: Floats, index: int, p: float) -> Change:
    level = float(np.median(before))
    apart = _sort_differences(before, after)
    end = _compute_interval_rank(before, after)
    sizes = (float(np.median(apart)), float(apart[end]), float(apart[-1 - end]))
    share, low, high = (size / abs(level) if level else None for size in sizes)
    return Change(index, level, float(np.median(after)), share, low, high, p)


def _sort_differences(before: Floats, after: Floats) -> Floats:
    """Return every value after a change minus every one before, sorted; their median is the Hodges-Lehmann estimate."""
    return np.sort((after[:, None] - before[None, :]).ravel())


def _compute_interval_rank(before: Floats, after: Floats) -> int:
    """Return the index in the sorted differences at which the 95 % interval begins, by the spread of rank sums."""
    m, n = len(before), len(after)
    return max(0, int(np.floor(m * n / 2 - 1.96 * np.sqrt(m * n * (m + n + 1) / 12))))


def _is_line(series: Floats, splits: list[int]) -> bool:
    """Return True if a straight line fits the series better than these levels, by the sum of absolute deviations.

    Levels have one parameter per level and split, a line has two; each further one has to be worth it (BIC).
    """
    n, parts = len(series), np.split(series, splits)
    levels = sum(float(np.abs(part - np.median(part)).sum()) for part in parts)
    x = np.arange(n, dtype=np.float64)
    slope = _estimate_slope(series)
    line = float(np.abs(series - slope * x - np.median(series - slope * x)).sum())
    if not line or not levels:
        return not line and levels > 0
    return bool(n * np.log(line) < n * np.log(levels) + np.log(n) * (2 * len(splits) + 1 - 2))


def _estimate_slope(series: Floats) -> float:
    """Return the slope of Theil and Sen: the median of slopes between values a third of the series apart."""
    far = max(1, len(series) // 3)
    return float(np.median((series[far:] - series[:-far]) / far))


def _find_clearest_split(rows: Floats) -> Floats:
    """Return for each row the largest reduction of squares by a split into two levels, in standard deviations.

    Windows of the row count, too, because a level that is left again shows in one of them.
    """
    rows = rows - rows.mean(axis=1, keepdims=True)
    sums, squares = np.zeros((2, len(rows), rows.shape[1] + 1))
    rows.cumsum(axis=1, out=sums[:, 1:])
    np.square(rows, out=rows).cumsum(axis=1, out=squares[:, 1:])
    clearest: Floats = np.max(
        [_split_window(sums, squares, low, high) for low, high in _list_windows(rows.shape[1])], axis=0
    )
    return clearest


def _split_window(sums: Floats, squares: Floats, low: int, high: int) -> Floats:
    n = high - low
    at = np.arange(_SIDE, n - _SIDE + 1, dtype=np.float64)
    total = sums[:, high] - sums[:, low]
    variance = (squares[:, high] - squares[:, low] - total**2 / n) / (n - 1)
    apart = sums[:, low + _SIDE : high - _SIDE + 1] - sums[:, [low]]
    apart -= np.multiply.outer(total / n, at)
    np.abs(apart, out=apart)
    apart /= np.sqrt(at * (n - at) / n)
    clearest: Floats = apart.max(axis=1) / np.sqrt(np.maximum(variance, 1e-9))
    return clearest


def _list_windows(n: int) -> list[tuple[int, int]]:
    """Return the whole, windows of half its length a quarter apart, and windows of a quarter."""
    windows = [(0, n)]
    for divisor in (2, 4):
        length = n // divisor
        if length >= _LEAST_WINDOW:
            windows += [(low, low + length) for low in range(0, n - length + 1, max(1, length // 2))]
    return windows
