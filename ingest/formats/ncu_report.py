"""Nsight Compute reports: ``.ncu-rep``, and ``.ncu-repz``, which is the same bytes compressed as one zstd stream.

Two roads lead to the same tables: ncu itself, which prints pages as CSV, and NVIDIA's ``ncu-report`` wheel. ncu rounds
every number to two decimals, so that 0.0049 becomes 0.00: where ncu reads a report, its numbers are still taken from
the wheel if that is there. Only reports too large for the wheel's memory keep ncu's rounded numbers.
"""

import math
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa

from ingest import tools
from ingest.formats import ncu_cli, ncu_container, ncu_tables, ncu_wheel
from ingest.formats.ncu_tables import Capture
from profiledb.errors import ConversionError

NAME = "Nsight Compute report"
KIND = "ncu"
_ZSTD = b"\x28\xb5\x2f\xfd"
# The wheel takes about 13 times the size of a report in memory, ncu a tenth of that.
SHARPEN_BYTES = 64 << 20
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
            return head == ncu_container.MAGIC
        with pa.CompressedInputStream(str(path), "zstd") as stream:
            return bool(stream.read(4) == ncu_container.MAGIC)
    except (OSError, pa.ArrowException):
        return False


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Fills the tables from a report.

    Raises:
        ConversionError: the file is truncated or damaged, neither road reads it, or it holds no kernel.
    """
    report = _unpack(source, work)
    frame = ncu_container.read(report)
    capture = _read(report, frame, work)
    capture.tool_version = frame.tool_version
    capture.captured_at = frame.created
    capture.command = frame.command
    capture.driver_version = frame.versions.get("Display Driver Version")
    capture.cuda_version = frame.versions.get("CUDA Version")
    ncu_tables.store(db, capture)


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
                    raise ConversionError("The compressed report grows past 8 GiB when it is unpacked.")
    except (OSError, pa.ArrowException) as error:
        raise ConversionError(
            "The compressed report is truncated or damaged.",
            hint="Copy the file again, or capture again.",
            detail=str(error),
        ) from error
    return report


def _read(report: Path, frame: ncu_container.Frame, work: Path) -> Capture:
    tool = tools.find_ncu()
    if tool is None:
        return _by_wheel(report, frame)
    try:
        capture = ncu_cli.read(tool, report, work)
    except ConversionError as error:
        if not ncu_wheel.available():
            raise
        capture = _second_try(error, report, frame)
        text = f"{tool.label} could not read the report, {ncu_wheel.label()} did: {error.detail or error.message}"
        capture.diagnostics.append(("info", "ncu", text))
        return capture
    return _sharpen(capture, report, frame)


def _second_try(first: ConversionError, report: Path, frame: ncu_container.Frame) -> Capture:
    try:
        return _by_wheel(report, frame)
    except ConversionError as second:
        detail = f"{first.message}\n{first.detail}\n{second.message}\n{second.detail}"
        raise ConversionError(
            "Neither ncu nor the ncu-report wheel can read the report.", hint=second.hint, detail=detail
        ) from first


def _by_wheel(report: Path, frame: ncu_container.Frame) -> Capture:
    if ncu_wheel.available():
        return ncu_wheel.read(report, frame)
    raise ConversionError(
        "Reading a Nsight Compute report needs ncu or the ncu-report wheel, and neither is here.",
        hint="Install Nsight Compute or set WARPDECK_NCU, or drop the output of ncu --import FILE --csv --page raw.",
    )


def _sharpen(capture: Capture, report: Path, frame: ncu_container.Frame) -> Capture:
    """Takes launches and numbers from the wheel, the details page and the rules from ncu."""
    rounded = ("info", "warpdeck", f"{capture.converter} rounds values to two decimals; see the ncu-report wheel.")
    if not ncu_wheel.available() or report.stat().st_size > SHARPEN_BYTES:
        return replace(capture, diagnostics=[*capture.diagnostics, rounded])
    try:
        exact = ncu_wheel.read(report, frame)
    except ConversionError:
        exact = Capture("")
    capture.launches.sort(key=lambda launch: launch.launch_id)
    if not _agree(exact, capture):
        return replace(capture, diagnostics=[*capture.diagnostics, rounded])
    for ours, theirs in zip(exact.launches, capture.launches, strict=True):
        ours.pid, ours.process_name = theirs.pid, theirs.process_name
        ours.kernel, ours.nvtx = theirs.kernel, ours.nvtx or theirs.nvtx
    converter = f"{capture.converter}, numbers by {exact.converter}"
    return replace(
        exact, converter=converter, details=capture.details, rules=capture.rules, diagnostics=capture.diagnostics
    )


def _agree(exact: Capture, rounded: Capture) -> bool:
    """Whether both roads list the same launches in the same order."""
    if [launch.launch_id for launch in exact.launches] != [launch.launch_id for launch in rounded.launches]:
        return False
    times = [capture.metrics.of("gpu__time_duration.sum") for capture in (exact, rounded)]
    return times[0].keys() == times[1].keys() and all(
        math.isclose(time, times[1][launch_id], rel_tol=1e-9, abs_tol=0.01) for launch_id, time in times[0].items()
    )
