"""Open the library, the catalog and the inbox that the settings name."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import TYPE_CHECKING

from profiledb.config import Settings
from profiledb.errors import CatalogError

if TYPE_CHECKING:
    from profiledb.library.catalog import Catalog
    from profiledb.library.inbox import Inbox
    from profiledb.library.library import Library

_NAMES = 0x6E616D6573
"""Number of the lock under which a name is chosen in an inbox of several machines."""


def refuse_newer(settings: Settings) -> None:
    """Refuse a library that a later version of Warpdeck has changed, before anything is written.

    For a bucket, the worker checks the version when the bucket answers (``Library.recover``).

    Raises:
        NewerLibraryError: the library is of a later version.
    """
    from profiledb.library import version
    from profiledb.library.catalog import FILE

    version.require(settings.library)
    version.require_catalog(settings.library / FILE)
    if settings.database:
        from profiledb.library.team_database import open_database

        with suppress(CatalogError), open_database(settings.database).connect("") as db:
            db.execute("SELECT 1")


@cache
def open_library(settings: Settings) -> "Library":
    """Open the library, creating its folder if necessary.

    One object per process: a report is opened once, and fetching a copy knows of evicting it.
    """
    from profiledb.library.library import Library

    catalog = open_catalog(settings)
    if settings.library_url:
        from profiledb.library.bucket_storage import BucketStorage

        bucket = BucketStorage(settings.library, catalog.object_index, settings.library_url, settings.cache_mb)
        return Library(bucket, catalog)
    return Library(settings.library, catalog)


def open_catalog(settings: Settings) -> "Catalog":
    """Open the catalog alone, without DuckDB, whose import takes 0.1 s."""
    from profiledb.library import catalog

    return catalog.open_catalog(settings)


def open_inbox(settings: Settings) -> "Inbox":
    if settings.inbox_url:
        from profiledb.library.inbox.bucket import BucketInbox

        return BucketInbox(settings.inbox_url, settings.inbox, partial(_lock_names, settings))
    from profiledb.library.inbox.folder import FolderInbox

    return FolderInbox(settings.inbox)


@contextmanager
def _lock_names(settings: Settings) -> Iterator[None]:
    """Hold a lock that all users of this inbox share; without a database they are on this machine."""
    if settings.database:
        from profiledb.library.team_database import open_database

        with open_database(settings.database).connect("") as db:
            db.execute("SELECT pg_advisory_xact_lock(?)", [_NAMES])
            yield
        return
    settings.inbox.mkdir(parents=True, exist_ok=True)
    with (settings.inbox / ".names.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
