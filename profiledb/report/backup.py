"""A copy of a folder library that is whole, made while a worker writes.

The catalog first, by SQLite's own way of copying: a copy of its file alone lacks what stands in its log. Then the
files: what was published meanwhile lies there with its manifest, and the start of a worker lists it. What was deleted
meanwhile is missing, and the start of a worker forgets it. A report never changes, so that a second copy into the same
folder takes only what is new.
"""

import filecmp
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from profiledb.errors import CatalogError, ConfigError
from profiledb.report.catalog import FILE
from profiledb.report.library import Library

MARK = "warpdeck-backup"
"""A file that says that a folder holds such a copy, and nothing else may lie in it."""
SETTINGS = ("tokens.json",)
"""Small files beside the catalog that are copied, too."""
_PART = ".part"


def backup(library: Library, to: Path) -> tuple[int, int]:
    """Copies a library into a folder, which then is a library itself; how many files were new, and their bytes.

    Raises:
        ConfigError: the folder holds anything but an earlier copy.
        CatalogError: the catalog cannot be copied.
        OSError: a file cannot be written.
    """
    if to.resolve().is_relative_to(library.folder.resolve()) or (
        to.exists() and any(to.iterdir()) and not (to / MARK).exists()
    ):
        raise ConfigError(f"{to} holds something else.", hint="Name an empty folder, or one with an earlier copy.")
    reports = to / "reports"
    reports.mkdir(parents=True, exist_ok=True)
    (to / MARK).touch()
    _catalog(library.folder / FILE, to / FILE)
    for name in SETTINGS:
        with suppress(FileNotFoundError):
            _copy(library.folder / name, to / name)
    return _files(library.reports, reports)


def _catalog(source: Path, target: Path) -> None:
    """Copies the catalog as it is at one moment; the copy takes the place of an earlier one when it is whole."""
    part = target.with_name(target.name + _PART)
    part.unlink(missing_ok=True)
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as here,
            closing(sqlite3.connect(part)) as copy,
        ):
            here.backup(copy)
    except sqlite3.Error as error:
        raise CatalogError(f"{source} cannot be copied: {error}.") from error
    part.replace(target)


def _files(source: Path, target: Path) -> tuple[int, int]:
    """Copies what is new, and removes what is in the library no more."""
    there, count, size = set(), 0, 0
    for path in sorted(source.iterdir()):
        if not path.is_file():
            continue
        with suppress(FileNotFoundError):  # deleted meanwhile
            there.add(path.name)
            if not _same(path, target / path.name):
                size += _copy(path, target / path.name)
                count += 1
    for path in target.iterdir():
        if path.name not in there:
            path.unlink()
    return count, size


def _same(path: Path, copy: Path) -> bool:
    """Whether a copy is of this state of a file: by its size and its time."""
    return copy.exists() and filecmp.cmp(path, copy, shallow=True)


def _copy(path: Path, to: Path) -> int:
    """Copies a file with its time; the copy has its name when it is whole."""
    part = to.with_name(to.name + _PART)
    shutil.copy2(path, part)
    part.replace(to)
    return to.stat().st_size
