"""Run a worker of a team: one worker watches the inbox and queues files, all of them convert queued files."""

import asyncio
import logging
import secrets
import shutil
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

import psycopg
from procrastinate import App, BaseRetryStrategy, RetryDecision
from procrastinate.exceptions import ConnectorException, UniqueViolation
from procrastinate.jobs import Job as Queued
from procrastinate.jobs import Status
from procrastinate.worker import Worker as Taker

from ingest import queue, tools
from ingest.conversion.fork_client import ForkClient
from ingest.conversion.runner import Runner
from ingest.database_watch import CONNECTION_ERRORS, DatabaseWatch, silence_procrastinate
from ingest.end_event import EndEvent
from ingest.prefetch import Prefetcher
from ingest.process_endings import TRIES
from ingest.progress import ProgressLines
from ingest.queue import Queue
from ingest.report_upgrades import ReportUpgrades
from ingest.retention import RetentionRunner
from ingest.team_worker import LEADER, JobGivenBack, TeamWorker
from ingest.watch import Watch
from profiledb import terminal
from profiledb.config import Settings
from profiledb.errors import CatalogError, ConfigError, StorageError
from profiledb.library import catalog, postgres
from profiledb.library.catalog import Job
from profiledb.library.library import Library
from profiledb.library.locations import open_inbox
from profiledb.library.workers import WorkerInfo

BEAT_S = 5.0
STALLED_S = 20.0
"""A worker that is silent for this many seconds counts as dead, and others take its files over."""
_DAY_S = 86_400.0
_LEADER_LOCK = 0x7761727065
_log = logging.getLogger("warpdeck")


def run(
    library: Library,
    settings: Settings,
    forks: ForkClient,
    end: EndEvent,
    lines: ProgressLines,
    note_look: Callable[[], None],
    *,
    once: bool,
) -> None:
    """Work until the end, or once over the present files; call ``note_look`` after each look at the inbox."""
    nsys, ncu = (".".join(map(str, tool.version[:3])) if tool else "" for tool in (tools.find_nsys(), tools.find_ncu()))
    me = WorkerInfo(f"{socket.gethostname()[:60]}-{secrets.token_hex(4)}", socket.gethostname(), nsys, ncu)
    prefetcher = Prefetcher(library.folder, settings.library_text, forks, shared=True)
    database = DatabaseWatch("lead", "serve")
    assert library.catalog.shared
    inbox = open_inbox(settings)

    def finish(job: Job) -> None:
        lines.done(job)
        prefetcher.add(job)

    serving = _ErrorReporter(end, settings.scan_s, database, "serve")

    with closing(Queue(settings, library.catalog.shared, inbox)) as jobs:
        worker, lead = (
            TeamWorker(
                library.with_work_folder(name),
                settings,
                inbox,
                finish,
                lines.step,
                Runner(forks),
                me=me,
                queue=jobs,
            )
            for name in (me.id, me.id + LEADER)
        )
        end.add_actions(worker.stop, lead.stop)
        if once:
            _run_once(worker, lead, end, serving)
            return
        silence_procrastinate(me.id)
        while not end.is_set():
            with serving:
                worker.library.require_own_database()
                break
        leading = _ErrorReporter(end, settings.scan_s, database, "lead")
        leader = threading.Thread(target=_lead_workers, args=(lead, end, leading, note_look))
        leader.start()
        try:
            while not end.is_set():
                with serving:
                    asyncio.run(_serve_jobs(worker, end, serving, prefetcher.run_if_idle))
        finally:
            leader.join()
            prefetcher.stop()
            with suppress(CatalogError):
                worker.workers.leave(me.id)
            _remove_work_folders(worker, lead)


def _remove_work_folders(*workers: TeamWorker) -> None:
    for worker in workers:
        shutil.rmtree(worker.library.work, ignore_errors=True)


def _run_once(worker: TeamWorker, lead: TeamWorker, end: EndEvent, errors: "_ErrorReporter") -> None:
    worker.workers.seen(worker.me)
    lead.prepare()
    watch = Watch(worker.inbox, patience_s=0)
    while lead.take(watch.finished()) or watch.restless:
        time.sleep(0.05)  # the second look decides, not this pause
    asyncio.run(_serve_jobs(worker, end, errors, lambda: None, wait=False))
    lead.take(watch.finished())  # sidecars find their new reports now
    upgrades = ReportUpgrades(lead.library, lead.settings, lead.inbox, lead.runner)
    while upgrades.upgrade_next():
        pass
    worker.workers.leave(worker.me.id)
    _remove_work_folders(worker, lead)


class _ErrorReporter:
    """Reports errors of the database or a disk in one part of the worker, and pauses before the next try."""

    def __init__(self, end: EndEvent, pause_s: float, database: DatabaseWatch, part: str) -> None:
        self._end, self._pause_s = end, pause_s
        self._database, self._part = database, part

    def note_answer(self) -> None:
        """Record that the database answered."""
        self._database.note_answer(self._part)

    def note_loss(self, error: Exception) -> None:
        """Report that the database does not answer, and why."""
        self._database.note_loss(error)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if error is None or not isinstance(error, Exception) or isinstance(error, ConfigError):
            return False
        if isinstance(error, CONNECTION_ERRORS):
            self.note_loss(error)
        elif isinstance(error, StorageError):
            _log.error("%s", terminal.describe_error(error))
        else:
            _log.error("The worker could not go on; it tries again", exc_info=error)
        self._end.wait(self._pause_s)
        return True


class _RetryStrategy(BaseRetryStrategy):
    """Puts a failed job in front of all others while it has tries left."""

    def get_retry_decision(self, *, exception: BaseException, job: Queued) -> RetryDecision | None:
        """Retry at once, without a time of day, because the clocks of machines may differ."""
        may_retry = isinstance(exception, JobGivenBack) or job.attempts + 1 < TRIES
        return RetryDecision(priority=queue.FIRST_PRIORITY) if may_retry else None


async def _serve_jobs(
    worker: TeamWorker, end: EndEvent, errors: _ErrorReporter, on_beat: Callable[[], None], *, wait: bool = True
) -> None:
    """Take jobs from the queue one at a time, until the end or, without ``wait``, until the queue is empty.

    The current job continues while the database is away, and this function sends the heartbeat again as soon as it can:
    procrastinate would stop doing so after the first loss. ``on_beat`` is called after each heartbeat.
    """
    app = queue.make_app(worker.settings)
    app.task(name=queue.TASK, pass_context=True, retry=_RetryStrategy())(worker.convert)
    async with app.open_async():
        taker = Taker(
            app=app,
            queues=[queue.ANY_WORKER, queue.name_queue(worker.me.nsys)],
            name=worker.me.id,
            wait=wait,
            install_signal_handlers=False,
            delete_jobs="always",
            update_heartbeat_interval=_DAY_S,
            stalled_worker_timeout=_DAY_S,  # it then forgets silent workers, which may only lack the database
        )
        serving = asyncio.create_task(taker.run())  # type: ignore[no-untyped-call]
        heartbeat = _Heartbeat(app, worker, taker, patience_s=STALLED_S if wait else 0)
        beat_at, is_ending = 0.0, False
        try:
            while not serving.done():
                if end.is_set() and not is_ending:
                    is_ending = serving.cancel()  # takes no more jobs and waits for the current one
                if time.monotonic() - beat_at > BEAT_S:
                    beat_at = time.monotonic()
                    try:
                        await heartbeat.beat()
                    except CONNECTION_ERRORS as error:
                        errors.note_loss(error)
                        heartbeat.note_loss()
                    else:
                        errors.note_answer()
                        on_beat()
                await asyncio.wait([serving], timeout=0.2)
        finally:
            if not is_ending:
                serving.cancel()
            with suppress(asyncio.CancelledError):
                await serving


class _Heartbeat:
    """Work that each worker does every few seconds for itself and the others.

    Args:
        app: application of the queue.
        worker: this worker.
        taker: takes its jobs from the queue.
        patience_s: seconds that the database must have answered before another worker counts as dead. After a loss all
            workers have been silent, and each needs time to send its heartbeat.
    """

    def __init__(self, app: App, worker: TeamWorker, taker: Taker, patience_s: float) -> None:
        self._app, self._worker, self._taker = app, worker, taker
        self._patience_s = patience_s
        self._answers_since = time.monotonic()
        self._orphans: set[int | None] = set()

    def note_loss(self) -> None:
        """Record that the database did not answer."""
        self._answers_since = time.monotonic() + BEAT_S

    async def beat(self) -> None:
        """Send this worker's heartbeat, and queue files again that no worker is converting."""
        worker, registered = self._worker, self._taker.worker_id
        await asyncio.to_thread(worker.workers.seen, worker.me)
        if registered is not None:
            await self._app.job_manager.update_heartbeat(registered)
            for job in await self._find_own_orphans(registered):
                await _free_job(self._app, worker, job)
        if time.monotonic() - self._answers_since >= self._patience_s:
            for job in await self._app.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_S):
                await _free_job(self._app, worker, job)
        await asyncio.to_thread(worker.queue.wait_again)

    async def _find_own_orphans(self, registered: int) -> list[Queued]:
        """Return jobs that the queue assigns to this worker although it is not running them: their end could not be
        written.

        A job must be an orphan at two looks, because the first may fall between a job's end and the write of that.
        """
        running = await self._app.job_manager.list_jobs_async(status=Status.DOING.value, worker_id=registered)
        orphans = [job for job in running if job.id != self._worker.at_work]
        known, self._orphans = self._orphans, {job.id for job in orphans}
        return [job for job in orphans if job.id in known]


async def _free_job(app: App, worker: TeamWorker, job: Queued) -> None:
    """Put a job that no worker runs in front of the queue for all workers."""
    path = str(job.task_kwargs.get("path"))
    try:
        if job.attempts + 1 < TRIES:
            await app.job_manager.retry_job(job, priority=queue.FIRST_PRIORITY)
            return
        known = await asyncio.to_thread(worker.library.catalog.job, path)
        if known and known.state in catalog.OPEN_STATES:
            text = f"{TRIES} workers ended while they read {known.name}."
            failed = replace(known, state="failed", message=text, hint="See the logs of the workers.", report_id=None)
            await asyncio.to_thread(worker.library.catalog.put_job, failed)
    except UniqueViolation:  # another job queues the file already
        pass
    except ConnectorException:  # another worker was quicker
        return
    with suppress(ConnectorException):
        await app.job_manager.finish_job(job, Status.FAILED, delete_job=True)


def _lead_workers(worker: TeamWorker, end: EndEvent, errors: _ErrorReporter, note_look: Callable[[], None]) -> None:
    """Watch the inbox while no other worker does. A worker that dies or loses the database stops leading."""

    def note_answered_look() -> None:
        errors.note_answer()
        note_look()

    while not end.is_set():
        with (
            errors,
            psycopg.connect(**postgres.build_connection_arguments(worker.settings.database), autocommit=True) as db,
        ):
            while not end.is_set():
                is_leader = db.execute("SELECT pg_try_advisory_lock(%s)", [_LEADER_LOCK]).fetchone() == (True,)
                errors.note_answer()
                if is_leader:
                    _watch_inbox(worker, end, db, note_answered_look)
                end.wait(worker.settings.scan_s)


def _watch_inbox(
    worker: TeamWorker, end: EndEvent, db: "psycopg.Connection[Any]", note_look: Callable[[], None]
) -> None:
    watch, retention = Watch(worker.inbox, patience_s=worker.settings.scan_s), RetentionRunner(worker.settings)
    upgrades = ReportUpgrades(worker.library, worker.settings, worker.inbox, worker.runner)
    worker.prepare()
    samples = worker.samples()
    end.add_actions(watch.wake.set)
    watch.start()
    try:
        while not end.is_set():
            watch.wake.clear()
            started = time.monotonic()
            worker.look(watch, samples)
            db.execute("SELECT 1")  # while this connection lives, no other worker leads
            note_look()
            retention.run_if_due()
            if upgrades.upgrade_next():
                watch.wake.set()  # for the next upgrade
            end.wait(
                time.monotonic() - started
            )  # a look at many files takes seconds; this leaves as much time between two
            watch.wake.wait(watch.again_s)
    finally:
        retention.stop()
        watch.stop()
