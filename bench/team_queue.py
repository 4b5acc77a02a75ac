"""Workers of a team and their queue: every file once, while workers are killed; files a second; what the queue costs.

``python -m bench.team_queue --database URL`` takes in small traces by several workers of which some are killed, and,
for comparison, some of them by one worker. The database is an empty one, or one of which the tables may be removed.
"""

import argparse
import asyncio
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingest import queue
from ingest.queue import Queue
from profiledb import config
from profiledb.library import migrations, team_database
from profiledb.library.catalog import OPEN_STATES, Catalog
from profiledb.library.locations import open_inbox

ROOT = Path(__file__).resolve().parent.parent
_ENDS_S = 300
"""For a worker to end, also on a busy machine."""
_LIMIT_S = 4 * 3_600


@dataclass(frozen=True)
class Result:
    """How it went: seconds, and those of processor (of workers that were killed a part), what is there afterward.

    Args:
        published: how often a report was taken in, as the audit has it: more than ``reports`` is twice.
        states: files by their state.
    """

    seconds: float
    cpu_s: float
    killed: int
    reports: int
    published: int
    states: Counter[str]


def write(inbox: Path, count: int) -> None:
    """Traces of a kernel each, with contents that differ."""
    inbox.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        drop(inbox, number)


def name_of(number: int) -> str:
    """The name of one of them."""
    return f"{number:05}.pt.trace.json"


def drop(inbox: Path, number: int) -> None:
    """One of them."""
    where = {"device": 0, "stream": 7, "correlation": 1, "grid": [1, 1, 1], "block": [32, 1, 1]}
    common = {"ph": "X", "pid": 1, "tid": 1}
    events: list[dict[str, Any]] = [
        common | {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 1, "dur": 1, "args": {"correlation": 1}},
        common | {"cat": "kernel", "name": f"kernel_{number}", "ts": 3, "dur": number + 1, "args": where},
    ]
    told = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": events}
    (inbox / name_of(number)).write_text(json.dumps(told), encoding="utf-8")


def take_in(
    folder: Path, url: str, count: int, workers: int, kills: int, limit_s: float = 300, library: str = ""
) -> Result:
    """Has so many workers take in so many traces, and kills one of them after the other at random moments.

    Reports go into a folder, or into the bucket that ``library`` names.
    """
    migrations.move(url)
    inbox, catalog = folder / "inbox", Catalog(team_database.open_database(url))
    write(inbox, count)
    chance, killed = random.Random(22), 0
    library = library or str(folder / "library")
    before, running = spent(resource.RUSAGE_CHILDREN), [_started(folder, url, library) for _ in range(workers)]
    begun = next_at = time.monotonic()
    states: Counter[str] = Counter()
    try:
        while time.monotonic() - begun < limit_s:
            states = Counter(catalog.job_states())
            if states.total() == count and not any(states[one] for one in OPEN_STATES):
                break
            done = states.total() - sum(states[one] for one in OPEN_STATES)
            if killed < kills and done >= count * (killed + 1) / (kills + 2) and time.monotonic() > next_at:
                number = chance.randrange(len(running))
                running[number].kill()
                running[number].wait()
                running[number] = _started(folder, url, library)
                killed, next_at = killed + 1, time.monotonic() + chance.uniform(0, 2)
            time.sleep(0.1)  # between two looks
        seconds = time.monotonic() - begun
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            process.wait(_ENDS_S)
    cpu_s, published = (
        spent(resource.RUSAGE_CHILDREN) - before,
        len(catalog.audit.entries(action="took in", most=count * 2)),
    )
    return Result(seconds, cpu_s, killed, len(catalog.reports()), published, states)


def _started(folder: Path, url: str, library: str) -> "subprocess.Popen[bytes]":
    environment = os.environ | {
        "WARPDECK_DATABASE": url, "WARPDECK_INBOX": str(folder / "inbox"), "WARPDECK_LIBRARY": library,
        "WARPDECK_CACHE": str(folder / "cache"), "WARPDECK_SAMPLES": "off", "WARPDECK_SCAN_S": "0.5",
        "WARPDECK_NCU": "off",
    }  # fmt: skip
    return subprocess.Popen([sys.executable, "-m", "ingest"], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)


def overhead(url: str, count: int) -> tuple[float, float]:
    """Milliseconds of processor of this process to put a job into the queue, and to take one that does nothing."""
    settings = config.load(database=url)

    def nothing(path: str) -> None:
        assert path

    async def serve() -> None:
        app = queue.app(settings)
        app.task(name=queue.TASK)(nothing)
        async with app.open_async():
            await app.run_worker_async(wait=False, install_signal_handlers=False, delete_jobs="always")

    files = Queue(settings, team_database.open_database(url), open_inbox(settings))
    begun = spent(resource.RUSAGE_SELF)
    for number in range(count):
        files.put(f"/nothing/{number}")
    between = spent(resource.RUSAGE_SELF)
    files.close()
    asyncio.run(serve())
    return 1e3 * (between - begun) / count, 1e3 * (spent(resource.RUSAGE_SELF) - between) / count


def spent(who: int) -> float:
    """Seconds of processor that ``resource.getrusage`` tells of this process, or of its children that ended."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Prints what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", required=True)
    parser.add_argument("--library", default="", help="s3://BUCKET/PREFIX, by itself a folder")
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kills", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        many = take_in(Path(name), given.database, given.files, given.workers, given.kills, _LIMIT_S, given.library)
        print(f"{given.workers} workers: {given.files / many.seconds:.1f} files/s, {many}")
    migrations.move(given.database, migrations.NOTHING)
    with tempfile.TemporaryDirectory() as name:
        few = max(1, given.files // 5)
        one = take_in(Path(name), given.database, few, 1, 0, _LIMIT_S, given.library and f"{given.library}-one")
        print(f"1 worker: {few / one.seconds:.1f} files/s, {one}")
    put, take = overhead(given.database, given.files)
    print(f"with {given.files:,} in the queue a job costs {put:.1f} ms of processor to put, {take:.1f} ms to take")


if __name__ == "__main__":
    main()
