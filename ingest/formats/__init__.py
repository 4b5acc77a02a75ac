"""The formats of reports: each module of this folder declares one and hands its files to a reader.

A new format needs a module here and a folder for its reader, no more: endings, costs and texts stand in the module.
"""

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import duckdb

from profiledb.report.store import Access

FORMATS = tuple(f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__))
"""Names of the modules."""
_PACKED = (".gz", ".zip")
_PACKED_EXPANSION = 15
"""Expansion of a compressed file whose ending says nothing about its content."""


def _reach_nothing(source: Path) -> Access:
    return Access()


@dataclass(frozen=True)
class Format:
    """A format: the ``FORMAT`` of a module of this folder.

    The module's import must be cheap: readers that import numpy or pyarrow belong into functions.

    Args:
        name: name for people.
        kind: kind of the report.
        cost: bytes that ``matches`` may read; formats are tried in this order.
        matches: returns True if the content is of this format, whatever the name says; never raises for odd content.
        convert: fills the tables of the report open in the connection; the last path is an empty folder for temporary
            files. It raises ConversionError if the file cannot become a report.
        access: returns the access that the connection of ``convert`` needs beyond the folder of the report it writes.
        endings: usual endings of its files in lower case, each with the factor by which the content grows unpacked.
        misnamed: problem and hint for a file with such an ending and other content.
        runs_tools: whether a converter may have to run, so that reads cannot be restricted.
        array_readers: modules that import numpy or pyarrow, for the fork server to load in advance.
    """

    name: str
    kind: str
    cost: int
    matches: Callable[[Path], bool]
    convert: Callable[[Path, duckdb.DuckDBPyConnection, Path], None]
    access: Callable[[Path], Access] = _reach_nothing
    endings: Mapping[str, int] = field(default_factory=dict)
    misnamed: tuple[str, str] = ("", "")
    runs_tools: bool = False
    array_readers: tuple[str, ...] = ()


def list_formats() -> list[Format]:
    """Return all formats, cheapest test first."""
    declared: list[Format] = [import_module(name).FORMAT for name in FORMATS]
    return sorted(declared, key=lambda one: one.cost)


def list_endings() -> tuple[str, ...]:
    """Return the endings of all formats in lower case."""
    return tuple(ending for one in list_formats() for ending in one.endings)


def estimate_expansion(name: str) -> int:
    """Return the factor by which a file of this name grows when unpacked; 1 if it is not compressed."""
    lower = name.lower()
    factors = [factor for one in list_formats() for ending, factor in one.endings.items() if lower.endswith(ending)]
    return max(factors, default=_PACKED_EXPANSION if lower.endswith(_PACKED) else 1)


def needs_arrays(name: str) -> bool:
    """Return True if the reader of a file of this name probably imports numpy or pyarrow."""
    lower = name.lower()
    return lower.endswith(_PACKED) or any(
        lower.endswith(tuple(one.endings)) for one in list_formats() if one.array_readers
    )
