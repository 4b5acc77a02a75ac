"""Measure a team's loss of PostgreSQL or the bucket in the middle of its work.

``python -m bench.team_losses`` starts the services of docker-compose.yml as processes, has people view pages and
workers import reports, takes a part away for a minute, and prints the pages' messages and the aftermath. A part is
killed, or suspended: its machine then accepts connections, and nobody answers.

``--load`` instead kills workers, PostgreSQL, the bucket and a server one after the other while files arrive: each file
becomes one report, and no file stays "converting" for long without a living worker.
"""

import argparse
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from bench import team_queue
from bench.ingestion import BenchError
from profiledb.errors import CatalogError
from profiledb.library.catalog import OPEN_STATES, Catalog, Job
from tests.app.web.client import ask, session
from tests.support.compose_services import Composed, started

MISSING = ("cannot be reached", "does not answer")
"""A page's message about a lost part."""
KILLED, STANDS_STILL = "killed", "stands still"
SERVERS = ("app1", "app2")
PARTS = ("database", "storage")
AWAY_S = 12.0
"""Seconds for a restart, for example of PostgreSQL."""
KILLS = 2 * [(part, AWAY_S) for part in ("worker-1", "database", "storage", "app1", "worker-2", "database")]
LIVES_S = 10.0
"""Workers send a heartbeat every 5 s."""
_GOES_ON_S = 240.0
_MOST = 10_000
_ORPHANS = f"""
    SELECT path FROM job WHERE state IN ('converting', 'loading') AND NOT EXISTS (
        SELECT 1 FROM procrastinate.procrastinate_jobs AS queued
        JOIN procrastinate.procrastinate_workers AS worker ON worker.id = queued.worker_id
        WHERE queued.status = 'doing' AND queued.queueing_lock = encode(sha256(convert_to(path, 'UTF8')), 'hex')
          AND worker.last_heartbeat > now() - make_interval(secs => {LIVES_S})
    )
"""
"""Query for running files of no living worker."""


@dataclass
class Looks:
    """Views of a page while a part was lost: how many showed it, named the loss, or did neither; the slowest."""

    results: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0

    def add(self, result: str, seconds: float) -> None:
        """Count a view."""
        self.results[result] += 1
        self.slowest_s = max(self.slowest_s, seconds)

    def __str__(self) -> str:
        return f"{_count_reports(self.results)}; {self.slowest_s:.1f} s at most"


@dataclass
class Loss:
    """A loss: the part, how, for how long; the pages' messages; the aftermath.

    Args:
        pages: the list of reports, a report that the server had open, and one without a copy on this machine.
        left: files that waited when the part was lost.
        ready_s: seconds from the part's return until all files were reports.
        states: final states of all files.
        reports: reports in the catalog at the end, and how many of them have their object in the bucket.
        traces: errors with a traceback in the logs of servers and workers.
    """

    part: str
    way: str
    seconds: float
    pages: dict[str, Looks] = field(default_factory=dict)
    left: int = 0
    ready_s: float = 0.0
    states: Counter[str] = field(default_factory=Counter)
    reports: tuple[int, int] = (0, 0)
    traces: int = 0


@contextmanager
def take_away(team: Composed, part: str, way: str) -> Iterator[None]:
    """Take a part away for the block."""
    if way == KILLED:
        team.kill(part)
    else:
        team.pause(part)
    try:
        yield
    finally:
        if way == KILLED:
            team.again(part)
        else:
            team.go_on(part)


def look_at_page(
    address: str, page: str, report: str, expected: str, cookies: Mapping[str, str] | None = None
) -> tuple[str, float]:
    """Open a page as a browser does; return its message and the seconds it took."""
    begun = time.monotonic()
    try:
        with session(address, cookies) as one:
            if report:
                one.run(page, report=report)
            else:
                one.run(page)
            text = one.text()
    except Exception as error:  # noqa: BLE001 - counted by its name
        return type(error).__name__, time.monotonic() - begun
    result = (
        "shown" if expected in text else "said what is missing" if any(map(text.__contains__, MISSING)) else "neither"
    )
    return result, time.monotonic() - begun


def lose_part(team: Composed, part: str, way: str, seconds: float, files: int) -> Loss:
    """Drop files, take a part away while they are converted, view pages, and wait for all reports."""
    catalog, loss = Catalog(team.shared), Loss(part, way, seconds)
    known, new = _prepare_reports(team, catalog, f"{part}-{way.replace(' ', '-')}")
    before = len(catalog.jobs())
    _drop_traces(team, f"{part}-{way.replace(' ', '-')}-more", files)
    _wait_until(lambda: _are_done(catalog.jobs()) > before, "nothing was converted")
    loss.left = before + files - _are_done(catalog.jobs())
    for copy in team.copies(f"{new.report_id}.*"):
        copy.unlink()
    pages = {
        "list": ("", "", known.name),
        "open report": ("kernels", known.report_id or "", "kernel_"),
        "other report": ("kernels", new.report_id or "", "kernel_"),
    }
    loss.pages = {name: Looks() for name in pages}
    with take_away(team, part, way):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for name, (page, report, expected) in pages.items():
                loss.pages[name].add(*look_at_page(team.address("app1"), page, report, expected))
    begun = time.monotonic()
    _wait_until(
        lambda: len(_read_jobs(catalog)) == before + files == _are_done(_read_jobs(catalog)),
        "not all files became reports",
    )
    loss.ready_s = time.monotonic() - begun
    for server in SERVERS:
        _wait_until(lambda server=server: ask(team.address(server), "/health").status == 200, "a server is not well")  # type: ignore[misc]
        _wait_until(
            lambda server=server: look_at_page(team.address(server), *pages["other report"])[0] == "shown",  # type: ignore[misc]
            "a page does not come back",
        )
    loss.states = Counter(job.state for job in catalog.jobs())
    listed = {one.id for one in catalog.reports()}
    loss.reports = (len(listed), len(listed & {path.parent.name for path in team.objects("*.duckdb")}))
    loss.traces = sum(team.log(name).count("Traceback") for name in team.ours)
    return loss


@dataclass
class Load:
    """Results of a load with kills.

    Args:
        kills: number of kills per part.
        seconds: from the first file until all were done.
        left_s: the longest time that a file counted as running without a living worker.
        states: final states of all files.
        reports: new reports in the catalog at the end, those of them with one object in the bucket, and how often one
            was imported according to the audit.
    """

    kills: Counter[str]
    seconds: float
    left_s: float
    states: Counter[str]
    reports: tuple[int, int, int]


class _OrphanWatch:
    """Measures how long files count as running without a worker, by polling the database."""

    def __init__(self, team: Composed) -> None:
        self._team = team
        self._since: dict[str, float] = {}
        self._held_at = time.monotonic()
        self.longest_s = 0.0

    def look(self) -> None:
        """Ask once; while the database is away, the time goes on."""
        try:
            with self._team.shared.connect("") as db:
                left = {row["path"] for row in db.execute(_ORPHANS)}
        except CatalogError:
            return
        now = time.monotonic()
        self._since = {path: self._since.get(path, self._held_at) for path in left}
        self.longest_s = max([self.longest_s, *(now - since for since in self._since.values())])
        self._held_at = now


def run_load(team: Composed, files: int, kills: Sequence[tuple[str, float]] = KILLS) -> Load:
    """Kill parts for some seconds, each while files of its share are running; half of the files come meanwhile."""
    catalog = Catalog(team.shared)
    known, before = {one.id for one in catalog.reports()}, {job.path for job in catalog.jobs()}
    taken_before = len(catalog.audit.entries(action="took in", most=_MOST))
    left, ended, numbers = _OrphanWatch(team), threading.Event(), iter(range(files))

    def list_new_jobs() -> list[Job]:
        return [job for job in _read_jobs(catalog) if job.path not in before]

    def drop(count: int) -> set[str]:
        dropped = list(islice(numbers, count))
        for number in dropped:
            team_queue.drop_trace(team.inbox, number)
        return {team_queue.make_trace_name(number) for number in dropped}

    def ask_all_the_time() -> None:
        while not ended.wait(0.2):
            left.look()

    asking = threading.Thread(target=ask_all_the_time)
    asking.start()
    begun = time.monotonic()
    try:
        for number, (part, away_s) in enumerate(kills):
            share = files * (number + 1) // len(kills) - files * number // len(kills)
            names = drop(share // 2)
            _wait_until(
                lambda names=names: any(job.name in names and job.state == "converting" for job in list_new_jobs()),  # type: ignore[misc]
                f"{part} cannot be killed while a file is at hand",
            )
            with take_away(team, part, KILLED):
                drop(share - len(names))
                time.sleep(away_s)  # how long it is away
        _wait_until(lambda: len(list_new_jobs()) == files == _are_done(list_new_jobs()), "not all files became reports")
    finally:
        ended.set()
        asking.join()
    seconds = time.monotonic() - begun
    for server in SERVERS:
        _wait_until(lambda server=server: ask(team.address(server), "/health").status == 200, "a server is not well")  # type: ignore[misc]
    listed = {one.id for one in catalog.reports()} - known
    objects = Counter(path.parent.name for path in team.objects("*.v*.duckdb"))
    once = sum(objects[one] == 1 for one in listed)
    imported = len(catalog.audit.entries(action="took in", most=_MOST)) - taken_before
    states = Counter(job.state for job in list_new_jobs())
    return Load(Counter(part for part, _ in kills), seconds, left.longest_s, states, (len(listed), once, imported))


def _prepare_reports(team: Composed, catalog: Catalog, name: str) -> tuple[Job, Job]:
    """Return two new reports, the first of which the first server has open."""
    before = {job.path for job in catalog.jobs()}
    _drop_traces(team, name, 2)
    _wait_until(lambda: _are_done(catalog.jobs()) == len(before) + 2, "the first reports were not taken in")
    known, new = sorted((job for job in catalog.jobs() if job.path not in before), key=lambda job: job.name)
    for page, report, expected in (("", "", known.name), ("kernels", known.report_id or "", "kernel_")):
        _wait_until(
            lambda page=page, report=report, expected=expected: (  # type: ignore[misc]
                look_at_page(team.address("app1"), page, report, expected)[0] == "shown"
            ),
            "a page is not shown",
        )
    return known, new


def _drop_traces(team: Composed, name: str, count: int) -> None:
    """Drop traces atomically into the inbox; their contents differ by name."""
    with tempfile.TemporaryDirectory(dir=team.inbox.parent) as folder:
        team_queue.write_traces(Path(folder), count)
        for path in Path(folder).iterdir():
            text = path.read_text(encoding="utf-8").replace('"name": "GPU"', f'"name": "GPU {name}"')
            path.write_text(text, encoding="utf-8")
            path.rename(team.inbox / f"{name}-{path.name}")


def _read_jobs(catalog: Catalog) -> list[Job]:
    """Return the files, or none until the database is back."""
    try:
        return catalog.jobs()
    except Exception:  # noqa: BLE001 - any error: ask again
        return []


def _are_done(jobs: list[Job]) -> int:
    return sum(job.state not in (*OPEN_STATES, "deferred") for job in jobs)


def _wait_until(condition: Callable[[], bool], otherwise: str) -> None:
    limit = time.monotonic() + _GOES_ON_S
    while not condition():
        if time.monotonic() > limit:
            raise BenchError(otherwise)
        time.sleep(0.05)


def _print_load(one: Load, files: int) -> None:
    print("| files | killed | seconds | files at the end | reports, with one object, taken in | left at most |")
    print("|---:|---|---:|---|---|---:|")
    print(
        f"| {files} | {_count_reports(one.kills)} | {one.seconds:.0f} | {_count_reports(one.states)}"
        f" | {', '.join(map(str, one.reports))} | {one.left_s:.1f} s |"
    )


def _count_reports(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))


def main() -> None:
    """Print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, help="the part that is lost (default: one after the other)")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--load", action="store_true", help="many kills, while files come")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, started(Path(folder)) as team:
        if options.load:
            _print_load(run_load(team, options.files), options.files)
            return
        print("| lost | way | files left | list | open report | other report | all after | files | reports | traces |")
        print("|---|---|---:|---|---|---|---:|---|---|---:|")
        for part in [options.part] if options.part else PARTS:
            for way in (KILLED, STANDS_STILL):
                one = lose_part(team, part, way, options.seconds, options.files)
                pages = " | ".join(str(looks) for looks in one.pages.values())
                states = _count_reports(one.states)
                print(
                    f"| {part} | {way}, {one.seconds:.0f} s | {one.left} | {pages} | {one.ready_s:.1f} s | {states}"
                    f" | {one.reports[0]}, {one.reports[1]} | {one.traces} |", flush=True,
                )  # fmt: skip
        assert all(team.alive(name) for name in team.ours)


if __name__ == "__main__":
    main()
