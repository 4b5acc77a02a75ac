"""Measure workers of a team and their queue: every file once despite killed workers, files a second, the queue's cost.

``python -m bench.team_queue --database URL`` imports small traces by several workers, some of which are killed, and for
comparison some traces by one worker. The database is empty, or its tables may be removed.
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
"""Seconds for a worker to end, also on a busy machine."""
_LIMIT_S = 4 * 3_600


@dataclass(frozen=True)
class Result:
    """Result of a run: seconds, processor seconds (of killed workers a part), and the final state.

    Args:
        published: number of imports according to the audit: more than ``reports`` means that one was imported twice.
        states: files by their state.
    """

    seconds: float
    cpu_s: float
    killed: int
    reports: int
    published: int
    states: Counter[str]


def write_traces(inbox: Path, count: int) -> None:
    """Write traces of one kernel each, with different contents."""
    inbox.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        drop_trace(inbox, number)


def make_trace_name(number: int) -> str:
    return f"{number:05}.pt.trace.json"


def drop_trace(inbox: Path, number: int) -> None:
    where = {"device": 0, "stream": 7, "correlation": 1, "grid": [1, 1, 1], "block": [32, 1, 1]}
    common = {"ph": "X", "pid": 1, "tid": 1}
    events: list[dict[str, Any]] = [
        common | {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 1, "dur": 1, "args": {"correlation": 1}},
        common | {"cat": "kernel", "name": f"kernel_{number}", "ts": 3, "dur": number + 1, "args": where},
    ]
    trace = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": events}
    (inbox / make_trace_name(number)).write_text(json.dumps(trace), encoding="utf-8")


def import_traces(
    folder: Path, url: str, count: int, workers: int, kills: int, limit_s: float = 300, library: str = ""
) -> Result:
    """Have workers import traces, and kill one of them after the other at random moments.

    Reports go into a folder, or into the bucket that ``library`` names.
    """
    migrations.move(url)
    inbox, catalog = folder / "inbox", Catalog(team_database.open_database(url))
    write_traces(inbox, count)
    chance, killed = random.Random(22), 0
    library = library or str(folder / "library")
    before, running = (
        read_cpu_s(resource.RUSAGE_CHILDREN),
        [_start_worker(folder, url, library) for _ in range(workers)],
    )
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
                running[number] = _start_worker(folder, url, library)
                killed, next_at = killed + 1, time.monotonic() + chance.uniform(0, 2)
            time.sleep(0.1)  # between two looks
        seconds = time.monotonic() - begun
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            process.wait(_ENDS_S)
    cpu_s, published = (
        read_cpu_s(resource.RUSAGE_CHILDREN) - before,
        len(catalog.audit.entries(action="took in", most=count * 2)),
    )
    return Result(seconds, cpu_s, killed, len(catalog.reports()), published, states)


def _start_worker(folder: Path, url: str, library: str) -> "subprocess.Popen[bytes]":
    environment = os.environ | {
        "WARPDECK_DATABASE": url, "WARPDECK_INBOX": str(folder / "inbox"), "WARPDECK_LIBRARY": library,
        "WARPDECK_CACHE": str(folder / "cache"), "WARPDECK_SAMPLES": "off", "WARPDECK_SCAN_S": "0.5",
        "WARPDECK_NCU": "off",
    }  # fmt: skip
    return subprocess.Popen([sys.executable, "-m", "ingest"], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)


def measure_overhead(url: str, count: int) -> tuple[float, float]:
    """Return the processor milliseconds of this process to queue a job, and to take one that does nothing."""
    settings = config.load(database=url)

    def do_nothing(path: str) -> None:
        assert path

    async def serve() -> None:
        app = queue.make_app(settings)
        app.task(name=queue.TASK)(do_nothing)
        async with app.open_async():
            await app.run_worker_async(wait=False, install_signal_handlers=False, delete_jobs="always")

    files = Queue(settings, team_database.open_database(url), open_inbox(settings))
    begun = read_cpu_s(resource.RUSAGE_SELF)
    for number in range(count):
        files.put(f"/nothing/{number}")
    between = read_cpu_s(resource.RUSAGE_SELF)
    files.close()
    asyncio.run(serve())
    return 1e3 * (between - begun) / count, 1e3 * (read_cpu_s(resource.RUSAGE_SELF) - between) / count


def read_cpu_s(who: int) -> float:
    """Return the processor seconds of this process, or of its ended children, by ``resource.getrusage``."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", required=True)
    parser.add_argument("--library", default="", help="s3://BUCKET/PREFIX, by itself a folder")
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kills", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        many = import_traces(
            Path(name), given.database, given.files, given.workers, given.kills, _LIMIT_S, given.library
        )
        print(f"{given.workers} workers: {given.files / many.seconds:.1f} files/s, {many}")
    migrations.move(given.database, migrations.NOTHING)
    with tempfile.TemporaryDirectory() as name:
        few = max(1, given.files // 5)
        one = import_traces(Path(name), given.database, few, 1, 0, _LIMIT_S, given.library and f"{given.library}-one")
        print(f"1 worker: {few / one.seconds:.1f} files/s, {one}")
    put, take = measure_overhead(given.database, given.files)
    print(f"with {given.files:,} in the queue a job costs {put:.1f} ms of processor to put, {take:.1f} ms to take")


if __name__ == "__main__":
    main()
