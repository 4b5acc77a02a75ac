"""Run the processes that read dropped files (job.py), within limits, and end them at any time."""

import json
import shutil
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import IO

from ingest import formats, process_endings, scrub
from ingest.bounded_output import Tail
from ingest.conversion import processes
from ingest.conversion.fork_client import ForkClient
from ingest.conversion.messages import LONGEST_LINE, Limits, Outcome, Request
from ingest.process_endings import ENDINGS, TRIES, EndedError
from ingest.watchdog import Watchdog
from profiledb.report.manifest import Manifest


class Runner:
    """Runs conversion processes. Threads may share it, and a signal handler may call ``stop`` at any moment.

    A file whose process, or a converter below it, was killed or crashed is tried again, up to ``TRIES`` times in all.
    Only one such file runs at a time, so that one that exhausts the machine's memory takes no other with it.
    """

    def __init__(self, forks: ForkClient | None = None) -> None:
        self.stopped = threading.Event()
        self._retrying = threading.Lock()
        self.forks = forks or ForkClient()

    def stop(self) -> None:
        """End all running processes with their children, and start no more."""
        self.stopped.set()
        for pid in self.forks.running_pids():
            processes.end_group(pid)

    def run(
        self,
        requests: Sequence[Request],
        on_step: Callable[[str], None] = lambda _: None,
        on_ended: Callable[[int], None] = lambda _: None,
        on_preview: Callable[[Manifest], None] = lambda _: None,
    ) -> Iterator[Outcome]:
        """Yield the outcome of each request in turn, whatever happens to the process.

        One process serves all requests until it dies or is ended; that request is tried again or fails, and a new
        process serves the rest. A crash of a converter or of the database is a failed outcome, not an error here.

        Args:
            requests: tasks, in order.
            on_step: called with the progress of the current request.
            on_ended: called with the number of attempts that have been ended, before a file is tried again.
            on_preview: called with the manifest of the preview of the current request, once its file is complete.
        """
        remaining = list(requests)
        while remaining and not self.stopped.is_set():
            is_retry = remaining[0].ended > 0
            with (
                self._retrying if is_retry else nullcontext(),
                closing(self._serve_requests(remaining[: 1 if is_retry else None], on_step, on_preview)) as outcomes,
            ):
                for outcome in outcomes:
                    if self._can_retry(remaining[0], outcome):
                        self._empty_work_folder(remaining[0])
                        remaining[0] = replace(remaining[0], ended=remaining[0].ended + 1)
                        on_ended(remaining[0].ended)
                        break
                    yield _mention_tries(remaining.pop(0), outcome)

    def _can_retry(self, request: Request, outcome: Outcome) -> bool:
        return _is_ended(outcome) and request.ended + 1 < TRIES and not self.stopped.is_set()

    def _empty_work_folder(self, request: Request) -> None:
        for path in request.work.iterdir():
            if not request.source.is_relative_to(path):  # a fetched source stays
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def _serve_requests(
        self, requests: Sequence[Request], on_step: Callable[[str], None], on_preview: Callable[[Manifest], None]
    ) -> Generator[Outcome, None, None]:
        """Yield outcomes as far as one process gets; the last one may say that it died.

        The process gets its own session: at a limit, and in any case at the end, its children die with it. The
        requests are the first line of its standard input, which stays open until the end. If it closes early, this
        process has died, and the other one ends itself.
        """
        oom_kills_before = process_endings.count_oom_kills()
        process = self.forks.start(arrays=formats.needs_arrays(requests[0].source.name))
        if self.stopped.is_set():  # stop() came between the start and the registration of the process
            processes.end_group(process.pid)
        errors = Tail(process.stderr)
        with suppress(OSError):  # a dead process is reported below
            process.stdin.write(json.dumps([request.to_dict() for request in requests]).encode() + b"\n")
            process.stdin.flush()
        outcome: Outcome | None = None
        request, watchdog, status = requests[0], _make_watchdog(process.pid, requests[0].limits), 0
        try:
            for request in requests:
                watchdog = _make_watchdog(process.pid, request.limits)
                with watchdog:
                    outcome = _read_outcome(process.stdout, on_step, on_preview)
                if outcome is None:
                    break
                yield outcome
        finally:
            status = self.forks.end(process)
            with suppress(OSError):  # closing flushes the rest
                process.stdin.close()
            process.stdout.close()
        if outcome is None:
            yield _describe_death(request, status, errors.text(), watchdog, oom_kills_before)


def _is_ended(outcome: Outcome) -> bool:
    """Return True if a signal or a crash ended the process, so that another try may succeed."""
    ending = ENDINGS.get(outcome.cause) if outcome.state == "failed" else None
    return ending is not None and ending.again


def _mention_tries(request: Request, outcome: Outcome) -> Outcome:
    if not _is_ended(outcome) or request.ended + 1 < TRIES:
        return outcome
    return replace(outcome, message=f"{outcome.message} Warpdeck has tried {TRIES} times.")


def _make_watchdog(pid: int, limits: Limits) -> Watchdog:
    return Watchdog(pid, limits.time_s, limits.idle_s, partial(processes.end_group, pid))


def _read_outcome(
    pipe: IO[bytes], on_step: Callable[[str], None], on_preview: Callable[[Manifest], None]
) -> Outcome | None:
    """Pass progress to ``on_step``, previews to ``on_preview``, and return the next outcome; None at the end or after
    an invalid message."""
    while line := pipe.readline(LONGEST_LINE):
        try:
            message = json.loads(line)
            if "preview" in message:
                on_preview(Manifest.from_json(message["preview"]))
            elif "step" in message:
                on_step(message["step"])
            else:
                return Outcome.from_dict(message)
        except (ValueError, TypeError):
            return None
    return None


def _describe_death(request: Request, status: int, output: str, watchdog: Watchdog, oom_kills_before: int) -> Outcome:
    subject = f"The conversion of {scrub.scrub_text(request.source.name)}"
    detail = "" if "Traceback (most recent" in output else scrub.scrub_output(output)
    if watchdog.verdict:
        error = watchdog.make_error(subject, detail)
    else:
        error = process_endings.find_ending(subject, status, output, oom_kills_before, detail) or EndedError(
            "ended", subject, detail, how=f"exit status {status}"
        )
    return Outcome("failed", message=error.message, hint=error.hint, detail=error.detail, cause=error.cause)
