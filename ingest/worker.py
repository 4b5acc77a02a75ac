"""The worker: takes finished files, has each converted, and publishes the reports."""

import fcntl
import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from ingest import deferred_files, fingerprints, schedule, sidecar_intake, skipped_files, superseded_folders, tools
from ingest.conversion import limits
from ingest.conversion.child import DATABASE, Request, Runner, Task
from ingest.conversion.outcome import attempted, ended, ended_attempts
from ingest.fingerprints import NSYS_SUFFIXES
from ingest.process_endings import ENDINGS, TRIES
from ingest.sidecar_intake import Shelf
from profiledb.config import Settings
from profiledb.errors import ConversionError, StorageError
from profiledb.library import catalog
from profiledb.library.catalog import Job, Manifest
from profiledb.library.inbox import Inbox
from profiledb.library.inbox.file_stamp import read_state
from profiledb.library.library import Library
from profiledb.library.spaces import space_of
from profiledb.report.sidecar import DROPPED, TRACES
from profiledb.words import visible

_log = logging.getLogger("warpdeck")
SAMPLES = (*NSYS_SUFFIXES, ".sqlite", ".ncu-rep", ".ncu-repz", *TRACES)
"""Endings of samples; other things lie beside them, too."""


@contextmanager
def hold(library: Library) -> Iterator[bool]:
    """The lock of a library: True for the one worker that may write to it. It ends with the process, in any case."""
    with (library.folder / "worker.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


@dataclass
class Worker:
    """Turns files into reports of a library; whoever makes one holds the library's lock.

    The worker itself reads no file that was dropped: it looks at names, sizes and times, and each file is read by a
    process of its own (job.py). What goes wrong with a file is the failure of that file.

    Args:
        library: where reports go.
        settings: folders, time limits, converters.
        inbox: where files are dropped.
        on_done: called with the final state of each file.
        on_step: called with a file and how far its conversion is, as the job's message; none where it is given up.
    """

    library: Library
    settings: Settings
    inbox: Inbox
    on_done: Callable[[Job], None]
    on_step: Callable[[Job], None] = lambda _: None
    runner: Runner = field(default_factory=Runner)
    _deferrals: deferred_files.Deferrals = field(default_factory=deferred_files.Deferrals)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _skipped: Mapping[Path, str] | None = None
    left_open: ClassVar[tuple[str, ...]] = catalog.OPEN_STATES
    """States in which, between two looks, no file is that anybody works on."""

    def prepare(self) -> None:
        """Makes the inbox and mends what a crash left behind."""
        self.inbox.prepare()
        self.library.recover()
        for job in self._open_jobs():
            self._begin_anew(job)

    def mend(self) -> None:
        """Brings the library in order where an error came between: open jobs start anew, left-over work is removed."""
        self.library.recover()
        for job in self._open_jobs():
            self.library.catalog.forget_job(job.path)

    def _open_jobs(self) -> list[Job]:
        return [job for job in self.library.catalog.jobs() if job.state in catalog.OPEN_STATES]

    def _begin_anew(self, job: Job) -> None:
        """A file that was at hand when a worker was killed has lost an attempt; after the last one it has failed."""
        attempts = ended_attempts(job, job.fingerprint) + (job.state != "waiting")
        told = ENDINGS["worker"]
        message = told.message.format(name=job.name)
        if not attempts:
            self.library.catalog.forget_job(job.path)
        elif attempts < TRIES:
            again = replace(job, state=deferred_files.STATE, message=message, hint="It is tried again now.")
            self.library.catalog.put_job(attempted(again, attempts))
        else:
            message += f" Warpdeck has tried {TRIES} times."
            self.record(ended(job, "worker", state="failed", message=message, hint=told.hint, detail=""))

    def stop(self) -> None:
        """Ends the conversions at hand, and takes up no more: the files are taken up at the next start."""
        self.runner.stop()

    def samples(self) -> list[Path]:
        """The sample files and those of each family, a folder below, by their endings."""
        folder = self.settings.samples
        if folder is None or not folder.is_dir():
            return []
        files = [path for path in sorted((*folder.glob("*"), *folder.glob("*/*"))) if path.is_file()]
        return [path for path in files if path.name.lower().endswith((*SAMPLES, *DROPPED))]

    def take(self, paths: list[Path]) -> int:
        """Takes in those files that are new or have changed, and returns how many that were.

        Reports come first: then what lies beside them finds them.
        """
        jobs = self.library.catalog.jobs()
        known = {job.path: job for job in jobs}
        shelf = Shelf.of(self.library, self.inbox, jobs)
        apart = sidecar_intake.apart(paths, known, shelf)
        reports = [path for path in paths if path not in apart]
        at_hand = self.at_hand()
        fresh = [
            attempted(Job(str(path), path.name, mark, "waiting", tools=at_hand), ended_attempts(before, mark))
            for path in reports
            if (mark := self._fresh(path, before := known.get(str(path)), at_hand))
        ]
        taken = 0
        if fresh:
            taken = self.take_all(fresh, known)
            jobs = self.library.catalog.jobs()
            known, shelf = {job.path: job for job in jobs}, Shelf.of(self.library, self.inbox, jobs)
        return taken + self._take_beside(sorted(apart), known, shelf, at_hand)

    def take_all(self, fresh: list[Job], known: Mapping[str, Job]) -> int:
        """Takes these files, of which ``known`` is what was known before; how many became something."""
        if self._deferrals.hold(self.library.catalog, self.library.folder, fresh, known):
            return 0
        self.runner.forks.warm(prepare=len(fresh) > 1)
        self.library.catalog.put_job(*fresh)
        return schedule.run(
            self.without_companions(fresh), self.inbox, lambda job: self.take_one(job, known.get(job.path)), self.stop
        )

    def at_hand(self) -> str:
        """The converters that files can be given to."""
        return tools.labels()

    def of_error(self, job: Job, error: Exception) -> Job:
        """What became of a file where this program itself met an error."""
        if not isinstance(error, StorageError):  # a bucket that is away is no mistake of ours
            _log.error("%s could not be taken in", visible(job.name), exc_info=error)
        return deferred_files.of_error(job, error, self.library.folder)

    def tries_again(self, known: Job | None, at_hand: str) -> bool:
        """Whether it failed with other tools than those at hand; what was read as no report asked for none."""
        return known is not None and known.state == "failed" and known.tools not in ("", at_hand)

    def tell_skipped(self, found: Mapping[Path, str]) -> None:
        """Lists what lies in the inbox and is not read."""
        if found != self._skipped:
            skipped_files.tell(self.library.catalog, found)
            self._skipped = found

    def forget_removed(self) -> None:
        """Drops the failures of files that are gone, and what waits for its report, but only where their folder is
        still there: a folder that vanished is a disk that is not mounted, and nothing is concluded from it."""
        of_files = {"failed", "dismissed", deferred_files.STATE, *sidecar_intake.STATES, *self.left_open}
        for job in self.library.catalog.jobs():
            if job.state in of_files and self.inbox.is_gone(Path(job.path)):
                self.library.catalog.forget_job(job.path)
                self._deferrals.forget(job.path)

    def without_companions(self, jobs: list[Job]) -> list[Job]:
        """Sets aside exports that belong to a report beside them."""
        asked = [job for job in jobs if fingerprints.has_report_beside(self.inbox, Path(job.path))]
        if not asked:
            return jobs
        with self._folder() as work:
            requests = self._requests(asked, work, "companion")
            outcomes = list(self.runner.run([request for _, request in requests]))
            done = [job for job in asked if all(job is not one for one, _ in requests)]
            for (job, _), outcome in zip(requests, outcomes, strict=False):
                if outcome["state"] == "companion":
                    self.library.catalog.put_job(replace(job, state="companion"))
                    done.append(job)
        return [job for job in jobs if all(job is not one for one in done)]

    def take_one(self, job: Job, known: Job | None, beside_as: str = "") -> int:
        """Converts one file; whatever happens, it is that file's own.

        One that lies beside a report, and turns out to be none itself, is remembered by ``beside_as``: by that it is
        known at the next look, which would take it up for ever.
        """
        if self.runner.stopped.is_set():
            return 0
        try:
            outcome = self._convert(replace(job, state="converting"), known)
        except Exception as error:  # noqa: BLE001 - one file must not stop the others
            outcome = self.of_error(job, error)
        if beside_as and not outcome.report_id:
            outcome = replace(outcome, fingerprint=beside_as)
        with self._lock:
            return self.record(outcome)

    def _take_beside(self, paths: list[Path], jobs: Mapping[str, Job], shelf: Shelf, at_hand: str) -> int:
        """Reads what lies beside reports, all by one process as long as none of them is its end."""
        fresh = [
            Job(str(path), path.name, mark, "converting")
            for path in paths
            if (mark := shelf.mark(path))
            and (self.is_due(known := jobs.get(str(path)), mark) or self.tries_again(known, at_hand))
        ]
        if not fresh or self._deferrals.hold(self.library.catalog, self.library.folder, fresh, jobs):
            return 0  # nothing is fresh at nearly every look
        taken = 0
        with self._folder() as work:
            requests = self._requests(fresh, work, "sidecar")
            # All of them first: a process that runs would end with the conversion of one that is a report.
            outcomes = list(self.runner.run([request for _, request in requests]))
            for (job, request), outcome in zip(requests, outcomes, strict=False):
                if outcome["state"] == "report":
                    plain = replace(job, fingerprint=fingerprints.of(self.inbox, Path(job.path)) or "", tools=at_hand)
                    taken += self.take_one(plain, jobs.get(job.path), job.fingerprint)
                else:
                    taken += self._lay(shelf, job, request.work, outcome)
        return taken

    def _lay(self, shelf: Shelf, job: Job, work: Path, outcome: dict[str, Any]) -> int:
        try:
            return self.record(shelf.lay(_done(job, outcome), work, outcome))
        except Exception as error:  # noqa: BLE001 - one file must not stop the others
            _log.exception("%s could not be laid beside its report", visible(job.name))
            return self.record(deferred_files.of_error(job, error, self.library.folder))

    def is_due(self, known: Job | None, mark: str) -> bool:
        """Whether a file in this state is to be taken: one that is new, has changed, was left open or has waited."""
        if known is None or known.fingerprint != mark or known.state in self.left_open:
            return True
        return self._deferrals.retry(known, self.library.folder)

    def _fresh(self, path: Path, known: Job | None, at_hand: str) -> str | None:
        """What identifies the present state of a file, where that state still has to be worked on."""
        mark = fingerprints.of(self.inbox, path)
        if mark is None or known is None or self.is_due(known, mark):
            return mark
        lost = known.state in ("ready", "duplicate") and not self.library.is_intact(known.report_id or "")
        return mark if lost or self.tries_again(known, at_hand) else None

    def _convert(self, job: Job, known: Job | None) -> Job:
        def ended_once_more(attempts: int) -> None:
            nonlocal job
            job = attempted(job, attempts)
            self._tell(job, f"attempt {attempts + 1} of {TRIES}")

        started = time.monotonic()
        self.library.catalog.put_job(job)
        with self._folder() as work:
            request = replace(self._request(job, work, "convert"), ended=ended_attempts(job, job.fingerprint))
            outcomes = self.runner.run([request], lambda step: self._tell(job, step), ended_once_more)
            (outcome,) = list(outcomes) or [{"state": "failed"}]
            with self._lock:
                if outcome["state"] == "ready":
                    outcome |= self.publish(Path(job.path), work, outcome["manifest"], known)
                elif outcome["state"] == "duplicate" and self.library.relist(str(outcome["report_id"])):
                    outcome |= {"state": "ready"}
        return replace(_done(job, outcome), seconds=round(time.monotonic() - started, 3))

    def _tell(self, job: Job, step: str) -> None:
        told = replace(job, message=step)
        with self._lock:
            self.library.catalog.put_job(told)
            self.on_step(told)

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        """A folder for what conversions write, on the library's disk; gone afterward."""
        self.library.work.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=self.library.work))
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _requests(self, jobs: list[Job], work: Path, task: Task) -> list[tuple[Job, Request]]:
        """What is asked of files; one that cannot be fetched is written down by itself."""
        found = []
        for at, job in enumerate(jobs):
            try:
                found.append((job, self._request(job, work / str(at), task)))
            except (StorageError, ConversionError, OSError) as error:
                self.record(self.of_error(job, error))
        return found

    def _request(self, job: Job, work: Path, task: Task) -> Request:
        work.mkdir(exist_ok=True)
        path = Path(job.path)
        together = fingerprints.partners(path) if task == "companion" or path.suffix in NSYS_SUFFIXES else []
        source = self.inbox.bring(path, together, work / "source", self.settings.convert_disk_mb << 20)
        size = state.bytes if (state := read_state(source)) else 0
        columns = sidecar_intake.columns_of(self.library, path) if task == "sidecar" else {}
        most = limits.of(size, self.library.folder, self.settings)
        if limits.is_small(path, size):
            most = replace(most, threads=1)
        return Request(source, work, self.library.folder, most, task, columns)

    def publish(self, path: Path, work: Path, manifest: str, known: Job | None) -> dict[str, Any]:
        """Publishes what was made of a file; answers what changes in the outcome by that."""
        sample = self.settings.samples in path.parents
        space = space_of(str(path), self.inbox.root)
        made = replace(Manifest.from_json(manifest), ingested_at=catalog.now(), sample=sample, space=space)
        self.library.publish(work / DATABASE, made)
        superseded_folders.partial(self.library, made, known)
        return {}

    def record(self, job: Job) -> int:
        """Writes down how it ended; a file that is gone or changed meanwhile is as if never seen, and so is one whose
        conversion was ended because the worker ends."""
        self._deferrals.note(job, self.library.folder)
        if job.state in ("gone", "changed") or (job.state == "failed" and self.runner.stopped.is_set()):
            self.library.catalog.forget_job(job.path)
            self.on_step(replace(job, message=""))
            return 0
        self.library.catalog.put_job(job)
        self.on_done(job)
        return 1


def _done(job: Job, outcome: dict[str, Any]) -> Job:
    """What became of a file; where in this program an error came about goes to the log."""
    if outcome.get("trace"):
        _log.error("%s: %s", visible(job.name), outcome["trace"])
    told = {key: str(outcome.get(key) or "") for key in ("state", "message", "hint", "detail", "cause")}
    return ended(job, told.pop("cause"), report_id=outcome.get("report_id"), **told)
