"""What the worker prints of the files that it takes: a line each, and on a terminal the one at hand as it goes."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from profiledb import terminal
from profiledb.library.catalog import Job
from profiledb.monitoring import logs
from profiledb.words import visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Lines:
    """A line a file on standard output; what was wrong with it goes to standard error."""

    def step(self, job: Job) -> None:
        """How far a file is: nothing to print."""

    def done(self, job: Job) -> None:
        """What became of a file."""
        terminal.say(f"{job.state:<9} {job.name}  {job.report_id or '-'}  {job.seconds or 0:.2f} s")
        if job.state == "ready" and job.message:
            terminal.say(f"          {job.message}", sys.stderr)
        for line in (job.message, job.hint) if job.state in ("failed", "deferred") else ():
            terminal.say(f"          {line}", sys.stderr)


class Drawn(Lines):
    """The same lines, and below them the files at hand with their steps and times."""

    def __init__(self, progress: "Progress") -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def step(self, job: Job) -> None:
        """Shows how far a file is; without a message it is at hand no more."""
        if not job.message:
            self._remove(job)
            return
        words = visible(f"{job.name}  {job.message}")
        if job.path not in self._tasks:
            self._tasks[job.path] = self._progress.add_task(words, total=None)
        self._progress.update(self._tasks[job.path], description=words)

    def done(self, job: Job) -> None:
        """Takes the file away and prints what became of it; rich moves the line above what it draws."""
        self._remove(job)
        super().done(job)

    def _remove(self, job: Job) -> None:
        if (task := self._tasks.pop(job.path, None)) is not None:
            self._progress.remove_task(task)


class Silent(Lines):
    """Nothing: the log has an event a file (ingest.monitoring)."""

    def done(self, job: Job) -> None:
        """What became of a file: nothing to print."""


@contextmanager
def shown(log: str = "") -> Iterator[Lines]:
    """Lines, or on a terminal also the file at hand; none where the log is JSON."""
    if log == logs.JSON:
        yield Silent()
        return
    if not terminal.draws():
        yield Lines()
        return
    with terminal.progress() as progress:
        yield Drawn(progress)
