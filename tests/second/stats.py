"""Figures of lists of numbers, by their textbook definitions."""

import math
import statistics
from collections.abc import Sequence


def deviation(values: Sequence[float]) -> float | None:
    """Sample deviation (n - 1); None of a single value."""
    return statistics.stdev(values) if len(values) > 1 else None


def quantile(values: Sequence[float], share: float) -> float:
    """Between the two nearest values in proportion, as spreadsheets do."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def spread(values: Sequence[float]) -> float:
    """Median absolute deviation."""
    middle = statistics.median(values)
    return statistics.median([abs(value - middle) for value in values])
