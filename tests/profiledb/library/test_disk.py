"""Errors that say that a disk is full."""

import errno
import sqlite3

import duckdb
import pytest

from profiledb.errors import CatalogError, DiskFullError, WarpdeckError
from profiledb.library.disk import is_full


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_of_the_system_as_duckdb_passes_it_on(number: int) -> None:
    error = OSError(number, "x")
    assert is_full(error)
    words = {
        errno.ENOSPC: "No space left on device",
        errno.EDQUOT: "Disk quota exceeded",
        errno.EFBIG: "File too large",
    }
    assert is_full(duckdb.IOException(f'IO Error: Could not write file "a.tmp": {words[number]}'))


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (sqlite3.OperationalError("database or disk is full"), True),
        (sqlite3.OperationalError("database is locked"), False),
        (DiskFullError("x"), True), (WarpdeckError("No space left"), False), (CatalogError("x"), False),
        (PermissionError(errno.EACCES, "x"), False), (duckdb.IOException("IO Error: Cannot open"), False),
        (ValueError("No space left"), False),
    ],
    ids=str,
)  # fmt: skip
def test_of_others(error: Exception, full: bool) -> None:
    assert is_full(error) == full


def test_a_catalog_fails_for_its_cause() -> None:
    for cause, full in ((OSError(errno.ENOSPC, "x"), True), (sqlite3.DatabaseError("malformed"), False)):
        error = CatalogError("x")
        error.__cause__ = cause
        assert is_full(error) == full
