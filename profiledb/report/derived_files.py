"""Files that are computed from the reports of a library: where they lie, and how they are counted, bounded and removed.

``LIBRARY/derived/answers/<report>`` has answers of analyses (query/answer_store.py) and findings (findings/digest.py),
``derived/timelines`` a file per timeline (timeline/store.py), ``derived/views`` one of all views (stored_views.py),
``derived/summaries.sqlite`` the figures of all reports (studies/trends/summary_store.py). The folder may be removed at
any time: each file records its sources, and is made again when they have changed.
"""

import shutil
import threading
from collections.abc import Collection
from contextlib import suppress
from functools import cache
from pathlib import Path

FINDINGS = "findings.json"
"""Name of the file, among the answers of a report, with its findings."""
SUMMARIES = "derived/summaries.sqlite"
_TIMELINE = ".timeline"
_FULL_TO = 0.9
_LOOK_EVERY = 1 / 16
"""Fraction of the limit after which the folder is measured again, because other processes write into it, too."""


class DerivedFiles:
    """The derived files of a library. May be shared by threads."""

    def __init__(self, library: Path) -> None:
        self._library = library
        self.answers = library / "derived" / "answers"
        self.timelines = library / "derived" / "timelines"
        self.views = library / "derived" / "views"
        self._lock = threading.Lock()
        self._bytes = 0
        self._unmeasured = 0.0

    def place(self, report_id: str, name: str) -> Path | None:
        """Return the path of a derived file with this name; None for another file."""
        if name == FINDINGS:
            return self.answers / report_id / name
        return self.timelines / name if is_timeline(name) else None

    def report_of(self, path: Path | str) -> str | None:
        """Return the id of the report that a derived file belongs to; None for another file."""
        folder, _, name = str(path).rpartition(
            "/"
        )  # called for tens of thousands of paths: a Path takes three times as long
        if folder == str(self.timelines):
            return name.partition(".")[0]
        above, _, report_id = folder.rpartition("/")
        return report_id if above == str(self.answers) else None

    def of(self, report_id: str) -> list[Path]:
        """Return the derived files of a report."""
        return [*self.timelines.glob(f"{report_id}{_TIMELINE}*"), *(self.answers / report_id).glob("*")]

    def sizes(self) -> dict[str, int]:
        """Return the size of each report's timelines in bytes; answers have a limit of their own (``make_room``)."""
        sizes: dict[str, int] = {}
        for path in self.timelines.glob("*"):
            with suppress(FileNotFoundError):
                report_id = path.name.partition(".")[0]
                sizes[report_id] = sizes.get(report_id, 0) + path.stat().st_size
        return sizes

    def remove(self, report_id: str) -> None:
        """Remove everything derived from one report; processes that have a file open keep it."""
        for path in self.of(report_id):
            path.unlink(missing_ok=True)
        with suppress(OSError):  # there was none, or another process is writing an answer there
            (self.answers / report_id).rmdir()

    def remove_others(self, reports: Collection[str]) -> None:
        """Remove files derived from reports that are not among these, and those of earlier versions."""
        for path in [*self.timelines.glob("*"), *self.answers.glob("*")]:
            if (report_id := path.name.partition(".")[0]) not in reports:
                self.remove(report_id)
        self.remove_earlier()

    def remove_earlier(self) -> None:
        """Remove derived files from the places of versions up to 0.1.0; they are made again when needed."""
        shutil.rmtree(self._library / "answers", ignore_errors=True)
        for path in [*self._library.glob("summaries.sqlite*"), *self._library.glob(f"reports/*{_TIMELINE}*")]:
            path.unlink(missing_ok=True)

    def make_room(self, size: int, most: int) -> None:
        """Count new answers of ``size`` bytes; if all exceed ``most``, remove those read least recently."""
        with self._lock:
            self._bytes += size
            self._unmeasured -= size
            if self._unmeasured <= 0 or self._bytes > most:
                self._remove_oldest(most)
                self._unmeasured = _LOOK_EVERY * most

    def _remove_oldest(self, most: int) -> None:
        files = []
        for path in self.answers.glob("*/*"):
            with suppress(OSError):
                state = path.stat()
                files.append((state.st_mtime_ns, state.st_size, path))
        self._bytes = sum(size for _, size, _ in files)
        if self._bytes <= most:
            return
        for _, size, path in sorted(files):
            if self._bytes <= _FULL_TO * most:
                break
            path.unlink(missing_ok=True)
            self._bytes -= size


def is_timeline(name: str) -> bool:
    """Return True for the name of a timeline."""
    return _TIMELINE in name


@cache
def get_derived_files(library: Path) -> DerivedFiles:
    """Return the derived files of a library, one object per process, which knows how full the folder is."""
    return DerivedFiles(library)
