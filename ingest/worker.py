"""The worker: convert finished files and publish the reports."""

import fcntl
import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal

from ingest import deferred_files, fingerprints, formats, schedule, skipped_files, superseded_folders, tools
from ingest.conversion import limits
from ingest.conversion.failures import count_ended_attempts, end_job, note_ended_attempts
from ingest.conversion.messages import DATABASE, PREVIEW, Outcome, Request, Task
from ingest.conversion.runner import Runner
from ingest.process_endings import ENDINGS, TRIES
from ingest.sidecar_intake import SIDECAR_STATES, SidecarIntake, select_sidecars
from ingest.watch import Watch
from profiledb.config import Settings
from profiledb.errors import ConversionError, StorageError, WarpdeckError
from profiledb.library import catalog
from profiledb.library.catalog import FIRST_SAMPLE, Job, Manifest
from profiledb.library.inbox import Inbox
from profiledb.library.inbox.file_stamp import read_state
from profiledb.library.library import Library
from profiledb.library.spaces import find_space
from profiledb.library.storage import LOOKS
from profiledb.library.worker_lock import LOCK
from profiledb.report.file_names import NSYS_ENDINGS
from profiledb.report.sidecar import DROPPED
from profiledb.words import visible

_log = logging.getLogger("warpdeck")
Published = Literal["ready", "duplicate"]


@contextmanager
def hold_library(library: Library) -> Iterator[bool]:
    """Yield True if this process gets the lock of the only worker that may write to a library. The lock ends with the
    process, however that ends."""
    with (library.folder / LOCK).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


@dataclass
class Worker:
    """Converts files to reports of a library. Its owner holds the library's lock.

    The worker reads no dropped file: it looks at names, sizes and times, and separate processes read the files
    (job.py). An error in a file is a failure of that file alone.

    Args:
        library: library that gets the reports.
        settings: folders, time limits, converters.
        inbox: inbox of dropped files.
        on_done: called with the final state of each file.
        on_step: called with a file and its progress as the job's message, which is empty if the file is given up.
        lists_previews: whether a large report is listed while it is converted, which takes time of its own.
    """

    library: Library
    settings: Settings
    inbox: Inbox
    on_done: Callable[[Job], None]
    on_step: Callable[[Job], None] = lambda _: None
    runner: Runner = field(default_factory=Runner)
    lists_previews: bool = True
    _deferrals: deferred_files.Deferrals = field(default_factory=deferred_files.Deferrals)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _skipped: Mapping[Path, str] | None = None
    _files: int = 0
    left_open: ClassVar[tuple[str, ...]] = catalog.OPEN_STATES
    """States that no file has between two looks unless a crash left it there."""

    def prepare(self) -> None:
        """Create the inbox and repair what a crash left behind."""
        self.inbox.prepare()
        self.library.recover()
        for job in self._open_jobs():
            self._restart_job(job)

    def repair(self) -> None:
        """Repair the library after an error: restart open jobs and remove unfinished work."""
        self.library.recover()
        for job in self._open_jobs():
            self.library.catalog.forget_job(job.path)

    def _open_jobs(self) -> list[Job]:
        return [job for job in self.library.catalog.jobs() if job.state in catalog.OPEN_STATES]

    def _restart_job(self, job: Job) -> None:
        """Count the kill of a worker as a lost attempt at the file it was converting; fail it after the last one."""
        attempts = count_ended_attempts(job, job.fingerprint) + (job.state != "waiting")
        ending = ENDINGS["worker"]
        message = ending.message.format(name=job.name)
        if not attempts:
            self.library.catalog.forget_job(job.path)
        elif attempts < TRIES:
            again = replace(job, state=deferred_files.STATE, message=message, hint="It is tried again now.")
            self.library.catalog.put_job(note_ended_attempts(again, attempts))
        else:
            message += f" Warpdeck has tried {TRIES} times."
            self.record(end_job(job, "worker", state="failed", message=message, hint=ending.hint, detail=""))

    def stop(self) -> None:
        """End running conversions and start no more; the next start converts these files."""
        self.runner.stop()

    def samples(self) -> list[Path]:
        """Return the sample files, including those of each subfolder, by their endings; that for newcomers first."""
        folder = self.settings.samples
        if folder is None or not folder.is_dir():
            return []
        endings = (*formats.list_endings(), *DROPPED)
        paths = sorted((*folder.glob("*"), *folder.glob("*/*")), key=lambda path: (path.name != FIRST_SAMPLE, path))
        files = [path for path in paths if path.is_file()]
        return [path for path in files if path.name.lower().endswith(endings)]

    def list_waiting(self, paths: list[Path]) -> None:
        """List new reports as waiting before their turn comes: pages count them ("31 of 44 samples")."""
        known = {job.path for job in self.library.catalog.jobs()}
        reports = [path for path in paths if not path.name.lower().endswith(DROPPED)]
        fresh = [p for p in reports if str(p) not in known and not fingerprints.has_report_beside(self.inbox, p)]
        if fresh:
            self.library.catalog.put_job(*(Job(str(path), path.name, "", "waiting") for path in fresh))

    def look(self, watch: Watch, more: list[Path]) -> int:
        """Import new files of the inbox and some files from elsewhere; return their number.

        A person who wants a file to be tried again has its record removed: everything is looked at then.
        """
        if self.library.catalog.count_files() < self._files:
            watch.sweeps.make_due()
        with watch.look() as paths:
            count = self.take(paths + more, is_all=watch.swept)
            if watch.swept:
                self.forget_removed()
            self.list_skipped(watch.skipped)
        self._files = self.library.catalog.count_files()
        return count

    def _read_jobs(self, paths: list[Path], *, is_all: bool) -> list[Job]:
        """Return the states of all files, or of these and those beside them."""
        catalog = self.library.catalog
        return catalog.jobs() if is_all else catalog.jobs_beside([str(path) for path in paths])

    def take(self, paths: list[Path], *, is_all: bool = True) -> int:
        """Import new and changed files and return their number. Reports come first, so that sidecars find theirs.

        Without ``is_all`` these are not all files of the inbox; sidecars that wait, and deferred files, are looked at.
        """
        if not is_all:
            waiting = [
                *self.library.catalog.jobs_in(*SIDECAR_STATES, most=0),
                *self.library.catalog.jobs_in(deferred_files.STATE),
            ]
            paths = list(dict.fromkeys([*paths, *(Path(job.path) for job in waiting)]))
            if not paths:
                return 0
        jobs = self._read_jobs(paths, is_all=is_all)
        known = {job.path: job for job in jobs}
        intake = SidecarIntake.from_jobs(self.library, self.inbox, jobs)
        sidecars = select_sidecars(paths, known, intake)
        converters = self.list_converters()
        files = [path for path in paths if path not in sidecars]
        fresh = []
        for at in range(0, len(files), LOOKS):
            several = [(path, known.get(str(path))) for path in files[at : at + LOOKS]]
            self.library.look_at({job.report_id for _, job in several if job and job.report_id})
            fresh += [
                note_ended_attempts(
                    Job(str(path), path.name, mark, "waiting", tools=converters), count_ended_attempts(before, mark)
                )
                for path, before in several
                if (mark := self._find_fresh(path, before, converters))
            ]
        count = 0
        if fresh:
            count = self.take_all(fresh, known)
            jobs = self._read_jobs(paths, is_all=is_all)
            known = {job.path: job for job in jobs}
            intake = SidecarIntake.from_jobs(self.library, self.inbox, jobs)
        return count + self._take_sidecars(sorted(sidecars), known, intake, converters)

    def take_all(self, fresh: list[Job], known: Mapping[str, Job]) -> int:
        """Import these files and return how many became something.

        Args:
            fresh: the files.
            known: earlier state of files by path.
        """
        if self._deferrals.hold(self.library.catalog, self.library.folder, fresh, known):
            return 0
        self.runner.forks.warm(prepare=len(fresh) > 1)
        self.library.catalog.put_job(*fresh)
        return schedule.run_jobs(
            self.set_companions_aside(fresh), self.inbox, lambda job: self.take_one(job, known.get(job.path)), self.stop
        )

    def list_converters(self) -> str:
        """Return the labels of the available converters."""
        return tools.list_converter_labels()

    def describe_error(self, job: Job, error: Exception) -> Job:
        """Return the state of a file after an error of this program itself."""
        if not isinstance(error, StorageError):  # an unreachable bucket is no bug of ours
            _log.error("%s could not be taken in", visible(job.name), exc_info=error)
        return deferred_files.describe_error(job, error, self.library.folder)

    def has_new_converters(self, known: Job | None, converters: str) -> bool:
        """Return True if a file failed with other converters. Files that were no reports needed none."""
        return known is not None and known.state == "failed" and known.tools not in ("", converters)

    def list_skipped(self, skipped: Mapping[Path, str]) -> None:
        """List the entries of the inbox that are not read."""
        if skipped != self._skipped:
            skipped_files.list_skipped(self.library.catalog, skipped)
            self._skipped = skipped

    def forget_removed(self) -> None:
        """Drop failures and waiting sidecars of files that are gone, but only if their folder still exists: a missing
        folder may be a disk that is not mounted."""
        states = {"failed", "dismissed", deferred_files.STATE, *SIDECAR_STATES, *self.left_open}
        for job in self.library.catalog.jobs():
            if job.state in states and self.inbox.is_gone(Path(job.path)):
                self.library.catalog.forget_job(job.path)
                self._deferrals.forget(job.path)

    def set_companions_aside(self, jobs: list[Job]) -> list[Job]:
        """Record the exports that belong to a report beside them, and return the other jobs."""
        candidates = [job for job in jobs if fingerprints.has_report_beside(self.inbox, Path(job.path))]
        if not candidates:
            return jobs
        with self._make_folder() as work:
            requests = self._make_requests(candidates, work, "companion")
            outcomes = list(self.runner.run([request for _, request in requests]))
            done = [job for job in candidates if all(job is not one for one, _ in requests)]
            for (job, _), outcome in zip(requests, outcomes, strict=False):
                if outcome.state == "companion":
                    self.library.catalog.put_job(replace(job, state="companion"))
                    self._deferrals.forget(job.path)
                    done.append(job)
        return [job for job in jobs if all(job is not one for one in done)]

    def take_one(self, job: Job, known: Job | None, sidecar: Job | None = None) -> int:
        """Convert one file; whatever happens is that file's own outcome.

        Args:
            job: the file.
            known: its earlier state.
            sidecar: the job under which the file was found, if it has a sidecar's name but another content. A failed
                file keeps that fingerprint, by which the next look recognizes it.
        """
        if self.runner.stopped.is_set():
            return 0
        try:
            result = self._convert_job(replace(job, state="converting"), known)
        except Exception as error:  # noqa: BLE001 - one file must not stop the others
            result = self.describe_error(job, error)
        if sidecar and not result.report_id:
            result = replace(result, fingerprint=sidecar.fingerprint, file_kind=sidecar.file_kind)
        with self._lock:
            return self.record(result)

    def _take_sidecars(
        self, paths: list[Path], known: Mapping[str, Job], intake: SidecarIntake, converters: str
    ) -> int:
        """Read sidecars, all by one process unless one of them ends it."""
        fresh = [
            Job(str(path), path.name, mark, "converting", file_kind="sidecar")
            for path in paths
            if (mark := intake.fingerprint(path))
            and (self.is_due(before := known.get(str(path)), mark) or self.has_new_converters(before, converters))
        ]
        if not fresh or self._deferrals.hold(self.library.catalog, self.library.folder, fresh, known):
            return 0  # nearly every look finds nothing
        count = 0
        with self._make_folder() as work:
            requests = self._make_requests(fresh, work, "sidecar")
            # The conversion of a file that is a report ends a running process, so all outcomes come first.
            outcomes = list(self.runner.run([request for _, request in requests]))
            for (job, request), outcome in zip(requests, outcomes, strict=False):
                if outcome.state == "report":
                    fingerprint = fingerprints.make_fingerprint(self.inbox, Path(job.path)) or ""
                    report = replace(job, fingerprint=fingerprint, tools=converters, file_kind="report")
                    count += self.take_one(report, known.get(job.path), job)
                else:
                    count += self._store_sidecar(intake, job, request.work, outcome)
        return count

    def _store_sidecar(self, intake: SidecarIntake, job: Job, work: Path, outcome: Outcome) -> int:
        try:
            return self.record(intake.store(_apply_outcome(job, outcome), work, outcome))
        except Exception as error:  # noqa: BLE001 - one file must not stop the others
            _log.exception("%s could not be laid beside its report", visible(job.name))
            return self.record(deferred_files.describe_error(job, error, self.library.folder))

    def is_due(self, known: Job | None, fingerprint: str) -> bool:
        """Return True if a file is new, has changed, was left open or has waited long enough."""
        if known is None or known.fingerprint != fingerprint or known.state in self.left_open:
            return True
        return self._deferrals.retry(known, self.library.folder)

    def _find_fresh(self, path: Path, known: Job | None, converters: str) -> str | None:
        """Return the fingerprint of a file that is to be converted; None for the others."""
        fingerprint = fingerprints.make_fingerprint(self.inbox, path)
        if fingerprint is None or known is None or self.is_due(known, fingerprint):
            return fingerprint
        is_lost = known.state in ("ready", "duplicate") and not self.library.is_intact(known.report_id or "")
        return fingerprint if is_lost or self.has_new_converters(known, converters) else None

    def _convert_job(self, job: Job, known: Job | None) -> Job:
        def note_ended_attempt(attempts: int) -> None:
            nonlocal job
            job = note_ended_attempts(job, attempts)
            self._report_step(job, f"attempt {attempts + 1} of {TRIES}")

        previews: set[str] = set()

        def publish_preview(manifest: Manifest) -> None:
            with self._lock:
                if self._publish_preview(Path(job.path), work, manifest):
                    previews.add(manifest.id)

        started = time.monotonic()
        self.library.catalog.put_job(job)
        with self._make_folder() as work:
            request = self._make_request(job, work, "convert")
            ended = count_ended_attempts(job, job.fingerprint)
            # None in a bucket, which would get each file twice, nor in a team, whose workers do not know what others do
            request = replace(request, ended=ended, preview=self.lists_previews and self.library.has_previews)
            outcomes = self.runner.run(
                [request], lambda step: self._report_step(job, step), note_ended_attempt, publish_preview
            )
            (outcome,) = list(outcomes) or [Outcome("failed")]
            with self._lock:
                is_deleted = self._end_previews(previews, outcome)
                if outcome.state == "ready" and not is_deleted:
                    outcome = replace(outcome, state=self.publish(Path(job.path), work, outcome.manifest, known))
                elif outcome.state == "duplicate" and self.library.relist(str(outcome.report_id)):
                    outcome = replace(outcome, state="ready")
        done = replace(_apply_outcome(job, outcome), seconds=round(time.monotonic() - started, 3))
        return replace(done, state="deleted") if is_deleted else done

    def _publish_preview(self, path: Path, work: Path, manifest: Manifest) -> bool:
        """List the preview of a file that is being converted, unless its report is there; return True if it is listed.

        The conversion goes on whatever happens.
        """
        try:
            known = self.library.catalog.listing.get([manifest.id]).get(manifest.id)
            if known and not known.preparing and self.library.is_intact(manifest.id):
                return False
            self.library.publish(work / PREVIEW, self._complete_manifest(path, manifest))
        except (WarpdeckError, OSError):
            _log.warning("%s is not listed before it is complete", visible(manifest.name), exc_info=True)
            return False
        return True

    def _end_previews(self, published: Collection[str], outcome: Outcome) -> bool:
        """Remove the previews of a conversion that made no report; return True if somebody deleted the preview of the
        report that it made, which stays deleted."""
        listed = self.library.catalog.listing.get(list(published))
        if outcome.state == "ready":
            return bool(published) and outcome.report_id not in listed
        for report in listed.values():
            if report.preparing:
                self.library.withdraw(report.id)
        return False

    def _report_step(self, job: Job, step: str) -> None:
        changed = replace(job, message=step)
        with self._lock:
            self.library.catalog.put_job(changed)
            self.on_step(changed)

    @contextmanager
    def _make_folder(self) -> Iterator[Path]:
        """Yield a folder for the output of conversions, on the library's disk, and remove it afterward."""
        self.library.work.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=self.library.work))
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _make_requests(self, jobs: list[Job], work: Path, task: Task) -> list[tuple[Job, Request]]:
        """Return the requests for files, and record the files that cannot be fetched."""
        requests = []
        for number, job in enumerate(jobs):
            try:
                requests.append((job, self._make_request(job, work / str(number), task)))
            except (StorageError, ConversionError, OSError) as error:
                self.record(self.describe_error(job, error))
        return requests

    def _make_request(self, job: Job, work: Path, task: Task) -> Request:
        work.mkdir(exist_ok=True)
        path = Path(job.path)
        partners = fingerprints.list_partners(path) if task == "companion" or path.suffix in NSYS_ENDINGS else []
        source = self.inbox.bring(path, partners, work / "source", self.settings.convert_disk_mb << 20)
        size = state.bytes if (state := read_state(source)) else 0
        columns = SidecarIntake.read_columns(self.library, path) if task == "sidecar" else {}
        most = limits.compute_limits(size, self.library.folder, self.settings)
        if limits.is_small(path, size):
            most = replace(most, threads=1)
        return Request(source, work, self.library.folder, most, task, columns)

    def publish(self, path: Path, work: Path, manifest: str, known: Job | None) -> Published:
        """Publish the report of a file and return the file's new state."""
        report = self._complete_manifest(path, Manifest.from_json(manifest))
        self.library.publish(work / DATABASE, report)
        superseded_folders.replace_partial_report(self.library, report, known)
        return "ready"

    def _complete_manifest(self, path: Path, manifest: Manifest) -> Manifest:
        """Return a manifest with the facts that its conversion does not know."""
        sample = self.settings.samples in path.parents
        space = find_space(str(path), self.inbox.root)
        return replace(manifest, ingested_at=catalog.read_clock(), sample=sample, space=space)

    def record(self, job: Job) -> int:
        """Record the final state of a file and return 1. Forget it and return 0 if it is gone, changed meanwhile, or
        its conversion ended because the worker ends."""
        self._deferrals.note(job, self.library.folder)
        if job.state in ("gone", "changed") or (job.state == "failed" and self.runner.stopped.is_set()):
            self.library.catalog.forget_job(job.path)
            self.on_step(replace(job, message=""))
            return 0
        self.library.catalog.put_job(job)
        self.on_done(job)
        return 1


def _apply_outcome(job: Job, outcome: Outcome) -> Job:
    """Return the final state of a file; the traceback of an unforeseen error goes to the log."""
    if outcome.trace:
        _log.error("%s: %s", visible(job.name), outcome.trace)
    return end_job(
        job,
        outcome.cause,
        report_id=outcome.report_id,
        state=outcome.state,
        message=outcome.message,
        hint=outcome.hint,
        detail=outcome.detail,
    )
