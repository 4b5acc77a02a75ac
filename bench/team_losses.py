"""What becomes of a team that loses PostgreSQL or the bucket in the middle of its work.

``python -m bench.team_losses`` starts the services of docker-compose.yml as processes, has people look and workers take
in reports, takes a part away for a minute, and prints what pages said meanwhile and how all went on. A part is killed,
or stands still: then its machine takes connections, and nobody answers.

``--load`` kills workers, PostgreSQL, the bucket and a server one after the other instead, while files come: each
becomes one report, and the catalog calls none "converting" for long that no living worker has.
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
from tests.support.composed import Composed, started

MISSING = ("cannot be reached", "does not answer")
"""What a page says of a part that is lost."""
KILLED, STANDS_STILL = "killed", "stands still"
SERVERS = ("app1", "app2")
PARTS = ("database", "storage")
AWAY_S = 12.0
"""For PostgreSQL to start anew, for example."""
KILLS = 2 * [(part, AWAY_S) for part in ("worker-1", "database", "storage", "app1", "worker-2", "database")]
LIVES_S = 10.0
"""A worker says every 5 s that it lives."""
_GOES_ON_S = 240.0
_MOST = 10_000
_LEFT = f"""
    SELECT path FROM job WHERE state IN ('converting', 'loading') AND NOT EXISTS (
        SELECT 1 FROM procrastinate.procrastinate_jobs AS queued
        JOIN procrastinate.procrastinate_workers AS worker ON worker.id = queued.worker_id
        WHERE queued.status = 'doing' AND queued.queueing_lock = encode(sha256(convert_to(path, 'UTF8')), 'hex')
          AND worker.last_heartbeat > now() - make_interval(secs => {LIVES_S})
    )
"""
"""Files that are called at hand, and that no worker has which lives."""


@dataclass
class Looks:
    """Looks at a page while a part was lost: how many showed it, said what is missing, or did neither; the slowest."""

    said: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0

    def add(self, said: str, seconds: float) -> None:
        """Counts one."""
        self.said[said] += 1
        self.slowest_s = max(self.slowest_s, seconds)

    def __str__(self) -> str:
        return f"{_counted(self.said)}; {self.slowest_s:.1f} s at most"


@dataclass
class Loss:
    """A loss: the part, how, for how long; what pages said; how it went on.

    Args:
        pages: the list of reports, a report that the server had open, and one of which nothing was on this machine.
        left: files that waited when the part went.
        ready_s: from the part's return until all files were reports.
        states: of all files at the end.
        reports: in the catalog at the end, and how many of them have their object in the bucket.
        traces: errors with a trace in the logs of servers and workers.
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
def without(team: Composed, part: str, way: str) -> Iterator[None]:
    """Takes a part away for the block."""
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


def look(
    address: str, page: str, report: str, expected: str, cookies: Mapping[str, str] | None = None
) -> tuple[str, float]:
    """Opens a page as a browser does: what it said, and after how many seconds."""
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
    said = (
        "shown" if expected in text else "said what is missing" if any(map(text.__contains__, MISSING)) else "neither"
    )
    return said, time.monotonic() - begun


def lose(team: Composed, part: str, way: str, seconds: float, files: int) -> Loss:
    """Drops so many files, takes a part away while they are converted, looks at pages, and waits for all reports."""
    catalog, loss = Catalog(team.shared), Loss(part, way, seconds)
    known, new = _prepared(team, catalog, f"{part}-{way.replace(' ', '-')}")
    before = len(catalog.jobs())
    _drop(team, f"{part}-{way.replace(' ', '-')}-more", files)
    _until(lambda: _done(catalog.jobs()) > before, "nothing was converted")
    loss.left = before + files - _done(catalog.jobs())
    for copy in team.copies(f"{new.report_id}.*"):
        copy.unlink()
    pages = {
        "list": ("", "", known.name),
        "open report": ("kernels", known.report_id or "", "kernel_"),
        "other report": ("kernels", new.report_id or "", "kernel_"),
    }
    loss.pages = {name: Looks() for name in pages}
    with without(team, part, way):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for name, (page, report, expected) in pages.items():
                loss.pages[name].add(*look(team.address("app1"), page, report, expected))
    begun = time.monotonic()
    _until(lambda: len(_jobs(catalog)) == before + files == _done(_jobs(catalog)), "not all files became reports")
    loss.ready_s = time.monotonic() - begun
    for server in SERVERS:
        _until(lambda server=server: ask(team.address(server), "/health").status == 200, "a server is not well")  # type: ignore[misc]
        _until(
            lambda server=server: look(team.address(server), *pages["other report"])[0] == "shown",  # type: ignore[misc]
            "a page does not come back",
        )
    loss.states = Counter(job.state for job in catalog.jobs())
    listed = {one.id for one in catalog.reports()}
    loss.reports = (len(listed), len(listed & {path.parent.name for path in team.objects("*.duckdb")}))
    loss.traces = sum(team.log(name).count("Traceback") for name in team.ours)
    return loss


@dataclass
class Load:
    """How a load went on through kills.

    Args:
        kills: how often each part was killed.
        seconds: from the first file until all were done.
        left_s: the longest time that a file was called at hand and no living worker had it.
        states: of all files at the end.
        reports: new in the catalog at the end, those of them with one object in the bucket, and how often one was
            taken in, as the audit has it.
    """

    kills: Counter[str]
    seconds: float
    left_s: float
    states: Counter[str]
    reports: tuple[int, int, int]


class _Left:
    """How long files are called at hand that no worker has, as the database is asked all the time."""

    def __init__(self, team: Composed) -> None:
        self._team = team
        self._since: dict[str, float] = {}
        self._held_at = time.monotonic()
        self.longest_s = 0.0

    def look(self) -> None:
        """Asks once; while the database is away nobody knows, and time goes on."""
        try:
            with self._team.shared.connect("") as db:
                left = {row["path"] for row in db.execute(_LEFT)}
        except CatalogError:
            return
        now = time.monotonic()
        self._since = {path: self._since.get(path, self._held_at) for path in left}
        self.longest_s = max([self.longest_s, *(now - since for since in self._since.values())])
        self._held_at = now


def load(team: Composed, files: int, kills: Sequence[tuple[str, float]] = KILLS) -> Load:
    """Kills parts for so many seconds, each while files of its share are at hand; half of them come meanwhile."""
    catalog = Catalog(team.shared)
    known, before = {one.id for one in catalog.reports()}, {job.path for job in catalog.jobs()}
    taken_before = len(catalog.audit.entries(action="took in", most=_MOST))
    left, ended, numbers = _Left(team), threading.Event(), iter(range(files))

    def new() -> list[Job]:
        return [job for job in _jobs(catalog) if job.path not in before]

    def drop(count: int) -> set[str]:
        dropped = list(islice(numbers, count))
        for number in dropped:
            team_queue.drop(team.inbox, number)
        return {team_queue.name_of(number) for number in dropped}

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
            _until(
                lambda names=names: any(job.name in names and job.state == "converting" for job in new()),  # type: ignore[misc]
                f"{part} cannot be killed while a file is at hand",
            )
            with without(team, part, KILLED):
                drop(share - len(names))
                time.sleep(away_s)  # so long it is away
        _until(lambda: len(new()) == files == _done(new()), "not all files became reports")
    finally:
        ended.set()
        asking.join()
    seconds = time.monotonic() - begun
    for server in SERVERS:
        _until(lambda server=server: ask(team.address(server), "/health").status == 200, "a server is not well")  # type: ignore[misc]
    listed = {one.id for one in catalog.reports()} - known
    objects = Counter(path.parent.name for path in team.objects("*.v*.duckdb"))
    once = sum(objects[one] == 1 for one in listed)
    taken = len(catalog.audit.entries(action="took in", most=_MOST)) - taken_before
    states = Counter(job.state for job in new())
    return Load(Counter(part for part, _ in kills), seconds, left.longest_s, states, (len(listed), once, taken))


def _prepared(team: Composed, catalog: Catalog, name: str) -> tuple[Job, Job]:
    """Two new reports, the first of which the first server has open."""
    before = {job.path for job in catalog.jobs()}
    _drop(team, name, 2)
    _until(lambda: _done(catalog.jobs()) == len(before) + 2, "the first reports were not taken in")
    known, new = sorted((job for job in catalog.jobs() if job.path not in before), key=lambda job: job.name)
    for page, report, expected in (("", "", known.name), ("kernels", known.report_id or "", "kernel_")):
        _until(
            lambda page=page, report=report, expected=expected: (  # type: ignore[misc]
                look(team.address("app1"), page, report, expected)[0] == "shown"
            ),
            "a page is not shown",
        )
    return known, new


def _drop(team: Composed, name: str, count: int) -> None:
    """Puts so many traces into the inbox, each of them whole; contents differ by the name."""
    with tempfile.TemporaryDirectory(dir=team.inbox.parent) as folder:
        team_queue.write(Path(folder), count)
        for path in Path(folder).iterdir():
            text = path.read_text(encoding="utf-8").replace('"name": "GPU"', f'"name": "GPU {name}"')
            path.write_text(text, encoding="utf-8")
            path.rename(team.inbox / f"{name}-{path.name}")


def _jobs(catalog: Catalog) -> list[Job]:
    """The files, or none as long as the database is not back."""
    try:
        return catalog.jobs()
    except Exception:  # noqa: BLE001 - whatever it is, it is asked again
        return []


def _done(jobs: list[Job]) -> int:
    return sum(job.state not in (*OPEN_STATES, "deferred") for job in jobs)


def _until(condition: Callable[[], bool], otherwise: str) -> None:
    limit = time.monotonic() + _GOES_ON_S
    while not condition():
        if time.monotonic() > limit:
            raise BenchError(otherwise)
        time.sleep(0.05)


def _print_load(one: Load, files: int) -> None:
    print("| files | killed | seconds | files at the end | reports, with one object, taken in | left at most |")
    print("|---:|---|---:|---|---|---:|")
    print(
        f"| {files} | {_counted(one.kills)} | {one.seconds:.0f} | {_counted(one.states)}"
        f" | {', '.join(map(str, one.reports))} | {one.left_s:.1f} s |"
    )


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))


def main() -> None:
    """Prints what happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, help="the part that is lost (default: one after the other)")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--load", action="store_true", help="many kills, while files come")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, started(Path(folder)) as team:
        if given.load:
            _print_load(load(team, given.files), given.files)
            return
        print("| lost | way | files left | list | open report | other report | all after | files | reports | traces |")
        print("|---|---|---:|---|---|---|---:|---|---|---:|")
        for part in [given.part] if given.part else PARTS:
            for way in (KILLED, STANDS_STILL):
                one = lose(team, part, way, given.seconds, given.files)
                pages = " | ".join(str(looks) for looks in one.pages.values())
                states = _counted(one.states)
                print(
                    f"| {part} | {way}, {one.seconds:.0f} s | {one.left} | {pages} | {one.ready_s:.1f} s | {states}"
                    f" | {one.reports[0]}, {one.reports[1]} | {one.traces} |", flush=True,
                )  # fmt: skip
        assert all(team.alive(name) for name in team.ours)


if __name__ == "__main__":
    main()
