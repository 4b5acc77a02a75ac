"""Output of ``ncu --csv``, with or without the program's own output around it."""

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from ingest.formats import Format
from ingest.ncu import csv_tables
from profiledb.errors import ConversionError
from profiledb.words import counted

if TYPE_CHECKING:
    from ingest.ncu.tables import Capture


_LOOK_BYTES = 1 << 20


def matches(path: Path) -> bool:
    """Return True if the first megabyte is text with the header of an ncu page, or a line ==PROF== or ==ERROR==."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            text = _decode_head(file.read(_LOOK_BYTES))
    except OSError:
        return False
    return any(line.startswith(("==PROF== ", "==ERROR== ")) or csv_tables.is_header(line) for line in text.splitlines())


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Fill the tables from ncu's output.

    Raises:
        ConversionError: the text has ncu's ==ERROR== and no launch, or no page at all.
    """
    from ingest.ncu import pages, tables  # here: they import numpy and pyarrow

    capture = tables.Capture(converter="csv text")
    pages.read_pages(_read_lines(source, capture), capture)
    errors = [text for severity, _, text in capture.diagnostics if severity == "error"]
    if not capture.launches:
        raise ConversionError(
            "The text has no kernels measured by ncu.",
            hint="ncu's messages are below. Run it again and keep its whole output: ncu --csv --page raw PROGRAM"
            if errors
            else "Save the whole output of ncu, including its header line: ncu --csv --page raw PROGRAM",
            detail="\n".join(errors),
        )
    _note_missing_data(capture, tables.UNNAMED)
    tables.store_capture(db, capture)


def _note_missing_data(capture: "Capture", unnamed: str) -> None:
    if all(launch.kernel == unnamed for launch in capture.launches):
        text = "The table has ncu metrics but no Kernel Name column, so launches have no names."
        capture.diagnostics.append(("warning", "warpdeck", text))
    unmapped = {detail.label for detail in capture.details if detail.metric is None}
    if unmapped:
        text = f"{len(unmapped)} labels of the details page match no known metric; they are in ncu_detail."
        capture.diagnostics.append(("info", "warpdeck", text))
    text = "Read from text: values are rounded as ncu printed them. The .ncu-rep file has every digit."
    capture.diagnostics.append(("info", "warpdeck", text))


def _read_lines(source: Path, capture: "Capture") -> Iterator[str]:
    with source.open("rb") as file:
        encoding = _detect_encoding(file.read(4))
    line, damaged_lines = "", 0
    with source.open(encoding=encoding, errors="replace", newline="") as text:
        for line in text:
            damaged_lines += "\0" in line or "\ufffd" in line
            yield line.replace("\0", "")
    if damaged_lines:
        note = f"{counted(damaged_lines, 'line')} with bytes that are no text: parts of them are missing or wrong."
        capture.diagnostics.append(("warning", "warpdeck", note))
    if not {",", '"'}.isdisjoint(line) and not line.endswith(("\n", "\r")):
        note = "The text ends within a line: it may be cut off, and the rest is missing in this report."
        capture.diagnostics.append(("warning", "warpdeck", note))


def _decode_head(head: bytes) -> str:
    """Decode the start of a file; return an empty string for binary data."""
    encoding = _detect_encoding(head)
    return "" if encoding == "utf-8-sig" and b"\0" in head else head.decode(encoding, "replace")


def _detect_encoding(head: bytes) -> str:
    """Return UTF-8 unless a Windows shell wrote the file by redirection."""
    return "utf-16" if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"


FORMAT = Format(
    name="Nsight Compute CSV",
    kind="ncu",
    cost=_LOOK_BYTES,
    matches=matches,
    convert=convert,
    array_readers=("ingest.ncu.pages", "ingest.ncu.tables"),
)
