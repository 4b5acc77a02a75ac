"""Follows files that the worker takes, until each is a report or has failed."""

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
from warpdeck.inbox_copy import Taken

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LOOK_S = 0.1
UNHELD_S = 30.0
"""So long no worker may be there before that is said: one that starts anew takes a moment."""
HELD_S = 2.0
"""Time between two looks for a worker: a look takes its lock for a moment."""


@dataclass(frozen=True)
class Ended:
    """How it ended: with a report, else with a sentence."""

    taken: Taken
    report_id: str | None
    words: str = ""


class Steps:
    """How far each file is, a line a change."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}

    def show(self, name: str, step: str) -> None:
        """Says how far a file is, where that has changed."""
        if self._last.get(name) != step:
            self._last[name] = step
            self._print(name, step)

    def _print(self, name: str, step: str) -> None:
        terminal.say(f"{name}: {step}")

    def end(self, name: str) -> None:
        """A file is not under way any more."""


class Bars(Steps):
    """The same, drawn."""

    def __init__(self, progress: "Progress") -> None:
        super().__init__()
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def _print(self, name: str, step: str) -> None:
        words = visible(f"{name}  {step}")
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(words, total=None)
        self._progress.update(self._tasks[name], description=words)

    def end(self, name: str) -> None:
        """Takes the bar away."""
        if task := self._tasks.pop(name, None):
            self._progress.remove_task(task)


@contextmanager
def steps() -> Iterator[Steps]:
    """Bars on a terminal, lines elsewhere."""
    if not terminal.draws():
        yield Steps()
        return
    with terminal.progress() as progress:
        yield Bars(progress)


def follow(library: Library, files: Sequence[Taken], shown: Steps, require: Callable[[], None]) -> Iterator[Ended]:
    """Each file as it ends; looks at the catalog whenever that has changed.

    Args:
        library: whose catalog says what becomes of files.
        files: what to follow.
        shown: what is told meanwhile.
        require: raises WarpdeckError where nothing will come any more.
    """
    for taken in files:
        if taken.job is None:
            shown.end(taken.name)
            yield Ended(taken, taken.report_id)
    pending = {str(taken.job): taken for taken in files if taken.job}
    version: tuple[int, int] | None = None
    while pending:
        if version != (version := library.catalog.version()):
            for path, taken in list(pending.items()):
                ended = _look(library.catalog.job(path), taken, shown)
                if ended:
                    del pending[path]
                    shown.end(taken.name)
                    yield ended
        else:
            require()
            time.sleep(LOOK_S)  # between two looks at the catalog's state; its change decides


def _look(job: Job | None, taken: Taken, shown: Steps) -> Ended | None:
    if job is None or job.state in OPEN_STATES:
        shown.show(taken.name, (job and job.message) or "waiting")
        return None
    if job.state in ("ready", "duplicate") and job.report_id:
        return Ended(taken, job.report_id)
    return Ended(taken, None, f"{job.message} {job.hint}".strip() or f"{job.name}: {job.state}.")


class Held:
    """Whether a worker takes the files of a library.

    Args:
        held: whether one does now.
        clock: seconds that never go back.
    """

    def __init__(self, held: Callable[[], bool], clock: Callable[[], float] = time.monotonic) -> None:
        self._held = held
        self._clock = clock
        self._last = self._looked = clock()

    def require(self) -> None:
        """Raises WarpdeckError where none did for a while."""
        now = self._clock()
        if now - self._looked < HELD_S:
            return
        self._looked = now
        if self._held():
            self._last = now
        elif now - self._last > UNHELD_S:
            raise WarpdeckError("No worker takes in files.", hint="Start one: warpdeck ingest")
