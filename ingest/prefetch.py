"""Compute the first view of new reports in advance (profiledb.studies.prefetch).

The same process computes missing summaries of all reports, at the start and when their file is gone.

A separate process does both at low priority, also while files are converted: under a steady stream of files no report
would be prepared otherwise. It takes one report after the other, the newest first, because starting it costs more than
preparing two small reports. The verdicts of all waiting reports come before everything else.
"""

import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from ingest.conversion.fork_client import ForkClient
from profiledb.library.catalog import Job
from profiledb.report.derived_files import SUMMARIES
from profiledb.studies.prefetch_orders import BUSY, LISTS, VERDICTS

TRIES = 5
"""Most tries per order; a report that fails more often is itself the cause."""
AHEAD = 2
"""Orders for a report that the process has at most, so that newer ones overtake those that still wait here."""
LISTS_AFTER = 20
"""Reports after which the process also prepares lists, though more reports wait."""
BUSY_S = 5.0
"""Seconds until this process may prepare lists again after another one of a team was preparing them."""
IDLE_S = 60.0
"""Seconds without work until the process ends."""
END_S = 3.0
"""Seconds for which the worker, at its end, waits for the process to die."""
MOST = 400
"""Orders until another process takes over, so that no memory accumulates."""


class Prefetcher:
    """The reports to prepare and the process that prepares them."""

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
        """Tries so far by order; the newest is the last."""
        self._given: dict[str, int] = {}
        """Those that the process has."""
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self._lock = threading.Lock()
        self._orders = self._since_lists = 0
        self._used_at = self._lists_from = 0.0
        self._stopped = False
        self._summaries = None if shared else library / SUMMARIES
        self._tries = 0
        self._has_summaries = False

    def add(self, job: Job) -> None:
        """Queue the report that a file became, or that a sidecar was stored beside."""
        if job.state == "ready" and job.report_id:
            with self._lock:
                for order in (VERDICTS + job.report_id, job.report_id):
                    self._waiting.pop(order, None)
                    self._waiting[order] = 0

    def run_if_idle(self) -> None:
        """Start the process if there are orders and none runs, and give it the first. Call it every few seconds."""
        if self._process is not None and self._process.poll() is not None:
            assert self._reader
            self._reader.join()
            with self._lock:
                self._note_end()
        with self._lock:
            if self._stopped or (self._process is None and not (self._waiting or self._is_due())):
                return
            if self._process is None:
                self._start_process()
            self._give_orders()

    def _start_process(self) -> None:
        self._tries += 1
        self._orders, self._since_lists = 0, 1
        argv = [sys.executable, "-m", "profiledb.studies.prefetch", self._location]
        self._process = self._forks.start_helper(argv)
        self._reader = threading.Thread(target=self._read_answers, args=(self._process,), daemon=True)
        self._reader.start()

    def _give_orders(self) -> None:
        """Give the process the newest verdicts, then the newest reports, and ``LISTS`` when it has nothing else; end it
        when it is of no use."""
        while self._waiting and len(self._given) < AHEAD and self._orders < MOST:
            order = next((one for one in reversed(self._waiting) if one.startswith(VERDICTS)), None)
            order = order or next(reversed(self._waiting))
            self._give(order, self._waiting.pop(order))
            self._orders += 1
            self._since_lists += order.startswith(VERDICTS)
        is_due = self._since_lists > LISTS_AFTER or (not self._given and (self._since_lists or self._is_due()))
        if is_due and LISTS not in self._given and time.monotonic() >= self._lists_from:
            self._give(LISTS, 0)
            self._since_lists = 0
        if not (self._given or self._since_lists) and (self._waiting or time.monotonic() - self._used_at > IDLE_S):
            assert self._process
            self._process.kill()  # the next call finds its end

    def _give(self, order: str, tries: int) -> None:
        assert self._process
        assert self._process.stdin
        self._given[order] = tries + 1
        with suppress(OSError):  # it died: the next call finds its end
            self._process.stdin.write(f"{order}\n".encode())
            self._process.stdin.flush()

    def _read_answers(self, process: "subprocess.Popen[bytes]") -> None:
        """Remove the orders that the process has done, and give it more, until it ends."""
        assert process.stdout
        with process.stdout:
            for line in process.stdout:
                with self._lock:
                    self._note_answer(line.decode().removesuffix("\n"))
                    if not self._stopped:
                        self._give_orders()

    def _note_answer(self, answer: str) -> None:
        order = LISTS if answer == BUSY else answer
        self._given.pop(order, None)
        self._used_at = time.monotonic()
        if answer == BUSY:
            self._since_lists, self._lists_from = 1, time.monotonic() + BUSY_S
        elif order == LISTS:
            self._has_summaries, self._tries = True, 0

    def _note_end(self) -> None:
        """Let the unfinished orders of an ended process wait again, unless they were tried too often."""
        self._close_process()
        self._given.pop(LISTS, None)
        again = {one: tries for one, tries in self._given.items() if tries < TRIES and one not in self._waiting}
        self._waiting = again | self._waiting
        self._given = {}

    def _is_due(self) -> bool:
        """Return True if summaries may be missing."""
        if self._tries >= TRIES or (self._has_summaries and (self._summaries is None or self._summaries.exists())):
            return False
        return any((self._library / "reports").glob("*.duckdb"))

    def stop(self) -> None:
        """End the process and start no more."""
        with self._lock:
            self._stopped = True
        if self._process is not None:
            assert self._reader
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):  # on a busy machine, a process at idle priority dies late
                self._process.wait(END_S)
                self._reader.join()
            self._close_process()

    def _close_process(self) -> None:
        assert self._process
        assert self._process.stdin
        with suppress(OSError):  # an order that was not written
            self._process.stdin.close()
        self._process = None
