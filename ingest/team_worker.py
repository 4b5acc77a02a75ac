"""A worker of a team: it queues files, and passes a file that another worker can read on to that one."""

import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar, NoReturn, TypeVar

from procrastinate import JobContext

from ingest import deferred_files, queue
from ingest.queue import Queue
from ingest.worker import Published, Worker
from profiledb.errors import CatalogError
from profiledb.library import catalog, workers
from profiledb.library.catalog import Job, Manifest
from profiledb.library.database import Shared
from profiledb.library.workers import WorkerInfo, Workers

Result = TypeVar("Result")
LONGEST_PATH = 2_600
"""Longest path of a file in bytes, limited by PostgreSQL's index."""
LEADER = "-lead"
"""Ending of the work folder of the worker that watches the inbox."""
AGAIN_S = 1.0
"""Seconds between two tries to reach the database during a job."""


class JobGivenBack(Exception):  # noqa: N818 - not an error
    """Raised when this worker ends and leaves its current file to the others."""


@dataclass
class TeamWorker(Worker):
    """One of many workers.

    Args:
        me: this worker as others see it.
        queue: queue of files.
    """

    me: WorkerInfo = None  # type: ignore[assignment]
    queue: Queue = None  # type: ignore[assignment]
    left_open: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        assert self.library.catalog.shared
        self.shared: Shared = self.library.catalog.shared
        self.workers = Workers(self.shared)
        self.at_work: int | None = None
        self._taken_over = False

    def prepare(self) -> None:
        """Create the inbox and reconcile folder and catalog; the current files of other workers stay untouched."""
        self.inbox.prepare()
        self.library.recover()
        living = {one.id for one in self.workers.all()}
        for folder in self.library.work.parent.glob("*"):
            with suppress(FileNotFoundError):  # its worker ended properly, or another leader was quicker
                since_s = time.time() - folder.stat().st_mtime
                if folder.name.removesuffix(LEADER) not in living and since_s > workers.ALIVE_S:
                    shutil.rmtree(folder, ignore_errors=True)

    def is_due(self, known: Job | None, fingerprint: str) -> bool:
        """Return True if a file is to be taken. A file that any machine deferred is retried after a while."""
        if known is None or known.state != deferred_files.STATE or known.fingerprint != fingerprint:
            return super().is_due(known, fingerprint)
        return datetime.now(UTC) - datetime.fromisoformat(known.changed_at) > timedelta(seconds=deferred_files.AGAIN_S)

    def take(self, paths: list[Path], *, is_all: bool = True) -> int:
        """Queue new and changed files, and read sidecars."""
        count = super().take([path for path in paths if len(str(path).encode()) <= LONGEST_PATH], is_all=is_all)
        self.queue.put_missing()
        return count

    def take_all(self, fresh: list[Job], known: Mapping[str, Job]) -> int:
        """Queue these files."""
        self.library.catalog.put_job(*queue.mark_waiting(fresh, dict(known)))
        self.set_companions_aside(fresh)
        return 0

    def convert(self, context: JobContext, path: str) -> None:
        """Convert a file from the queue, unless it was deleted or is done.

        If the database goes away meanwhile, the file stays with this worker until it is back, and so keeps its place.
        """
        self.at_work = context.job.id
        self._taken_over = context.job.attempts > 0
        try:
            self._retry_action(lambda: self._convert_waiting(path))
        finally:
            self.at_work = None

    def _convert_waiting(self, path: str) -> None:
        if self.runner.stopped.is_set():  # the queue may hand a job out before it hears of the end
            self._give_back()
        job = self.library.catalog.job(path)
        if job is None or job.state not in catalog.OPEN_STATES:
            return
        self._taken_over |= job.state != "waiting"
        known = replace(job, state="ready") if job.report_id else None
        self.take_one(replace(job, state="waiting", report_id=None, message="", tools=self.list_converters()), known)

    def _retry_action(self, action: Callable[[], Result]) -> Result:
        """Retry an action until the database answers or this worker ends."""
        while True:
            try:
                return action()
            except CatalogError as error:
                if self.runner.stopped.wait(AGAIN_S):
                    raise JobGivenBack from error

    def _report_step(self, job: Job, step: str) -> None:
        with suppress(CatalogError):  # a conversion goes on even if its progress cannot be written
            super()._report_step(job, step)

    def publish(self, path: Path, work: Path, manifest: str, known: Job | None) -> Published:
        """Publish a report, unless another worker has published the same one meanwhile; it is a duplicate then."""
        report_id = Manifest.from_json(manifest).id
        with self.shared.connect("") as db:
            # Uploading a large report to a bucket may take minutes, during which this transaction is idle.
            db.execute("SELECT set_config('idle_in_transaction_session_timeout', '0', true)")
            db.execute("SELECT pg_advisory_xact_lock(?)", [int(report_id, 16) - (1 << 63)])
            listed = db.execute("SELECT 1 FROM report WHERE id = ?", [report_id]).fetchone()
            if listed and self.library.is_intact(report_id):
                return "duplicate"
            return super().publish(path, work, manifest, known)

    def record(self, job: Job) -> int:
        """Record the final state of a file. A file that failed with an older nsys goes to a worker with the newest.

        If a taken-over file has a report already and no other file became that report, a worker published it and died
        before it could record that. A file whose conversion ended because this worker ends waits again.
        """
        if self.at_work is None:  # the worker that watches the inbox looks again by itself
            return self._record_job(job)
        return self._retry_action(lambda: self._record_job(job))

    def _record_job(self, job: Job) -> int:
        is_ended = job.state == "failed" and self.runner.stopped.is_set()
        if is_ended and self.at_work is not None:
            waiting = replace(job, state="waiting", message="", hint="", detail="", report_id=None)
            self.library.catalog.put_job(waiting)
            self.on_step(waiting)
            self._give_back()
        if job.state == "duplicate" and self._taken_over and not self._has_other_source(job):
            job = replace(job, state="ready")
        is_failed_report = job.state == "failed" and not is_ended and job.file_kind == "report"
        best = workers.find_newest_nsys(self.workers.all()) if is_failed_report else ""
        if workers.parse_version(best) <= workers.parse_version(self.me.nsys):
            return super().record(job)
        text = f"{job.name} goes to a worker with nsys {best}."
        self.library.catalog.put_job(replace(job, state="waiting", message=text, hint="", detail="", report_id=None))
        self.queue.put(job.path, queue.name_queue(best))
        return 0

    def _give_back(self) -> NoReturn:
        """Leave the current job to the other workers."""
        assert self.at_work is not None
        self.queue.give_back(self.at_work)
        raise JobGivenBack

    def _has_other_source(self, job: Job) -> bool:
        with self.shared.connect() as db:
            query = "SELECT 1 FROM job WHERE report_id = ? AND path <> ? AND state = 'ready'"
            return db.execute(query, [job.report_id, job.path]).fetchone() is not None

    def list_converters(self) -> str:
        """Return the converters of all workers of the team."""
        return workers.list_converters([*self.workers.all(), self.me])

    def has_new_converters(self, known: Job | None, converters: str) -> bool:
        """Return True if the team has gained a converter since a conversion failed."""
        if known is None or known.state != "failed" or not known.tools:
            return False
        return not set(converters.split(", ")) <= set(known.tools.split(", "))

    def describe_error(self, job: Job, error: Exception) -> Job:
        """Return the state of a file after an error. If the database is away, nothing changes: the job stays queued."""
        if isinstance(error, CatalogError):
            raise error
        return super().describe_error(job, error)
