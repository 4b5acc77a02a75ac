"""The report files that this process has open, small ones apart from large ones."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from profiledb.report.attachments import Attachments, Views, state

SMALL_BYTES = 8_000_000
"""A file up to this size is small: some 100,000 kernels with their calls. DuckDB shares a table among threads by groups
of 122,880 rows, so that others find next to nothing to do there, and waking them takes a quarter of the time."""


class Attached:
    """Reports that stay open between queries: where all are small, one thread works on a query, else as many as there
    are cores. May be shared by threads.

    Args:
        path: answers the file of a report by its id.
        small_bytes: what a small file has at most.
    """

    def __init__(self, path: Callable[[str], Path], small_bytes: int = SMALL_BYTES) -> None:
        self._path = path
        self._small_bytes = small_bytes
        self._small = Attachments(path, threads=1)
        self._large = Attachments(path)

    def spare(self) -> None:
        """From now on one thread works on any query: it takes longer, and less of the processor."""
        self._small_bytes = sys.maxsize

    @contextmanager
    def cursor(
        self, report_ids: Sequence[str], views: Sequence[Views] = ()
    ) -> Iterator[tuple[duckdb.DuckDBPyConnection, Sequence[str]]]:
        """What ``Attachments.cursor`` is, and raises."""
        files = [state(self._path(report_id)) for report_id in report_ids]
        attached = self._large if any(file and file[1] > self._small_bytes for file in files) else self._small
        with attached.cursor(report_ids, views) as opened:
            yield opened

    def buffers_bytes(self) -> int:
        """Return the bytes that DuckDB holds for both."""
        return self._small.buffers_bytes() + self._large.buffers_bytes()

    def reconnect(self) -> None:
        """Forgets connections that refuse every further query; what others still have open stays with them."""
        self._small.reconnect()
        self._large.reconnect()

    def close(self, report_id: str) -> bool:
        """Closes the file of a report, unless a query is using it; whether it is closed now."""
        closed = [attached.close(report_id) for attached in (self._small, self._large)]
        return all(closed)
