"""Listen to the events of a folder."""

import os
import threading
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

CHANGES = frozenset((EVENT_TYPE_CREATED, EVENT_TYPE_MODIFIED, EVENT_TYPE_MOVED, EVENT_TYPE_CLOSED, EVENT_TYPE_DELETED))
"""Events that report a change, unlike opening, and closing without writing."""


def listen(folder: Path, wake: threading.Event, whole: set[Path], changed: set[Path], most: int) -> BaseObserver | None:
    """Listen to a folder and those below it until the observer stops; None if the system tells of no events.

    Args:
        folder: the folder.
        wake: set after any change.
        whole: receives files that moved from a hidden name inside the folder, as uploads and ``warpdeck open`` move
            them: they are complete.
        changed: receives changed paths, ``most`` at once.
        most: paths that it holds.
    """
    try:
        observer = Observer()
        observer.schedule(_WakeHandler(folder, wake, whole, changed, most), str(folder), recursive=True)
        observer.start()
    except OSError:  # no inotify left, or a file system without events
        return None
    return observer


class _WakeHandler(FileSystemEventHandler):
    """Wakes the worker after any change; the worker finds out what changed. Reads do not count, because the worker
    reads itself.
    """

    def __init__(self, folder: Path, wake: threading.Event, whole: set[Path], changed: set[Path], most: int) -> None:
        self._folder = folder
        self._wake = wake
        self._whole = whole
        self._changed = changed
        self._most = most

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Wake the worker after a write, creation, move or deletion, except of hidden names, under which uploads
        grow."""
        paths = [Path(os.fsdecode(path)) for path in (event.src_path, event.dest_path) if path]
        if event.event_type == EVENT_TYPE_MOVED and len(paths) == 2 and self._is_hidden(paths[0]):
            self._whole.add(paths[1])
        if event.event_type in CHANGES and not all(path.name.startswith(".") for path in paths):
            if len(self._changed) < self._most:
                self._changed.update(paths)
            self._wake.set()

    def _is_hidden(self, path: Path) -> bool:
        return path.is_relative_to(self._folder) and any(
            part.startswith(".") for part in path.relative_to(self._folder).parts
        )
