"""Find the finished files of an inbox, to which nobody has written between two looks."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.formats import nsys_report
from ingest.formats.nsys_sqlite import is_export
from profiledb.library.inbox import Inbox, Kind
from profiledb.library.inbox.file_stamp import State
from profiledb.library.inbox.folder import PAUSE_S as QUICK_S
from profiledb.report.file_names import is_accepted
from profiledb.sweep_schedule import SweepSchedule

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

DEEPEST = 64
"""Levels of folders below the inbox that are searched."""
MOST_CHANGES = 10_000
"""Changed paths that are remembered between two looks; after more, the next look is a sweep."""


class Watch:
    """Looks at an inbox repeatedly; file system events only make it look sooner.

    Events are hints, because moved-in folders, network file systems and bind mounts send none: a sweep finds
    everything. In an inbox of many files, the looks between two sweeps ask only for what events or the bucket tell, and
    for files that were not finished.

    Args:
        inbox: inbox with all folders below it; links are not followed.
        patience_s: seconds without a change after which a file counts as finished, unless its content shows that.

    After a look, ``restless`` is True if some file is not finished yet, so that another look is due soon, and ``swept``
    if the look was a sweep; ``sweeps`` tells when the next one is due. ``wake`` is set when the folder changed.
    ``skipped`` holds the entries that the last sweep passed over, each with the reason (skipped_files.py).
    """

    def __init__(self, inbox: Inbox, patience_s: float) -> None:
        self.inbox = inbox
        self.patience_s = patience_s
        self.wake = threading.Event()
        self.restless = False
        self.skipped: dict[Path, str] = {}
        self.swept = True
        self._seen: dict[Path, _StableState] = {}
        self._pending: set[Path] = set()
        self.sweeps = SweepSchedule()
        self._whole: set[Path] = set()
        self._changed: set[Path] = set()
        self._observer: BaseObserver | None = None

    def start(self) -> None:
        """Start listening to events; without them the looks alone find everything, later."""
        if (folder := self.inbox.folder) is None:
            return
        from ingest import folder_events  # imports watchdog, which a single look does without

        self._observer = folder_events.listen(folder, self.wake, self._whole, self._changed, MOST_CHANGES)

    def stop(self) -> None:
        if self._observer:
            self._observer.stop()
            self._observer.join()

    @contextmanager
    def look(self) -> Iterator[list[Path]]:
        """Yield the result of ``finished``, and measure the sweep together with the work in the block."""
        began = time.thread_time()
        try:
            yield self.finished()
        except BaseException:
            self.sweeps.make_due()  # the caller did not import the new files
            raise
        if self.swept:
            self.sweeps.note(time.thread_time() - began)

    def finished(self) -> list[Path]:
        """Return finished files and Parquet folders, oldest first: all after a sweep, else those that are new."""
        moment = time.monotonic()
        whole = {self._whole.pop() for _ in range(len(self._whole))}
        changed = {self._changed.pop() for _ in range(len(self._changed))}
        self.swept = self.sweeps.is_due() or len(changed) >= MOST_CHANGES
        ready: list[tuple[int, Path]] = []
        if self.swept:
            self.inbox.renew()
            self.skipped = {}
            current: dict[Path, _StableState] = {}
            units = list_units(self.inbox, self.skipped)
        else:
            changed.update(self.inbox.read_news(self._pending))
            current = self._seen
            units = iter({*self._pending, *(unit for path in changed for unit in find_units(self.inbox, path))})
        pending = set()
        for path in units:
            state = self.inbox.look(path)
            if state is None:
                current.pop(path, None)
                continue
            before = self._seen.get(path)
            if before is None or before.state != state:
                before = _StableState(state, moment, self._choose_patience(path))
            if whole and not whole.isdisjoint((path, *path.parents)):
                before = replace(before, patience_s=min(before.patience_s, QUICK_S))
            current[path] = before
            if moment - before.since >= before.patience_s:
                ready.append((state.time_ns, path))
            else:
                pending.add(path)
        self._seen, self._pending = current, pending
        self.restless = bool(pending)
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


def find_units(inbox: Inbox, path: Path) -> Iterator[Path]:
    """Yield the units that a changed path may belong to: itself, the files in it, or its folder of Parquet files.

    Skip entries that ``list_units`` skips.
    """
    parts = path.relative_to(inbox.root).parts if path.is_relative_to(inbox.root) else ()
    if not parts or len(parts) > DEEPEST or not all(is_accepted(part) and is_encodable(part) for part in parts):
        return
    above = [inbox.root.joinpath(*parts[:depth]) for depth in range(len(parts))]
    kinds = [inbox.kind_of(one) for one in (*above[1:], path)]
    if kinds[:-1] != ["folder"] * (len(kinds) - 1) or kinds[-1] not in ("file", "folder"):
        return
    if kinds[-1] == "folder":
        yield from list_units(inbox, {}, path, len(parts))
    elif path.suffix == ".parquet" and len(parts) > 1 and _is_unit(inbox.entries(above[-1])):
        yield above[-1]
    else:
        yield path


def list_units(
    inbox: Inbox, skipped: dict[Path, str], below: Path | None = None, below_depth: int = 0
) -> Iterator[Path]:
    """Yield files and Parquet folders that may become a report, except hidden and unfinished ones.

    Other entries, unreadable folders and folders deeper than ``DEEPEST`` go to ``skipped``.
    """
    if inbox.folder and not inbox.folder.is_dir():
        skipped[inbox.root] = "gone"
    folders = [(below or inbox.root, below_depth)]
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
