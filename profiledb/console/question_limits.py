"""Limits of one question and of its answer."""

import os
from dataclasses import asdict, dataclass
from typing import Any

from profiledb.config import Settings

PREFIX = "library_"
"""Prefix of the tables of all reports; a question without it does not wait for them."""
LONGEST = 20_000
"""Length limit of a question, in characters."""
SHOWN_ROWS = 10_000
"""Rows that a page shows."""
MOST_ROWS = 1_000_000
"""Rows of a file."""
MOST_THREADS = 4


@dataclass(frozen=True)
class Bounds:
    """Limits of one question: seconds, MB of memory, threads; rows and bytes of the answer."""

    seconds: float
    memory_mb: int
    threads: int
    rows: int
    bytes: int

    def plain(self) -> dict[str, Any]:
        """Return the limits for JSON."""
        return asdict(self)


def read_page_limits(settings: Settings) -> Bounds:
    """Return the limits of an answer on a page."""
    return _make_limits(settings, SHOWN_ROWS, 16 << 20)


def read_file_limits(settings: Settings) -> Bounds:
    """Return the limits of an answer in a file."""
    return _make_limits(settings, MOST_ROWS, 256 << 20)


def _make_limits(settings: Settings, rows: int, most_bytes: int) -> Bounds:
    threads = min(os.cpu_count() or 1, MOST_THREADS)
    return Bounds(settings.sql_timeout_s, settings.sql_memory_mb, threads, rows, most_bytes)
