"""``python -m ingest``: the worker by itself; ``--once`` works off what is there and exits."""

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

from ingest.watch import Watch
from ingest.worker import Worker, hold
from profiledb import config
from profiledb.catalog import Job
from profiledb.errors import WarpdeckError
from profiledb.library import Library

FAILED = 1
BUSY = 3


def main() -> int:
    """Runs the worker; exit status 0, 1 with ``--strict`` where a file failed, 3 where another worker is at work."""
    arguments = _arguments()
    settings = config.load(inbox=arguments.inbox, library=arguments.library, samples=arguments.samples)
    library = Library(settings.library)
    jobs: list[Job] = []
    with hold(library) as mine:
        if not mine:
            print(f"Another worker holds {library.folder}.", file=sys.stderr)
            return BUSY

        def done(job: Job) -> None:
            jobs.append(job)
            _print(job)

        worker = Worker(library, settings, done)
        worker.prepare()
        if arguments.once:
            _once(worker)
        else:
            _forever(worker, until_stdin_closes=arguments.until_stdin_closes)
    return FAILED if arguments.strict and any(job.state == "failed" for job in jobs) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m ingest", description=__doc__)
    parser.add_argument("--inbox", help="folder to watch")
    parser.add_argument("--library", help="folder of the converted reports")
    parser.add_argument("--samples", help="folder of sample reports, or 'off'")
    parser.add_argument("--once", action="store_true", help="work off what is there, then exit")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a file failed")
    parser.add_argument("--until-stdin-closes", action="store_true", help="stop when whoever started this is gone")
    return parser.parse_args()


def _once(worker: Worker) -> None:
    """Only the inbox: a script that names its files is not asking for samples."""
    watch = Watch(worker.settings.inbox, patience_s=0)
    while worker.take(watch.finished()) or watch.restless:
        time.sleep(0.05)  # between two looks; the second look decides, not this pause


def _forever(worker: Worker, *, until_stdin_closes: bool) -> None:
    watch = Watch(worker.settings.inbox, patience_s=worker.settings.scan_s)
    stop = threading.Event()

    def end(*_: object) -> None:
        stop.set()
        watch.wake.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    if until_stdin_closes:
        threading.Thread(target=_after_stdin, args=(end,), daemon=True).start()
    watch.start()
    samples = worker.samples()  # once: they come with the product and are not dropped meanwhile
    while not stop.is_set():
        watch.wake.clear()
        worker.take(samples + watch.finished())
        worker.forget_removed()
        watch.wake.wait(0.3 if watch.restless else worker.settings.scan_s)
    watch.stop()


def _after_stdin(end: Callable[[], None]) -> None:
    """Ends the worker when the other end of standard input is closed, however the process that held it ended."""
    while os.read(0, 4096):
        pass
    end()


def _print(job: Job) -> None:
    """A line a file on standard output; what was wrong with it goes to standard error."""
    print(f"{job.state:<9} {job.name}  {job.report_id or '-'}  {job.seconds:.2f} s", flush=True)
    for line in (job.message, job.hint) if job.state == "failed" else ():
        print(f"          {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except WarpdeckError as error:
        sys.exit(f"{error.message} {error.hint}".strip())
