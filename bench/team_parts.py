"""Run the real parts of a team on this machine, and a folder library with one server and one worker."""

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

from bench.pages import MAIN, Server, find_free_port, run_server
from profiledb import config
from profiledb.library.library import Library
from profiledb.library.locations import open_library
from profiledb.studies import prefetch
from tests.support import needs, postgres
from tests.support.nginx_proxy import behind
from tests.support.s3 import S3

ROOT = Path(__file__).resolve().parent.parent
DURABLE = ("-c", "shared_buffers=128MB", "-c", "max_connections=100")
"""Options of PostgreSQL: commits reach the disk, as by default."""
_PARTS = {"streamlit": "server", "ingest": "worker", "profiledb.studies.prefetch": "preparing"}


@dataclass(frozen=True)
class Place:
    """A running Warpdeck.

    Args:
        name: its name.
        address: address for people: a server, or the proxy before several.
        servers: its servers.
        inbox: folder or bucket for reports.
        settings: environment of its processes, except their folders of copies.
        metrics: port of each server for its figures; none of a folder.
    """

    name: str
    address: str
    servers: tuple[Server, ...]
    inbox: Path
    settings: Mapping[str, str]
    metrics: tuple[int, ...] = ()

    def open_library(self) -> Library:
        """Open its library as a separate process does."""
        chosen = {name: self.settings.get(f"WARPDECK_{name.upper()}") for name in ("library", "cache", "database")}
        return open_library(config.load(**chosen))


@contextmanager
def run_folder_library(root: Path, inbox: Path, main: Path = MAIN) -> Iterator[Place]:
    """Run a folder library with a server and a worker; the files of the inbox are imported before they start."""
    settings = _make_settings(inbox) | {"WARPDECK_DATA": str(root), "WARPDECK_LIBRARY": str(root / "library")}
    _take_in(settings)
    with run_worker(settings), run_server(settings, {"address": "127.0.0.1"}, main) as running:
        yield Place("folder", running.address, (running,), inbox, settings)


@contextmanager
def run_team(
    root: Path, inbox: Path, servers: int = 2, workers: int = 4, main: Path = MAIN, *, prepared: bool = True
) -> Iterator[Place]:
    """Run a library in a bucket with its catalog in PostgreSQL, servers behind nginx, and workers, each with own
    copies.

    Without ``prepared``, nothing is prepared of the files imported before the start.
    """
    with ExitStack() as stack:
        database, bucket = postgres.Server(options=DURABLE), S3(root)
        stack.callback(database.remove)
        bucket.start()
        stack.callback(bucket.stop)
        stack.enter_context(patch.dict(os.environ, bucket.environment))
        settings = _make_settings(inbox) | bucket.environment
        settings |= {"WARPDECK_DATABASE": database.create(), "WARPDECK_LIBRARY": bucket.url()}
        first = settings | {"WARPDECK_CACHE": str(root / "first"), "WARPDECK_DATA": str(root)}
        _take_in(first, prepared=prepared)
        for number in range(workers):
            stack.enter_context(run_worker(settings | {"WARPDECK_CACHE": str(root / f"worker_{number}")}))
        metrics = tuple(find_free_port() for _ in range(servers))
        own = [
            {"WARPDECK_CACHE": str(root / f"server_{number}"), "WARPDECK_METRICS": str(port)}
            for number, port in enumerate(metrics)
        ]
        running = tuple(stack.enter_context(run_server(settings | one, {"address": "127.0.0.1"}, main)) for one in own)
        nginx = needs.find_nginx()
        assert nginx
        address = stack.enter_context(behind(nginx, running, root))
        yield Place("team", address, running, inbox, first, metrics)


@contextmanager
def run_worker(settings: Mapping[str, str]) -> Iterator[None]:
    """Run a worker until the end of the block."""
    argv = [sys.executable, "-m", "ingest"]
    process = subprocess.Popen(argv, cwd=ROOT, env=os.environ | dict(settings), stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _make_settings(inbox: Path) -> dict[str, str]:
    return {"WARPDECK_INBOX": str(inbox), "WARPDECK_WORKER": "off", "WARPDECK_SAMPLES": "off", "WARPDECK_NCU": "off"}


def _take_in(settings: Mapping[str, str], *, prepared: bool = True) -> None:
    """Import the files of the inbox and prepare them as an idle worker does."""
    argv = [sys.executable, "-m", "ingest", "--once", "--strict"]
    subprocess.run(argv, cwd=ROOT, env=os.environ | dict(settings), stdout=subprocess.DEVNULL, check=True)
    library = Place("", "", (), Path(), settings).open_library()
    for report in library.list() if prepared else ():
        prefetch.prepare(library, report.id)
        prefetch.build_timeline(library, report.id)
        library.share_prepared(report.id)


def measure_memory() -> dict[str, list[float]]:
    """Return the MB of each process below this one by its part; shared pages count in proportion (PSS)."""
    result: dict[str, list[float]] = {}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            result.setdefault(_name_part(process), []).append(process.memory_full_info().pss / 1e6)
    return {name: sorted(sizes, reverse=True) for name, sizes in sorted(result.items())}


def measure_private() -> dict[str, float]:
    """Return the MB that only one process has, for each below this one, by its part and number (USS).

    What PostgreSQL's connections share would count for each once it has touched it.
    """
    result = {}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            result[f"{_name_part(process)} {process.pid}"] = process.memory_full_info().uss / 1e6
    return result


def measure_cpu_s() -> dict[str, float]:
    """Return the processor seconds of the parts below this process, including their ended children."""
    result: dict[str, float] = {}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            spent, part = process.cpu_times(), _name_part(process)
            own, ended = spent.user + spent.system, spent.children_user + spent.children_system
            result[part] = result.get(part, 0.0) + own + ended
    return result


def _name_part(process: psutil.Process) -> str:
    words = process.cmdline()[1:4]
    return next((part for word, part in _PARTS.items() if word in words), process.name())


def format_numbers(sizes: Mapping[str, list[float]]) -> Iterator[str]:
    """Return numbers as text."""
    for name, each in sizes.items():
        yield f"{name}: {len(each)} of at most {each[0]:.0f} MB, {sum(each):.0f} MB in all"


def count_states(place: Place) -> Counter[str]:
    """Return the number of files in each state."""
    return Counter(place.open_library().catalog.job_states())
