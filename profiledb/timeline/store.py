"""The timelines of a library's reports: their files, built on first request, and cursors on them."""

import hashlib
import json
import logging
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from profiledb.errors import CatalogError, DamagedError, ReportNotFoundError, StorageError
from profiledb.library import preview_wait
from profiledb.library.library import Library
from profiledb.library.report_folder import get_report_path
from profiledb.query import views
from profiledb.query.views import Views
from profiledb.report import preview, sidecar
from profiledb.report.open_reports import OpenReports
from profiledb.rules import phases
from profiledb.rules.classes import KernelClass
from profiledb.timeline import build, classes, path_pieces
from profiledb.timeline.open_timeline import Opened, read_lanes
from profiledb.timeline.range_classes import read_range_classes
from profiledb.timeline.scan import NESTED

_log = logging.getLogger("warpdeck")
_TRIES = 3
_STALE_S = 3_600.0
"""Seconds after which an unfinished file that nobody writes to is abandoned."""
_OPEN_MOST = 32
"""Timelines whose lanes and names stay in memory: those requested last."""
_FILE = "t_"
"""Prefix of a report's id that stands for the file of its timeline."""


class BuildingError(Exception):
    """The file of a timeline is being built; ask again."""


class Timelines:
    """All timelines of a library. May be shared by threads; one object per process.

    Args:
        library: its reports.
        kernel_classes: classes of kernels, with the colors of the timeline.
        memory_limit: memory of DuckDB for building a file.
    """

    def __init__(self, library: Library, kernel_classes: Sequence[KernelClass], memory_limit: str = "1GB") -> None:
        self._library = library
        self._kernel_classes = kernel_classes
        self._memory_limit = memory_limit
        self._attached = OpenReports(self._get_path)
        self._opened: dict[str, Opened] = {}
        self._building: dict[str, threading.Thread] = {}
        self._failed: dict[str, tuple[str, Exception]] = {}
        self._lock = threading.Lock()
        library.on_eviction(self._close_report)

    def open(self, report_id: str) -> Opened:
        """Open the timeline of a report.

        Raises:
            BuildingError: its file is being built, by this call or another.
            ReportNotFoundError: the report does not exist.
        """
        self._library.fetch(report_id)
        if not self._library.path(report_id).exists():
            raise ReportNotFoundError("This report is not in the library.")
        with self._lock:
            opened = self._opened.pop(report_id, None)
            if opened:
                self._opened[report_id] = opened  # the last one is the latest
        if opened and opened.version == self._compute_stamp(report_id):
            return opened
        self._fetch_file(report_id)
        stamp = self._compute_stamp(report_id)
        if self._is_current(report_id):
            try:
                opened = self._read_timeline(report_id, stamp)
                self._hold_opened(report_id, opened)
                return opened
            except duckdb.Error:
                _warn_of_damage(report_id)
        self._start_build(report_id)
        raise BuildingError

    def _fetch_file(self, report_id: str) -> None:
        """Fetch the file of a timeline that another process has built and shared."""
        with suppress(StorageError, DamagedError):  # it can be built here
            self._library.fetch_file(report_id, self._get_file(report_id))

    def _hold_opened(self, report_id: str, opened: Opened) -> None:
        with self._lock:
            self._opened.pop(report_id, None)
            self._opened[report_id] = opened
            while len(self._opened) > _OPEN_MOST:
                del self._opened[next(iter(self._opened))]

    @contextmanager
    def cursor(self, report_id: str) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a cursor on the tables of a report, those of its timeline and the views ``raw_*``."""
        with self._attached.cursor([report_id, _FILE + report_id], _list_views()) as (cursor, names):
            cursor.execute(f"SET search_path = '{names[0]},{names[1]},memory'")
            try:
                yield cursor
            except duckdb.InvalidInputException as error:
                if preview.MESSAGE in str(error):
                    raise preview_wait.make_error("The report") from error
                raise

    def wait(self, report_id: str) -> Opened:
        """Open the timeline of a report once it is built; raises as ``open``, and the error of a failed build."""
        for _ in range(_TRIES):
            try:
                return self.open(report_id)
            except BuildingError:
                if thread := self._building.get(report_id):
                    thread.join()
        raise BuildingError

    def make(self, report_id: str) -> None:
        """Build the file of a timeline in this thread unless it is current, without reading it.

        Raises:
            duckdb.Error: the report is damaged, or the disk is full.
            OSError: the file cannot be written.
        """
        self._library.fetch(report_id)
        self._fetch_file(report_id)
        if not self._is_current(report_id):
            self._write_file(report_id)

    def _close_report(self, report_id: str) -> bool:
        """Close the files of a report unless a query is using them; return True if they are closed now."""
        closed = [self._attached.close(key) for key in (report_id, _FILE + report_id)]
        return all(closed)

    def _get_path(self, key: str) -> Path:
        if key.startswith(_FILE):
            return self._get_file(key.removeprefix(_FILE))
        return get_report_path(self._library.folder, key)

    def _get_file(self, report_id: str) -> Path:
        return build.get_timeline_path(self._library.derived.timelines, report_id)

    def _get_log(self, report_id: str) -> Path:
        return sidecar.get_path(self._library.reports, report_id, "power")

    def _compute_stamp(self, report_id: str) -> str:
        """Return a value that changes with the report, its timeline and the colors."""
        parts: list[object] = [build.VERSION, [c.name + c.light + c.dark for c in self._kernel_classes]]
        parts += [build.read_file_state(self._get_log(report_id)), phases.read_current().patterns]
        for path in (self._library.path(report_id), self._get_file(report_id)):
            status = path.stat() if path.exists() else None
            parts.append((status.st_size, status.st_mtime_ns) if status else None)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def _is_current(self, report_id: str) -> bool:
        """Return True if a file exists and was built from the report as it is now."""
        if not self._get_file(report_id).exists():
            return False
        now = (*build.read_file_state(self._library.path(report_id)), *build.read_file_state(self._get_log(report_id)))
        try:
            with self.cursor(report_id) as cursor:
                made = cursor.execute("SELECT report_bytes, report_time_ns, log_bytes, log_time_ns FROM made")
                return made.fetchall() == [now]
        except duckdb.Error:
            _warn_of_damage(report_id)
            return False

    def _read_timeline(self, report_id: str, stamp: str) -> Opened:
        with self.cursor(report_id) as cursor:
            made = cursor.execute("SELECT origin_ns, begin_ns, end_ns, left_out FROM made").fetchall()
            lanes, listed = read_lanes(cursor)
            named = cursor.execute("SELECT code, class FROM name ORDER BY code").fetchnumpy()
            zooms = [z for (z,) in cursor.execute("SELECT DISTINCT z FROM level ORDER BY z").fetchall()]
            steps = cursor.execute("SELECT s, e, name, is_warmup FROM step ORDER BY s, e").fetchall()
            has_ranges = any(lane.kind in NESTED for lane in lanes)
            no_ranges: tuple[NDArray[np.int64], list[str]] = (np.empty(0, dtype=np.int64), [])
            range_codes, range_names = read_range_classes(cursor) if has_ranges else no_ranges
            points = [z for (z,) in cursor.execute("SELECT DISTINCT z FROM point_level ORDER BY z").fetchall()]
        known = classes.list_classes(self._kernel_classes, set(named["class"]))
        places = {one.name: place for place, one in enumerate(known)}
        captured = np.array([places.get(name, 0) for name in named["class"]], dtype=np.uint16)
        origin, begin, end, left_out = made[0]
        codes, by_name = np.asarray(named["code"]), captured.copy()
        known_ranges = np.isin(range_codes, codes)
        at = np.searchsorted(codes, range_codes[known_ranges])
        by_name[at] = np.array([places[name] for name in range_names], dtype=np.uint16)[known_ranges]
        return Opened(
            origin, begin, end, lanes, listed, report_id, stamp, left_out, known, zooms, points, codes,
            by_name, captured, steps,
        )  # fmt: skip

    def _start_build(self, report_id: str) -> None:
        """Start to build the file of a timeline unless that is running; raise the error of the last try."""
        with self._lock:
            running = self._building.get(report_id)
            if running and running.is_alive():
                return
            state = self._compute_stamp(report_id)
            failed = self._failed.get(report_id)
            if failed and failed[0] == state:
                raise failed[1]
            self._building[report_id] = threading.Thread(target=self._make_file, args=(report_id, state), daemon=True)
            self._building[report_id].start()

    def _write_file(self, report_id: str) -> None:
        """Build the file of a timeline and share it."""
        target = self._get_file(report_id)
        work = target.with_name(f"{target.name}.{uuid.uuid4().hex}.making")  # another process may be building it, too
        target.parent.mkdir(parents=True, exist_ok=True)
        build.build(
            self._library.path(report_id), target, work, self._get_log(report_id), self._memory_limit,
            path_pieces.read_path(self._library, report_id), self._library.derived.views,
        )  # fmt: skip
        _remove_stale_files(target, report_id)
        with suppress(StorageError, CatalogError):
            self._library.share_prepared(report_id)

    def _make_file(self, report_id: str, state: str) -> None:
        """Build the file of a timeline and note whether that failed."""
        try:
            self._write_file(report_id)
            with self._lock:
                self._failed.pop(report_id, None)
        except (duckdb.Error, OSError) as error:
            with self._lock:
                self._failed[report_id] = (state, error)
        finally:
            with self._lock:
                if self._building.get(report_id) is threading.current_thread():
                    del self._building[report_id]


def _warn_of_damage(report_id: str) -> None:
    """Log why the file of a timeline is built anew; call it where the error is handled."""
    _log.warning("The timeline of %s is damaged; it is made anew.", report_id, exc_info=True)


def _remove_stale_files(target: Path, report_id: str) -> None:
    """Remove files of other versions, and those that a killed process left."""
    for path in target.parent.glob(f"{report_id}.timeline*"):
        with suppress(OSError):
            other = path.suffix == ".duckdb" or time.time() - path.stat().st_mtime > _STALE_S
            if path != target and other:
                path.unlink()


def _list_views() -> Sequence[Views]:
    return (*views.list_needed(["idle", "openmp"]), Views("timeline", _NAMES + build.build_raw_views() + _OWN, ()))


_NAMES = f"""
CREATE TABLE IF NOT EXISTS own_name (id BIGINT, kind VARCHAR, number BIGINT, text VARCHAR, class VARCHAR);
CREATE TABLE IF NOT EXISTS idle_piece (
    device INTEGER, start_ns BIGINT, end_ns BIGINT, class VARCHAR, text VARCHAR, ref BIGINT
);
CREATE TABLE IF NOT EXISTS {path_pieces.TABLE};
"""
"""Tables that the views need and that only the timeline's file has."""
_OWN = "DROP TABLE own_name; DROP TABLE idle_piece; DROP TABLE path_piece;"
"""A view resolves names in its own schema before the search path: these tables would hide those of the timeline."""
