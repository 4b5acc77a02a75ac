"""Run the worker as a command: until it is stopped, or once over the present files."""

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
from queue import SimpleQueue
from typing import TypeVar

from ingest import progress
from ingest.conversion.fork_client import ForkClient
from ingest.conversion.runner import Runner
from ingest.end_event import EndEvent
from ingest.monitoring import WorkerMonitor, monitor_worker
from ingest.prefetch import Prefetcher
from ingest.report_upgrades import ReportUpgrades
from ingest.retention import RetentionRunner
from ingest.watch import Watch
from ingest.worker import Worker, hold_library
from profiledb import config, terminal
from profiledb.config import Settings
from profiledb.errors import ConfigError, RefusedError, WarpdeckError
from profiledb.library import disk
from profiledb.library.catalog import Job
from profiledb.library.library import Library
from profiledb.library.locations import open_inbox, open_library, refuse_newer
from profiledb.library.visitor import WORKER
from profiledb.monitoring import allocator
from profiledb.report.sidecar import DROPPED
from profiledb.shutdown_deadline import set_shutdown_deadline
from profiledb.terminal import FAILED
from profiledb.words import visible

BUSY = 3
_log = logging.getLogger("warpdeck")
SAMPLES_AT_ONCE = 4
"""Samples that are imported between two looks at the inbox."""
Result = TypeVar("Result")


def run(arguments: argparse.Namespace, forks: ForkClient) -> int:
    """Run the worker with the arguments of ``arguments.add_arguments``.

    Args:
        arguments: parsed command line.
        forks: starts the processes that read files; this process adopts orphans.

    Returns:
        Exit status 0; 1 with ``--strict`` if a file failed; 3 if another worker holds the library.
    """
    settings = config.load(inbox=arguments.inbox, library=arguments.library, samples=arguments.samples)
    refuse_newer(settings)
    with monitor_worker(settings, lambda: open_library(settings)) as monitor:
        return _run_worker(arguments, settings, forks, monitor)


def _run_worker(arguments: argparse.Namespace, settings: Settings, forks: ForkClient, monitor: WorkerMonitor) -> int:
    end = EndEvent()
    if not arguments.once:
        _handle_end_signals(end, until_stdin_closes=arguments.until_stdin_closes)
        allocator.start_trimming()
    pause_s = 0 if arguments.once else settings.scan_s
    library = _retry_action(lambda: _open_library(settings).asked_by(WORKER), end, pause_s)
    if library is None:
        return FAILED if arguments.once else 0
    if library.catalog.shared:
        from ingest import team

        with progress.show_progress(settings.log) as lines:
            reporter = JobReporter(lines, monitor)
            team.run(library, settings, forks, end, reporter, monitor.note_look, once=arguments.once)
        return reporter.status(arguments)
    with ExitStack() as stack, progress.show_progress(settings.log) as lines:
        is_holder = _retry_action(lambda: stack.enter_context(hold_library(library)), end, pause_s)
        if is_holder is None:
            return 0
        if not is_holder:
            terminal.say(f"Another worker holds {library.folder}.", sys.stderr)
            return BUSY

        prefetcher, reporter = Prefetcher(library.folder, settings.library_text, forks), JobReporter(lines, monitor)

        def finish(job: Job) -> None:
            reporter.done(job)
            prefetcher.add(job)

        # with --once the user waits for the command to end, and nobody looks meanwhile
        worker = Worker(
            library, settings, open_inbox(settings), finish, reporter.step, Runner(forks),
            lists_previews=not arguments.once,
        )  # fmt: skip
        if arguments.once:
            _run_once(worker)
        else:
            forks.warm(prepare=True)
            _run_forever(worker, end, prefetcher, monitor)
    return reporter.status(arguments)


def _open_library(settings: Settings) -> Library:
    """Open the library after creating or migrating its tables."""
    if settings.database:
        from profiledb.library import migrations

        migrations.move(settings.database)
    return open_library(settings)


def _run_once(worker: Worker) -> None:
    """Convert the files of the inbox alone: a script that names its files does not ask for samples."""
    worker.prepare()
    watch = Watch(worker.inbox, patience_s=0)
    while worker.take(watch.finished()) or watch.restless:
        time.sleep(0.05)  # the second look decides, not this pause
    worker.list_skipped(watch.skipped)
    upgrades = ReportUpgrades(worker.library, worker.settings, worker.inbox, worker.runner)
    while upgrades.upgrade_next():
        pass


def _run_forever(worker: Worker, end: EndEvent, prefetcher: Prefetcher, monitor: WorkerMonitor) -> None:
    pause_s = worker.settings.scan_s
    watch = Watch(worker.inbox, patience_s=pause_s)
    end.add_actions(worker.stop, watch.wake.set)
    _retry_action(worker.prepare, end, pause_s)
    watch.start()
    retention = RetentionRunner(worker.settings)
    upgrades = ReportUpgrades(worker.library, worker.settings, worker.inbox, worker.runner)
    listed = worker.samples()  # once: they come with the product and nobody drops them meanwhile
    _retry_action(lambda: worker.list_waiting(listed), end, pause_s)
    samples = SampleBatches(listed)
    is_sound = True

    def look() -> None:
        nonlocal is_sound
        if not is_sound and disk.find_trouble(worker.library.folder) is None:
            worker.repair()
        is_sound = False  # an error leaves this value, and the next look repairs the library
        count = worker.look(watch, samples.next_batch())
        is_sound = True
        monitor.note_look()
        if not count and not samples.left and upgrades.upgrade_next():
            watch.wake.set()  # for the next one
        if not count:
            retention.run_if_due()
            prefetcher.run_if_idle()

    while not end.is_set():
        watch.wake.clear()
        _retry_action(look, end, pause_s)
        watch.wake.wait(0 if samples.left else watch.again_s)
    retention.stop()
    prefetcher.stop()
    watch.stop()


class JobReporter(progress.ProgressLines):
    """Prints and counts files, and remembers whether one failed."""

    def __init__(self, lines: progress.ProgressLines, monitor: WorkerMonitor) -> None:
        self._lines = lines
        self._monitor = monitor
        self._failed = False

    def step(self, job: Job) -> None:
        self._lines.step(job)
        self._monitor.step(job)

    def done(self, job: Job) -> None:
        self._lines.done(job)
        self._monitor.done(job)
        self._failed |= job.state in ("failed", "deferred")

    def status(self, arguments: argparse.Namespace) -> int:
        return FAILED if arguments.strict and self._failed else 0


class SampleBatches:
    """Samples in small batches, so that files dropped meanwhile do not wait for all of them."""

    def __init__(self, paths: list[Path]) -> None:
        self._paths = paths
        reports = [path for path in paths if not path.name.lower().endswith(DROPPED)]
        self._batches = [reports[at : at + SAMPLES_AT_ONCE] for at in range(0, len(reports), SAMPLES_AT_ONCE)]

    @property
    def left(self) -> bool:
        """Return True if some batches were not returned yet."""
        return bool(self._batches)

    def next_batch(self) -> list[Path]:
        """Return the next batch of reports, and after the last one all samples."""
        return self._batches.pop(0) if self._batches else self._paths


def _retry_action(action: Callable[[], Result], end: EndEvent, pause_s: float) -> Result | None:
    """Retry an action until it works, for example until the disk has space again, and report each new error once.

    Errors in a single file never get here. Without a pause the first error is raised.
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
                _report_error(error)
            end.wait(pause_s)
    return None


def _report_error(error: Exception) -> None:
    if trouble := disk.explain_error(error):
        _log.error("%s Check the free space and the permissions of the library's folder.", trouble.message)
    elif isinstance(error, WarpdeckError):
        _log.error("%s", visible(terminal.describe_error(error)))
    else:
        _log.error("The worker could not go on; it tries again", exc_info=error)


def _handle_end_signals(end: EndEvent, *, until_stdin_closes: bool) -> None:
    """End the worker at SIGTERM or SIGINT.

    A handler may run while its own thread holds the lock of an event. It would wait forever to set that event, so
    another thread does. A ``SimpleQueue`` is made for handlers.
    """
    received = SimpleQueue[int]()

    def end_after_signal() -> None:
        while True:
            received.get()
            end.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: received.put(number))
    set_shutdown_deadline()
    threading.Thread(target=end_after_signal, daemon=True).start()
    if until_stdin_closes:
        threading.Thread(target=_end_after_stdin, args=(end,), daemon=True).start()


def _end_after_stdin(end: EndEvent) -> None:
    """End the worker when standard input closes, however the process at its other end died."""
    while os.read(0, 4096):
        pass
    end.set()
