"""Report files that this process has open: one connection, one attachment per report, one cursor per query."""

import tempfile
import threading
import uuid
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import duckdb

from profiledb.errors import ReportNotFoundError
from profiledb.report import stored_views
from profiledb.report.schema import quote

BROKEN = (duckdb.InternalException, duckdb.FatalException)
"""Internal errors of DuckDB, after which a connection is unusable (a window over no rows, once in 200 runs)."""

OPEN_REPORTS = 32
"""Attachments kept open at once; the least recently used one is closed first."""

KEPT_CURSORS = 4
"""Cursors kept between queries at most; the least recently used one is closed first. A page asks its analyses one after
the other, so that one serves it."""

State = tuple[int, int, int]
"""State of a file: inode, size in bytes, time of the last change in ns."""


class Views(Protocol):
    """SQL that creates views and macros beside the attached reports; SQL of one name runs once per connection."""

    @property
    def name(self) -> str:
        """Name that identifies the SQL."""

    @property
    def sql(self) -> str:
        """Statements that may run repeatedly."""


def read_state(path: Path) -> State | None:
    """Return the state of a file; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


@dataclass(frozen=True)
class _Attachment:
    """The name of an attached report in SQL, and the state of its file."""

    catalog: str
    file: State


@dataclass
class Opened:
    """A cursor, the names in SQL of its reports, and the tables and facts that its users left on it, by name.

    ``known`` has the facts that users found out about these reports on any cursor.
    """

    cursor: duckdb.DuckDBPyConnection
    catalogs: Sequence[str]
    made: dict[Hashable, Any] = field(default_factory=dict)
    known: dict[Hashable, Any] = field(default_factory=dict)


class Attachments:
    """Reports that stay open between queries. May be shared by threads.

    Args:
        path: returns the file of a report, given its id.
        threads: threads that work on a query; 0 for as many as there are cores.
        views: the folder of stored views (stored_views.py), if any.
    """

    def __init__(self, path: Callable[[str], Path], threads: int = 0, views: Path | None = None) -> None:
        self._path = path
        self._views = views
        self._threads = threads
        self._db: duckdb.DuckDBPyConnection | None = None
        self._attached: OrderedDict[str, _Attachment] = OrderedDict()
        self._in_use: Counter[str] = Counter()
        self._created: set[str] = set()
        self._kept_cursors: OrderedDict[tuple[Sequence[str], Hashable], Opened] = OrderedDict()
        self._known: dict[Sequence[str], dict[Hashable, Any]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def cursor(
        self, report_ids: Sequence[str], views: Sequence[Views] = ()
    ) -> Iterator[tuple[duckdb.DuckDBPyConnection, Sequence[str]]]:
        """Open a cursor; return it with the names in SQL of these reports, which stay attached until it is closed.

        Each of ``views`` is created before the first query that needs it, and after those before it.

        Raises:
            ReportNotFoundError: the file of a report is gone.
            duckdb.Error: the file of a report cannot be opened; the other reports stay usable.
        """
        with self._lock:
            catalogs = self._hold_reports(report_ids, views)
            cursor = self._get_connection().cursor()
        try:
            yield cursor, catalogs
        except BROKEN:
            self.reconnect()
            raise
        finally:
            cursor.close()
            with self._lock:
                self._in_use.subtract(report_ids)

    @contextmanager
    def kept_cursor(self, report_ids: Sequence[str], views: Sequence[Views], key: Hashable) -> Iterator[Opened]:
        """Open a cursor as ``cursor`` does, or reuse the one kept under this key with its tables and views.

        It is kept unless the block ends with an error. Nobody else uses it meanwhile.
        """
        with self._lock:
            catalogs = self._hold_reports(report_ids, views)
            known = self._known.setdefault(tuple(report_ids), {})
            opened = self._kept_cursors.pop((tuple(report_ids), key), None) or Opened(
                self._get_connection().cursor(), catalogs, known=known
            )
            database = self._db
        try:
            yield opened
        except BaseException as error:
            opened.cursor.close()
            if isinstance(error, BROKEN):
                self.reconnect()
            raise
        else:
            with self._lock:
                if self._db is database:
                    self._keep_cursor((tuple(report_ids), key), opened)
                else:
                    opened.cursor.close()
        finally:
            with self._lock:
                self._in_use.subtract(report_ids)

    def _keep_cursor(self, key: tuple[Sequence[str], Hashable], opened: Opened) -> None:
        if another := self._kept_cursors.pop(key, None):
            another.cursor.close()
        self._kept_cursors[key] = opened
        while len(self._kept_cursors) > KEPT_CURSORS:
            self._kept_cursors.popitem(last=False)[1].cursor.close()

    def drop_kept_cursors(self, report_id: str | None = None) -> None:
        """Close the kept cursors of a report, or all of them."""
        for key in [key for key in self._kept_cursors if report_id is None or report_id in key[0]]:
            self._kept_cursors.pop(key).cursor.close()

    def reconnect(self) -> None:
        """Drop a connection that refuses every further query; cursors that are still open keep theirs."""
        with self._lock:
            self._forget_all()

    def buffers_bytes(self) -> int:
        """Return the bytes that DuckDB holds: blocks read from open reports, and the memory of running queries."""
        with self._lock:
            if self._db is None:
                return 0
            cursor = self._db.cursor()
        with cursor:
            (held,) = cursor.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchone() or (0,)
        return int(held or 0)

    def close(self, report_id: str) -> bool:
        """Close the file of a report unless a query is using it; return True if it is closed now."""
        with self._lock:
            if report_id in self._attached and not self._in_use[report_id]:
                self._close_report(report_id)
            return report_id not in self._attached

    def _hold_reports(self, report_ids: Sequence[str], views: Sequence[Views]) -> Sequence[str]:
        """Attach reports and mark each as in use, so that attaching the second cannot evict the first; all or none."""
        for report_id in report_ids:
            self._renew_report(report_id)
        self._in_use.update(report_ids)
        try:
            catalogs = [self._attach_report(report_id) for report_id in report_ids]
            self._create_views(catalogs[0], views)
            return catalogs
        except BaseException as error:
            self._in_use.subtract(report_ids)
            if isinstance(error, BROKEN):
                self._forget_all()
            raise

    def _renew_report(self, report_id: str) -> None:
        """Detach a file that was replaced or removed: DuckDB would go on reading the old one."""
        attached = self._attached.get(report_id)
        if attached is None or attached.file == read_state(self._path(report_id)):
            return
        if self._in_use[report_id]:
            self._forget_all()
        else:
            self._close_report(report_id)

    def _attach_report(self, report_id: str) -> str:
        if attached := self._attached.get(report_id):
            self._attached.move_to_end(report_id)
            return attached.catalog
        path = self._path(report_id)
        if (file := read_state(path)) is None:
            raise ReportNotFoundError(
                "This report is no longer in the library.", hint="Drop its file again, or choose another report."
            )
        self._close_idle()
        catalog = f"r_{report_id}"
        self._get_connection().execute(f"ATTACH {quote(str(path))} AS {catalog} (READ_ONLY)")
        self._attached[report_id] = _Attachment(catalog, file)
        return catalog

    def _create_views(self, catalog: str, views: Sequence[Views]) -> None:
        """Create the missing views; they are bound at each query and so serve every report."""
        missing = [view for view in views if view.name not in self._created]
        if not missing:
            return
        try:
            with self._get_connection().cursor() as cursor:
                cursor.execute(f"SET search_path = 'memory,{catalog}'")
                for view in missing:
                    cursor.execute(view.sql)
        except BaseException:
            self._forget_all()  # a file without some tables leaves views behind that cannot be created a second time
            raise
        self._created.update(view.name for view in missing)

    def _get_connection(self) -> duckdb.DuckDBPyConnection:
        if self._db is None:
            # A folder of its own: processes that share one overwrite each other's files, and a worker that starts would
            # empty
            # ``work``. DuckDB creates the folder when it needs it, and removes it when it closes.
            spill = Path(tempfile.gettempdir()) / f"warpdeck-{uuid.uuid4().hex}"
            threads = {"threads": self._threads} if self._threads else {}
            db = duckdb.connect(config={"temp_directory": str(spill), **threads})
            self._created = set(stored_views.attach(db, self._views))
            self._db = db
        return self._db

    def _forget_all(self) -> None:
        self._db = None
        self._kept_cursors.clear()
        self._known.clear()
        self._attached.clear()
        self._created.clear()

    def _close_idle(self) -> None:
        """Close an attachment that no query is using, to make space for one more."""
        idle = [report_id for report_id in self._attached if not self._in_use[report_id]]
        for report_id in idle[: max(0, len(self._attached) - OPEN_REPORTS + 1)]:
            self._close_report(report_id)

    def _close_report(self, report_id: str) -> None:
        self.drop_kept_cursors(report_id)
        self._known = {reports: known for reports, known in self._known.items() if report_id not in reports}
        self._get_connection().execute(f"DETACH {self._attached.pop(report_id).catalog}")
