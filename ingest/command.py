"""The worker as a command: for good, or once over what is there."""

import argparse
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from ingest import progress
from ingest.conversion.child import Runner
from ingest.conversion.fork_client import Forks
from ingest.monitoring import Operating, operated
from ingest.prefetch import Opening
from ingest.report_upgrades import Upgrading
from ingest.retention import Retaining
from ingest.watch import Watch
from ingest.worker import Worker, hold
from profiledb import config, terminal
from profiledb.config import Settings
from profiledb.errors import ConfigError, RefusedError, WarpdeckError
from profiledb.library import disk
from profiledb.library.catalog import Job
from profiledb.library.library import Library
from profiledb.library.locations import open_inbox, open_library, refuse_newer
from profiledb.library.visitor import WORKER
from profiledb.report.sidecar import DROPPED
from profiledb.terminal import FAILED
from profiledb.words import visible

BUSY = 3
_log = logging.getLogger("warpdeck")
SAMPLES_AT_ONCE = 4
"""Samples that are taken in before the inbox is looked at again."""
Result = TypeVar("Result")


class End:
    """Set once when the worker is to end, by a signal or by whoever started it; then does what was asked for."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._then: list[Callable[[], None]] = []
        self.is_set = self._event.is_set
        self.wait = self._event.wait

    def set(self, *_: object) -> None:
        """Ends the worker; may be called by a handler of signals, and from any thread."""
        self._event.set()
        for action in self._then:
            action()

    def then(self, *actions: Callable[[], None]) -> None:
        """What to do when the end comes; at once where it has come."""
        self._then += actions
        if self.is_set():
            self.set()


def run(arguments: argparse.Namespace, forks: Forks) -> int:
    """Runs the worker with the arguments of ``arguments.add``.

    Args:
        arguments: of the command line.
        forks: starts the processes that read files; this process adopts orphans.

    Returns:
        Exit status 0; 1 with ``--strict`` if a file failed; 3 if another worker holds the library.
    """
    settings = config.load(inbox=arguments.inbox, library=arguments.library, samples=arguments.samples)
    refuse_newer(settings)
    with operated(settings, lambda: open_library(settings)) as told:
        return _run(arguments, settings, forks, told)


def _run(arguments: argparse.Namespace, settings: Settings, forks: Forks, told: Operating) -> int:
    end = End()
    if not arguments.once:
        _listen(end, until_stdin_closes=arguments.until_stdin_closes)
    pause_s = 0 if arguments.once else settings.scan_s
    library = _patiently(lambda: _opened(settings).asked_by(WORKER), end, pause_s)
    if library is None:
        return FAILED if arguments.once else 0
    if library.catalog.shared:
        from ingest import team

        with progress.shown(settings.log) as shown:
            both = Both(shown, told)
            team.run(library, settings, forks, end, both, told.looked, once=arguments.once)
        return both.status(arguments)
    with ExitStack() as held, progress.shown(settings.log) as shown:
        mine = _patiently(lambda: held.enter_context(hold(library)), end, pause_s)
        if mine is None:
            return 0
        if not mine:
            terminal.say(f"Another worker holds {library.folder}.", sys.stderr)
            return BUSY

        opening, both = Opening(library.folder, settings.library_text, forks), Both(shown, told)

        def done(job: Job) -> None:
            both.done(job)
            opening.add(job)

        worker = Worker(library, settings, open_inbox(settings), done, both.step, Runner(forks))
        if arguments.once:
            _once(worker)
        else:
            forks.warm(prepare=True)
            _forever(worker, end, opening, told)
    return both.status(arguments)


def _opened(settings: Settings) -> Library:
    """The library, its tables made or changed where that is due."""
    if settings.database:
        from profiledb.library import migrations

        migrations.move(settings.database)
    return open_library(settings)


def _once(worker: Worker) -> None:
    """Only the inbox: a script that names its files is not asking for samples."""
    worker.prepare()
    watch = Watch(worker.inbox, patience_s=0)
    while worker.take(watch.finished()) or watch.restless:
        time.sleep(0.05)  # between two looks; the second look decides, not this pause
    worker.tell_skipped(watch.skipped)
    upgrading = Upgrading(worker.library, worker.settings, worker.inbox, worker.runner)
    while upgrading.look():
        pass


def _forever(worker: Worker, end: End, opening: Opening, told: Operating) -> None:
    pause_s = worker.settings.scan_s
    watch = Watch(worker.inbox, patience_s=pause_s)
    end.then(worker.stop, watch.wake.set)
    _patiently(worker.prepare, end, pause_s)
    watch.start()
    retaining, upgrading = (
        Retaining(worker.settings),
        Upgrading(worker.library, worker.settings, worker.inbox, worker.runner),
    )
    samples = Samples(worker.samples())  # once: they come with the product and are not dropped meanwhile

    is_mended = True

    def look() -> None:
        nonlocal is_mended
        if not is_mended and disk.find_trouble(worker.library.folder) is None:
            worker.mend()
        is_mended = False  # after an error the next look begins as a start does
        taken = worker.take(watch.finished() + samples.next())
        worker.forget_removed()
        worker.tell_skipped(watch.skipped)
        is_mended = True
        told.looked()
        if not taken and not samples.left and upgrading.look():
            watch.wake.set()  # for the next one
        if not taken:
            retaining.look()
            opening.look()

    while not end.is_set():
        watch.wake.clear()
        _patiently(look, end, pause_s)
        watch.wake.wait(0 if samples.left else watch.again_s)
    retaining.stop()
    opening.stop()
    watch.stop()


class Both(progress.Lines):
    """What is printed of files, what is told of them besides, and whether one failed."""

    def __init__(self, shown: progress.Lines, told: Operating) -> None:
        self._shown = shown
        self._told = told
        self._failed = False

    def step(self, job: Job) -> None:
        """How far a file is."""
        self._shown.step(job)
        self._told.step(job)

    def done(self, job: Job) -> None:
        """What became of a file."""
        self._shown.done(job)
        self._told.done(job)
        self._failed |= job.state in ("failed", "deferred")

    def status(self, arguments: argparse.Namespace) -> int:
        """The exit status."""
        return FAILED if arguments.strict and self._failed else 0


class Samples:
    """The samples, at first a few at each look: what people drop meanwhile does not wait for all of them."""

    def __init__(self, paths: list[Path]) -> None:
        self._paths = paths
        reports = [path for path in paths if not path.name.lower().endswith(DROPPED)]
        self._parts = [reports[at : at + SAMPLES_AT_ONCE] for at in range(0, len(reports), SAMPLES_AT_ONCE)]

    @property
    def left(self) -> bool:
        """Whether some were not looked at yet."""
        return bool(self._parts)

    def next(self) -> list[Path]:
        """Those to look at now: the next few, and once all had their turn all of them."""
        return self._parts.pop(0) if self._parts else self._paths


def _patiently(action: Callable[[], Result], end: End, pause_s: float) -> Result | None:
    """Tries until it works, for example until the disk has room again; says once what is in the way.

    What is wrong with a single file never gets here. Without a pause the first error counts.
    """
    reported = ""
    while not end.is_set():
        try:
            return action()
        except (ConfigError, RefusedError):
            raise
        except Exception as error:
            if not pause_s:
                raise
            if reported != (reported := f"{type(error).__name__}: {error}"):
                _say(error)
            end.wait(pause_s)
    return None


def _say(error: Exception) -> None:
    if trouble := disk.explain_error(error):
        _log.error("%s Check the free space and the permissions of the library's folder.", trouble.message)
    elif isinstance(error, WarpdeckError):
        _log.error("%s", visible(terminal.sentence(error)))
    else:
        _log.error("The worker could not go on; it tries again", exc_info=error)


def _listen(end: End, *, until_stdin_closes: bool) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end.set)
    if until_stdin_closes:
        threading.Thread(target=_after_stdin, args=(end,), daemon=True).start()


def _after_stdin(end: End) -> None:
    """Ends the worker when the other end of standard input is closed, however the process that held it ended."""
    while os.read(0, 4096):
        pass
    end.set()
