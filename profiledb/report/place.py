"""Where a library is, as the settings say: the one place where any of its users opens it."""

from typing import TYPE_CHECKING

from profiledb.config import Settings

if TYPE_CHECKING:
    from profiledb.report.catalog import Catalog
    from profiledb.report.library import Library


def open_library(settings: Settings) -> "Library":
    """The library of these settings; its folder is made where there is none."""
    from profiledb.report.library import Library

    return Library(settings.library)


def open_catalog(settings: Settings) -> "Catalog":
    """The catalog alone; it needs no DuckDB, whose import takes 0.1 s."""
    from profiledb.report.catalog import FILE, Catalog

    return Catalog(settings.library / FILE)
