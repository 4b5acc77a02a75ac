"""Runs what reads dropped files (job.py): processes of their own, within limits, that can be ended any time."""

import json
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from ingest import scrub
from ingest.conversion import processes
from ingest.conversion.forks import Forks
from ingest.conversion.limits import Limits
from ingest.tail import Tail

DATABASE = "report.duckdb"
SIDECAR = "sidecar"
"""Names of what a conversion leaves in its folder: the report, or the text of a file beside one."""
LONGEST_LINE = 4 << 20
"""Bytes of a line of a conversion: the manifest of a report is the longest, with a count of rows a table."""


Task = Literal["convert", "companion", "sidecar", "upgrade"]
"""Make a report; say whether an export belongs to a report beside it; read what lies beside a report; make a report of
one that an earlier version made."""


@dataclass(frozen=True)
class Request:
    """What is asked of a file.

    Args:
        source: the file or folder.
        work: an empty folder for all that is written.
        library: the library's folder, to look whether the report is there already.
        limits: what it may take.
        task: a ``companion`` or ``sidecar`` that turns out to be neither has the outcome ``report``.
        columns: what a reader said of the columns of a table beside a report (sidecar.Columns as a dict).
    """

    source: Path
    work: Path
    library: Path
    limits: Limits
    task: Task = "convert"
    columns: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The request as plain data, for JSON."""
        return asdict(self) | {name: str(getattr(self, name)) for name in _PATHS}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "Request":
        """Reads what ``to_dict`` wrote."""
        paths = {name: Path(fields[name]) for name in _PATHS}
        return cls(**fields | paths | {"limits": Limits(**fields["limits"])})


_PATHS = ("source", "work", "library")


class Runner:
    """Runs processes; may be shared by threads. ``stop`` may be called at any moment, also from a signal's handler."""

    def __init__(self, forks: Forks | None = None) -> None:
        self.stopped = threading.Event()
        self.forks = forks or Forks()

    def stop(self) -> None:
        """Ends the processes at hand with all that they started, and lets none begin any more."""
        self.stopped.set()
        for pid in self.forks.running():
            processes.end_group(pid)

    def run(
        self, requests: Sequence[Request], on_step: Callable[[str], None] = lambda _: None
    ) -> Iterator[dict[str, Any]]:
        """The outcome of each request in turn (ingest.outcome.Outcome as a dict), whatever happens to the process.

        One process serves them all, until it dies or is too late with one: that request has failed, and a new process
        serves the rest. A crash of a converter or of the database is a failed outcome, not an error here.
        """
        left = list(requests)
        while left and not self.stopped.is_set():
            served = 0
            for outcome in self._serve(left, on_step):
                served += 1
                yield outcome
            left = left[served:]

    def _serve(self, requests: Sequence[Request], on_step: Callable[[str], None]) -> Iterator[dict[str, Any]]:
        """Outcomes as far as a process gets; the last one may be that it died.

        The process gets a session of its own: at the time limit, and in any case at the end, all that it started
        dies with it. The requests are the first line of its standard input, which is held open until then: where
        it closes early, this process has died, and that one ends itself.
        """
        process = self.forks.start(requests[0].source.name)
        if self.stopped.is_set():  # it came between the start and its being known
            processes.end_group(process.pid)
        errors = Tail(process.stderr)
        with suppress(OSError):  # it has died already, which is told below
            process.stdin.write(json.dumps([request.to_dict() for request in requests]).encode() + b"\n")
            process.stdin.flush()
        outcome: dict[str, Any] | None = None
        limit_s, late, status = 0.0, threading.Event(), 0
        try:
            for request in requests:
                limit_s = request.limits.time_s
                with _limit(process.pid, limit_s) as late:
                    outcome = _listen(process.stdout, on_step)
                if outcome is None:
                    break
                yield outcome
        finally:
            status = self.forks.ended(process)
            with suppress(OSError):  # what was not written is written now
                process.stdin.close()
            process.stdout.close()
        if outcome is None:
            yield _died(status, errors.text(), limit_s if late.is_set() else None)


@contextmanager
def _limit(pid: int, seconds: float) -> Iterator[threading.Event]:
    """Kills a process group after so long; the event says whether that has happened."""
    late = threading.Event()

    def give_up() -> None:
        late.set()
        processes.end_group(pid)

    timer = threading.Timer(seconds, give_up)
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()


def _listen(pipe: IO[bytes], on_step: Callable[[str], None]) -> dict[str, Any] | None:
    """Passes the steps on and returns the next outcome; None where the process says anything else, or no more."""
    while line := pipe.readline(LONGEST_LINE):
        try:
            message = json.loads(line)
            if "step" not in message:
                return dict(message)
            on_step(message["step"])
        except (ValueError, TypeError):
            return None
    return None


def _died(status: int, words: str, timeout_s: float | None) -> dict[str, Any]:
    if timeout_s is not None:
        cause, message = "time", f"The conversion did not finish within {timeout_s:.0f} seconds and was stopped."
        hint = "Capture a shorter window, or raise WARPDECK_CONVERT_TIMEOUT_S."
    else:
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        cause, message = "ended", f"The conversion ended without a result ({how})."
        hint = "The usual cause is too little memory; try again, or capture a shorter window."
    detail = "" if "Traceback (most recent" in words else scrub.words(words)
    return {"state": "failed", "message": message, "hint": hint, "detail": detail, "cause": cause}
