"""Finds the files of an inbox that are finished: nobody has written to them between two looks."""

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
"""Events that say that something has changed; opened, and closed without writing, do not."""
DEEPEST = 64
"""Levels of folders below the inbox that are looked into."""


class Watch:
    """Looks at an inbox again and again; file system events only make it look sooner.

    Events are hints, because moved-in folders, network file systems and bind mounts send none.

    Args:
        inbox: with all folders below it; links are not followed.
        patience_s: how long a file must stand still that does not show by itself that it is complete.

    ``restless`` says after a look whether a file has not stood still for long enough yet, so that another look is
    worth while soon; ``wake`` is set when something happened in the folder. ``skipped`` has what the last look passed
    over, each with the reason (skipped_files.py).
    """

    def __init__(self, inbox: Inbox, patience_s: float) -> None:
        self.inbox = inbox
        self.patience_s = patience_s
        self.wake = threading.Event()
        self.restless = False
        self.skipped: dict[Path, str] = {}
        self._seen: dict[Path, _Seen] = {}
        self._whole: set[Path] = set()
        self._observer: BaseObserver | None = None

    def start(self) -> None:
        """Begins to listen to events; without them the scans alone find everything, later."""
        if (folder := self.inbox.folder) is None:
            return
        handler = _Wake(folder, self.wake, self._whole)
        try:
            observer = Observer()
            observer.schedule(handler, str(folder), recursive=True)
            observer.start()
        except OSError:  # no inotify left, or a file system without events
            return
        self._observer = observer

    def stop(self) -> None:
        """Ends listening."""
        if self._observer:
            self._observer.stop()
            self._observer.join()

    def finished(self) -> list[Path]:
        """Files and Parquet folders that stood still since an earlier look, in the order of their times."""
        moment = time.monotonic()
        whole = {self._whole.pop() for _ in range(len(self._whole))}
        current: dict[Path, _Seen] = {}
        ready: list[tuple[int, Path]] = []
        self.inbox.renew()
        self.skipped = {}
        for path in units(self.inbox, self.skipped):
            state = self.inbox.look(path)
            if state is None:
                continue
            before = self._seen.get(path)
            if before is None or before.state != state:
                before = _Seen(state, moment, self._patience(path))
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
        """When another look is due, seconds."""
        return self.inbox.pause_s if self.restless else self.patience_s

    def _patience(self, path: Path) -> float:
        return QUICK_S if self.inbox.folder and _shows_its_end(path) else max(self.patience_s, QUICK_S)


@dataclass(frozen=True)
class _Seen:
    """A state of a file, since when it has been in it, and how long it has to stand still (seconds)."""

    state: State
    since: float
    patience_s: float


def units(inbox: Inbox, skipped: dict[Path, str]) -> Iterator[Path]:
    """What may become a report: files, and folders of Parquet files as a whole; nothing hidden or half-named.

    ``skipped`` gets what is neither, folders without rights, and those nested deeper than ``DEEPEST``.
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
            if reason := _reason(name, kind, depth):
                skipped[path] = reason
            elif kind == "file":
                yield path
            else:
                folders.append((path, depth + 1))


def _reason(name: str, kind: Kind, depth: int) -> str:
    """Why an entry is passed over; empty where it is not."""
    if not is_text(name):
        return "name"
    if kind == "folder":
        return "" if depth < DEEPEST else "deep"
    return "" if kind == "file" else kind


def _is_unit(entries: Sequence[tuple[str, Kind]]) -> bool:
    """Whether a folder has a Parquet file for each table of an nsys export (formats/nsys_parquet.py)."""
    return is_export({Path(name).stem for name, kind in entries if kind == "file" and name.endswith(".parquet")})


def is_text(name: str) -> bool:
    """Whether a name can be written down: one in another encoding than the system's can in no table and on no page."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shows_its_end(path: Path) -> bool:
    """Whether the last bytes are those that a report of nsys ends with: no more of a file is read here."""
    try:
        return nsys_report.matches(path) and nsys_report.is_complete(path)
    except OSError:
        return False


class _Wake(FileSystemEventHandler):
    """Any change makes the worker look; what changed, it finds out itself. Reading is none: the worker itself reads.

    What gets its name by being moved from a hidden one inside the inbox is whole, as uploads and ``warpdeck open`` do
    it: it is added to ``whole``, so that nobody waits whether it goes on growing.
    """

    def __init__(self, folder: Path, wake: threading.Event, whole: set[Path]) -> None:
        self._folder = folder
        self._wake = wake
        self._whole = whole

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Wakes the worker where something was written, made, moved or deleted; an upload grows under a hidden name."""
        paths = [Path(os.fsdecode(path)) for path in (event.src_path, event.dest_path) if path]
        if event.event_type == EVENT_TYPE_MOVED and len(paths) == 2 and self._is_hidden(paths[0]):
            self._whole.add(paths[1])
        if event.event_type in CHANGES and not all(path.name.startswith(".") for path in paths):
            self._wake.set()

    def _is_hidden(self, path: Path) -> bool:
        return path.is_relative_to(self._folder) and any(
            part.startswith(".") for part in path.relative_to(self._folder).parts
        )
