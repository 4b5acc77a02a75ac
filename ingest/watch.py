"""Finds the files of a folder that are finished: nobody has written to them between two looks."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from ingest.formats import nsys_parquet, nsys_report
from ingest.state import look

UNFINISHED = (".part", ".partial", ".tmp", ".crdownload", ".filepart", ".swp", "~")
COMPANIONS = (".energy.csv",)
"""Endings of tables that ``workloads profile`` leaves beside a report and that no page reads."""
QUICK_S = 0.1
"""Shortest time between the two looks: enough where the file shows by its end that it is complete."""


class Watch:
    """Looks at a folder again and again; file system events only make it look sooner.

    Events are hints, because moved-in folders, network file systems and bind mounts send none.

    Args:
        folder: the inbox, with all folders below it; links are not followed.
        patience_s: how long a file must stand still that does not show by itself that it is complete.

    ``restless`` says after a look whether a file has not stood still for long enough yet, so that another look is
    worth while soon; ``wake`` is set when something happened in the folder.
    """

    def __init__(self, folder: Path, patience_s: float) -> None:
        self.folder = folder
        self.patience_s = patience_s
        self.wake = threading.Event()
        self.restless = False
        self._seen: dict[Path, tuple[tuple[int, int], float]] = {}
        self._observer: BaseObserver | None = None

    def start(self) -> None:
        """Begins to listen to events; without them the scans alone find everything, later."""
        observer = Observer()
        handler = _Wake(self.wake)
        try:
            observer.schedule(handler, str(self.folder), recursive=True)
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
        current: dict[Path, tuple[tuple[int, int], float]] = {}
        ready: list[tuple[int, Path]] = []
        for path in units(self.folder):
            state = look(path)
            if state is None:
                continue
            before = self._seen.get(path)
            since = before[1] if before and before[0] == state else moment
            current[path] = (state, since)
            if moment - since >= self._patience(path):
                ready.append((state[1], path))
        self._seen = current
        self.restless = len(ready) < len(current)
        return [path for _, path in sorted(ready)]

    def _patience(self, path: Path) -> float:
        return QUICK_S if _shows_its_end(path) else max(self.patience_s, QUICK_S)


def units(folder: Path) -> Iterator[Path]:
    """What may become a report: files, and folders of Parquet files as a whole; nothing hidden or half-named."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for path in entries:
        if path.name.startswith(".") or path.name.lower().endswith(UNFINISHED + COMPANIONS) or path.is_symlink():
            continue
        if not _is_text(path.name):
            continue
        if not path.is_dir() or nsys_parquet.matches(path):
            yield path
        else:
            yield from units(path)


def _is_text(name: str) -> bool:
    """Whether a name can be written down: one in another encoding than the system's can in no table and on no page."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shows_its_end(path: Path) -> bool:
    try:
        return nsys_report.matches(path) and nsys_report.is_complete(path)
    except OSError:
        return False


class _Wake(FileSystemEventHandler):
    def __init__(self, wake: threading.Event) -> None:
        self._wake = wake

    def on_any_event(self, event: FileSystemEvent) -> None:  # noqa: ARG002 - the interface has it
        """Any change makes the worker look; what changed, it finds out itself."""
        self._wake.set()
