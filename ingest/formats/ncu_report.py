"""Nsight Compute reports: ``.ncu-rep``, and ``.ncu-repz``, which is the same bytes compressed as one zstd stream.

Two roads lead to the same tables: NVIDIA's ``ncu-report`` wheel, and ncu itself, which prints pages as CSV. The wheel
goes first: it has every digit, while ncu rounds to two decimals, so that 0.0049 becomes 0.00, and takes minutes to
print a thousand launches. ncu is there for platforms without the wheel, and for what the wheel cannot read.
"""

from pathlib import Path

import duckdb
import pyarrow as pa

from ingest import tools
from ingest.ncu import cli, container, tables, wheel
from ingest.ncu.tables import Capture
from profiledb.errors import ConversionError
from profiledb.report.store import Access
from profiledb.words import counted

NAME = "Nsight Compute report"
KIND = "ncu"
RUNS_TOOLS = True
_ZSTD = b"\x28\xb5\x2f\xfd"
# Far beyond any report; what grows past it is no report but a bomb.
UNPACKED_BYTES = 8 << 30


def matches(path: Path) -> bool:
    """Whether the file begins as a report does, compressed or not."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(4)
        if head != _ZSTD:
            return head == container.MAGIC
        with pa.CompressedInputStream(str(path), "zstd") as stream:
            return bool(stream.read(4) == container.MAGIC)
    except (OSError, pa.ArrowException):
        return False


def access(source: Path) -> Access:
    """The load needs nothing; see Format.access."""
    return Access()


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Fills the tables from a report.

    Raises:
        ConversionError: the file is truncated or damaged, neither road reads it, or it holds no kernel.
    """
    report = _unpack(source, work)
    frame = container.read(report)
    capture = _read(report, frame, work)
    if (results := len(frame.processes)) != (launches := len(capture.launches)):
        text = f"The report says that it has {counted(results, 'result')}, but {launches:,} could be read."
        capture.diagnostics.append(("warning", "warpdeck", f"{text} It may be damaged: copy it again."))
    capture.tool_version = frame.tool_version
    capture.captured_at = frame.created
    capture.command = frame.command
    capture.driver_version = frame.versions.get("Display Driver Version")
    capture.cuda_version = frame.versions.get("CUDA Version")
    tables.store(db, capture)


def _unpack(source: Path, work: Path) -> Path:
    with source.open("rb") as file:
        if file.read(4) != _ZSTD:
            return source
    report = work / "report.ncu-rep"
    try:
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


def _read(report: Path, frame: container.Frame, work: Path) -> Capture:
    if not wheel.available():
        return _by_ncu(report, work)
    try:
        return wheel.read_quick(report, frame, work)
    except ConversionError as error:
        if tools.find_ncu() is None:
            raise
        capture = _second_try(error, report, work)
        text = (
            f"{wheel.label()} could not read the report, but {capture.converter} could:"
            f" {error.detail or error.message} If the report is damaged, parts of it are missing here."
        )
        capture.diagnostics.append(("warning", "ncu", text))
        return capture


def _second_try(first: ConversionError, report: Path, work: Path) -> Capture:
    try:
        return _by_ncu(report, work)
    except ConversionError as second:
        detail = f"{first.message}\n{first.detail}\n{second.message}\n{second.detail}"
        raise ConversionError(
            "Neither ncu nor the ncu-report wheel can read the report.", hint=second.hint, detail=detail
        ) from first


def _by_ncu(report: Path, work: Path) -> Capture:
    tool = tools.find_ncu()
    if tool is None:
        none = ConversionError(
            "Reading an Nsight Compute report needs ncu or the ncu-report wheel; this machine has neither.",
            hint="Install Nsight Compute or set WARPDECK_NCU, or drop the output of this command: "
            "ncu --import REPORT.ncu-rep --csv --page raw",
        )
        raise tools.absent("ncu", none)
    capture = cli.read(tool, report, work)
    text = f"{capture.converter} rounds values to two decimals; see the ncu-report wheel."
    capture.diagnostics.append(("info", "warpdeck", text))
    return capture
