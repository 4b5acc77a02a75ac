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
from procrastinate import App
from procrastinate.exceptions import ConnectorException, UniqueViolation
from procrastinate.jobs import Status

from ingest import queue, tools
from ingest.conversion.child import Runner
from ingest.conversion.forks import Forks
from ingest.endings import TRIES
from ingest.member import LEADER, TeamWorker
from ingest.opening import Opening
from ingest.progress import Lines
from ingest.queue import Queue
from ingest.reached import LOST, Reached, quiet
from ingest.retaining import Retaining
from ingest.upgrading import Upgrading
from ingest.watch import Watch
from profiledb import terminal
from profiledb.config import Settings
from profiledb.errors import CatalogError, ConfigError, StorageError
from profiledb.report import catalog, identity, postgres
from profiledb.report.catalog import Job
from profiledb.report.library import Library
from profiledb.report.place import open_inbox
from profiledb.report.workers import Seen

BEAT_S = 5.0
STALLED_S = 20.0
"""A worker that says nothing for so long is taken for dead, and others take its files over."""
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
    me = Seen(f"{socket.gethostname()[:60]}-{secrets.token_hex(4)}", socket.gethostname(), nsys, ncu)
    opening = Opening(library.folder, settings.library_text, forks, shared=True)
    reached = Reached("lead", "serve")
    assert library.catalog.shared
    inbox = open_inbox(settings)

    def done(job: Job) -> None:
        shown.done(job)
        opening.add(job)

    serving = _Told(end, settings.scan_s, reached, "serve")

    def beat() -> None:
        serving.back()
        opening.look()

    with closing(Queue(settings, library.catalog.shared, inbox)) as files:
        worker, lead = (
            TeamWorker(_own(library, name), settings, inbox, done, shown.step, Runner(forks), me=me, queue=files)
            for name in (me.id, me.id + LEADER)
        )
        end.then(worker.stop, lead.stop)
        if once:
            _once(worker, lead, end)
            return
        quiet(me.id)
        while not end.is_set():
            with serving:
                identity.require(worker.library)
                break
        leading = _Told(end, settings.scan_s, reached, "lead")
        leader = threading.Thread(target=_lead, args=(lead, end, leading, looked))
        leader.start()
        try:
            while not end.is_set():
                with serving:
                    asyncio.run(_serve(worker, end, beat, wait=True))
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


def _once(worker: TeamWorker, lead: TeamWorker, end: Ends) -> None:
    worker.workers.seen(worker.me)
    lead.prepare()
    watch = Watch(worker.inbox, patience_s=0)
    while lead.take(watch.finished()) or watch.restless:
        time.sleep(0.05)  # between two looks
    asyncio.run(_serve(worker, end, lambda: None, wait=False))
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

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if error is None or not isinstance(error, Exception) or isinstance(error, ConfigError):
            return False
        if isinstance(error, LOST):
            self._reached.lost()
        elif isinstance(error, StorageError):
            _log.error("%s", terminal.sentence(error))
        else:
            _log.error("The worker could not go on; it tries again", exc_info=error)
        self._end.wait(self._pause_s)
        return True


async def _serve(worker: TeamWorker, end: Ends, beat: Callable[[], None], *, wait: bool) -> None:
    """Takes jobs from the queue, one at a time, until the end or, without ``wait``, until there is none.

    ``beat`` is called each time that this worker has said that it lives.
    """
    app = queue.app(worker.settings)
    app.task(name=queue.TASK)(worker.convert)
    async with app.open_async():
        serving = asyncio.create_task(
            app.run_worker_async(
                queues=[queue.ANY, queue.of_nsys(worker.me.nsys)],
                name=worker.me.id,
                wait=wait,
                install_signal_handlers=False,
                delete_jobs="always",
                update_heartbeat_interval=BEAT_S,
                stalled_worker_timeout=STALLED_S,
            )
        )
        beat_at = 0.0
        try:
            while not serving.done() and not end.is_set():
                if time.monotonic() - beat_at > BEAT_S:
                    beat_at = time.monotonic()
                    await asyncio.to_thread(worker.workers.seen, worker.me)
                    await _take_over(app, worker)
                    beat()
                await asyncio.wait([serving], timeout=0.2)
        finally:
            if not serving.done():
                serving.cancel()
            with suppress(asyncio.CancelledError):
                await serving


async def _take_over(app: App, worker: TeamWorker) -> None:
    """Gives the jobs of workers that died to the living."""
    for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_S):
        path = str(job.task_kwargs.get("path"))
        try:
            if job.attempts + 1 < TRIES:
                await app.job_manager.retry_job(job)
                continue
            known = await asyncio.to_thread(worker.library.catalog.job, path)
            if known and known.state in catalog.OPEN_STATES:
                told = f"{TRIES} workers ended while they read {known.name}."
                failed = replace(
                    known, state="failed", message=told, hint="See the logs of the workers.", report_id=None
                )
                await asyncio.to_thread(worker.library.catalog.put_job, failed)
        except UniqueViolation:  # the file waits already, in another job
            pass
        except ConnectorException:  # another worker was quicker, and the job is its affair
            continue
        with suppress(ConnectorException):
            await app.job_manager.finish_job(job, Status.FAILED, delete_job=True)


def _lead(worker: TeamWorker, end: Ends, told: _Told, looked: Callable[[], None]) -> None:
    """Watches the inbox, as long as no other worker does; who dies, or loses the database, leads no more."""

    def seen() -> None:
        told.back()
        looked()

    while not end.is_set():
        with told, psycopg.connect(**postgres.arguments(worker.settings.database), autocommit=True) as db:
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
