"""Has the first look at a new report prepared (profiledb.studies.prefetch).

So are the summaries of all reports, where any are missing: at the start, and when their file is gone.

A process of its own does it, with what the machine has left over. It goes on while files are converted: where one comes
after another, no report would ever be prepared otherwise.
"""

import subprocess
import sys
from pathlib import Path

from ingest.conversion.fork_client import Forks
from profiledb.library.catalog import Job
from profiledb.report.derived_files import SUMMARIES

TRIES = 5
"""So often a report is tried; what stops it then is the report itself."""


class Opening:
    """The reports that wait for it, and the process that prepares some."""

    def __init__(self, library: Path, named: str = "", forks: Forks | None = None, *, shared: bool = False) -> None:
        """Prepares the reports of a library whose folder this is; ``named`` is a bucket, where they are in one.

        ``forks`` are those of the worker, which ends whatever else runs below it. ``shared``: summaries are in the
        database of a team, and in no file that may be lost.
        """
        self._library = library
        self._forks = forks or Forks()
        self._named = named or str(library)
        self._waiting: dict[str, int] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._summaries = None if shared else library / SUMMARIES
        self._tries = 0
        self._looked = False

    def add(self, job: Job) -> None:
        """Takes up the report that a file became, or that a file was laid beside."""
        if job.state == "ready" and job.report_id:
            self._waiting[job.report_id] = 0

    def look(self) -> None:
        """Starts the process where reports wait and none runs."""
        if self._process is not None:
            status = self._process.poll()
            if status is None:
                return
            self._close()
            if status == 0:
                self._looked, self._tries = True, 0
            self._waiting = {
                one: tries for one, tries in self._waiting.items() if not tries or (status and tries < TRIES)
            }
        if self._stopped or not (self._waiting or self._is_due()):
            return
        self._tries += 1
        self._waiting = {one: tries + 1 for one, tries in self._waiting.items()}
        argv = [sys.executable, "-m", "profiledb.studies.prefetch", self._named, *self._waiting]
        self._process = self._forks.beside(argv)

    def _is_due(self) -> bool:
        """Whether summaries may be missing: at the start, and where their file is gone."""
        if self._tries >= TRIES or (self._looked and (self._summaries is None or self._summaries.exists())):
            return False
        return any((self._library / "reports").glob("*.duckdb"))

    def stop(self) -> None:
        """Ends it, with what it has in hand; none starts any more."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._close()

    def _close(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process = None
