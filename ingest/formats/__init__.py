"""The formats that can become a report, in the order in which they are tried."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import duckdb

from ingest.formats import foreign_files
from profiledb.report.store import Access


class Format(Protocol):
    """What a format module offers: NAME for people, KIND of report, whether a converter may have to run; functions."""

    NAME: str
    KIND: str
    RUNS_TOOLS: bool

    def matches(self, path: Path) -> bool:
        """Whether the content is of this format, whatever the name says; cheap, and never an error."""

    def access(self, source: Path) -> Access:
        """What the connection needs that ``convert`` gets, beyond the folder of the report that it writes."""

    def convert(self, source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
        """Fills the tables of the report that ``db`` has open; ``work`` is an empty folder for files of its own.

        Raises:
            ConversionError: the file cannot become a report.
        """


FORMATS = tuple(
    f"{__name__}.{module}"
    for module in (
        *("nsys_report", "nsys_sqlite", "nsys_parquet", "nsys_stream"),
        *("torch_trace", "torch_snapshot", "ncu_report", "ncu_csv"),
    )
)
"""Modules by their full names, imported when their turn comes: those that build tables in Python take 0.2 s."""


def detect(path: Path) -> Format:
    """The format of a file or folder, by its content.

    Raises:
        ConversionError: it is none that can become a report; the message says what is wrong with it.
    """
    if not path.is_file() or path.stat().st_size:
        for reader in _formats():
            if reader.matches(path):
                return reader
    raise foreign_files.error(path)


def _formats() -> Iterator[Format]:
    for name in FORMATS:
        yield cast("Format", import_module(name))
