"""Runs what reads dropped files (job.py): processes of their own, within limits, that can be ended any time."""

import json
import shutil
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

from ingest import process_endings, scrub
from ingest.bounded_output import Tail
from ingest.conversion import processes
from ingest.conversion.fork_client import Forks
from ingest.conversion.limits import Limits
from ingest.process_endings import ENDINGS, TRIES, EndedError
from ingest.watchdog import Watchdog

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
        ended: attempts at this file that something ended (``Ending.again``).
    """

    source: Path
    work: Path
    library: Path
    limits: Limits
    task: Task = "convert"
    columns: dict[str, str] = field(default_factory=dict)
    ended: int = 0

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
    """Runs processes; may be shared by threads. ``stop`` may be called at any moment, also from a signal's handler.

    A file whose process, or a converter below it, was killed or crashed is tried again, up to ``TRIES`` times in all.
    Of such files one runs at a time: if one exhausts the memory of the machine, it does not take the others with it.
    """

    def __init__(self, forks: Forks | None = None) -> None:
        self.stopped = threading.Event()
        self._again = threading.Lock()
        self.forks = forks or Forks()

    def stop(self) -> None:
        """Ends the processes at hand with all that they started, and lets none begin any more."""
        self.stopped.set()
        for pid in self.forks.running():
            processes.end_group(pid)

    def run(
        self,
        requests: Sequence[Request],
        on_step: Callable[[str], None] = lambda _: None,
        on_ended: Callable[[int], None] = lambda _: None,
    ) -> Iterator[dict[str, Any]]:
        """The outcome of each request in turn (ingest.outcome.Outcome as a dict), whatever happens to the process.

        One process serves them all, until it dies or is ended: that request is tried again or has failed, and a new
        process serves the rest. A crash of a converter or of the database is a failed outcome, not an error here.
        ``on_ended`` hears how many attempts at a file have been ended, before it is tried again.
        """
        left = list(requests)
        while left and not self.stopped.is_set():
            alone = left[0].ended > 0
            with (
                self._again if alone else nullcontext(),
                closing(self._serve(left[: 1 if alone else None], on_step)) as outcomes,
            ):
                for outcome in outcomes:
                    if self._tries_again(left[0], outcome):
                        left[0] = replace(left[0], ended=left[0].ended + 1)
                        on_ended(left[0].ended)
                        break
                    left.pop(0)
                    yield outcome

    def _tries_again(self, request: Request, outcome: dict[str, Any]) -> bool:
        """Whether a file has another attempt, for which its folder is emptied; after the last the sentence says so."""
        ending = ENDINGS.get(outcome.get("cause", "")) if outcome["state"] == "failed" else None
        if ending is None or not ending.again or self.stopped.is_set():
            return False
        if request.ended + 1 >= TRIES:
            outcome["message"] += f" Warpdeck has tried {TRIES} times."
            return False
        for path in request.work.iterdir():
            if not request.source.is_relative_to(path):  # what was fetched stays
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        return True

    def _serve(
        self, requests: Sequence[Request], on_step: Callable[[str], None]
    ) -> Generator[dict[str, Any], None, None]:
        """Outcomes as far as a process gets; the last one may be that it died.

        The process gets a session of its own: at a limit, and in any case at the end, all that it started
        dies with it. The requests are the first line of its standard input, which is held open until then: where
        it closes early, this process has died, and that one ends itself.
        """
        ooms = process_endings.oom_kills()
        process = self.forks.start(requests[0].source.name)
        if self.stopped.is_set():  # it came between the start and its being known
            processes.end_group(process.pid)
        errors = Tail(process.stderr)
        with suppress(OSError):  # it has died already, which is told below
            process.stdin.write(json.dumps([request.to_dict() for request in requests]).encode() + b"\n")
            process.stdin.flush()
        outcome: dict[str, Any] | None = None
        request, watched, status = requests[0], _watched(process.pid, requests[0].limits), 0
        try:
            for request in requests:
                watched = _watched(process.pid, request.limits)
                with watched:
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
            yield _died(request, status, errors.text(), watched, ooms)


def _watched(pid: int, limits: Limits) -> Watchdog:
    return Watchdog(pid, limits.time_s, limits.idle_s, partial(processes.end_group, pid))


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


def _died(request: Request, status: int, words: str, watched: Watchdog, ooms: int) -> dict[str, Any]:
    who = f"The conversion of {scrub.visible(request.source.name)}"
    detail = "" if "Traceback (most recent" in words else scrub.words(words)
    if watched.verdict:
        error = watched.error(who, detail)
    else:
        error = process_endings.of(who, status, words, ooms, detail) or EndedError(
            "ended", who, detail, how=f"exit status {status}"
        )
    return {
        "state": "failed",
        "message": error.message,
        "hint": error.hint,
        "detail": error.detail,
        "cause": error.cause,
    }
