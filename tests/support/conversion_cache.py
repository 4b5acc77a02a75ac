"""A cache of imported reports for one run, shared by all test processes: one folder per set of file contents.

A conversion takes seconds, and dozens of tests use the same samples. Files with the same content, names and settings
are imported once; tests that modify them copy them first. The cache does not outlive the run, so no entry is ever
stale. `make test` uses one folder for all of its pytest runs.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from profiledb.library.library import Library
from profiledb.studies import prefetch
from tests.support import ingestion

VARIABLE = "WARPDECK_TEST_KEPT"

_OWN = f"{VARIABLE}.pid"


def pytest_configure() -> None:
    """Create the folder in the first process of a run; its child processes inherit the name."""
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = tempfile.mkdtemp(prefix="warpdeck-kept-")
        os.environ[_OWN] = str(os.getpid())


def pytest_unconfigure() -> None:
    """Remove the folder in the process that created it."""
    if os.environ.get(_OWN) == str(os.getpid()):
        shutil.rmtree(os.environ.pop(VARIABLE), ignore_errors=True)
        del os.environ[_OWN]


@contextmanager
def folders(groups: Sequence[Sequence[Path]], fill: Callable[[dict[Path, list[Path]]], None]) -> Iterator[list[Path]]:
    """Yield an imported folder for each group of files, holding a lock on each.

    ``fill`` receives the folders that are still empty, with their files.
    """
    base = Path(os.environ[VARIABLE])
    of_folder = {base / _key(files): list(files) for files in groups}
    with ExitStack() as locks:
        for folder in sorted(of_folder):  # lock in one global order, to avoid deadlocks
            lock = locks.enter_context(folder.with_suffix(".lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        missing = {folder: files for folder, files in of_folder.items() if not folder.with_suffix(".done").exists()}
        for folder in missing:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        if missing:
            fill(missing)
        for folder in missing:
            folder.with_suffix(".done").touch()
        yield list(of_folder)


def share_answers(library: Path) -> None:
    """Make a library without answers store them in the folder that all callers share (``query/answer_store.py``).

    The key of an answer includes the file and modification time of its report, which hard links share. A report that a
    test publishes, replaces or damages therefore has its own answers.
    """
    shared = Path(os.environ[VARIABLE]) / "answers"
    shared.mkdir(exist_ok=True)
    (library / "derived").mkdir(exist_ok=True)
    (library / "derived" / "answers").symlink_to(shared, target_is_directory=True)


def share_views(library: Library, report_id: str) -> None:
    """Give a library the stored views of this run (``report/stored_views.py``), as a worker stores them: a process that
    opens a report creates none. They are bound to this report if no library had them yet."""
    views = library.derived.views
    if views.exists():
        return
    shared = Path(os.environ[VARIABLE]) / "views"
    shared.mkdir(exist_ok=True)
    views.parent.mkdir(exist_ok=True)
    views.symlink_to(shared, target_is_directory=True)
    prefetch.store_views(library, report_id)


def _key(files: Sequence[Path]) -> str:
    """Return a key for the names and contents of files and the settings of their import."""
    lines = [repr(item) for item in ingestion.read_settings()]
    lines += [f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in files]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]
