"""What a team runs, as real parts on this machine, and beside it a folder library with one server and one worker."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import psutil

from bench.pages import MAIN, Server, server
from profiledb import config
from profiledb.library.library import Library
from profiledb.library.locations import open_library
from profiledb.studies import prefetch
from tests.support import needs, postgres
from tests.support.proxied import behind
from tests.support.s3 import S3

ROOT = Path(__file__).resolve().parent.parent
DURABLE = ("-c", "shared_buffers=128MB", "-c", "max_connections=100")
"""How PostgreSQL runs: what it has committed is on the disk, as it is by itself."""
_PARTS = {"streamlit": "server", "ingest": "worker", "profiledb.studies.prefetch": "preparing"}


@dataclass(frozen=True)
class Place:
    """A Warpdeck that runs.

    Args:
        name: what it is called.
        address: where people look: a server, or the proxy before several.
        servers: its servers.
        inbox: where reports are dropped.
        settings: the environment of its processes, but for their folders of copies.
    """

    name: str
    address: str
    servers: tuple[Server, ...]
    inbox: Path
    settings: Mapping[str, str]

    def library(self) -> Library:
        """Its library, as a process of its own has it."""
        chosen = {name: self.settings.get(f"WARPDECK_{name.upper()}") for name in ("library", "cache", "database")}
        return open_library(config.load(**chosen))


@contextmanager
def folder(root: Path, inbox: Path, main: Path = MAIN) -> Iterator[Place]:
    """A folder library with a server and a worker; what lies in the inbox is taken in before they start."""
    settings = _settings(inbox) | {"WARPDECK_DATA": str(root), "WARPDECK_LIBRARY": str(root / "library")}
    _take_in(settings)
    with worker(settings), server(settings, {"address": "127.0.0.1"}, main) as running:
        yield Place("folder", running.address, (running,), inbox, settings)


@contextmanager
def team(
    root: Path, inbox: Path, servers: int = 2, workers: int = 4, main: Path = MAIN, *, prepared: bool = True
) -> Iterator[Place]:
    """A library in a bucket with its catalog in PostgreSQL, servers behind nginx, and workers, each with own copies.

    Without ``prepared`` nothing is prepared of what is taken in before they start.
    """
    with ExitStack() as parts:
        database, bucket = postgres.Server(options=DURABLE), S3(root)
        parts.callback(database.remove)
        bucket.start()
        parts.callback(bucket.stop)
        parts.enter_context(patch.dict(os.environ, bucket.environment))
        settings = _settings(inbox) | bucket.environment
        settings |= {"WARPDECK_DATABASE": database.create(), "WARPDECK_LIBRARY": bucket.url()}
        first = settings | {"WARPDECK_CACHE": str(root / "first"), "WARPDECK_DATA": str(root)}
        _take_in(first, prepared=prepared)
        for number in range(workers):
            parts.enter_context(worker(settings | {"WARPDECK_CACHE": str(root / f"worker_{number}")}))
        running = tuple(
            parts.enter_context(
                server(settings | {"WARPDECK_CACHE": str(root / f"server_{number}")}, {"address": "127.0.0.1"}, main)
            )
            for number in range(servers)
        )
        nginx = needs.find_nginx()
        assert nginx
        address = parts.enter_context(behind(nginx, running, root))
        yield Place("team", address, running, inbox, first)


@contextmanager
def worker(settings: Mapping[str, str]) -> Iterator[None]:
    """A worker that runs until the end."""
    argv = [sys.executable, "-m", "ingest"]
    process = subprocess.Popen(argv, cwd=ROOT, env=os.environ | dict(settings), stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _settings(inbox: Path) -> dict[str, str]:
    return {"WARPDECK_INBOX": str(inbox), "WARPDECK_WORKER": "off", "WARPDECK_SAMPLES": "off", "WARPDECK_NCU": "off"}


def _take_in(settings: Mapping[str, str], *, prepared: bool = True) -> None:
    """Has what lies in the inbox taken in, and prepared as a worker does once it has nothing else to do."""
    argv = [sys.executable, "-m", "ingest", "--once", "--strict"]
    subprocess.run(argv, cwd=ROOT, env=os.environ | dict(settings), stdout=subprocess.DEVNULL, check=True)
    library = Place("", "", (), Path(), settings).library()
    for report in library.list() if prepared else ():
        prefetch.prepare(library, report.id)
        prefetch.timeline(library, report.id)
        library.share_prepared(report.id)


def memory() -> dict[str, list[float]]:
    """MB of each process below this one, by what it is; pages that processes share count for each in part (PSS)."""
    found: dict[str, list[float]] = {}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            found.setdefault(_part(process), []).append(process.memory_full_info().pss / 1e6)
    return {name: sorted(sizes, reverse=True) for name, sizes in sorted(found.items())}


def cpu_s() -> dict[str, float]:
    """Seconds of processor that the parts below this process have taken, with those of their children that ended."""
    found: dict[str, float] = {}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            spent, part = process.cpu_times(), _part(process)
            own, ended = spent.user + spent.system, spent.children_user + spent.children_system
            found[part] = found.get(part, 0.0) + own + ended
    return found


def _part(process: psutil.Process) -> str:
    words = process.cmdline()[1:4]
    return next((part for word, part in _PARTS.items() if word in words), process.name())


def told(sizes: Mapping[str, list[float]]) -> Iterator[str]:
    """The same as lines."""
    for name, each in sizes.items():
        yield f"{name}: {len(each)} of at most {each[0]:.0f} MB, {sum(each):.0f} MB in all"


def states(place: Place) -> Counter[str]:
    """How many files are in each state."""
    return Counter(place.library().catalog.job_states())
