"""Nsight Compute reports: ``.ncu-rep``, and ``.ncu-repz``, the same bytes compressed as one zstd stream.

NVIDIA's ``ncu-report`` wheel and ncu itself, which prints pages as CSV, fill the same tables. The wheel goes first,
because it has every digit, while ncu rounds to two decimals (0.0049 becomes 0.00) and takes minutes to print a thousand
launches. ncu serves platforms without the wheel and reports that the wheel cannot read.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from ingest import tools
from ingest.formats import Format
from ingest.ncu import container
from profiledb.errors import ConversionError
from profiledb.words import counted

if TYPE_CHECKING:
    from ingest.ncu.tables import Capture

_ZSTD = b"\x28\xb5\x2f\xfd"
UNPACKED_BYTES = 8 << 30
"""Far beyond any report: a larger file is a decompression bomb."""


def matches(path: Path) -> bool:
    """Return True if the file starts like a report, compressed or not."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(4)
    except OSError:
        return False
    return _read_unpacked_magic(path) == container.MAGIC if head == _ZSTD else head == container.MAGIC


def _read_unpacked_magic(path: Path) -> bytes:
    import pyarrow as pa  # here: it takes 0.2 s, and few reports are compressed

    try:
        with pa.CompressedInputStream(str(path), "zstd") as stream:
            return bytes(stream.read(4))
    except (OSError, pa.ArrowException):
        return b""


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Fill the tables from a report.

    Raises:
        ConversionError: the file is truncated or damaged, neither the wheel nor ncu reads it, or it has no kernel.
    """
    from ingest.ncu import tables  # here: it imports numpy and pyarrow

    report = _unpack_report(source, work)
    frame = container.read_frame(report)
    capture = _read_capture(report, frame, work)
    if (results := len(frame.processes)) != (launches := len(capture.launches)):
        text = f"The report says that it has {counted(results, 'result')}, but {launches:,} could be read."
        capture.diagnostics.append(("warning", "warpdeck", f"{text} It may be damaged: copy it again."))
    capture.tool_version = frame.tool_version
    capture.captured_at = frame.created
    capture.command = frame.command
    capture.driver_version = frame.versions.get("Display Driver Version")
    capture.cuda_version = frame.versions.get("CUDA Version")
    tables.store_capture(db, capture)


def _unpack_report(source: Path, work: Path) -> Path:
    with source.open("rb") as file:
        if file.read(4) != _ZSTD:
            return source
    import pyarrow as pa

    report = work / "report.ncu-rep"
    try:
        import pyarrow as pa  # here: it takes 0.2 s, and few reports are compressed

        with pa.CompressedInputStream(str(source), "zstd") as stream, report.open("wb") as output:
            while block := stream.read(1 << 22):
                output.write(block)
                if output.tell() > UNPACKED_BYTES:
                    raise ConversionError("The compressed report is larger than 8 GiB when unpacked.")
    except (OSError, pa.ArrowException) as error:
        raise ConversionError(
            "The compressed report is truncated or damaged.",
            hint="Copy the file again, or capture again.",
            detail=str(error),
        ) from error
    return report


def _read_capture(report: Path, frame: container.Frame, work: Path) -> "Capture":
    from ingest.ncu import wheel

    if not wheel.is_available():
        return _read_by_ncu(report, work)
    try:
        return wheel.read_quick(report, frame, work)
    except ConversionError as error:
        if tools.find_ncu() is None:
            raise
        capture = _retry_by_ncu(error, report, work)
        text = (
            f"{wheel.label()} could not read the report, but {capture.converter} could:"
            f" {error.detail or error.message} If the report is damaged, parts of it are missing here."
        )
        capture.diagnostics.append(("warning", "ncu", text))
        return capture


def _retry_by_ncu(first: ConversionError, report: Path, work: Path) -> "Capture":
    try:
        return _read_by_ncu(report, work)
    except ConversionError as second:
        detail = f"{first.message}\n{first.detail}\n{second.message}\n{second.detail}"
        raise ConversionError(
            "Neither ncu nor the ncu-report wheel can read the report.", hint=second.hint, detail=detail
        ) from first


def _read_by_ncu(report: Path, work: Path) -> "Capture":
    from ingest.ncu import cli

    tool = tools.find_ncu()
    if tool is None:
        missing = ConversionError(
            "Reading an Nsight Compute report needs ncu or the ncu-report wheel; this machine has neither.",
            hint="Install Nsight Compute or set WARPDECK_NCU, or drop the output of this command: "
            "ncu --import REPORT.ncu-rep --csv --page raw",
        )
        raise tools.explain_absence("ncu", missing)
    capture = cli.read_report(tool, report, work)
    text = f"{capture.converter} rounds values to two decimals; see the ncu-report wheel."
    capture.diagnostics.append(("info", "warpdeck", text))
    return capture


FORMAT = Format(
    name="Nsight Compute report",
    kind="ncu",
    endings={".ncu-rep": 1, ".ncu-repz": 1},
    misnamed=("does not start like an Nsight Compute report", "Copy it again from its source."),
    cost=4,
    matches=matches,
    convert=convert,
    runs_tools=True,
    array_readers=("ingest.ncu.cli", "ingest.ncu.pages", "ingest.ncu.wheel", "ncu_report"),
)
