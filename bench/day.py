"""A day of use on one server: thousands of views of every page while hundreds of files arrive; does its memory grow?

``python -m bench.day`` starts the dashboard with its worker on a library of its own, drops small reports of three kinds
and has sessions open every page of them. Each sample names the holders of the server's memory by size, as ``/metrics``
tells them, and has the median of the resident memory since the sample before: a query that runs at that moment may take
150 MB. It ends with the growth over the second half: a line through the samples, against their median.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import statistics
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from app.page_list import VIEWS
from bench import team_queue
from bench.generate import Options, generate
from bench.load import session
from bench.pages import MAIN, Server, free_port, server
from profiledb import config
from profiledb.library.library import Library
from profiledb.library.locations import open_library
from profiledb.report.manifest import Manifest

KERNELS = 1_000
LOOKS_OF_A_SESSION = 20
"""Views until somebody closes the tab and another one opens."""
LEAD = 3
"""Files by which views may be ahead of those that are ready, and files that are dropped ahead of views."""
_HELD = re.compile(r'^warpdeck_memory_bytes\{holder="([^"]+)"\} (\S+)$', re.MULTILINE)
_MB = 1e6


@dataclass(frozen=True)
class Sample:
    """The server after some views: views, files ready, seconds, resident bytes (the median since the sample before),
    those of the worker's tree now, and holders now."""

    views: int
    files: int
    seconds: float
    resident: int
    worker: int
    held: dict[str, float]

    def __str__(self) -> str:
        held = ", ".join(f"{name} {size / _MB:.0f}" for name, size in sorted(self.held.items()))
        return (
            f"| {self.views} | {self.files} | {self.seconds:.0f} | {self.resident / _MB:.0f} | {self.worker / _MB:.0f}"
            f" | {held} |"
        )


@dataclass
class Day:
    """What happens meanwhile: views and their errors, samples."""

    views: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    samples: list[Sample] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


def drop(inbox: Path, number: int) -> None:
    """Drops a report whose content no other has: a trace, an export, and now and then a larger one."""
    if number % 3 == 0:
        team_queue.drop(inbox, number)
        return
    size = KERNELS * (10 if number % 20 == 1 else 1)
    made = inbox.parent / f"made_{number}.sqlite"
    generate(Options(size, seed=number), made, "sqlite")
    made.rename(inbox / f"run_{number:04}.sqlite")


def held(port: int) -> dict[str, float]:
    """Holders of the server's memory, in bytes."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    return {name: float(size) for name, size in _HELD.findall(text)}


def sample(day: Day, sizes: Sequence[int], process: psutil.Process, port: int, shelf: Library, began: float) -> Sample:
    """Looks at the memory now; ``sizes`` are those of the server since the sample before."""
    below = 0
    for child in process.children(recursive=True):
        try:
            below += child.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    ready = shelf.catalog.job_states().get("ready", 0)
    resident = int(statistics.median(sizes))
    return Sample(day.views, ready, time.monotonic() - began, resident, below, held(port))


def looks(reports: Sequence[Manifest], rng: random.Random) -> Iterator[str]:
    """Addresses that people open: any page that fits a report, mostly a new one, and those of the library."""
    for _ in range(LOOKS_OF_A_SESSION):
        if not reports or rng.random() < 0.1:
            yield rng.choice(("/", "/trends"))
            continue
        manifest = reports[min(int(rng.expovariate(1 / 20)), len(reports) - 1)]
        page = rng.choice([view for view in VIEWS if view.fits(manifest) and not view.across])
        yield f"/{page.url}?report={manifest.id}"


def _visit(day: Day, running: Server, shelf: Library, given: argparse.Namespace, seed: int) -> None:
    """Opens tabs and clicks, no further through the day than the files that are ready."""
    rng = random.Random(seed)
    while day.views < given.views:
        with session(running.address) as one:
            for path in looks(shelf.list(), rng):
                while (
                    given.views
                    > day.views
                    > (len(shelf.catalog.report_ids()) + _lead(given)) * given.views / given.files
                ):
                    time.sleep(0.2)
                good = one.look(path)
                with day.lock:
                    day.views += 1
                    if not good:
                        day.errors[path.partition("?")[0]] += 1


def live(given: argparse.Namespace, root: Path, main: Path = MAIN) -> Day:
    """Runs the day, printing each sample."""
    inbox, port = root / "inbox", free_port()
    inbox.mkdir()
    env = {
        "WARPDECK_INBOX": str(inbox),
        "WARPDECK_LIBRARY": str(root / "library"),
        "WARPDECK_SAMPLES": "off",
        "WARPDECK_METRICS": str(port),
    }
    shelf = open_library(config.load(inbox=inbox, library=root / "library", samples="off"))
    day, ended, began = Day(), threading.Event(), time.monotonic()
    with server(env, {"address": "127.0.0.1"}, main) as running, ThreadPoolExecutor(given.sessions + 1) as pool:
        process = psutil.Process(running.pid)
        dropping = pool.submit(_drop_all, day, given, inbox, ended)
        visits = [pool.submit(_visit, day, running, shelf, given, seed) for seed in range(given.sessions)]
        try:
            for at in count(1):
                goal = given.views * at // given.samples
                sizes = [process.memory_info().rss]
                while day.views < goal and not any(one.done() for one in visits):
                    time.sleep(0.2)
                    sizes.append(process.memory_info().rss)
                day.samples.append(sample(day, sizes, process, port, shelf, began))
                print(day.samples[-1], flush=True)
                if day.views >= given.views or any(one.done() for one in visits):
                    break
        finally:
            ended.set()
        for one in [*visits, dropping]:
            one.result()
        if given.log:
            shutil.copy(running.log, given.log)
    return day


def _drop_all(day: Day, given: argparse.Namespace, inbox: Path, ended: threading.Event) -> None:
    """Drops files as views go on, so that both end together."""
    for number in range(given.files):
        while day.views * given.files < (number - 2 * _lead(given)) * given.views:
            if ended.wait(0.2):
                return
        drop(inbox, number)


def _lead(given: argparse.Namespace) -> int:
    return min(LEAD, int(given.files) // 4)


def growth(samples: Sequence[Sample]) -> tuple[float, float]:
    """The growth of the resident memory over the second half as a share of its median: by a line, and at most."""
    half = [one for one in samples if one.views >= samples[-1].views / 2]
    sizes = [float(one.resident) for one in half]
    slope = statistics.linear_regression([float(one.views) for one in half], sizes).slope
    median = statistics.median(sizes)
    return slope * (half[-1].views - half[0].views) / median, (max(sizes) - min(sizes)) / median


def main() -> None:
    """Prints the samples and the growth."""
    parser = argparse.ArgumentParser(prog="python -m bench.day", description=__doc__)
    parser.add_argument("--views", type=int, default=3_000)
    parser.add_argument("--files", type=int, default=600)
    parser.add_argument("--sessions", type=int, default=4)
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--log", type=Path, help="where the server's log is kept")
    given = parser.parse_args()
    print("| views | files ready | s | server MB | worker MB | held by (MB) |\n|---:|---:|---:|---:|---:|---|")
    with TemporaryDirectory(prefix="warpdeck-day-") as root:
        day = live(given, Path(root))
    line, span = growth(day.samples)
    print(f"{day.views} views, {sum(day.errors.values())} errors {dict(day.errors)}")
    print(f"second half: {line:+.1%} by a line through the samples, {span:.1%} between the smallest and the largest")


if __name__ == "__main__":
    main()
