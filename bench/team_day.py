"""Measure a day of a team in an hour: small reports arrive at a steady pace while people open pages of the newest ones.

``python -m bench.team_day`` starts PostgreSQL, S3 (rclone), two servers behind nginx and four workers on this machine.
100 people open a page or two (``--visit``), leave, and come again. It prints the waits of views by part of the run,
the age of the queue, the processor time of each part in cores, which tells the machine that a pace needs, and how much
the memory of each process grew over the second half. Each open tab holds the titles of the newest reports, which its
pickers offer (``session.OFFERED``): with ``--before``, as many are there from the start, as after some hours.
"""

from __future__ import annotations

import argparse
import random
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from websockets.exceptions import WebSocketException

from bench import team, team_parts
from bench.day import choose_addresses, drop_report, read_holders
from bench.load import compute_percentiles, open_session
from bench.team_parts import Place
from profiledb.findings import digest, rulebook
from profiledb.library.catalog import Catalog, Manifest
from profiledb.library.report_list import Filters

FILES = 2_000
A_SECOND = 0.6
SESSIONS = 100
PAUSE_S = 17.0
"""Mean of the seconds that a person reads a page; 100 people open some 20,000 pages in an hour."""
VISIT = 2
"""Pages that a person opens before leaving."""
BEFORE = 1
"""Files that are in the library at the start."""
PARTS = 6
"""Parts of the run whose waits are printed apart."""
_LOOK_S = 2.0
"""Seconds between two looks at the queue."""
_SAMPLES = 120
"""Looks at the memory of all processes during a run."""
_LISTED = 100
"""Newest reports that people choose from."""


@dataclass
class Hour:
    """Results so far.

    Args:
        waits: each view's start since the beginning, its duration, in seconds, and its page.
        ages_s: age of the queue at each look.
        errors: views that showed an error, by page, and visits that were refused, by reason.
        memory: private MB of each process by part and number, at each look.
        held: MB of each server by what holds them, at each look.
    """

    waits: list[tuple[float, float, str]] = field(default_factory=list)
    ages_s: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    memory: list[dict[str, float]] = field(default_factory=list)
    held: list[dict[str, float]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note_refusal(self, error: Exception) -> None:
        """Count a visit that did not come about or was cut."""
        with self.lock:
            self.errors[f"{type(error).__name__}: {error}"[:80]] += 1

    def note_view(self, began: float, wait_s: float, path: str, *, good: bool) -> None:
        page = path.partition("?")[0]
        with self.lock:
            self.waits.append((began, wait_s, page))
            if not good:
                self.errors[page] += 1


class Newest:
    """The newest reports of a place, read again every few seconds for all people together."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.reports: list[Manifest] = []

    def read_again(self) -> None:
        self.reports = self._catalog.reports()[:_LISTED]


def drop_reports(place: Place, options: argparse.Namespace, ended: threading.Event) -> float:
    """Drop the files at their pace and return the seconds that it took."""
    began = time.monotonic()
    for number in range(options.files):
        if ended.wait(max(0.0, began + number / options.a_second - time.monotonic())):
            break
        drop_report(place.inbox, number)
    return time.monotonic() - began


def visit(
    place: Place, hour: Hour, newest: Newest, options: argparse.Namespace, seed: int, ended: threading.Event
) -> None:
    """Open tabs and click until the end, with a pause after each page."""
    rng, began = random.Random(seed), time.monotonic()
    ended.wait(rng.uniform(0, options.pause))
    while not ended.is_set():
        try:
            with open_session(place.address, f"127.0.1.{1 + seed % 250}") as one:
                for path in choose_addresses(newest.reports, rng, options.visit):
                    start = time.monotonic()
                    good = one.look(path)
                    hour.note_view(start - began, time.monotonic() - start, path, good=good)
                    if ended.wait(rng.uniform(0.5, 1.5) * options.pause):
                        return
        except (OSError, TimeoutError, WebSocketException) as error:
            hour.note_refusal(error)
            ended.wait(options.pause)


def watch_queue(hour: Hour, newest: Newest, catalog: Catalog, ended: threading.Event) -> None:
    """Note the age of the queue until the end."""
    while not ended.wait(_LOOK_S):
        since = catalog.waiting_since()
        hour.ages_s.append((datetime.now(UTC) - since).total_seconds() if since else 0.0)
        newest.read_again()


def count_prepared(catalog: Catalog) -> int:
    """Return the number of reports whose verdicts are stored."""
    version = digest.hash_rules(rulebook.load(None).values())
    return catalog.listing.count(Filters()) - len(catalog.listing.unjudged(version))


def watch_memory(hour: Hour, place: Place, every_s: float, ended: threading.Event) -> None:
    """Note the memory of each process, and what holds that of each server, until the end."""
    while not ended.wait(every_s):
        hour.memory.append(team_parts.measure_private())
        hour.held.append({
            f"server {number}, {holder}": size / 1e6
            for number, port in enumerate(place.metrics)
            for holder, size in read_holders(port).items()
        })  # fmt: skip


def format_growth(memory: list[dict[str, float]]) -> Iterator[str]:
    """Return a line for each process or holder that lives through the second half, in MB: its median in each part of
    the run, its growth over the second half by a line through the looks, and the span from smallest to largest."""
    half = memory[len(memory) // 2 :]
    for name in sorted(set(half[0]).intersection(*half)):
        sizes = [one[name] for one in half]
        slope = statistics.linear_regression(range(len(sizes)), sizes).slope
        growth, span = slope * (len(sizes) - 1), max(sizes) - min(sizes)
        yield f"| {name} | {_format_parts([one.get(name) for one in memory])} | {growth:+.1f} | {span:.1f} |"


def _format_parts(sizes: list[float | None]) -> str:
    """Return the median of each part of the run, with a dash for a part in which the process did not live."""
    parts = [sizes[len(sizes) * part // PARTS : len(sizes) * (part + 1) // PARTS] for part in range(PARTS)]
    living = [[size for size in part if size is not None] for part in parts]
    return ", ".join(f"{statistics.median(part):.0f}" if part else "-" for part in living)


def format_waits(hour: Hour, seconds: float) -> Iterator[str]:
    """Return lines about the waits of each part of the run, of each page, and of all."""
    yield "| minutes, page | views | p50 s | p95 s | longest s |\n|---|---:|---:|---:|---:|"
    for part in range(PARTS):
        low, high = seconds * part / PARTS, seconds * (part + 1) / PARTS
        if waits := [wait for began, wait, _ in hour.waits if low <= began < high]:
            yield _format_row(f"{low / 60:.0f} to {high / 60:.0f}", waits)
    for page in sorted({page for _, _, page in hour.waits}):
        yield _format_row(page, [wait for _, wait, of in hour.waits if of == page])
    yield _format_row("all", [wait for _, wait, _ in hour.waits])


def _format_row(title: str, waits: list[float]) -> str:
    p50, p95 = compute_percentiles(waits)
    return f"| {title} | {len(waits)} | {p50:.2f} | {p95:.2f} | {max(waits):.1f} |"


def measure(root: Path, options: argparse.Namespace) -> Iterator[str]:
    """Run the hour and yield lines of results."""
    inbox = root / "inbox"
    (root / "team").mkdir()
    inbox.mkdir()
    for number in range(options.before):
        drop_report(inbox, options.files + number)
    few = options.before == BEFORE  # workers prepare many, the newest first
    with team_parts.run_team(root / "team", inbox, options.servers, options.workers, prepared=few) as place:
        catalog, hour, ended = place.open_library().catalog, Hour(), threading.Event()
        newest, before = Newest(catalog), Counter(team_parts.measure_cpu_s())
        newest.read_again()
        with ThreadPoolExecutor(options.sessions + 2) as pool:
            looking = pool.submit(watch_queue, hour, newest, catalog, ended)
            every_s = options.files / options.a_second / _SAMPLES
            weighing = pool.submit(watch_memory, hour, place, every_s, ended)
            visits = [pool.submit(visit, place, hour, newest, options, seed, ended) for seed in range(options.sessions)]
            try:
                seconds = drop_reports(place, options, ended)
            finally:
                ended.set()
            for one in [looking, weighing, *visits]:
                one.result()
        spent = Counter(team_parts.measure_cpu_s()) - before
        yield (
            f"{options.files} files in {seconds:.0f} s; at their end {dict(team_parts.count_states(place))},"
            f" {count_prepared(catalog)} prepared"
        )
        yield from format_waits(hour, seconds)
        yield f"{sum(hour.errors.values())} views with an error {dict(hour.errors)}"
        p50, p95 = compute_percentiles(hour.ages_s)
        yield f"age of the queue: p50 {p50:.1f} s, p95 {p95:.1f} s, at most {max(hour.ages_s):.1f} s"
        yield "cores: " + ", ".join(f"{part} {one / seconds:.2f}" for part, one in spent.most_common())
        yield "| process, holder | MB by part of the run | growth in the second half | span |\n|---|---:|---:|---:|"
        yield from format_growth(hour.memory)
        yield from format_growth(hour.held)
        yield from team_parts.format_numbers(team_parts.measure_memory())
        team.wait_until_settled(place, 1800, options.files + options.before)
        yield f"settled: {dict(team_parts.count_states(place))}"


def main() -> None:
    """Print the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.team_day", description=__doc__)
    numbers = {"files": FILES, "sessions": SESSIONS, "visit": VISIT, "servers": 2, "workers": 4, "before": BEFORE}
    for name, usual in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--a-second", type=float, default=A_SECOND, help="files that arrive in a second")
    parser.add_argument("--pause", type=float, default=PAUSE_S, help="mean seconds between two clicks of a person")
    with TemporaryDirectory(prefix="warpdeck-team-day-") as root:
        for line in measure(Path(root), parser.parse_args()):
            print(line, flush=True)


if __name__ == "__main__":
    main()
