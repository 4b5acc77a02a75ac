"""Where a library is, as the settings say: the one place where any of its users opens it."""

from functools import cache
from typing import TYPE_CHECKING

from profiledb.config import Settings

if TYPE_CHECKING:
    from profiledb.report.catalog import Catalog
    from profiledb.report.library import Library


@cache
def open_library(settings: Settings) -> "Library":
    """The library of these settings; its folder is made where there is none.

    One object a process: a report is opened once, and who brings a copy and who lets go of it know of each other.
    """
    if settings.library_url:
        from profiledb.report.stored.library import StoredLibrary

        return StoredLibrary(settings.library, open_catalog(settings), settings.library_url, settings.cache_mb)
    from profiledb.report.library import Library

    return Library(settings.library, open_catalog(settings))


def open_catalog(settings: Settings) -> "Catalog":
    """The catalog alone; it needs no DuckDB, whose import takes 0.1 s."""
    from profiledb.report.catalog import catalog_of

    return catalog_of(settings)
