"""Compare a team's Warpdeck with a folder library: many people view pages while reports are dropped.

``python -m bench.team`` starts real parts on this machine: PostgreSQL, S3 (rclone), two servers of a bucket's library
behind nginx and four workers; and a folder library with one server and one worker. Phases of both take turns, so that
other load on the machine affects both. All of them share the cores of one machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import team_parts, team_queue
from bench.generate import Options, generate
from bench.ingestion import BenchError
from bench.load import CLICKS, PAUSE_S, SESSIONS, click_through, compute_percentiles, open_session
from bench.pages import MAIN, run_server
from bench.run import CROWD_PAGES
from bench.team_parts import Place
from profiledb.library.catalog import Manifest

KERNELS = 1_000_000
SMALL = 1_000
"""Kernels of the report that a new server shows before the large one, so that its start does not count."""
DROP_S = 1.0
"""Seconds between two dropped files: 86,400 a day."""
_LARGE, _SMALL = "large", "small"


@dataclass(frozen=True)
class Phase:
    """Results of sessions: each wait (s), errors, processor by part (s), load average, files dropped and imported."""

    waits: tuple[float, ...]
    errors: int
    cpu_s: Counter[str]
    load: float
    dropped: int
    taken: int


def make_reports(folder: Path, kernels: int) -> Path:
    """Make an inbox with a large report and a small one."""
    folder.mkdir()
    for name, size in ((_LARGE, kernels), (_SMALL, min(SMALL, kernels))):
        generate(Options(size, seed=size), folder / name, "parquetdir")
    return folder


def find_large_report(place: Place) -> tuple[Manifest, Manifest]:
    """Return the large report of a place, and the small one."""
    listed = {report.name: report for report in place.open_library().list()}
    return listed[_LARGE], listed[_SMALL]


def list_paths(place: Place) -> list[str]:
    """Return the pages that people view."""
    return [page.format(id=find_large_report(place)[0].id) for page in CROWD_PAGES]


def warm_servers(place: Place) -> None:
    """Have each server show each page once."""
    for one in place.servers:
        with open_session(one.address) as opened:
            for path in list_paths(place):
                if not opened.look(path):
                    raise BenchError(f"{path} says an error")


@contextmanager
def drop_traces(inbox: Path, numbers: Iterator[int], every_s: float) -> Iterator[list[int]]:
    """Drop a small trace repeatedly while there are numbers; yield the dropped ones."""
    ended, dropped = threading.Event(), list[int]()

    def drop() -> None:
        while not ended.wait(every_s) and (number := next(numbers, None)) is not None:
            team_queue.drop_trace(inbox, number)
            dropped.append(number)

    thread = threading.Thread(target=drop)
    thread.start()
    try:
        yield dropped
    finally:
        ended.set()
        thread.join()


def run_phase(place: Place, numbers: Iterator[int], sessions: int, clicks: int, pause_s: float, drop_s: float) -> Phase:
    """Have sessions click through the pages of a place while files are dropped into its inbox."""
    before, had = Counter(team_parts.measure_cpu_s()), team_parts.count_states(place)["ready"]
    with drop_traces(place.inbox, numbers, drop_s) as dropped:
        looks = click_through(place.address, list_paths(place), sessions, pause_s, clicks)
    spent, imported = Counter(team_parts.measure_cpu_s()) - before, team_parts.count_states(place)["ready"] - had
    errors = sum(not good for _, good in looks)
    return Phase(tuple(wait for wait, _ in looks), errors, spent, os.getloadavg()[0], len(dropped), imported)


def wait_until_settled(place: Place, patience_s: float = 120, files: int = 0) -> None:
    """Wait until the library knows at least this many files of an inbox and all of them are done."""
    limit = time.monotonic() + patience_s
    while (states := team_parts.count_states(place)).total() < files or {
        "waiting",
        "converting",
        "loading",
    } & states.keys():
        if time.monotonic() > limit:
            raise BenchError(f"{place.name}: files are still to be done: {team_parts.count_states(place)}")
        time.sleep(0.2)


def measure_first_look(place: Place, root: Path, main: Path = MAIN) -> float:
    """Return the seconds of the first view of the large report, on a new server that has shown the small one and has no
    copies."""
    big, small = find_large_report(place)
    env = dict(place.settings) | {"WARPDECK_CACHE": str(root)}
    with run_server(env, {"address": "127.0.0.1"}, main) as running, open_session(running.address) as one:
        one.look(f"/summary?report={small.id}")
        began = time.monotonic()
        if not one.look(f"/summary?report={big.id}"):
            raise BenchError(f"{place.name}: the first look says an error")
        return time.monotonic() - began


def format_phases(place: Place, phases: Sequence[Phase]) -> Iterator[str]:
    """Return lines about the phases of a place."""
    waits = [wait for one in phases for wait in one.waits]
    p50, p95 = compute_percentiles(waits)
    each = ", ".join(f"{compute_percentiles(one.waits)[1]:.2f}" for one in phases)
    cpu = sum((one.cpu_s for one in phases), Counter[str]())
    parts = ", ".join(f"{part} {seconds:.1f}" for part, seconds in cpu.most_common())
    yield (
        f"{place.name}: {len(waits)} looks, {sum(one.errors for one in phases)} errors, p50 {p50:.2f} s,"
        f" p95 {p95:.2f} s (by phase {each}), {cpu['server'] / len(waits):.3f} s of processor of the servers each,"
        f" {sum(one.dropped for one in phases)} files dropped, {sum(one.taken for one in phases)} taken in meanwhile,"
        f" load average {', '.join(f'{one.load:.1f}' for one in phases)}; s of processor: {parts}"
    )


def measure(root: Path, options: argparse.Namespace) -> Iterator[str]:
    """Yield lines of results."""
    inboxes = [make_reports(root / name, options.kernels) for name in ("inbox", "team_inbox")]
    for name in ("data", "team"):
        (root / name).mkdir()
    numbers = count(1)
    with (
        team_parts.run_folder_library(root / "data", inboxes[0]) as alone,
        team_parts.run_team(root / "team", inboxes[1], options.servers, options.workers) as many,
    ):
        places = (alone, many)
        size = many.open_library().path(find_large_report(many)[0].id).stat().st_size
        yield f"a report of {options.kernels:,} kernels, {size / 1e6:.0f} MB; {options.sessions} sessions"
        phases: dict[str, list[Phase]] = {}
        for place in places:
            warm_servers(place)
        for turn in range(options.rounds):
            for place in places[:: -1 if turn % 2 else 1]:
                done = run_phase(place, numbers, options.sessions, options.clicks, options.pause, options.drop)
                phases.setdefault(place.name, []).append(done)
                wait_until_settled(place)
        for place in places:
            yield from format_phases(place, phases[place.name])
            yield f"{place.name}: {dict(team_parts.count_states(place))}"
        p95 = [compute_percentiles([wait for one in phases[place.name] for wait in one.waits])[1] for place in places]
        yield f"p95 of the team: {p95[1] / p95[0]:.2f} of that of the folder"
        yield from team_parts.format_numbers(team_parts.measure_memory())
        touches: dict[str, list[float]] = {}
        for turn in range(options.touches):
            for place in places:
                touches.setdefault(place.name, []).append(measure_first_look(place, root / f"new_{turn}"))
        for name, seconds in touches.items():
            each = ", ".join(f"{one:.2f}" for one in seconds)
            yield f"{name}: first look at the report on a new server {statistics.median(seconds):.2f} s ({each})"


def main() -> None:
    """Print the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.team", description=__doc__)
    for name, usual in (("kernels", KERNELS), ("sessions", SESSIONS), ("clicks", CLICKS), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    for name, usual in (("servers", 2), ("workers", 4), ("touches", 5)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--pause", type=float, default=PAUSE_S, help="seconds between two clicks of a session")
    parser.add_argument("--drop", type=float, default=DROP_S, help="seconds between two files that are dropped")
    with TemporaryDirectory(prefix="warpdeck-team-") as root:
        for line in measure(Path(root), parser.parse_args()):
            print(line, flush=True)


if __name__ == "__main__":
    main()
