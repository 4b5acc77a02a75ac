"""Measure the cost of a report, a page view and a second of idling for a team: ``python -m bench.team_units``.

On real parts (bench.team_parts): transactions of PostgreSQL by ``pg_stat_database``, its processor time, that of
servers and workers, objects and bytes of the bucket. docs/team.md derives the needs of a large team from them.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from bench import team, team_parts, team_queue
from bench.generate import Options, generate
from bench.load import open_session
from bench.team_parts import Place
from bench.trends import time_cpu_s
from profiledb.library.library import Library
from profiledb.studies import prefetch

IDLE_S = 20.0
TOLD_S = 11.0
"""Seconds after which an idle connection has reported its statistics to the server."""
LOOKS = 30
SIZES = (1_000, 100_000, 1_000_000)
"""Kernels of reports."""


@dataclass(frozen=True)
class Cost:
    """Transactions, and processor seconds by part, of a number of seconds."""

    seconds: float
    transactions: int
    cpu_s: dict[str, float]

    def format_beyond(self, idle: Cost, per: int) -> str:
        """Return the cost of each of some things beyond idling, as text."""
        share = self.seconds / idle.seconds
        parts = [f"{(self.transactions - share * idle.transactions) / per:.1f} transactions"]
        for name, took in sorted(self.cpu_s.items()):
            if (one := (took - share * idle.cpu_s.get(name, 0.0)) / per) > 0.0005:
                parts.append(f"{one:.3f} s of {name}")
        return ", ".join(parts)

    def format_per_second(self) -> str:
        """Return the cost of a second as text."""
        took = [f"{one / self.seconds:.4f} s of {name}" for name, one in sorted(self.cpu_s.items()) if one > 0.005]
        return ", ".join([f"{self.transactions / self.seconds:.2f} transactions", *took])


def measure_cost(place: Place, action: Callable[[], object]) -> Cost:
    """Measure a call's cost on all parts; other views and conversions meanwhile count, too."""
    before, had, began = _read_transactions(place), team_parts.measure_cpu_s(), time.monotonic()
    action()
    time.sleep(TOLD_S)  # nothing else but idling counts meanwhile
    after, seconds = team_parts.measure_cpu_s(), time.monotonic() - began
    return Cost(seconds, _read_transactions(place) - before, {name: after[name] - had.get(name, 0.0) for name in after})


def _read_transactions(place: Place) -> int:
    with psycopg.connect(place.settings["WARPDECK_DATABASE"], autocommit=True) as db:
        row = db.execute("SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()")
        return int((row.fetchone() or (0,))[0])


def look_at_pages(place: Place, pause_s: float) -> None:
    """View pages that the server has shown before."""
    paths = team.list_paths(place)
    with open_session(place.address) as one:
        for number in range(LOOKS):
            one.look(paths[number % len(paths)])
            time.sleep(pause_s)


def measure_drops(place: Place, numbers: Iterator[int], files: int) -> None:
    """Drop traces and wait until all are imported and prepared."""
    for number in islice(numbers, files):
        team_queue.drop_trace(place.inbox, number)
    limit = time.monotonic() + 300
    while team_parts.count_states(place)["ready"] < files or "preparing" in team_parts.measure_memory():
        assert time.monotonic() < limit, team_parts.count_states(place)
        time.sleep(3)  # each look is itself a transaction


def measure_report(root: Path, kernels: int) -> str:
    """Return the processor seconds to import a report and to prepare it, in running processes, and its bytes before and
    after."""
    source, folder = root / "inbox" / "report", root / "library"
    source.parent.mkdir(parents=True)
    generate(Options(kernels), source, "parquetdir")
    took = _wait_for_imports(source.parent, folder) - _wait_for_imports(root / "empty", root / "none")
    library = Library(folder)
    library.use_one_thread()  # as a worker does
    (report,) = library.list()
    prepared = time_cpu_s(partial(prefetch.prepare, library, report.id))
    prepared += time_cpu_s(partial(prefetch.build_timeline, library, report.id))
    before = sum(path.stat().st_size for path in source.iterdir())
    sizes = [library.path(report.id).stat().st_size]
    sizes += [sum(path.stat().st_size for path in library.derived.timelines.glob("*"))]
    sizes += [sum(path.stat().st_size for path in (library.derived.answers / report.id).iterdir())]
    words = ", ".join(f"{size / 1e6:.1f}" for size in sizes)
    return (
        f"{kernels:,} kernels: {took:.1f} s of processor to take in, {prepared:.1f} s to prepare;"
        f" {before / 1e6:.1f} MB before; {words} MB of report, timeline and answers"
    )


def _wait_for_imports(inbox: Path, library: Path) -> float:
    argv = [sys.executable, "-m", "ingest", "--once", "--inbox", str(inbox), "--library", str(library)]
    before = team_queue.read_cpu_s(resource.RUSAGE_CHILDREN)
    subprocess.run([*argv, "--samples", "off"], cwd=team_parts.ROOT, stdout=subprocess.DEVNULL, check=True)
    return team_queue.read_cpu_s(resource.RUSAGE_CHILDREN) - before


def measure(root: Path, kernels: int, files: int) -> Iterator[str]:
    """Yield lines of results."""
    for size in SIZES:
        yield measure_report(root / f"{size}", size)
    inbox, numbers = team.make_reports(root / "inbox", kernels), count(1)
    (root / "team").mkdir()
    with team_parts.run_team(root / "team", inbox, servers=1, workers=0) as place:
        team.warm_servers(place)
        alone = measure_cost(place, lambda: time.sleep(IDLE_S))
        yield f"a second of a server: {alone.format_per_second()}"
        for pause_s in (0.0, 1.5):
            seen = measure_cost(place, partial(look_at_pages, place, pause_s))
            yield f"a look at a page, {pause_s:g} s after the one before: {seen.format_beyond(alone, LOOKS)}"
        with team_parts.run_worker(place.settings):
            time.sleep(TOLD_S)
            both = measure_cost(place, lambda: time.sleep(IDLE_S))
            yield f"a second of a server and the worker that watches: {both.format_per_second()}"
            imports = measure_cost(place, lambda: measure_drops(place, numbers, files))
            yield f"a report: {imports.format_beyond(both, files)}"
    for report in (root / "team" / "objects").glob("*/*/reports/*"):
        sizes = {path.name.split(".", 1)[1]: path.stat().st_size for path in report.iterdir()}
        if sum(sizes.values()) > 1e6:
            yield f"objects of a report: {len(sizes)}, {sum(sizes.values()) / 1e6:.1f} MB: {sizes}"


def main() -> None:
    """Print the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.team_units", description=__doc__)
    parser.add_argument("--kernels", type=int, default=100_000)
    parser.add_argument("--files", type=int, default=20)
    options = parser.parse_args()
    with TemporaryDirectory(prefix="warpdeck-units-") as root:
        for line in measure(Path(root), options.kernels, options.files):
            print(line, flush=True)


if __name__ == "__main__":
    main()
