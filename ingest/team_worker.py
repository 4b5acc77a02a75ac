"""The worker of a team: files go into the queue, and one that another worker can read goes to that."""

import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from procrastinate import JobContext

from ingest import deferred_files, queue, sidecar_intake
from ingest.queue import Queue
from ingest.worker import Worker
from profiledb.errors import CatalogError
from profiledb.library import catalog, workers
from profiledb.library.catalog import Job, Manifest
from profiledb.library.database import Shared
from profiledb.library.workers import WorkerInfo, Workers

Result = TypeVar("Result")
LONGEST_PATH = 2_600
"""Bytes of the path of a file: PostgreSQL's index takes no longer key."""
LEADER = "-lead"
"""How the names of folders end in which the worker that watches the inbox works."""
AGAIN_S = 1.0
"""Between two tries of a worker that has a file at hand and does not reach the database."""


class GivenBack(Exception):  # noqa: N818 - it is no error
    """This worker ends, and leaves the file that it has at hand to the others."""


@dataclass
class TeamWorker(Worker):
    """One of many workers.

    Args:
        me: what others know of it.
        queue: where files wait.
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
        """Makes the inbox and brings folder and catalog together; what others have at hand stays as it is."""
        self.inbox.prepare()
        self.library.recover()
        living = {one.id for one in self.workers.all()}
        for folder in self.library.work.parent.glob("*"):
            with suppress(FileNotFoundError):  # its worker has ended well, or another leader was quicker
                since_s = time.time() - folder.stat().st_mtime
                if folder.name.removesuffix(LEADER) not in living and since_s > workers.ALIVE_S:
                    shutil.rmtree(folder, ignore_errors=True)

    def is_due(self, known: Job | None, mark: str) -> bool:
        """Whether a file is to be taken; what had to wait, on whichever machine, is tried again after a while."""
        if known is None or known.state != deferred_files.STATE or known.fingerprint != mark:
            return super().is_due(known, mark)
        return datetime.now(UTC) - datetime.fromisoformat(known.changed_at) > timedelta(seconds=deferred_files.AGAIN_S)

    def take(self, paths: list[Path]) -> int:
        """Puts files into the queue that are new or have changed, and reads what lies beside reports."""
        taken = super().take([path for path in paths if len(str(path).encode()) <= LONGEST_PATH])
        self.queue.put_missing()
        return taken

    def take_all(self, fresh: list[Job], known: Mapping[str, Job]) -> int:
        """Puts these files into the queue."""
        self.library.catalog.put_job(*queue.waiting(fresh, dict(known)))
        self.without_companions(fresh)
        return 0

    def convert(self, context: JobContext, path: str) -> None:
        """Takes a file that waited in the queue; one that was deleted, or is done, is left.

        Where the database goes away meanwhile the file stays at hand until it is back: so it keeps its place.
        """
        self.at_work = context.job.id
        self._taken_over = context.job.attempts > 0
        try:
            self._patiently(lambda: self._take(path))
        finally:
            self.at_work = None

    def _take(self, path: str) -> None:
        job = self.library.catalog.job(path)
        if job is None or job.state not in catalog.OPEN_STATES:
            return
        self._taken_over |= job.state != "waiting"
        known = replace(job, state="ready") if job.report_id else None
        self.take_one(replace(job, state="waiting", report_id=None, message="", tools=self.at_hand()), known)

    def _patiently(self, action: Callable[[], Result]) -> Result:
        """Tries until the database answers, or this worker ends."""
        while True:
            try:
                return action()
            except CatalogError as error:
                if self.runner.stopped.wait(AGAIN_S):
                    raise GivenBack from error

    def _tell(self, job: Job, step: str) -> None:
        with suppress(CatalogError):  # a conversion does not end because nobody hears how far it is
            super()._tell(job, step)

    def publish(self, path: Path, work: Path, manifest: str, known: Job | None) -> dict[str, Any]:
        """Publishes what was made, unless another worker has published the same meanwhile: then it is a duplicate."""
        report_id = Manifest.from_json(manifest).id
        with self.shared.connect("") as db:
            # A large report may take minutes on its way into a bucket, in which this transaction has nothing to say.
            db.execute("SELECT set_config('idle_in_transaction_session_timeout', '0', true)")
            db.execute("SELECT pg_advisory_xact_lock(?)", [int(report_id, 16) - (1 << 63)])
            listed = db.execute("SELECT 1 FROM report WHERE id = ?", [report_id]).fetchone()
            if listed and self.library.is_intact(report_id):
                return {"state": "duplicate"}
            return super().publish(path, work, manifest, known)

    def record(self, job: Job) -> int:
        """Writes down how it ended; a file that failed with an older nsys goes to a worker that has the newest.

        A file that was taken over, and whose report is there already without any other file having become it, was
        published by a worker that could not say so any more. One whose conversion was ended because this worker ends
        waits again.
        """
        if self.at_work is None:  # the worker that watches, which looks again by itself
            return self._record(job)
        return self._patiently(lambda: self._record(job))

    def _record(self, job: Job) -> int:
        ended = job.state == "failed" and self.runner.stopped.is_set()
        if ended and self.at_work is not None:
            waits = replace(job, state="waiting", message="", hint="", detail="", report_id=None)
            self.library.catalog.put_job(waits)
            self.on_step(waits)
            self.queue.give_back(self.at_work)
            raise GivenBack
        if job.state == "duplicate" and self._taken_over and not self._is_of_another(job):
            job = replace(job, state="ready")
        lost = job.state == "failed" and not ended and not sidecar_intake.is_sidecar(job)
        best = workers.newest_nsys(self.workers.all()) if lost else ""
        if workers.version_numbers(best) <= workers.version_numbers(self.me.nsys):
            return super().record(job)
        told = f"{job.name} goes to a worker with nsys {best}."
        self.library.catalog.put_job(replace(job, state="waiting", message=told, hint="", detail="", report_id=None))
        self.queue.put(job.path, queue.of_nsys(best))
        return 0

    def _is_of_another(self, job: Job) -> bool:
        with self.shared.connect() as db:
            query = "SELECT 1 FROM job WHERE report_id = ? AND path <> ? AND state = 'ready'"
            return db.execute(query, [job.report_id, job.path]).fetchone() is not None

    def at_hand(self) -> str:
        """The converters that the workers of the team have."""
        return workers.list_converters([*self.workers.all(), self.me])

    def tries_again(self, known: Job | None, at_hand: str) -> bool:
        """Whether a conversion failed when the team had not all the converters that it has now."""
        if known is None or known.state != "failed" or not known.tools:
            return False
        return not set(at_hand.split(", ")) <= set(known.tools.split(", "))

    def of_error(self, job: Job, error: Exception) -> Job:
        """What became of a file; where the database is away, nothing did: its job stays in the queue."""
        if isinstance(error, CatalogError):
            raise error
        return super().of_error(job, error)
