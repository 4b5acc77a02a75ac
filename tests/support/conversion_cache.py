"""Reports that a run has taken in: a folder for each content of files, which all its processes share.

A conversion takes seconds, and dozens of tests want the same samples. The same bytes under the same names and settings
are taken in once; whoever wants to change anything has a copy. Nothing outlives the run, so that nothing is stale.
`make test` names one folder for the runs of pytest that it consists of.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

VARIABLE = "WARPDECK_TEST_KEPT"

_OWN = f"{VARIABLE}.pid"


def pytest_configure() -> None:
    """Makes the folder, in the first process of a run; those that it starts inherit its name."""
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = tempfile.mkdtemp(prefix="warpdeck-kept-")
        os.environ[_OWN] = str(os.getpid())


def pytest_unconfigure() -> None:
    """Removes the folder, in the process that made it."""
    if os.environ.get(_OWN) == str(os.getpid()):
        shutil.rmtree(os.environ.pop(VARIABLE), ignore_errors=True)
        del os.environ[_OWN]


@contextmanager
def folders(groups: Sequence[Sequence[Path]], fill: Callable[[dict[Path, list[Path]]], None]) -> Iterator[list[Path]]:
    """A folder for each group of files, in which ``fill`` has taken them in; nobody else fills them meanwhile.

    ``fill`` is given those of the folders that are empty, with their files.
    """
    base = Path(os.environ[VARIABLE])
    of_folder = {base / _key(files): list(files) for files in groups}
    with ExitStack() as locks:
        for folder in sorted(of_folder):  # everybody in the same order, so that no two wait for each other
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
    """Has a library without answers keep them where all that call this keep theirs (``query/answer_store.py``).

    An answer is found by its report's file and time of change, too, which links share: a report that a test publishes,
    replaces or damages has answers of its own.
    """
    shared = Path(os.environ[VARIABLE]) / "answers"
    shared.mkdir(exist_ok=True)
    (library / "derived").mkdir(exist_ok=True)
    (library / "derived" / "answers").symlink_to(shared, target_is_directory=True)


def _key(files: Sequence[Path]) -> str:
    """A name for the contents and names of files, and for the settings under which they are taken in."""
    settings = sorted((name, value) for name, value in os.environ.items() if name.startswith("WARPDECK_"))
    told = [repr(item) for item in settings if not item[0].startswith(("WARPDECK_TEST_", "WARPDECK_DATA"))]
    told += [f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in files]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:32]
