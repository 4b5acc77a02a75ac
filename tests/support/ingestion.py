"""Run the worker on an inbox, as ``python -m ingest --once``, in a new process or in a waiting one.

Most tests import a small file, and starting the worker takes most of the time: its imports and its fork server. Each
test process therefore keeps one waiting process with its fork server, which runs the command repeatedly with the
settings it was started with. A test with settings of its own, or one that finds the process busy, starts a worker as a
user would.
"""

import argparse
import contextlib
import io
import json
import os
import resource
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OF_THE_DASHBOARD = ("WARPDECK_TEST_", "WARPDECK_DATA", "WARPDECK_INBOX", "WARPDECK_LIBRARY", "WARPDECK_WORKER")
"""Settings that do not affect a worker whose folders are given on the command line."""


@dataclass(frozen=True)
class Ingested:
    """Output and exit status of ``python -m ingest --once``, and the CPU seconds of it and all of its children."""

    status: int
    lines: list[str]
    errors: str
    cpu_s: float


def once(argv: list[str], environment: dict[str, str]) -> Ingested:
    """Run the worker once with these arguments and extra environment variables."""
    waiting = None if environment else _waiting(read_settings())
    if waiting and waiting.lock.acquire(blocking=False):
        try:
            return waiting.ask(argv)
        finally:
            waiting.lock.release()
    before = _spent(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "ingest", "--once", *argv]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False)
    took = _spent(resource.RUSAGE_CHILDREN) - before
    return Ingested(done.returncode, done.stdout.splitlines(), done.stderr, took)


class Waiting:
    """A process that runs the worker on request."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        _ALL.append(self)

    def ask(self, argv: list[str]) -> Ingested:
        assert self._process.stdin
        assert self._process.stdout
        try:
            print(json.dumps(argv), file=self._process.stdin, flush=True)
            return Ingested(**json.loads(self._process.stdout.readline()))
        except BaseException:  # a test timed out: the rest of this answer must not reach the next request
            self._process.kill()
            _waiting.cache_clear()
            raise

    def end(self) -> None:
        with self._process:  # closing stdin makes it exit; the context manager waits for that
            pass


_ALL: list[Waiting] = []


@cache
def _waiting(_: tuple[tuple[str, str], ...]) -> Waiting:
    return Waiting()


def read_settings() -> tuple[tuple[str, str], ...]:
    """Return the settings that affect a worker of this process; a waiting one has those it was started with."""
    ours = sorted((name, value) for name, value in os.environ.items() if name.startswith("WARPDECK_"))
    return tuple(item for item in ours if not item[0].startswith(OF_THE_DASHBOARD))


def pytest_sessionfinish() -> None:
    """Stop the waiting processes."""
    while _ALL:
        _ALL.pop().end()
    _waiting.cache_clear()


def _spent(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Run the worker for each line of arguments and answer with one line, until standard input is closed."""
    from ingest import arguments, command
    from ingest.conversion import processes
    from ingest.conversion.fork_client import ForkClient
    from profiledb import terminal

    def run(argv: list[str], forks: ForkClient) -> int:
        parser = argparse.ArgumentParser()
        arguments.add_arguments(parser)
        return terminal.run_guarded(lambda: command.run(parser.parse_args(["--once", *argv]), forks))

    processes.adopt()
    with closing(ForkClient()) as forks:
        forks.warm(prepare=True)
        for line in sys.stdin:
            before = _spent(resource.RUSAGE_SELF) + _spent(resource.RUSAGE_CHILDREN)
            stdout, stderr = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
                status = run(json.loads(line), forks)
            took = _spent(resource.RUSAGE_SELF) + _spent(resource.RUSAGE_CHILDREN) - before
            answer = {"status": status, "lines": stdout.getvalue().splitlines(), "errors": stderr.getvalue()}
            print(json.dumps(answer | {"cpu_s": took}), flush=True)


if __name__ == "__main__":
    main()
