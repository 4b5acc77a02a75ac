"""Tell why a library cannot be written: the one place that recognizes a full disk and a read-only library."""

import errno
import os
import sqlite3
from pathlib import Path
from typing import NamedTuple

import duckdb

from profiledb.errors import CatalogError, DiskFullError

LEAST_BYTES = 4 << 20
"""Free space below which nothing new starts: the catalog and running work need the rest."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""No space, quota exceeded, and a file larger than the process may write."""
_NO_RIGHT = (errno.EROFS, errno.EACCES, errno.EPERM)
_WORDS = ("No space left", "File too large", "Disk quota", "Error writing bytes to file")
"""Texts of DuckDB, which passes on the system's message, and of nsys."""


class Trouble(NamedTuple):
    """Reason why nothing can be written now: a word for ``/health``, a message, and a hint about what happens next."""

    word: str
    message: str
    hint: str


FULL = Trouble("full", "The disk is full.", "It is tried again when there is more space.")
READ_ONLY = Trouble(
    "read-only",
    "The library cannot be written.",
    "Give the importer write permission on the library's folder, or mount it writable; it is then tried again.",
)


def measure_free(folder: Path) -> int:
    """Return the bytes that an unprivileged process may still write to the disk of a folder."""
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


def find_trouble(folder: Path) -> Trouble | None:
    """Return the reason why a library, or a folder of it, cannot be written now. Cheap; writes nothing."""
    try:
        status = os.statvfs(folder)
        paths = [path for path in (folder, *(folder / name for name in _WRITTEN)) if path.exists()]
    except OSError:  # the folder is gone, which is another trouble
        return None
    if status.f_flag & os.ST_RDONLY or not all(os.access(path, os.W_OK) for path in paths):
        return READ_ONLY
    has_no_inode = status.f_files > 0 and not status.f_favail
    return FULL if has_no_inode or status.f_bavail * status.f_frsize < LEAST_BYTES else None


_WRITTEN = ("reports", "work", "catalog.sqlite")
"""Paths in a library's folder that a worker writes to."""


def explain_error(error: BaseException, folder: Path | None = None) -> Trouble | None:
    """Return the disk trouble behind an error.

    If ``folder`` cannot be written now, that explains any error: programs differ in their messages, and some end
    without one.
    """
    if is_full(error):
        return FULL
    if folder is not None:
        return find_trouble(folder)
    return READ_ONLY if isinstance(error, OSError) and error.errno in _NO_RIGHT else None


def is_full(error: BaseException) -> bool:
    """Return True if an error, or its cause, means that the disk is full."""
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
    """Return True if a file reached the size limit of a conversion."""
    return error.errno == errno.EFBIG if isinstance(error, OSError) else "File too large" in str(error)


def says_full(words: str) -> bool:
    """Return True if another program's message means that the disk is full."""
    return any(word in words for word in _WORDS)
