"""The worker: takes finished files one after the other, has each converted, and publishes the reports."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ingest import beside, child, tools
from ingest.formats import is_report, nsys_report
from ingest.job import DATABASE
from ingest.state import look
from profiledb import catalog
from profiledb.catalog import Job, Manifest
from profiledb.config import Settings
from profiledb.errors import ConfigError
from profiledb.library import Library
from profiledb.sidecar import DROPPED

NSYS_SUFFIXES = (".nsys-rep", ".qdrep")


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

    Args:
        library: where reports go.
        settings: folders, time limits, converters.
        on_done: called with the final state of each file.
    """

    library: Library
    settings: Settings
    on_done: Callable[[Job], None]

    def prepare(self) -> None:
        """Makes the inbox and mends what a crash left behind: open jobs start anew, left-over work is removed."""
        if self.settings.inbox.is_file():
            raise ConfigError(f"{self.settings.inbox} is a file; the inbox has to be a folder.")
        self.settings.inbox.mkdir(parents=True, exist_ok=True)
        self.library.recover()
        for job in self.library.catalog.jobs():
            if job.state in catalog.OPEN_STATES:
                self.library.catalog.forget_job(job.path)

    def samples(self) -> list[Path]:
        """The reports among the sample files and those of each family, a folder below; there are other things, too."""
        folder = self.settings.samples
        if folder is None or not folder.is_dir():
            return []
        found = [path for path in sorted((*folder.glob("*"), *folder.glob("*/*"))) if path.is_file()]
        return [path for path in found if path.name.lower().endswith(DROPPED) or is_report(path)]

    def take(self, paths: list[Path]) -> int:
        """Takes in those files that are new or have changed, and returns how many that were.

        Reports come first: then what lies beside them finds them.
        """
        jobs = self.library.catalog.jobs()
        known = {job.path: job for job in jobs}
        apart = set(beside.sidecars(paths, jobs))
        fresh = [
            (path, mark) for path in paths if path not in apart and (mark := self._fresh(path, known.get(str(path))))
        ]
        self.library.catalog.put_job(*(Job(str(path), path.name, mark, "waiting") for path, mark in fresh))
        for path, mark in fresh:
            self.on_done(self._convert(path, mark))
        done = beside.take(self.library, paths)
        for job in done:
            self.on_done(job)
        return len(fresh) + len(done)

    def forget_removed(self) -> None:
        """Drops the failures of files that are gone, and what waits for its report, but only where their folder is
        still there: a folder that vanished is a disk that is not mounted, and nothing is concluded from it."""
        for job in self.library.catalog.jobs():
            path = Path(job.path)
            if job.state in ("failed", *beside.STATES) and path.parent.is_dir() and not path.exists():
                self.library.catalog.forget_job(job.path)

    def _fresh(self, path: Path, known: Job | None) -> str | None:
        """What identifies the present state of a file, where that state still has to be worked on."""
        mark = fingerprint(path)
        if mark is None or _is_companion(path):
            return None
        if known is None or known.fingerprint != mark:
            return mark
        lost = known.state in ("ready", "duplicate") and not self.library.path(known.report_id or "").exists()
        other_tools = known.state == "failed" and known.tools != tools_at_hand()
        return mark if lost or other_tools else None

    def _convert(self, path: Path, mark: str) -> Job:
        started = time.monotonic()
        job = Job(str(path), path.name, mark, "converting", tools=tools_at_hand())
        self.library.catalog.put_job(job)
        self.library.work.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=self.library.work))
        try:
            outcome = child.convert(
                path,
                work,
                self.library.folder,
                timeout_s=self.settings.convert_timeout_s,
                on_step=lambda step: self.library.catalog.put_job(replace(job, message=step)),
            )
            if outcome["state"] == "ready":
                self._publish(path, work, outcome["manifest"])
        finally:
            shutil.rmtree(work, ignore_errors=True)
        return self._record(job, outcome, round(time.monotonic() - started, 3))

    def _publish(self, path: Path, work: Path, manifest: str) -> None:
        sample = self.settings.samples in path.parents
        known = replace(Manifest.from_json(manifest), ingested_at=catalog.now(), sample=sample)
        self.library.publish(work / DATABASE, known)

    def _record(self, job: Job, outcome: dict[str, Any], seconds: float) -> Job:
        """Writes down how it ended; a file that is gone or changed meanwhile is as if never seen."""
        texts = {key: outcome[key] for key in ("state", "report_id", "message", "hint", "detail")}
        done = replace(job, seconds=seconds, **texts)
        if done.state in ("gone", "changed"):
            self.library.catalog.forget_job(done.path)
        else:
            self.library.catalog.put_job(done)
        return done


def fingerprint(path: Path) -> str | None:
    """Changes with a file, with the right to read it, and with an export that appears beside it."""
    state = look(path)
    if state is None:
        return None
    beside = look(path.with_suffix(".sqlite")) if path.suffix in NSYS_SUFFIXES else None
    readable = "" if os.access(path, os.R_OK) else "!"
    return f"{state[0]}:{state[1]}{readable}" + (f"+{beside[0]}:{beside[1]}" if beside else "")


def _is_companion(path: Path) -> bool:
    """Whether a file is the export of a report beside it, and so no report of its own."""
    if path.suffix != ".sqlite":
        return False
    reports = [path.with_suffix(suffix) for suffix in NSYS_SUFFIXES]
    return any(_belongs(path, report, fingerprint(report)) for report in reports if report.is_file())


@lru_cache(maxsize=1000)
def _belongs(export: Path, report: Path, state: str | None) -> bool:  # noqa: ARG001 - the state makes it look again
    """Whether an export is that of a report; remembered while neither changes, because the whole report is searched."""
    try:
        return nsys_report.export_beside(report) == export
    except OSError:  # one of the two is gone or may not be read: the conversion says which
        return False


def tools_at_hand() -> str:
    """The converters at hand: a report that failed is tried again when they change."""
    found = (tools.find_nsys(), tools.find_ncu())
    return ", ".join(tool.label for tool in found if tool) or "no converter"
