"""A worker of many: one of them watches the inbox, all of them convert what it puts into the queue."""

import asyncio
import logging
import secrets
import shutil
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from copy import copy
from dataclasses import replace
from typing import Any, Protocol

import psycopg
from procrastinate import App, BaseRetryStrategy, RetryDecision
from procrastinate.exceptions import ConnectorException, UniqueViolation
from procrastinate.jobs import Job as Queued
from procrastinate.jobs import Status
from procrastinate.worker import Worker as Taker

from ingest import queue, tools
from ingest.conversion.child import Runner
from ingest.conversion.fork_client import Forks
from ingest.database_watch import LOST, Reached, quiet
from ingest.prefetch import Opening
from ingest.process_endings import TRIES
from ingest.progress import Lines
from ingest.queue import Queue
from ingest.report_upgrades import Upgrading
from ingest.retention import Retaining
from ingest.team_worker import LEADER, GivenBack, TeamWorker
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
"""A worker that says nothing for so long is taken for dead, and others take its files over."""
_DAY_S = 86_400.0
_LEADS = 0x7761727065
_log = logging.getLogger("warpdeck")


class Ends(Protocol):
    """When this worker is to end (command.End)."""

    def is_set(self) -> bool:
        """Whether it is."""

    def wait(self, timeout: float) -> bool:
        """Waits for it."""

    def then(self, *actions: Any) -> None:
        """What to do then."""


def run(
    library: Library,
    settings: Settings,
    forks: Forks,
    end: Ends,
    shown: Lines,
    looked: Callable[[], None],
    *,
    once: bool,
) -> None:
    """Works until the end, or once over what is there; ``looked`` hears of each look at the inbox."""
    nsys, ncu = (".".join(map(str, tool.version[:3])) if tool else "" for tool in (tools.find_nsys(), tools.find_ncu()))
    me = WorkerInfo(f"{socket.gethostname()[:60]}-{secrets.token_hex(4)}", socket.gethostname(), nsys, ncu)
    opening = Opening(library.folder, settings.library_text, forks, shared=True)
    reached = Reached("lead", "serve")
    assert library.catalog.shared
    inbox = open_inbox(settings)

    def done(job: Job) -> None:
        shown.done(job)
        opening.add(job)

    serving = _Told(end, settings.scan_s, reached, "serve")

    with closing(Queue(settings, library.catalog.shared, inbox)) as files:
        worker, lead = (
            TeamWorker(_own(library, name), settings, inbox, done, shown.step, Runner(forks), me=me, queue=files)
            for name in (me.id, me.id + LEADER)
        )
        end.then(worker.stop, lead.stop)
        if once:
            _once(worker, lead, end, serving)
            return
        quiet(me.id)
        while not end.is_set():
            with serving:
                worker.library.require_own_database()
                break
        leading = _Told(end, settings.scan_s, reached, "lead")
        leader = threading.Thread(target=_lead, args=(lead, end, leading, looked))
        leader.start()
        try:
            while not end.is_set():
                with serving:
                    asyncio.run(_serve(worker, end, serving, opening.look))
        finally:
            leader.join()
            opening.stop()
            with suppress(CatalogError):
                worker.workers.leave(me.id)
            _clear(worker, lead)


def _own(library: Library, name: str) -> Library:
    """The library with a folder for work that no other worker uses, on its disk."""
    own = copy(library)
    own.work = library.work / name
    return own


def _clear(*ended: TeamWorker) -> None:
    for worker in ended:
        shutil.rmtree(worker.library.work, ignore_errors=True)


def _once(worker: TeamWorker, lead: TeamWorker, end: Ends, told: "_Told") -> None:
    worker.workers.seen(worker.me)
    lead.prepare()
    watch = Watch(worker.inbox, patience_s=0)
    while lead.take(watch.finished()) or watch.restless:
        time.sleep(0.05)  # between two looks
    asyncio.run(_serve(worker, end, told, lambda: None, wait=False))
    lead.take(watch.finished())  # what lies beside reports finds them now
    upgrading = Upgrading(lead.library, lead.settings, lead.inbox, lead.runner)
    while upgrading.look():
        pass
    worker.workers.leave(worker.me.id)
    _clear(worker, lead)


class _Told:
    """What goes wrong with the database or a disk in a part of the worker is told, and tried again after a pause."""

    def __init__(self, end: Ends, pause_s: float, reached: Reached, part: str) -> None:
        self._end, self._pause_s = end, pause_s
        self._reached, self._part = reached, part

    def back(self) -> None:
        """Says that the database answers."""
        self._reached.back(self._part)

    def lost(self, error: Exception) -> None:
        """Says that the database does not answer, and why."""
        self._reached.lost(error)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if error is None or not isinstance(error, Exception) or isinstance(error, ConfigError):
            return False
        if isinstance(error, LOST):
            self.lost(error)
        elif isinstance(error, StorageError):
            _log.error("%s", terminal.sentence(error))
        else:
            _log.error("The worker could not go on; it tries again", exc_info=error)
        self._end.wait(self._pause_s)
        return True


class _Again(BaseRetryStrategy):
    """A job that could not be done is the next one, as often as it may."""

    def get_retry_decision(self, *, exception: BaseException, job: Queued) -> RetryDecision | None:
        """At once, and without a time: the clocks of machines may differ."""
        may_again = isinstance(exception, GivenBack) or job.attempts + 1 < TRIES
        return RetryDecision(priority=queue.FIRST) if may_again else None


async def _serve(worker: TeamWorker, end: Ends, told: _Told, then: Callable[[], None], *, wait: bool = True) -> None:
    """Takes jobs from the queue, one at a time, until the end or, without ``wait``, until there is none.

    A job that is at hand goes on while the database is away, and this worker says that it lives as soon as it can:
    procrastinate would say so no more after the first loss. ``then`` is called each time that it was said.
    """
    app = queue.app(worker.settings)
    app.task(name=queue.TASK, pass_context=True, retry=_Again())(worker.convert)
    async with app.open_async():
        taker = Taker(
            app=app,
            queues=[queue.ANY, queue.of_nsys(worker.me.nsys)],
            name=worker.me.id,
            wait=wait,
            install_signal_handlers=False,
            delete_jobs="always",
            update_heartbeat_interval=_DAY_S,
            stalled_worker_timeout=_DAY_S,  # how long it remembers others, which may live and not reach the database
        )
        serving = asyncio.create_task(taker.run())  # type: ignore[no-untyped-call]
        rounds = _Rounds(app, worker, taker, patience_s=STALLED_S if wait else 0)
        beat_at, ending = 0.0, False
        try:
            while not serving.done():
                if end.is_set() and not ending:
                    ending = serving.cancel()  # it takes no more jobs, and waits for the one at hand
                if time.monotonic() - beat_at > BEAT_S:
                    beat_at = time.monotonic()
                    try:
                        await rounds.go()
                    except LOST as error:
                        told.lost(error)
                        rounds.lost()
                    else:
                        told.back()
                        then()
                await asyncio.wait([serving], timeout=0.2)
        finally:
            if not ending:
                serving.cancel()
            with suppress(asyncio.CancelledError):
                await serving


class _Rounds:
    """What a worker does every few seconds for itself and for the others.

    Args:
        app: of the queue.
        worker: this one.
        taker: takes its jobs from the queue.
        patience_s: how long the database has to have answered before another worker counts as dead: after a loss all
            of them have said nothing for a while, and each gets its time to say that it lives.
    """

    def __init__(self, app: App, worker: TeamWorker, taker: Taker, patience_s: float) -> None:
        self._app, self._worker, self._taker = app, worker, taker
        self._patience_s = patience_s
        self._answers_since = time.monotonic()
        self._dropped: set[int | None] = set()

    def lost(self) -> None:
        """Notes that the database did not answer."""
        self._answers_since = time.monotonic() + BEAT_S

    async def go(self) -> None:
        """Says that this worker lives, and has files wait again that nobody has at hand."""
        worker, registered = self._worker, self._taker.worker_id
        await asyncio.to_thread(worker.workers.seen, worker.me)
        if registered is not None:
            await self._app.job_manager.update_heartbeat(registered)
            for job in await self._mine(registered):
                await _free(self._app, worker, job)
        if time.monotonic() - self._answers_since >= self._patience_s:
            for job in await self._app.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_S):
                await _free(self._app, worker, job)
        await asyncio.to_thread(worker.queue.wait_again)

    async def _mine(self, registered: int) -> list[Queued]:
        """Jobs that the queue says are at hand here and are not: their end could not be written.

        The same job at two looks: the first may fall between a job's end and its being written.
        """
        held = await self._app.job_manager.list_jobs_async(status=Status.DOING.value, worker_id=registered)
        dropped = [job for job in held if job.id != self._worker.at_work]
        known, self._dropped = self._dropped, {job.id for job in dropped}
        return [job for job in dropped if job.id in known]


async def _free(app: App, worker: TeamWorker, job: Queued) -> None:
    """Gives a job that nobody has at hand to all workers, as the next one."""
    path = str(job.task_kwargs.get("path"))
    try:
        if job.attempts + 1 < TRIES:
            await app.job_manager.retry_job(job, priority=queue.FIRST)
            return
        known = await asyncio.to_thread(worker.library.catalog.job, path)
        if known and known.state in catalog.OPEN_STATES:
            told = f"{TRIES} workers ended while they read {known.name}."
            failed = replace(known, state="failed", message=told, hint="See the logs of the workers.", report_id=None)
            await asyncio.to_thread(worker.library.catalog.put_job, failed)
    except UniqueViolation:  # the file waits already, in another job
        pass
    except ConnectorException:  # another worker was quicker, and the job is its affair
        return
    with suppress(ConnectorException):
        await app.job_manager.finish_job(job, Status.FAILED, delete_job=True)


def _lead(worker: TeamWorker, end: Ends, told: _Told, looked: Callable[[], None]) -> None:
    """Watches the inbox, as long as no other worker does; who dies, or loses the database, leads no more."""

    def seen() -> None:
        told.back()
        looked()

    while not end.is_set():
        with told, psycopg.connect(**postgres.connection_arguments(worker.settings.database), autocommit=True) as db:
            while not end.is_set():
                leads = db.execute("SELECT pg_try_advisory_lock(%s)", [_LEADS]).fetchone() == (True,)
                told.back()
                if leads:
                    _watch(worker, end, db, seen)
                end.wait(worker.settings.scan_s)


def _watch(worker: TeamWorker, end: Ends, db: "psycopg.Connection[Any]", looked: Callable[[], None]) -> None:
    watch, retaining = Watch(worker.inbox, patience_s=worker.settings.scan_s), Retaining(worker.settings)
    upgrading = Upgrading(worker.library, worker.settings, worker.inbox, worker.runner)
    worker.prepare()
    samples = worker.samples()
    end.then(watch.wake.set)
    watch.start()
    try:
        while not end.is_set():
            watch.wake.clear()
            began = time.monotonic()
            worker.take(watch.finished() + samples)
            worker.forget_removed()
            worker.tell_skipped(watch.skipped)
            db.execute("SELECT 1")  # as long as this connection lives, no other worker leads
            looked()
            retaining.look()
            if upgrading.look():
                watch.wake.set()  # for the next one
            end.wait(time.monotonic() - began)  # of many files a look takes seconds: not one after the other
            watch.wake.wait(watch.again_s)
    finally:
        retaining.stop()
        watch.stop()
