"""Shared helpers of tests of Nsight Compute reports."""

import mmap
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pytest

from ingest.ncu import container
from ingest.ncu.messages import decode_message
from profiledb.report import schema

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "ncu"
CORPUS = ROOT / ".." / "shared" / "corpus"
needs_corpus = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="reports that strangers published lie in ../shared/corpus"
)


def reports() -> list[Path]:
    """Return every available .ncu-rep file that is intact."""
    found = [*CORPUS.glob("*.ncu-rep"), *(ROOT / "sample_reports").glob("*.ncu-rep")]
    return sorted(path for path in found if path.name != "corrupt.ncu-rep")


CHOSEN = {
    "vec_add_1660s_full.ncu-rep": "every section, in several passes",
    "attention.ncu-rep": "a sample, of several kernels",
    "silu_triton_2025.ncu-rep": "few sections",
}
"""Reports that `make test` reads, and the features of each; `.ci/run` reads all reports."""


def some_reports() -> list[Any]:
    """Return every available .ncu-rep file as a parameter, of which all but the chosen ones are slow."""
    slow = pytest.mark.slow("reads every report there is")
    return [pytest.param(path, marks=[] if path.name in CHOSEN else slow) for path in reports()]


def converted(module: ModuleType, source: Path, work: Path) -> duckdb.DuckDBPyConnection:
    """Convert a file with a format module, and return the database."""
    db = duckdb.connect()
    schema.create(db)
    module.convert(source, db, work)
    return db


def metrics(db: duckdb.DuckDBPyConnection, launch_id: int = 0) -> dict[str, tuple[float | str | None, str]]:
    """Return the value (number or text) and unit of each metric of a launch."""
    rows = db.execute(
        "SELECT name, value, text, unit FROM ncu_metric JOIN ncu_metric_name USING (metric_id) WHERE launch_id = ?",
        [launch_id],
    ).fetchall()
    return {name: (text if value is None else value, unit) for name, value, text, unit in rows}


def blocks(report: Path) -> Iterator[tuple[Any, list[bytes]]]:
    """Yield the header and the messages of each block of a report."""
    data = report.read_bytes()
    with report.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        places = list(container.list_blocks(view))
    for head, begin, end in places:
        parts, position = [], begin
        while position < end:
            (size,) = struct.unpack_from("<I", data, position)
            parts.append(data[position + 4 : position + 4 + size])
            position += 4 + size
        yield decode_message("Header").FromString(head), parts


def write(target: Path, written: Iterable[tuple[Any, list[bytes]]]) -> Path:
    """Write a report from blocks."""
    with target.open("wb") as output:
        output.write(b"NVR\0" + struct.pack("<I", 2) + b"\x08\x07")
        for header, parts in written:
            payload = b"".join(struct.pack("<I", len(part)) + part for part in parts)
            header.size = len(payload)
            head = header.SerializeToString()
            output.write(struct.pack("<I", len(head)) + head + payload)
    return target


def with_values(report: Path, target: Path, changed: Mapping[str, bytes | None]) -> Path:
    """Copy a report with other values for some metrics, given as messages; None removes a metric."""
    found = list(blocks(report))
    strings = [text for header, _ in found for text in decode_message("Strings").FromString(header.strings).text]
    for header, parts in found:
        for at in range(len(parts) - header.kernels, len(parts)):
            parts[at] = _with_values(parts[at], strings, changed)
    return write(target, found)


def _with_values(data: bytes, strings: list[bytes], changed: Mapping[str, bytes | None]) -> bytes:
    result = decode_message("Result").FromString(data)
    metrics = []
    for blob in result.metrics:
        metric = decode_message("Metric").FromString(blob)
        name = strings[metric.name].decode()
        if name in changed and (value := changed[name]) is not None:
            metric.value = value
        if changed.get(name, b"") is not None:
            metrics.append(metric.SerializeToString())
    result.ClearField("metrics")
    result.metrics.extend(metrics)
    return bytes(result.SerializeToString())
