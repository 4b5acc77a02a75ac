"""Counters of a process: plain numbers, always kept, exported on request (prometheus.py).

A label is one of our own words (a page, a state, a cause), never the name of a file or a person.
"""

import threading
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

MOST_LABELS = 64
"""Values of a label; further ones count as ``OTHER``."""
OTHER = "other"
STATES = (
    "waiting", "converting", "loading", "ready", "duplicate", "failed", "deferred", "deleted", "dismissed", "gone",
    "companion", "alone", "columns", "skipped",
)  # fmt: skip
"""States of files that are counted apart; catalog.sql explains them."""


@dataclass
class Counts:
    """Number of events by label. May be shared by threads.

    Args:
        name: of the metric, without ``_total``.
        help: one sentence.
        label: name of the label.
    """

    name: str
    help: str
    label: str
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _counts: Counter[str] = field(default_factory=Counter, repr=False)

    def add(self, value: str) -> None:
        """Count one event."""
        with self._lock:
            self._counts[_bound_label(value, self._counts)] += 1

    def all(self) -> dict[str, int]:
        """Return the counts by label."""
        with self._lock:
            return dict(self._counts)


@dataclass
class Seconds:
    """Durations by label. May be shared by threads.

    Args:
        name: of the metric, ending in ``_seconds``.
        help: one sentence.
        label: name of the label.
        bounds: upper bounds of the buckets in seconds, ascending.
    """

    name: str
    help: str
    label: str
    bounds: tuple[float, ...]
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _counts: dict[str, list[int]] = field(default_factory=dict, repr=False)
    _sums: dict[str, float] = field(default_factory=dict, repr=False)

    def add(self, value: str, seconds: float) -> None:
        """Count one duration."""
        with self._lock:
            value = _bound_label(value, self._counts)
            self._counts.setdefault(value, [0] * (len(self.bounds) + 1))[bisect_left(self.bounds, seconds)] += 1
            self._sums[value] = self._sums.get(value, 0.0) + seconds

    def all(self) -> dict[str, tuple[list[int], float]]:
        """Return, by label, the number in each bucket and above the last, and the sum in seconds."""
        with self._lock:
            return {value: (list(counts), self._sums[value]) for value, counts in self._counts.items()}


def _bound_label(value: str, known: "Counter[str] | dict[str, list[int]]") -> str:
    return value if value in known or len(known) < MOST_LABELS else OTHER


PAGES = Seconds(
    "warpdeck_page_seconds",
    "Time of a look at a page in the server, the wait for its turn included.",
    "page",
    (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)
ERRORS = Counts("warpdeck_page_errors", "Errors on pages that nobody foresaw; the log has each.", "error")
ANSWERS = Counts("warpdeck_answers", "Answers to questions of pages, by where they came from.", "source")
HTTP = Counts("warpdeck_http_answers", "Answers to HTTP requests, by the class of their status.", "status")
CONVERSIONS = Seconds(
    "warpdeck_conversion_seconds",
    "Time that a file took, by its outcome.",
    "state",
    (0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0, 1800.0),
)
FAILURES = Counts("warpdeck_conversion_failures", "Files that did not become reports, by cause.", "cause")
ALL: tuple[Counts | Seconds, ...] = (PAGES, ERRORS, ANSWERS, HTTP, CONVERSIONS, FAILURES)
