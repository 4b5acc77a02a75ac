"""What a process counts of its own work: plain numbers, always kept, told where somebody asks (prometheus.py).

A label is a word of ours: a page, a state, a cause. No name of a file or of a person ever is one.
"""

import threading
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

MOST_LABELS = 64
"""Values that a label may have; what comes after them counts as ``OTHER``."""
OTHER = "other"
STATES = (
    "waiting", "converting", "loading", "ready", "duplicate", "failed", "deferred", "deleted", "dismissed", "gone",
    "companion", "alone", "columns", "skipped",
)  # fmt: skip
"""States of files that are told apart; catalog.sql says what they mean."""


@dataclass
class Counts:
    """How often something happened, by a label. Threads may share it.

    Args:
        name: of the figure, without ``_total``.
        help: a sentence about it.
        label: what its values are told apart by.
    """

    name: str
    help: str
    label: str
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _counts: Counter[str] = field(default_factory=Counter, repr=False)

    def add(self, value: str) -> None:
        """Counts one."""
        with self._lock:
            self._counts[_bounded(value, self._counts)] += 1

    def all(self) -> dict[str, int]:
        """The counts so far."""
        with self._lock:
            return dict(self._counts)


@dataclass
class Seconds:
    """How long something took, by a label. Threads may share it.

    Args:
        name: of the figure, which ends with ``_seconds``.
        help: a sentence about it.
        label: what its values are told apart by.
        bounds: seconds in ascending order, by which times are sorted.
    """

    name: str
    help: str
    label: str
    bounds: tuple[float, ...]
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _counts: dict[str, list[int]] = field(default_factory=dict, repr=False)
    _sums: dict[str, float] = field(default_factory=dict, repr=False)

    def add(self, value: str, seconds: float) -> None:
        """Counts one that took so long."""
        with self._lock:
            value = _bounded(value, self._counts)
            self._counts.setdefault(value, [0] * (len(self.bounds) + 1))[bisect_left(self.bounds, seconds)] += 1
            self._sums[value] = self._sums.get(value, 0.0) + seconds

    def all(self) -> dict[str, tuple[list[int], float]]:
        """By the label: how many took up to each bound, and more than the last; and the sum of their seconds."""
        with self._lock:
            return {value: (list(counts), self._sums[value]) for value, counts in self._counts.items()}


def _bounded(value: str, known: "Counter[str] | dict[str, list[int]]") -> str:
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
    "Time in which a file was worked on, by what became of it.",
    "state",
    (0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0, 1800.0),
)
FAILURES = Counts("warpdeck_conversion_failures", "Files that did not become reports, by cause.", "cause")
ALL: tuple[Counts | Seconds, ...] = (PAGES, ERRORS, ANSWERS, HTTP, CONVERSIONS, FAILURES)
