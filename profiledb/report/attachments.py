"""Report files that this process has open: one connection, an attachment a report, a cursor a query."""

import tempfile
import threading
import uuid
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import duckdb

from profiledb.errors import ReportNotFoundError
from profiledb.report.schema import quote

BROKEN = (duckdb.InternalException, duckdb.FatalException)
"""Errors of DuckDB itself, after which a connection is of no more use (a window over nothing, once in 200 runs)."""

OPEN_REPORTS = 32
"""Attachments kept open at once; the one that was not asked for the longest is closed first."""

State = tuple[int, int, int]
"""Which file stands under a name: its number, size (bytes) and time (ns)."""


class Views(Protocol):
    """SQL that creates views and macros beside the attached reports; of one name it runs once a connection."""

    @property
    def name(self) -> str:
        """What tells it from others."""

    @property
    def sql(self) -> str:
        """Statements that may run again."""


def state(path: Path) -> State | None:
    """Which file stands under a name; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


@dataclass(frozen=True)
class _Attachment:
    """The name of an attached report in SQL, and which file that is."""

    catalog: str
    file: State


class Attachments:
    """Reports that stay open between queries. May be shared by threads.

    Args:
        path: answers the file of a report by its id.
        threads: that work on a query; 0 is as many as there are cores.
    """

    def __init__(self, path: Callable[[str], Path], threads: int = 0) -> None:
        self._path = path
        self._threads = threads
        self._db: duckdb.DuckDBPyConnection | None = None
        self._attached: OrderedDict[str, _Attachment] = OrderedDict()
        self._in_use: Counter[str] = Counter()
        self._created: set[str] = set()
        self._lock = threading.Lock()

    @contextmanager
    def cursor(
        self, report_ids: Sequence[str], views: Sequence[Views] = ()
    ) -> Iterator[tuple[duckdb.DuckDBPyConnection, Sequence[str]]]:
        """A cursor of its own, and the names in SQL of these reports, which stay attached until it is closed.

        ``views`` are there, too: each is created before the first query that needs it, and after those before it.

        Raises:
            ReportNotFoundError: the file of one of them is gone.
            duckdb.Error: the file of one of them cannot be opened; the others go on.
        """
        with self._lock:
            catalogs = self._hold(report_ids, views)
            cursor = self._connection().cursor()
        try:
            yield cursor, catalogs
        except BROKEN:
            self.reconnect()
            raise
        finally:
            cursor.close()
            with self._lock:
                self._in_use.subtract(report_ids)

    def reconnect(self) -> None:
        """Forgets a connection that refuses every further query; what others still have open stays with them."""
        with self._lock:
            self._forget()

    def buffers_bytes(self) -> int:
        """Return the bytes that DuckDB holds: blocks of open reports that it has read, and what queries work on."""
        with self._lock:
            if self._db is None:
                return 0
            cursor = self._db.cursor()
        with cursor:
            (held,) = cursor.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchone() or (0,)
        return int(held or 0)

    def close(self, report_id: str) -> bool:
        """Closes the file of a report, unless a query is using it; whether it is closed now."""
        with self._lock:
            if report_id in self._attached and not self._in_use[report_id]:
                self._close(report_id)
            return report_id not in self._attached

    def _hold(self, report_ids: Sequence[str], views: Sequence[Views]) -> Sequence[str]:
        """Attaches reports and keeps them so, the first also while the second takes its place; all of them or none."""
        for report_id in report_ids:
            self._renew(report_id)
        self._in_use.update(report_ids)
        try:
            catalogs = [self._attach(report_id) for report_id in report_ids]
            self._create(catalogs[0], views)
            return catalogs
        except BaseException as error:
            self._in_use.subtract(report_ids)
            if isinstance(error, BROKEN):
                self._forget()
            raise

    def _renew(self, report_id: str) -> None:
        """Lets go of a file in whose place another stands now, or none: DuckDB would go on reading the old one."""
        attached = self._attached.get(report_id)
        if attached is None or attached.file == state(self._path(report_id)):
            return
        if self._in_use[report_id]:
            self._forget()
        else:
            self._close(report_id)

    def _attach(self, report_id: str) -> str:
        if attached := self._attached.get(report_id):
            self._attached.move_to_end(report_id)
            return attached.catalog
        path = self._path(report_id)
        if (file := state(path)) is None:
            raise ReportNotFoundError(
                "This report is no longer in the library.", hint="Drop its file again, or choose another report."
            )
        self._close_idle()
        catalog = f"r_{report_id}"
        self._connection().execute(f"ATTACH {quote(str(path))} AS {catalog} (READ_ONLY)")
        self._attached[report_id] = _Attachment(catalog, file)
        return catalog

    def _create(self, catalog: str, views: Sequence[Views]) -> None:
        """Creates the views that are not there yet; they are bound at each query and so serve every report."""
        missing = [view for view in views if view.name not in self._created]
        if not missing:
            return
        try:
            with self._connection().cursor() as cursor:
                cursor.execute(f"SET search_path = 'memory,{catalog}'")
                for view in missing:
                    cursor.execute(view.sql)
        except BaseException:
            self._forget()  # some of the views are there: made from a file that lacks tables, they cannot be made twice
            raise
        self._created.update(view.name for view in missing)

    def _connection(self) -> duckdb.DuckDBPyConnection:
        if self._db is None:
            # Of its own, and not in ``work``: processes that share one overwrite each other's files, and a worker that
            # starts would remove them. DuckDB makes the folder when it needs one, and removes it when it closes.
            spill = Path(tempfile.gettempdir()) / f"warpdeck-{uuid.uuid4().hex}"
            threads = {"threads": self._threads} if self._threads else {}
            self._db = duckdb.connect(config={"temp_directory": str(spill), **threads})
        return self._db

    def _forget(self) -> None:
        self._db = None
        self._attached.clear()
        self._created.clear()

    def _close_idle(self) -> None:
        """Makes room for one more attachment; what a query is using at this moment stays."""
        idle = [report_id for report_id in self._attached if not self._in_use[report_id]]
        for report_id in idle[: max(0, len(self._attached) - OPEN_REPORTS + 1)]:
            self._close(report_id)

    def _close(self, report_id: str) -> None:
        self._connection().execute(f"DETACH {self._attached.pop(report_id).catalog}")
