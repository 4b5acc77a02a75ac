"""Follow the import of files until each is a report or has failed."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiledb import terminal
from profiledb.errors import WarpdeckError
from profiledb.library.catalog import OPEN_STATES, Job
from profiledb.library.library import Library
from profiledb.words import visible
from warpdeck.inbox_copy import Copied

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LOOK_S = 0.1
NO_WORKER_S = 30.0
"""Seconds without a worker until an error: a restarting one takes a moment."""
CHECK_WORKER_S = 2.0
"""Seconds between two checks for a worker: a check takes its lock for a moment."""


@dataclass(frozen=True)
class ImportResult:
    """A file's report, or a message if it failed."""

    file: Copied
    report_id: str | None
    message: str = ""


class ProgressSteps:
    """Prints a line for each change of a file's progress."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}

    def show(self, name: str, step: str) -> None:
        """Print a file's progress if it has changed."""
        if self._last.get(name) != step:
            self._last[name] = step
            self._print_step(name, step)

    def _print_step(self, name: str, step: str) -> None:
        terminal.say(f"{name}: {step}")

    def end(self, name: str) -> None:
        """Stop showing a file."""


class ProgressBars(ProgressSteps):
    """Draws a bar per file."""

    def __init__(self, progress: "Progress") -> None:
        super().__init__()
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def _print_step(self, name: str, step: str) -> None:
        text = visible(f"{name}  {step}")
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(text, total=None)
        self._progress.update(self._tasks[name], description=text)

    def end(self, name: str) -> None:
        """Remove the bar."""
        if task := self._tasks.pop(name, None):
            self._progress.remove_task(task)


@contextmanager
def show_steps() -> Iterator[ProgressSteps]:
    """Yield bars on a terminal, lines elsewhere."""
    if not terminal.draws():
        yield ProgressSteps()
        return
    with terminal.show_progress() as progress:
        yield ProgressBars(progress)


def follow_files(
    library: Library, files: Sequence[Copied], progress: ProgressSteps, require: Callable[[], None]
) -> Iterator[ImportResult]:
    """Yield each file's result when it is there; look at the catalog whenever it has changed.

    Args:
        library: library whose catalog has the files.
        files: files to follow.
        progress: shows the steps meanwhile.
        require: raises WarpdeckError once no more files can be imported.
    """
    for file in files:
        if file.job is None:
            progress.end(file.name)
            yield ImportResult(file, file.report_id)
    pending = {str(file.job): file for file in files if file.job}
    version: tuple[int, int] | None = None
    while pending:
        if version != (version := library.catalog.version()):
            for path, file in list(pending.items()):
                result = _find_result(library.catalog.job(path), file, progress)
                if result:
                    del pending[path]
                    progress.end(file.name)
                    yield result
        else:
            require()
            time.sleep(LOOK_S)  # between two looks; a change of the catalog decides


def _find_result(job: Job | None, file: Copied, progress: ProgressSteps) -> ImportResult | None:
    if job is None or job.state in OPEN_STATES:
        progress.show(file.name, (job and job.message) or "waiting")
        return None
    if job.state in ("ready", "duplicate") and job.report_id:
        return ImportResult(file, job.report_id)
    return ImportResult(file, None, f"{job.message} {job.hint}".strip() or f"{job.name}: {job.state}.")


class WorkerPresence:
    """Checks whether a worker imports files for a library.

    Args:
        is_held: tells whether a worker runs now.
        clock: monotonic seconds.
    """

    def __init__(self, is_held: Callable[[], bool], clock: Callable[[], float] = time.monotonic) -> None:
        self._is_held = is_held
        self._clock = clock
        self._held_at = self._checked_at = clock()

    def require(self) -> None:
        """Raise WarpdeckError if no worker has run for a while."""
        now = self._clock()
        if now - self._checked_at < CHECK_WORKER_S:
            return
        self._checked_at = now
        if self._is_held():
            self._held_at = now
        elif now - self._held_at > NO_WORKER_S:
            raise WarpdeckError("No worker takes in files.", hint="Start one: warpdeck ingest")
