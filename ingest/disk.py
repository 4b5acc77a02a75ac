"""Whether an error says that a disk is full, whoever said it."""

import errno
import sqlite3

import duckdb

from profiledb.errors import CatalogError, DiskFullError

_NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""No room, no quota, and a file longer than the process may write."""
_WORDS = ("No space left", "File too large", "Disk quota")
"""What DuckDB says of these; it passes on the system's words."""


def is_full(error: BaseException) -> bool:
    """Whether an error, or what it came from, says that there is no room for what was written."""
    if isinstance(error, CatalogError):
        return error.__cause__ is None or is_full(error.__cause__)
    if isinstance(error, OSError):
        return error.errno in _NUMBERS
    if isinstance(error, sqlite3.Error):
        return "disk is full" in str(error)
    if isinstance(error, duckdb.Error):
        return any(word in str(error) for word in _WORDS)
    return isinstance(error, DiskFullError)
