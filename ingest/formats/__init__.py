"""The formats of reports: each module of this folder declares one and hands its files to a reader.

A new format needs a module here and a folder for its reader, no more: endings, costs and texts stand in the module.
"""

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import duckdb

from profiledb.report.store import Access

FORMATS = tuple(f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__))
"""Names of the modules."""
_PACKED = (".gz", ".zip")
_PACKED_EXPANSION = 15
"""Expansion of a compressed file whose ending says nothing about its content."""


class Format(Protocol):
    """A module of this folder. Its import must be cheap: readers that import numpy or pyarrow belong into functions.

    Attributes:
        NAME: name for people.
        KIND: kind of the report.
        ENDINGS: usual endings of its files in lower case, each with the factor by which the content grows unpacked.
        MISNAMED: problem and hint for a file with such an ending and other content.
        COST: bytes that ``matches`` may read; formats are tried in this order.
        RUNS_TOOLS: whether a converter may have to run, so that reads cannot be restricted.
        ARRAY_READERS: modules that import numpy or pyarrow, for the fork server to load in advance.
    """

    NAME: str
    KIND: str
    ENDINGS: Mapping[str, int]
    MISNAMED: tuple[str, str]
    COST: int
    RUNS_TOOLS: bool
    ARRAY_READERS: tuple[str, ...]

    def matches(self, path: Path) -> bool:
        """Return True if the content is of this format, whatever the name says; never raise for odd content."""

    def access(self, source: Path) -> Access:
        """Return the access that the connection of ``convert`` needs beyond the folder of the report it writes."""

    def convert(self, source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
        """Fill the tables of the report open in ``db``; ``work`` is an empty folder for temporary files.

        Raises:
            ConversionError: the file cannot become a report.
        """


def all_formats() -> list[Format]:
    """Return all formats, cheapest test first."""
    return sorted((cast("Format", import_module(name)) for name in FORMATS), key=lambda one: one.COST)


def all_endings() -> tuple[str, ...]:
    """Return the endings of all formats in lower case."""
    return tuple(ending for one in all_formats() for ending in one.ENDINGS)


def expansion(name: str) -> int:
    """Return the factor by which a file of this name grows when unpacked; 1 if it is not compressed."""
    lower = name.lower()
    factors = [factor for one in all_formats() for ending, factor in one.ENDINGS.items() if lower.endswith(ending)]
    return max(factors, default=_PACKED_EXPANSION if lower.endswith(_PACKED) else 1)


def needs_arrays(name: str) -> bool:
    """Return True if the reader of a file of this name probably imports numpy or pyarrow."""
    lower = name.lower()
    return lower.endswith(_PACKED) or any(
        lower.endswith(tuple(one.ENDINGS)) for one in all_formats() if one.ARRAY_READERS
    )
