"""Schedule sweeps, which look at everything, so that they take a small share of the time however much there is."""

import time

SHARE = 25
"""The next sweep is due this many times as long after the last one as that took."""
CHEAP_S = 0.05
"""A sweep that takes no longer than this leaves the next one due."""


class SweepSchedule:
    """Tells when the next sweep is due: at once, until one was noted."""

    def __init__(self) -> None:
        self._due_at = 0.0

    def is_due(self) -> bool:
        return time.monotonic() >= self._due_at

    def make_due(self) -> None:
        self._due_at = 0.0

    def note(self, cost_s: float) -> None:
        """Record the cost of a sweep in seconds, CPU or wall time; an expensive sweep postpones the next one."""
        if cost_s > CHEAP_S:
            self._due_at = time.monotonic() + SHARE * cost_s
