"""Run the real nsys, and compare its output with Warpdeck's analyses cell by cell."""

import csv
import gzip
import io
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.query import header, output
from profiledb.spreadsheet import defuse_text

Table = list[list[str]]
"""Rows of text, header first; empty if there are no rows or the report lacks the data."""

READABLE = (
    "cpu_only_t4.nsys-rep",
    "gpu_metrics_a100.nsys-rep",
    "mpi_h100.nsys-rep",
    "openacc_gp100.qdrep",
    "openacc_v100.nsys-rep",
    "openmp_offload_t4.nsys-rep",
    "pinned_memory_4090.nsys-rep",
    "streams_4090.nsys-rep",
    "wsl2_no_kernels.nsys-rep",
)
"""Reports of the corpus that the installed nsys can read."""


@dataclass(frozen=True)
class Case:
    """An analysis named after a report or rule of nsys, with the same columns, order and numbers."""

    analysis: str
    asked: str
    """The name that nsys takes for it, with its options."""
    params: tuple[tuple[str, str], ...] = ()
    """The equivalent parameters of the analysis."""

    def __str__(self) -> str:
        return self.asked


def _named(*names: str) -> tuple[Case, ...]:
    return tuple(Case(name, name) for name in names)


def by_name(cases: Iterable[Case]) -> tuple[Case, ...]:
    """Return the cases that offer other kernel names, once for each of the other names."""
    found = [case.analysis for case in cases if "by" in {param.name for param in header.get(case.analysis).params}]
    words = {"base": "short", "mangled": "mangled"}
    return tuple(Case(name, f"{name}:{theirs}", (("by", by),)) for name in found for theirs, by in words.items())


SUMMARIES = _named(
    *("cuda_gpu_kern_sum", "cuda_api_sum", "nvtx_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum", "osrt_sum")
)
WORK_STATS = _named(
    *("cuda_gpu_kern_gb_sum", "cuda_gpu_sum", "cuda_api_gpu_sum", "cuda_api_trace", "cuda_gpu_trace"),
    *("cuda_kern_exec_trace", "cuda_kern_exec_sum", "nvtx_pushpop_sum", "nvtx_startend_sum"),
)
RANGE_STATS = _named("nvtx_pushpop_trace", "nvtx_gpu_proj_trace", "nvtx_gpu_proj_sum", "nvtx_kern_sum")
TABLE_STATS = _named("mpi_event_trace", "openacc_sum", "um_total_sum")
THREAD_STATS = _named("openmp_sum")
STATS = SUMMARIES + WORK_STATS + RANGE_STATS + TABLE_STATS + THREAD_STATS
RULES = _named(
    *("gpu_gaps", "gpu_time_util", "cuda_api_sync", "cuda_memcpy_async", "cuda_memcpy_sync", "cuda_memset_sync")
)


def _gaps(from_ms: int) -> Case:
    return Case("gpu_gaps", f"gpu_gaps:gap={from_ms}", (("gap_ms", str(from_ms)),))


def _use(threshold: int, **more: int) -> Case:
    options = {"threshold": threshold} | more
    asked = ":".join(["gpu_time_util", *(f"{name}={value}" for name, value in options.items())])
    return Case("gpu_time_util", asked, tuple((name, str(value)) for name, value in options.items()))


WITHOUT_OPTIONS = RULES[2:]
ON_CORPUS = (*STATS, _gaps(1), _use(100), *WITHOUT_OPTIONS)
"""Thresholds low enough that the small reports of the corpus have rows."""
ON_GENERATED = (_gaps(0), _gaps(2), _use(80), _use(150, chunks=7), *WITHOUT_OPTIONS)
PRINTED_BY_NAME = (
    "cuda_gpu_kern_sum:base",
    "cuda_gpu_kern_sum:mangled",
    "cuda_gpu_kern_gb_sum:base",
    "cuda_gpu_trace:base",
    "nvtx_kern_sum:base",
)
ON_SAMPLES = (*STATS, *(case for case in by_name(STATS) if case.asked in PRINTED_BY_NAME), *RULES, _gaps(1))


def ask(nsys: Path, export: Path, cases: Sequence[Case], folder: Path) -> None:
    """Run nsys on an SQLite export for the cases, writing files that ``asked`` reads."""
    rules = {rule.analysis for rule in RULES}
    stats = [case.asked for case in cases if case.analysis not in rules]
    # Without rows=-1, the rules limit the rows before sorting them
    found = [f"{case.asked}:rows=-1" for case in cases if case.analysis in rules]
    for command, option, names in (("stats", "--report", stats), ("analyze", "-r", found)):
        argv = [str(nsys), command, "-q", "--format", "csv", "-o", str(folder / "asked")]
        if names:
            argv += [word for name in names for word in (option, name)]
            subprocess.run([*argv, str(export)], capture_output=True, check=True)


def asked(folder: Path, case: Case) -> Table:
    """Return the output that ``ask`` wrote for a case."""
    ending = f"_{case.asked.replace(':', '_')}"
    (path,) = [path for path in folder.iterdir() if path.stem.removesuffix("_rows=-1") == f"asked{ending}"]
    return rows(path.read_text(encoding="utf-8"))


def on_paper(folder: Path, case: Case) -> Table:
    """Return a newer nsys's output for a sample, from the files beside it; without a file, nsys printed nothing."""
    return rows(printed(folder, case.asked.replace(":gap=1", "_from_1_ms").replace(":", "_")))


def printed(folder: Path, name: str) -> str:
    """Return the text of a file beside the samples, decompressed if large; empty if it does not exist."""
    path = folder / f"{name}.csv"
    packed = folder / f"{name}.csv.gz"
    data = gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes() if path.exists() else b""
    return data.decode()


def ours(library: Library, report: str, case: Case) -> Table:
    """Return the output of ``python -m profiledb run``."""
    written = io.BytesIO()
    try:
        output.write_csv(library, library.find(report), case.analysis, dict(case.params), written)
    except NotCapturedError:
        return []
    return rows(written.getvalue().decode())


def rows(text: str) -> Table:
    """Parse the CSV in an output, ignoring notices such as SKIPPED; empty if there is only a header."""
    table = [[defuse_text(cell) for cell in row] for row in csv.reader(io.StringIO(text)) if len(row) > 1]
    return table if len(table) > 1 else []


def differences(expected: Table, actual: Table) -> list[str]:
    """Return a line for each cell that differs as text."""
    found = [f"{len(expected)} rows expected, {len(actual)} found"] if len(expected) != len(actual) else []
    for number, (one, other) in enumerate(zip(expected, actual, strict=False)):
        found += [f"row {number}: {a!r} expected, {b!r} found" for a, b in zip(one, other, strict=True) if a != b]
    return found
