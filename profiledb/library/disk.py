"""Whether a library takes what is written: the one place that tells a full disk and a library that is read-only."""

import errno
import os
import sqlite3
from pathlib import Path
from typing import NamedTuple

import duckdb

from profiledb.errors import CatalogError, DiskFullError

LEAST_BYTES = 4 << 20
"""With less free space nothing is begun: the catalog and what runs already need the rest."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""No room, no quota, and a file longer than the process may write."""
_NO_RIGHT = (errno.EROFS, errno.EACCES, errno.EPERM)
_WORDS = ("No space left", "File too large", "Disk quota", "Error writing bytes to file")
"""What DuckDB, which passes on the system's words, and nsys say."""


class Trouble(NamedTuple):
    """Why nothing can be written now: a word for ``/health``, a sentence, and another one about what comes next."""

    word: str
    message: str
    hint: str


FULL = Trouble("full", "The disk is full.", "It is tried again when there is more space.")
READ_ONLY = Trouble(
    "read-only",
    "The library cannot be written.",
    "Give the importer write permission on the library's folder, or mount it writable; it is then tried again.",
)


def free(folder: Path) -> int:
    """Bytes that a process without privileges may still write to the disk of a folder."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def look(folder: Path) -> Trouble | None:
    """What keeps a library, or a folder of it, from being written now. Cheap, and writes nothing."""
    try:
        found = os.statvfs(folder)
        paths = [path for path in (folder, *(folder / name for name in _WRITTEN)) if path.exists()]
    except OSError:  # it is gone, which is no question of room
        return None
    if found.f_flag & os.ST_RDONLY or not all(os.access(path, os.W_OK) for path in paths):
        return READ_ONLY
    has_no_inode = found.f_files > 0 and not found.f_favail
    return FULL if has_no_inode or found.f_bavail * found.f_frsize < LEAST_BYTES else None


_WRITTEN = ("reports", "work", "catalog.sqlite")
"""What a worker writes to in the folder of a library."""


def of(error: BaseException, folder: Path | None = None) -> Trouble | None:
    """What an error says of the disk. Whatever goes wrong in a ``folder`` that takes nothing now goes wrong by that:
    programs differ in their words, and some end without any."""
    if is_full(error):
        return FULL
    if folder is not None:
        return look(folder)
    return READ_ONLY if isinstance(error, OSError) and error.errno in _NO_RIGHT else None


def is_full(error: BaseException) -> bool:
    """Whether an error, or what it came from, says that there is no room for what was written."""
    if isinstance(error, CatalogError):
        return error.__cause__ is not None and is_full(error.__cause__)
    if isinstance(error, OSError):
        return error.errno in _NO_ROOM
    if isinstance(error, sqlite3.Error):
        return "disk is full" in str(error)
    if isinstance(error, duckdb.Error):
        return says_full(str(error))
    return isinstance(error, DiskFullError)


def is_too_long(error: BaseException) -> bool:
    """Whether an error says that a file grew to the largest size that a conversion may write."""
    return error.errno == errno.EFBIG if isinstance(error, OSError) else "File too large" in str(error)


def says_full(words: str) -> bool:
    """Whether another program's words say that there is no room."""
    return any(word in words for word in _WORDS)
