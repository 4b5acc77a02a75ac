"""Measure memory growth over a day of use on one server: thousands of views while hundreds of files arrive.

``python -m bench.day`` starts the dashboard with its worker on a new library, drops small reports of three kinds and
has sessions open every page of them. Each sample lists the holders of the server's memory by size, from ``/metrics``,
and the median of the resident memory since the previous sample, because a query that runs at that moment may take 150
MB. The result is the growth over the second half: a line through the samples, relative to their median; of the server,
and of each process that lives as long. ``--visit 2`` has people leave after two views: 10,000 short visits are 20,000.
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
from bench.load import open_session
from bench.pages import MAIN, Server, find_free_port, run_server
from profiledb import config
from profiledb.library.library import Library
from profiledb.library.locations import open_library
from profiledb.report.manifest import Manifest

KERNELS = 1_000
VISIT = 20
"""Views until the tab is closed and another one opens."""
LEAD = 3
"""Number of files by which views may run ahead of ready files, and dropped files ahead of views."""
_HELD = re.compile(r'^warpdeck_memory_bytes\{holder="([^"]+)"\} (\S+)$', re.MULTILINE)
_MB = 1e6


@dataclass(frozen=True)
class Sample:
    """State of the server after some views: views, files ready, seconds, resident bytes (the median since the previous
    sample), those of the worker's tree now, holders now, and resident bytes of each process below the server by its
    program and number."""

    views: int
    files: int
    seconds: float
    resident: int
    worker: int
    held: dict[str, float]
    processes: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        holders = ", ".join(f"{name} {size / _MB:.0f}" for name, size in sorted(self.held.items()))
        return (
            f"| {self.views} | {self.files} | {self.seconds:.0f} | {self.resident / _MB:.0f} | {self.worker / _MB:.0f}"
            f" | {holders} |"
        )


@dataclass
class Day:
    """Views, their errors, and samples so far."""

    views: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    samples: list[Sample] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


def drop_report(inbox: Path, number: int) -> None:
    """Drop a report with new content: a trace, an export, and now and then a larger one."""
    if number % 3 == 0:
        team_queue.drop_trace(inbox, number)
        return
    size = KERNELS * (10 if number % 20 == 1 else 1)
    source = inbox.parent / f"made_{number}.sqlite"
    generate(Options(size, seed=number), source, "sqlite")
    source.rename(inbox / f"run_{number:04}.sqlite")


def read_holders(port: int) -> dict[str, float]:
    """Return the holders of the server's memory, in bytes."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    return {name: float(size) for name, size in _HELD.findall(text)}


def take_sample(
    day: Day, sizes: Sequence[int], process: psutil.Process, port: int, shelf: Library, began: float
) -> Sample:
    """Measure the memory now; ``sizes`` are those of the server since the previous sample."""
    below: dict[str, int] = {}
    for child in process.children(recursive=True):
        try:
            below[f"{name_program(child.cmdline())} {child.pid}"] = child.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    ready = shelf.catalog.job_states().get("ready", 0)
    resident = int(statistics.median(sizes))
    seconds, all_bytes = time.monotonic() - began, sum(below.values())
    return Sample(day.views, ready, seconds, resident, all_bytes, read_holders(port), below)


def name_program(argv: Sequence[str]) -> str:
    """Return the module that a process runs, else its first argument."""
    return argv[argv.index("-m") + 1] if "-m" in argv[:-1] else Path(argv[0]).name if argv else "?"


def choose_addresses(reports: Sequence[Manifest], rng: random.Random, views: int) -> Iterator[str]:
    """Yield addresses that people open: any page that fits a report, mostly a new one, or one of the library's
    pages."""
    for _ in range(views):
        if not reports or rng.random() < 0.1:
            yield rng.choice(("/", "/trends"))
            continue
        manifest = reports[min(int(rng.expovariate(1 / 20)), len(reports) - 1)]
        page = rng.choice([view for view in VIEWS if view.fits(manifest) and not view.across])
        yield f"/{page.url}?report={manifest.id}"


def _visit(day: Day, running: Server, shelf: Library, options: argparse.Namespace, seed: int) -> None:
    """Open tabs and click, no further through the day than the ready files."""
    rng = random.Random(seed)
    while day.views < options.views:
        with open_session(running.address) as one:
            for path in choose_addresses(shelf.list(), rng, options.visit):
                while (
                    options.views
                    > day.views
                    > (len(shelf.catalog.report_ids()) + _choose_lead(options)) * options.views / options.files
                ):
                    time.sleep(0.2)
                good = one.look(path)
                with day.lock:
                    day.views += 1
                    if not good:
                        day.errors[path.partition("?")[0]] += 1


def run_day(options: argparse.Namespace, root: Path, main: Path = MAIN) -> Day:
    """Run the day and print each sample."""
    inbox, port = root / "inbox", find_free_port()
    inbox.mkdir()
    env = {
        "WARPDECK_INBOX": str(inbox),
        "WARPDECK_LIBRARY": str(root / "library"),
        "WARPDECK_SAMPLES": "off",
        "WARPDECK_METRICS": str(port),
    }
    shelf = open_library(config.load(inbox=inbox, library=root / "library", samples="off"))
    day, ended, began = Day(), threading.Event(), time.monotonic()
    with run_server(env, {"address": "127.0.0.1"}, main) as running, ThreadPoolExecutor(options.sessions + 1) as pool:
        process = psutil.Process(running.pid)
        dropping = pool.submit(_drop_all, day, options, inbox, ended)
        visits = [pool.submit(_visit, day, running, shelf, options, seed) for seed in range(options.sessions)]
        try:
            for at in count(1):
                goal = options.views * at // options.samples
                sizes = [process.memory_info().rss]
                while day.views < goal and not any(one.done() for one in visits):
                    time.sleep(0.2)
                    sizes.append(process.memory_info().rss)
                day.samples.append(take_sample(day, sizes, process, port, shelf, began))
                print(day.samples[-1], flush=True)
                if day.views >= options.views or any(one.done() for one in visits):
                    break
        finally:
            ended.set()
        for one in [*visits, dropping]:
            one.result()
        if options.log:
            shutil.copy(running.log, options.log)
    return day


def _drop_all(day: Day, options: argparse.Namespace, inbox: Path, ended: threading.Event) -> None:
    """Drop files as views go on, so that both end together."""
    for number in range(options.files):
        while day.views * options.files < (number - 2 * _choose_lead(options)) * options.views:
            if ended.wait(0.2):
                return
        drop_report(inbox, number)


def _choose_lead(options: argparse.Namespace) -> int:
    return min(LEAD, int(options.files) // 4)


def measure_growth(samples: Sequence[Sample], program: str = "") -> tuple[float, float]:
    """Return the growth of the resident memory over the second half as a share of its median: by a line, and at
    most. It is that of the server, or of a process that lives through that half."""
    half = [one for one in samples if one.views >= samples[-1].views / 2]
    sizes = [float(one.processes[program] if program else one.resident) for one in half]
    slope = statistics.linear_regression([float(one.views) for one in half], sizes).slope
    median = statistics.median(sizes)
    return slope * (half[-1].views - half[0].views) / median, (max(sizes) - min(sizes)) / median


def main() -> None:
    """Print the samples and the growth."""
    parser = argparse.ArgumentParser(prog="python -m bench.day", description=__doc__)
    parser.add_argument("--views", type=int, default=3_000)
    parser.add_argument("--files", type=int, default=600)
    parser.add_argument("--sessions", type=int, default=4)
    parser.add_argument("--visit", type=int, default=VISIT, help="views until a person leaves")
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--log", type=Path, help="where the server's log is kept")
    options = parser.parse_args()
    print("| views | files ready | s | server MB | worker MB | held by (MB) |\n|---:|---:|---:|---:|---:|---|")
    with TemporaryDirectory(prefix="warpdeck-day-") as root:
        day = run_day(options, Path(root))
    print(f"{day.views} views, {sum(day.errors.values())} errors {dict(day.errors)}")
    half = [one for one in day.samples if one.views >= day.samples[-1].views / 2]
    lasting = [name for name in half[0].processes if all(name in one.processes for one in half)]
    for program in ("", *lasting):
        line, span = measure_growth(day.samples, program)
        size = half[-1].processes[program] if program else half[-1].resident
        print(
            f"second half, {program.rpartition(' ')[0] or 'server'}: {size / _MB:.0f} MB, {line:+.1%} by a line through"
            f" the samples, {span:.1%} between the smallest and the largest"
        )


if __name__ == "__main__":
    main()
