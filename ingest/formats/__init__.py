"""The formats that can become a report, in the order in which they are tried."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import duckdb

from profiledb.errors import ConversionError
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
    f"{__name__}.{module}" for module in ("nsys_report", "nsys_sqlite", "nsys_parquet", "ncu_report", "ncu_csv")
)
"""Modules by their full names, imported when their turn comes: those that build tables in Python take 0.2 s."""

_KNOWN_STRANGERS = (
    (
        ".qdstrm",
        "is raw capture data that nsys did not finish",
        "Import it with QdstrmImporter, then drop the .nsys-rep.",
    ),
    (".nsys-rep", "does not start like an Nsight Systems report", "Copy it again from its source."),
    (".qdrep", "does not start like an Nsight Systems report", "Copy it again from its source."),
    (".ncu-rep", "does not start like an Nsight Compute report", "Copy it again from its source."),
    (".sqlite", "is not an nsys export", "Make one with: nsys export -t sqlite REPORT.nsys-rep"),
)


def detect(path: Path) -> Format:
    """The format of a file or folder, by its content.

    Raises:
        ConversionError: it is none that can become a report; the message says what is wrong with it.
    """
    if path.is_file() and path.stat().st_size == 0:
        hint = "Wait until the profiler has written it, or copy it again."
        raise ConversionError(f"{path.name} is empty.", hint=hint)
    for reader in _formats():
        if reader.matches(path):
            return reader
    for suffix, problem, hint in _KNOWN_STRANGERS:
        if path.name.lower().endswith(suffix):
            raise ConversionError(f"{path.name} {problem}.", hint=hint)
    raise ConversionError(
        f"Warpdeck cannot read {path.name}: it is not a known report format.",
        hint="Drop .nsys-rep, .qdrep, an nsys export (.sqlite or parquetdir), .ncu-rep, or the text of ncu --csv.",
    )


def _formats() -> Iterator[Format]:
    for name in FORMATS:
        yield cast("Format", import_module(name))
