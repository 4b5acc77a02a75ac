"""Reuse the connections of discarded libraries, with their views, for the next library of the process.

Most tests create a library. Opening a database and creating its views takes longer than the query under test. Views
hold no report data: DuckDB binds them in each query. A connection is reused once its library is gone, if nothing
remains on it but Warpdeck's views and its settings are unchanged.
"""

import tempfile
import weakref
from collections import OrderedDict
from typing import Any

import duckdb

from profiledb.query import views
from profiledb.report import stored_views
from profiledb.report.attachments import Attachments

_open = Attachments._get_connection
_forget = Attachments._forget_all
_free: list[tuple[duckdb.DuckDBPyConnection, set[str], tuple[Any, ...]]] = []
_handed: "weakref.WeakKeyDictionary[Attachments, weakref.finalize[Any, Attachments]]" = weakref.WeakKeyDictionary()


def _connection(self: Attachments) -> duckdb.DuckDBPyConnection:
    if self._db is None:
        stored = self._views is not None and stored_views.get_path(self._views)
        kind = (tempfile.gettempdir(), self._threads, stored if stored and stored.exists() else None)
        at = next((number for number, one in enumerate(_free) if one[2][0] == kind), None)
        if at is None:
            made = (kind, *_settings(_open(self)))
        else:
            self._db, created, made = _free.pop(at)
            self._created.update(created)
        assert self._db is not None
        _handed[self] = weakref.finalize(self, _back, self._db, self._created, self._attached, made)
        _handed[self].atexit = False
    return self._db


def _settings(db: duckdb.DuckDBPyConnection) -> tuple[Any, ...]:
    names = ("memory_limit", "threads", "temp_directory", "preserve_insertion_order")
    asked = ", ".join(f"current_setting('{name}')" for name in names)
    found = db.execute(f"SELECT {asked}").fetchone()
    assert found
    return found


def _forgotten(self: Attachments) -> None:
    """Detach a connection that its library gives up, so that it is not reused."""
    if self in _handed:
        _handed.pop(self).detach()
    _forget(self)


def _back(
    db: duckdb.DuckDBPyConnection, created: set[str], attached: OrderedDict[str, Any], made: tuple[Any, ...]
) -> None:
    try:
        for one in attached.values():
            db.execute(f"DETACH {one.catalog}")
        (left,) = db.execute("SELECT count(*) FROM duckdb_tables() WHERE NOT internal").fetchall()
        same = made[1:] == _settings(db)
    except duckdb.Error:
        return
    if left == (0,) and same and created <= views.list_files().keys():
        _free.append((db, set(created), made))


def pytest_configure() -> None:
    Attachments._get_connection = _connection  # type: ignore[method-assign]
    Attachments._forget_all = _forgotten  # type: ignore[method-assign]
