"""The report files that this process has open, small and large ones on separate connections."""

import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from profiledb.report.attachments import Attachments, Opened, Views, read_state

SMALL_BYTES = 8_000_000
"""Size limit of a small file, in bytes: some 100,000 kernels with their calls. DuckDB divides a table among threads by
groups of 122,880 rows, so further threads would find next to nothing to do, and waking them costs a quarter of the
time."""


class OpenReports:
    """Reports that stay open between queries: one thread per query if all are small, else as many as there are cores.

    May be shared by threads.

    Args:
        path: returns the file of a report, given its id.
        small_bytes: size limit of a small file.
        views: the folder of stored views (stored_views.py), if any.
    """

    def __init__(self, path: Callable[[str], Path], small_bytes: int = SMALL_BYTES, views: Path | None = None) -> None:
        self._path = path
        self._small_bytes = small_bytes
        self._small = Attachments(path, threads=1, views=views)
        self._large = Attachments(path, views=views)

    def use_one_thread(self) -> None:
        """Run each query on one thread from now on: it takes longer and less processor time."""
        self._small_bytes = sys.maxsize

    @contextmanager
    def cursor(
        self, report_ids: Sequence[str], views: Sequence[Views] = ()
    ) -> Iterator[tuple[duckdb.DuckDBPyConnection, Sequence[str]]]:
        """Open a cursor, as ``Attachments.cursor`` does."""
        with self._choose_attachments(report_ids).cursor(report_ids, views) as opened:
            yield opened

    @contextmanager
    def kept_cursor(self, report_ids: Sequence[str], views: Sequence[Views], key: Hashable) -> Iterator[Opened]:
        """Open a cursor, as ``Attachments.kept_cursor`` does."""
        with self._choose_attachments(report_ids).kept_cursor(report_ids, views, key) as opened:
            yield opened

    def _choose_attachments(self, report_ids: Sequence[str]) -> Attachments:
        files = [read_state(self._path(report_id)) for report_id in report_ids]
        return self._large if any(file and file[1] > self._small_bytes for file in files) else self._small

    def buffers_bytes(self) -> int:
        """Return the bytes that DuckDB holds for both connections."""
        return self._small.buffers_bytes() + self._large.buffers_bytes()

    def reconnect(self) -> None:
        """Drop connections that refuse every further query; cursors that are still open keep theirs."""
        self._small.reconnect()
        self._large.reconnect()

    def close(self, report_id: str) -> bool:
        """Close the file of a report unless a query is using it; return True if it is closed now."""
        closed = [attached.close(report_id) for attached in (self._small, self._large)]
        return all(closed)
