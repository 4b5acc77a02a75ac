"""Print a line per imported file, and on a terminal the progress of the current ones."""

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


class ProgressLines:
    """A line per file on standard output; its problem goes to standard error."""

    def step(self, job: Job) -> None: ...

    def done(self, job: Job) -> None:
        terminal.say(f"{job.state:<9} {job.name}  {job.report_id or '-'}  {job.seconds or 0:.2f} s")
        if job.state == "ready" and job.message:
            terminal.say(f"          {job.message}", sys.stderr)
        for line in (job.message, job.hint) if job.state in ("failed", "deferred") else ():
            terminal.say(f"          {line}", sys.stderr)


class ProgressBars(ProgressLines):
    """Lines per imported file, with the current files, their steps and times below."""

    def __init__(self, progress: "Progress") -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def step(self, job: Job) -> None:
        """Show the progress of a file; without a message, remove it."""
        if not job.message:
            self._remove_bar(job)
            return
        words = visible(f"{job.name}  {job.message}")
        if job.path not in self._tasks:
            self._tasks[job.path] = self._progress.add_task(words, total=None)
        self._progress.update(self._tasks[job.path], description=words)

    def done(self, job: Job) -> None:
        """Remove the file's bar and print its line, which rich moves above the bars."""
        self._remove_bar(job)
        super().done(job)

    def _remove_bar(self, job: Job) -> None:
        if (task := self._tasks.pop(job.path, None)) is not None:
            self._progress.remove_task(task)


class NoProgress(ProgressLines):
    """Prints nothing: the JSON log has an event per file (ingest.monitoring)."""

    def done(self, job: Job) -> None: ...


@contextmanager
def show_progress(log: str = "") -> Iterator[ProgressLines]:
    """Yield lines, bars on a terminal, or nothing if the log is JSON."""
    if log == logs.JSON:
        yield NoProgress()
        return
    if not terminal.draws():
        yield ProgressLines()
        return
    with terminal.show_progress() as progress:
        yield ProgressBars(progress)
