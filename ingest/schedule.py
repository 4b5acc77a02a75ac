"""Which files are worked on at the same time: small ones, as many as there are cores; each larger one alone."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from ingest.conversion import limits
from profiledb.library.catalog import Job
from profiledb.library.inbox import Inbox

MOST = 4
"""Files at a time on machines with many cores: each takes some hundred megabytes."""


def run(jobs: Sequence[Job], inbox: Inbox, work: Callable[[Job], int], stop: Callable[[], None], most: int = 0) -> int:
    """Calls ``work`` for each job in turn, small files in threads beside each other; returns the sum of its results.

    Files of the same size may have the same content: the second waits for the first, to be known as its duplicate.

    Args:
        jobs: the files.
        inbox: that tells their sizes.
        work: what is done with each; it raises nothing.
        stop: ends what ``work`` does in other threads; called where this one is interrupted.
        most: files at a time; where it is 0 as many as there are cores, up to ``MOST``.
    """
    most, done = most or min(MOST, os.cpu_count() or 1), 0
    running: dict[Future[int], int] = {}
    alone = False
    with ThreadPoolExecutor(most) as pool:
        try:
            for job in jobs:
                path = Path(job.path)
                size = state.bytes if (state := inbox.look(path)) else 0
                small = limits.is_small(path, size)
                while running and (alone or not small or len(running) >= most or size in running.values()):
                    done += _first(running)
                running[pool.submit(work, job)], alone = size, not small
            while running:
                done += _first(running)
        except (KeyboardInterrupt, SystemExit):
            stop()
            raise
    return done


def _first(running: dict[Future[int], int]) -> int:
    """Waits until one has ended, takes it out and returns its result."""
    ended, _ = wait(running, return_when=FIRST_COMPLETED)
    future = ended.pop()
    del running[future]
    return future.result()
