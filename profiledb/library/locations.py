"""Where library and inbox are, as the settings say: the one place where any of their users opens them."""

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
"""Number of the lock under which a name is chosen in an inbox of many machines."""


def refuse_newer(settings: Settings) -> None:
    """Makes sure that no later version of Warpdeck has changed the library, before anything is written.

    Of a bucket the worker asks the mark beside the reports itself, when it answers (Library.recover).

    Raises:
        NewerLibraryError: one has.
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
    """The library of these settings; its folder is made where there is none.

    One object a process: a report is opened once, and who brings a copy and who lets go of it know of each other.
    """
    from profiledb.library.library import Library

    catalog = open_catalog(settings)
    if settings.library_url:
        from profiledb.library.bucket_storage import BucketStorage

        bucket = BucketStorage(settings.library, catalog.object_index, settings.library_url, settings.cache_mb)
        return Library(bucket, catalog)
    return Library(settings.library, catalog)


def open_catalog(settings: Settings) -> "Catalog":
    """The catalog alone; it needs no DuckDB, whose import takes 0.1 s."""
    from profiledb.library import catalog

    return catalog.open_catalog(settings)


def open_inbox(settings: Settings) -> "Inbox":
    """The inbox of these settings."""
    if settings.inbox_url:
        from profiledb.library.inbox.bucket import BucketInbox

        return BucketInbox(settings.inbox_url, settings.inbox, partial(_alone, settings))
    from profiledb.library.inbox.folder import FolderInbox

    return FolderInbox(settings.inbox)


@contextmanager
def _alone(settings: Settings) -> Iterator[None]:
    """Nobody else who uses this inbox is in such a block: without a database all of them are on this machine."""
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
