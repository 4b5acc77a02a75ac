"""Compute the first view of new reports in advance (profiledb.studies.prefetch).

The same process computes missing summaries of all reports, at the start and when their file is gone.

A separate process does both at low priority, also while files are converted: under a steady stream of files no report
would be prepared otherwise.
"""

import subprocess
import sys
from pathlib import Path

from ingest.conversion.fork_client import ForkClient
from profiledb.library.catalog import Job
from profiledb.report.derived_files import SUMMARIES

TRIES = 5
"""Most tries per report; a report that fails more often is itself the cause."""


class Prefetcher:
    """The queue of reports to prepare and the process that prepares them."""

    def __init__(
        self, library: Path, location: str = "", forks: ForkClient | None = None, *, shared: bool = False
    ) -> None:
        """Prepare reports of a library.

        Args:
            library: its folder.
            location: its bucket, if it is in one.
            forks: fork client of the worker, which ends all other processes below it.
            shared: summaries are in a team's database instead of a file that may be lost.
        """
        self._library = library
        self._forks = forks or ForkClient()
        self._location = location or str(library)
        self._waiting: dict[str, int] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._summaries = None if shared else library / SUMMARIES
        self._tries = 0
        self._has_summaries = False

    def add(self, job: Job) -> None:
        """Queue the report that a file became, or that a sidecar was stored beside."""
        if job.state == "ready" and job.report_id:
            self._waiting[job.report_id] = 0

    def run_if_idle(self) -> None:
        """Start the process if reports wait and none runs."""
        if self._process is not None:
            status = self._process.poll()
            if status is None:
                return
            self._close_process()
            if status == 0:
                self._has_summaries, self._tries = True, 0
            self._waiting = {
                one: tries for one, tries in self._waiting.items() if not tries or (status and tries < TRIES)
            }
        if self._stopped or not (self._waiting or self._is_due()):
            return
        self._tries += 1
        self._waiting = {one: tries + 1 for one, tries in self._waiting.items()}
        argv = [sys.executable, "-m", "profiledb.studies.prefetch", self._location, *self._waiting]
        self._process = self._forks.start_helper(argv)

    def _is_due(self) -> bool:
        """Return True if summaries may be missing."""
        if self._tries >= TRIES or (self._has_summaries and (self._summaries is None or self._summaries.exists())):
            return False
        return any((self._library / "reports").glob("*.duckdb"))

    def stop(self) -> None:
        """End the process and start no more."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._close_process()

    def _close_process(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process = None
