"""What becomes of a team that loses PostgreSQL or the bucket in the middle of its work.

``python -m bench.team_losses`` starts the services of docker-compose.yml as processes, has people look and workers take
in reports, takes a part away for a minute, and prints what pages said meanwhile and how all went on. A part is killed,
or stands still: then its machine takes connections, and nobody answers.
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench import team_queue
from bench.ingestion import BenchError
from profiledb.report.catalog import OPEN_STATES, Catalog, Job
from tests.app.web.client import ask, session
from tests.support.composed import Composed, started

MISSING = ("cannot be reached", "does not answer")
"""What a page says of a part that is lost."""
KILLED, STANDS_STILL = "killed", "stands still"
SERVERS = ("app1", "app2")
PARTS = ("database", "storage")
_GOES_ON_S = 240.0


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
        told = ", ".join(f"{number} {said}" for said, number in sorted(self.said.items()))
        return f"{told}; {self.slowest_s:.1f} s at most"


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


def main() -> None:
    """Prints what happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, help="the part that is lost (default: one after the other)")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--files", type=int, default=60)
    given = parser.parse_args()
    print("| lost | way | files left | list | open report | other report | all after | files | reports | traces |")
    print("|---|---|---:|---|---|---|---:|---|---|---:|")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, started(Path(folder)) as team:
        for part in [given.part] if given.part else PARTS:
            for way in (KILLED, STANDS_STILL):
                one = lose(team, part, way, given.seconds, given.files)
                pages = " | ".join(str(looks) for looks in one.pages.values())
                states = ", ".join(f"{number} {state}" for state, number in sorted(one.states.items()))
                print(
                    f"| {part} | {way}, {one.seconds:.0f} s | {one.left} | {pages} | {one.ready_s:.1f} s | {states}"
                    f" | {one.reports[0]}, {one.reports[1]} | {one.traces} |", flush=True,
                )  # fmt: skip
        assert all(team.alive(name) for name in team.ours)


if __name__ == "__main__":
    main()
