"""Fixtures shared by several test modules: the real converters, a library of all reports, and a way to import files."""

import fcntl
import gc
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings

from ingest import tools
from ingest.sidecars.files import read_sidecar
from profiledb.library.library import Library
from tests.support import connection_pool, conversion_cache, edited_exports, groups, ingestion, needs, random_exports
from tests.support.answers import make_answers
from tests.support.conversion_cache import pytest_unconfigure
from tests.support.groups import pytest_xdist_make_scheduler
from tests.support.ingestion import Ingested, pytest_sessionfinish
from tests.support.made_up_format import make_report
from tests.support.memory_reports import make_gaps
from tests.support.needs import CORPUS, pytest_runtest_setup
from tests.support.page_reports import make_library, make_publish
from tests.support.postgres import catalog, postgres, team
from tests.support.range_captures import make_capture
from tests.support.s3 import s3, s3_server, s3_servers

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "sample_reports"

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # As a shell starts jobs in the background; the programs that tests end by Ctrl+C would ignore it, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)

__all__ = [  # hooks, and names for tests
    "CORPUS",
    "Ingested",
    "catalog",
    "make_answers",
    "make_capture",
    "make_gaps",
    "make_library",
    "make_publish",
    "make_report",
    "postgres",
    "pytest_runtest_setup",
    "pytest_sessionfinish",
    "pytest_unconfigure",
    "pytest_xdist_make_scheduler",
    "s3",
    "s3_server",
    "s3_servers",
    "team",
]

pytest_plugins = [f"tests.support.{name}" for name in ("bounded_conversion", "ddp_samples", "torch_samples")]
"""Modules of fixtures that import this one."""

os.environ["WARPDECK_SAMPLES"] = "off"
# Run the same examples every time.
settings.register_profile("same", derandomize=True)
settings.load_profile("same")


def pytest_configure() -> None:
    conversion_cache.pytest_configure()
    connection_pool.pytest_configure()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests before ``-m`` reads the markers."""
    needs.pytest_collection_modifyitems(items)
    groups.pytest_collection_modifyitems(items)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Keep the thousands of collected tests out of garbage collection, now and later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def reports_of(folder: Path) -> list[Path]:
    """Return the files of a folder that a user might drop."""
    endings = (".nsys-rep", ".qdrep", ".ncu-rep", ".sqlite", ".csv")
    beside = (".timings.csv", ".nvml.csv", ".tasks.csv", ".energy.csv")  # sidecar files are not reports
    return sorted(path for path in folder.glob("*") if path.suffix in endings and not path.name.endswith(beside))


def run_ingest(inbox: Path, library: Path, *options: str, **environment: str) -> Ingested:
    """Run the worker once on the contents of an inbox (support/ingestion.py)."""
    return ingestion.once(["--inbox", str(inbox), "--library", str(library), *options], environment)


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until the condition holds, polling often to avoid idle waits; fail at the time limit."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.02)


def is_converting(library: Library, pattern: str = "*/scratch/report.nsys-rep") -> bool:
    """Return True if a conversion has such a file in its folder. A worker that starts removes all of them first."""
    with suppress(FileNotFoundError):
        return any(library.work.glob(pattern))
    return False


Ingest = Callable[..., Ingested]
Once = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(autouse=True)
def main_module() -> Generator[None]:
    """Give `__main__` back: Streamlit puts the script that it runs in its place, and spawned processes would run it."""
    kept = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = kept


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
    """The real nsys; tests/support/needs.py skips tests that use it if it is missing."""
    found = tools.find_nsys()
    assert found
    return found.path


@pytest.fixture(scope="session")
def nginx() -> Path:
    """The real nginx; tests/support/needs.py skips tests that use it if it is missing."""
    found = needs.find_nginx()
    assert found
    return found


@pytest.fixture(scope="session")
def ncu() -> tools.Tool:
    """The real ncu; tests/support/needs.py skips tests that use it if it is missing."""
    found = tools.find_ncu()
    assert found
    return found


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Once:
    """Return a function that returns the folder of a name, which ``fill`` fills once for all test processes."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent

    def made(name: str, fill: Callable[[Path], object]) -> Path:
        folder, done = shared / name, shared / f"{name}.done"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                fill(folder)
                done.touch()
        return folder

    return made


def ingest_files(folder: Path, files: Iterable[Path]) -> None:
    """Create ``folder/inbox`` and ``folder/library`` from copies of the files, importing each report with its sidecars.

    Files that any test process of this run has already imported are copied from its result
    (support/conversion_cache.py).
    """
    names: dict[str, list[Path]] = {}
    for path in sorted(files, key=lambda path: path.name):
        names.setdefault(path.name.partition(".")[0], []).append(path)
    with conversion_cache.folders(list(names.values()), _ingest_all) as parts:
        put_together(folder, parts, shutil.copy2)


def _ingest_all(groups: dict[Path, list[Path]]) -> None:
    """Import the files of each folder, with one worker per core."""
    heavy_first = sorted(groups.items(), key=lambda item: -sum(path.stat().st_size for path in item[1]))
    cores = min(os.cpu_count() or 1, len(groups))
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(_ingest_part, (dict(heavy_first[number::cores]) for number in range(cores))))


def _ingest_part(groups: dict[Path, list[Path]]) -> None:
    """Import the files of all these folders with one worker, and put each folder's reports into it."""
    with TemporaryDirectory(dir=next(iter(groups)).parent) as name:
        work = Path(name)
        (work / "inbox").mkdir()
        for path in (path for files in groups.values() for path in files):
            shutil.copyfile(path, work / "inbox" / path.name)
        run_ingest(work / "inbox", work / "library")
        for folder, files in groups.items():
            put_together(folder, [work], names={path.name for path in files})


def put_together(
    folder: Path,
    parts: Iterable[Path],
    copy: Callable[[Path, Path], object] = os.link,
    names: Collection[str] | None = None,
) -> None:
    """Assemble ``folder/inbox`` and ``folder/library`` from other folders, as if one worker had imported everything.

    ``copy`` must preserve modification times, by which the worker recognizes files. ``names`` selects inbox files and
    their reports; by default, all are included.
    """
    inbox, library = folder / "inbox", Library(folder / "library")
    inbox.mkdir(exist_ok=True)
    for part in parts:
        other = Library(part / "library")
        for path in (part / "inbox").iterdir():
            if names is None or path.name in names:
                copy(path, inbox / path.name)
        for manifest in other.list():
            if names is not None and manifest.name not in names:
                continue
            for path in other.reports.glob(f"{manifest.id}.*"):
                copy(path, library.reports / path.name)
            library.catalog.add_report(manifest)
            conversion_cache.share_views(library, manifest.id)
        jobs = [job for job in other.catalog.jobs() if names is None or job.name in names]
        library.catalog.put_job(*(replace(job, path=str(inbox / job.name)) for job in jobs))


_REWRITTEN = ("catalog.sqlite", "summaries.sqlite")


def copy_data(source: Path, target: Path) -> None:
    """Copy a data folder for a test that changes it. Files that are never rewritten are hard-linked.

    A test that damages such a file must delete it first, or it damages every test's copy.
    """

    def copy(path: str, to: str) -> None:
        if path.endswith((".duckdb", "-rep", ".sqlite")) and Path(path).name not in _REWRITTEN:
            os.link(path, to)
        else:
            shutil.copy2(path, to)

    shutil.copytree(source, target, copy_function=copy)


@pytest.fixture(scope="session")
def every_report(once: Once, sample_data: Path) -> Library:
    """A library of all samples and, if it exists, of all reports in ../shared/corpus."""

    def fill(folder: Path) -> None:
        corpus = folder / "corpus"
        corpus.mkdir()
        ingest_files(corpus, reports_of(CORPUS))
        put_together(folder, [sample_data, corpus])

    return Library(once("every_report", fill) / "library")


@pytest.fixture(scope="session")
def sample_data(once: Once, nsys_samples: Library) -> Path:
    """The data folder with all samples in its inbox and library."""

    def fill(folder: Path) -> None:
        compute = folder / "compute"
        compute.mkdir()
        ingest_files(compute, SAMPLES.glob("*.ncu-rep"))
        put_together(folder, [nsys_samples.folder.parent, compute])

    return once("samples", fill)


@pytest.fixture(scope="session")
def nsys_samples(once: Once) -> Library:
    """A library of the samples that nsys captured, created quickly and without nsys."""
    files = [path for path in reports_of(SAMPLES) if path.suffix != ".ncu-rep"]
    return Library(once("nsys_samples", lambda folder: ingest_files(folder, files)) / "library")


@pytest.fixture(scope="session")
def with_sidecars(once: Once, nsys_samples: Library) -> Library:
    """The library of the samples with their sidecars."""

    def fill(folder: Path) -> None:
        put_together(folder, [nsys_samples.folder.parent])
        library = Library(folder / "library")
        for report in library.list():
            for ending in (".meta.json", ".timings.csv", ".nvml.csv", ".tasks.csv"):
                if (path := (SAMPLES / report.name).with_suffix(ending)).exists():
                    library.put_sidecar(report.id, (found := read_sidecar(path)).kind, found.text)

    return Library(once("with_sidecars", fill) / "library")


@pytest.fixture(scope="session")
def sqlite_export(nsys: Path, once: Once) -> Callable[[str], Path]:
    """Return a function that returns the SQLite export of a report of the corpus."""

    def export(report: str) -> Path:
        name = f"{report}.sqlite"
        argv = [str(nsys), "export", "-q", "true", "-t", "sqlite", "-o"]

        def fill(folder: Path) -> None:
            subprocess.run([*argv, str(folder / name), str(CORPUS / report)], check=True, capture_output=True)

        return once(f"export_of_{report}", fill) / name

    return export


@pytest.fixture(scope="session")
def edited(once: Once, sqlite_export: Callable[[str], Path]) -> tuple[Path, Library]:
    """The folder of the edited exports, and a library of them."""
    return _exports(once, "edited", lambda folder: edited_exports.write_all(folder, sqlite_export))


@pytest.fixture(scope="session")
def generated_exports(once: Once) -> tuple[Path, Library]:
    """The folder of the generated exports, and a library of them."""
    return _exports(
        once, "generated", lambda folder: random_exports.write_all(folder, SAMPLES / "transformer_inference.sqlite")
    )


def _exports(once: Once, name: str, write: Callable[[Path], None]) -> tuple[Path, Library]:
    def fill(folder: Path) -> None:
        (folder / "inbox").mkdir()
        write(folder / "inbox")
        done = run_ingest(folder / "inbox", folder / "library")
        assert done.status == 0, done.lines

    folder = once(name, fill)
    return folder / "inbox", Library(folder / "library")
