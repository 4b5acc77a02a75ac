"""Decide which files are converted at the same time: small ones in parallel, each larger one alone."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from ingest.conversion import limits
from profiledb.library.catalog import Job
from profiledb.library.inbox import Inbox

MOST = 4
"""Files at a time on machines with many cores: each takes some hundred megabytes."""


def run_jobs(
    jobs: Sequence[Job], inbox: Inbox, convert: Callable[[Job], int], stop: Callable[[], None], most: int = 0
) -> int:
    """Call ``convert`` for each job in turn, for small files in parallel threads, and return the sum of the results.

    Files of the same size may have the same content: the second waits for the first, to be known as its duplicate.

    Args:
        jobs: the files.
        inbox: inbox that knows their sizes.
        convert: function that raises nothing.
        stop: ends ``convert`` in other threads; called if this thread is interrupted.
        most: files at a time; 0 means one per core, up to ``MOST``.
    """
    most, total = most or min(MOST, os.cpu_count() or 1), 0
    running: dict[Future[int], int] = {}
    alone = False
    with ThreadPoolExecutor(most) as pool:
        try:
            for job in jobs:
                path = Path(job.path)
                size = state.bytes if (state := inbox.look(path)) else 0
                small = limits.is_small(path, size)
                while running and (alone or not small or len(running) >= most or size in running.values()):
                    total += _wait_for_first(running)
                running[pool.submit(convert, job)], alone = size, not small
            while running:
                total += _wait_for_first(running)
        except (KeyboardInterrupt, SystemExit):
            stop()
            raise
    return total


def _wait_for_first(running: dict[Future[int], int]) -> int:
    """Wait until one job has ended, remove it and return its result."""
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    future = done.pop()
    del running[future]
    return future.result()
