"""What several test modules need: the real converters, a library of every report there is, and a way to ingest."""

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ingest import tools
from profiledb.library import Library

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT.parent / "shared" / "corpus"
SAMPLES = ROOT / "sample_reports"

os.environ["WARPDECK_SAMPLES"] = "off"


def reports_of(folder: Path) -> list[Path]:
    """The files of a folder that a user might drop."""
    endings = (".nsys-rep", ".qdrep", ".ncu-rep", ".sqlite", ".csv")
    return sorted(path for path in folder.glob("*") if path.suffix in endings)


@dataclass(frozen=True)
class Ingested:
    """What ``python -m ingest --once`` printed and returned."""

    status: int
    lines: list[str]
    errors: str


def run_ingest(inbox: Path, library: Path, *options: str, **environment: str) -> Ingested:
    """Runs the worker once, as a user would."""
    argv = [sys.executable, "-m", "ingest", "--once", "--inbox", str(inbox), "--library", str(library), *options]
    done = subprocess.run(argv, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False)
    return Ingested(done.returncode, done.stdout.splitlines(), done.stderr)


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Fails where the condition has not come true in time; looks often, so that it never waits for nothing."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.02)


Ingest = Callable[..., Ingested]


@pytest.fixture
def ingest() -> Ingest:
    return run_ingest


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


@pytest.fixture
def empty_library(tmp_path: Path) -> Library:
    return Library(tmp_path / "library")


@pytest.fixture(scope="session")
def nsys() -> Path:
    """The real nsys; scripts/install_nsight.sh installs it."""
    found = tools.find_nsys()
    assert found, "nsys is needed: run scripts/install_nsight.sh"
    return found.path


@pytest.fixture(scope="session")
def every_report(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Library:
    """A library of all samples and, where it exists, all of ../shared/corpus; built once for all test processes."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    folder = shared / "every_report"
    with (shared / "every_report.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            inbox = shared / "every_inbox"
            inbox.mkdir()
            for path in reports_of(SAMPLES) + reports_of(CORPUS):
                shutil.copyfile(path, inbox / path.name)
            run_ingest(inbox, folder)
    return Library(folder)
