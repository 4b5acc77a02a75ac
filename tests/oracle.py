"""What the real ``nsys stats`` prints, and the comparison of our analyses with it, cell by cell."""

import csv
import io
import subprocess
from pathlib import Path

STATS = ("cuda_gpu_kern_sum", "cuda_api_sum", "nvtx_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum", "osrt_sum")
"""Analyses that carry the name of an nsys report, and with it its columns, its order and its numbers."""


def stats(nsys: Path, export: Path, report: str) -> list[list[str]]:
    """Rows that ``nsys stats`` prints for an SQLite export, header first; none where it skips the report."""
    argv = [str(nsys), "stats", "-q", "--format", "csv", "--report", report, str(export)]
    printed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return rows(printed)


def rows(printed: str) -> list[list[str]]:
    """The CSV in what was printed, without notices such as SKIPPED; nothing where it is a header alone."""
    table = [row for row in csv.reader(io.StringIO(printed)) if len(row) > 1]
    return table if len(table) > 1 else []


def differences(expected: list[list[str]], actual: list[list[str]]) -> list[str]:
    """Cells that differ as text, a line each; empty where the two tables are the same."""
    found = [f"{len(expected)} rows expected, {len(actual)} found"] if len(expected) != len(actual) else []
    for number, (one, other) in enumerate(zip(expected, actual, strict=False)):
        found += [f"row {number}: {a!r} expected, {b!r} found" for a, b in zip(one, other, strict=True) if a != b]
    return found
