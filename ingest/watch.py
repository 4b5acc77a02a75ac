"""Find the finished files of an inbox, to which nobody has written between two looks."""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from watchdog.events import (
    EVENT_TYPE_CLOSED,
    EVENT_TYPE_CREATED,
    EVENT_TYPE_DELETED,
    EVENT_TYPE_MODIFIED,
    EVENT_TYPE_MOVED,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from ingest.formats import nsys_report
from ingest.formats.nsys_sqlite import is_export
from profiledb.library.inbox import Inbox, Kind
from profiledb.library.inbox.file_stamp import State
from profiledb.library.inbox.folder import PAUSE_S as QUICK_S
from profiledb.report.file_names import is_accepted

CHANGES = frozenset((EVENT_TYPE_CREATED, EVENT_TYPE_MODIFIED, EVENT_TYPE_MOVED, EVENT_TYPE_CLOSED, EVENT_TYPE_DELETED))
"""Events that report a change, unlike opening, and closing without writing."""
DEEPEST = 64
"""Levels of folders below the inbox that are searched."""


class Watch:
    """Looks at an inbox repeatedly; file system events only make it look sooner.

    Events are hints, because moved-in folders, network file systems and bind mounts send none.

    Args:
        inbox: inbox with all folders below it; links are not followed.
        patience_s: seconds without a change after which a file counts as finished, unless its content shows that.

    After a look, ``restless`` is True if some file is not finished yet, so that another look is due soon. ``wake`` is
    set when the folder changed. ``skipped`` holds the entries that the last look passed over, each with the reason
    (skipped_files.py).
    """

    def __init__(self, inbox: Inbox, patience_s: float) -> None:
        self.inbox = inbox
        self.patience_s = patience_s
        self.wake = threading.Event()
        self.restless = False
        self.skipped: dict[Path, str] = {}
        self._seen: dict[Path, _StableState] = {}
        self._whole: set[Path] = set()
        self._observer: BaseObserver | None = None

    def start(self) -> None:
        """Start listening to events; without them the looks alone find everything, later."""
        if (folder := self.inbox.folder) is None:
            return
        handler = _WakeHandler(folder, self.wake, self._whole)
        try:
            observer = Observer()
            observer.schedule(handler, str(folder), recursive=True)
            observer.start()
        except OSError:  # no inotify left, or a file system without events
            return
        self._observer = observer

    def stop(self) -> None:
        if self._observer:
            self._observer.stop()
            self._observer.join()

    def finished(self) -> list[Path]:
        """Return the finished files and Parquet folders, oldest first."""
        moment = time.monotonic()
        whole = {self._whole.pop() for _ in range(len(self._whole))}
        current: dict[Path, _StableState] = {}
        ready: list[tuple[int, Path]] = []
        self.inbox.renew()
        self.skipped = {}
        for path in list_units(self.inbox, self.skipped):
            state = self.inbox.look(path)
            if state is None:
                continue
            before = self._seen.get(path)
            if before is None or before.state != state:
                before = _StableState(state, moment, self._choose_patience(path))
            if whole and not whole.isdisjoint((path, *path.parents)):
                before = replace(before, patience_s=min(before.patience_s, QUICK_S))
            current[path] = before
            if moment - before.since >= before.patience_s:
                ready.append((state.time_ns, path))
        self._seen = current
        self.restless = len(ready) < len(current)
        return [path for _, path in sorted(ready)]

    @property
    def again_s(self) -> float:
        """Return the seconds until the next look."""
        return self.inbox.pause_s if self.restless else self.patience_s

    def _choose_patience(self, path: Path) -> float:
        return QUICK_S if self.inbox.folder and _is_complete_report(path) else max(self.patience_s, QUICK_S)


@dataclass(frozen=True)
class _StableState:
    """A state of a file, when it was first seen, and for how many seconds it must last."""

    state: State
    since: float
    patience_s: float


def list_units(inbox: Inbox, skipped: dict[Path, str]) -> Iterator[Path]:
    """Yield files and Parquet folders that may become a report, except hidden and unfinished ones.

    Other entries, unreadable folders and folders deeper than ``DEEPEST`` go to ``skipped``.
    """
    if inbox.folder and not inbox.folder.is_dir():
        skipped[inbox.root] = "gone"
    folders = [(inbox.root, 0)]
    while folders:
        here, depth = folders.pop()
        try:
            entries = inbox.entries(here)
        except OSError:
            skipped[here] = "unreadable"
            continue
        if depth and _is_unit(entries):
            yield here
            continue
        for name, kind in entries:
            path = here / name
            if not is_accepted(name):
                continue
            if reason := _explain_skip(name, kind, depth):
                skipped[path] = reason
            elif kind == "file":
                yield path
            else:
                folders.append((path, depth + 1))


def _explain_skip(name: str, kind: Kind, depth: int) -> str:
    """Return why an entry is passed over; empty if it is not."""
    if not is_encodable(name):
        return "name"
    if kind == "folder":
        return "" if depth < DEEPEST else "deep"
    return "" if kind == "file" else kind


def _is_unit(entries: Sequence[tuple[str, Kind]]) -> bool:
    """Return True if a folder has a Parquet file for each table of an nsys export (formats/nsys_parquet.py)."""
    return is_export({Path(name).stem for name, kind in entries if kind == "file" and name.endswith(".parquet")})


def is_encodable(name: str) -> bool:
    """Return True if a name can be encoded; one that cannot fits into no table and no page."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_complete_report(path: Path) -> bool:
    """Return True if a file has the start and the end mark of an nsys report; reads no more of it."""
    try:
        return nsys_report.matches(path) and nsys_report.is_complete(path)
    except OSError:
        return False


class _WakeHandler(FileSystemEventHandler):
    """Wakes the worker after any change; the worker finds out what changed. Reads do not count, because the worker
    reads itself.

    A file that moves from a hidden name inside the inbox is complete, as uploads and ``warpdeck open`` move it. It goes
    to ``whole``, so that nobody waits for it to stop growing.
    """

    def __init__(self, folder: Path, wake: threading.Event, whole: set[Path]) -> None:
        self._folder = folder
        self._wake = wake
        self._whole = whole

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Wake the worker after a write, creation, move or deletion, except of hidden names, under which uploads
        grow."""
        paths = [Path(os.fsdecode(path)) for path in (event.src_path, event.dest_path) if path]
        if event.event_type == EVENT_TYPE_MOVED and len(paths) == 2 and self._is_hidden(paths[0]):
            self._whole.add(paths[1])
        if event.event_type in CHANGES and not all(path.name.startswith(".") for path in paths):
            self._wake.set()

    def _is_hidden(self, path: Path) -> bool:
        return path.is_relative_to(self._folder) and any(
            part.startswith(".") for part in path.relative_to(self._folder).parts
        )
