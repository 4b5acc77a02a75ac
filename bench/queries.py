"""Measure analyses beside the reports and rules of nsys that answer the same question, on the same synthetic export."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import measure
from bench.ingestion import BenchError, list_report_ids
from profiledb.library.library import Library
from profiledb.query import analysis

TIMEOUT_S = 900
"""Seconds after which nsys is stopped and counts as slower than this."""


@dataclass(frozen=True)
class Query:
    """An analysis, `nsys stats` or `nsys analyze` with the argument of its `-r`, and the parameters of the analysis."""

    name: str
    command: str
    report: str
    params: dict[str, str] = field(default_factory=dict)


# Without rows=-1 nsys analyze limits the rows before it sorts them.
QUERIES = (
    Query("nvtx_kern_sum", "stats", "nvtx_kern_sum"),
    Query("nvtx_gpu_proj_sum", "stats", "nvtx_gpu_proj_sum"),
    Query("nvtx_gpu_proj_trace", "stats", "nvtx_gpu_proj_trace"),
    Query("cuda_gpu_trace", "stats", "cuda_gpu_trace"),
    Query("gpu_gaps", "analyze", "gpu_gaps:rows=-1"),
    Query("gpu_time_util", "analyze", "gpu_time_util:rows=-1"),
)


@dataclass(frozen=True)
class QueryTime:
    """Medians of one analysis in seconds; `nsys_s` is None without nsys, and the limit if nsys took longer."""

    name: str
    kernels: int
    warm_s: float
    command_s: float
    nsys_s: float | None
    is_stopped: bool = False


def measure_queries(library: Path, export: Path, kernels: int, nsys: str | None, repeat: int) -> Iterator[QueryTime]:
    """Measure every query on the one report of `library`, which was made of `export` or holds the same.

    All sides print or hold every row. The commands write CSV to a file, in turn; an nsys that was stopped once is not
    started again.
    """
    (report,) = list_report_ids(library)
    opened = Library(library)
    for query in QUERIES:
        with TemporaryDirectory(prefix="warpdeck-bench-") as folder:
            output = Path(folder) / "output.csv"
            ours, theirs = [], []
            is_stopped = nsys is None
            for _ in range(repeat):
                ours.append(_measure_ours(query, library, report, output))
                if nsys is not None and not is_stopped:
                    theirs.append(_measure_nsys(query, nsys, export, output))
                    is_stopped = theirs[-1] >= TIMEOUT_S
        warm = _measure_warm(query, opened, report, repeat)
        theirs_s = statistics.median(theirs) if theirs else None
        yield QueryTime(query.name, kernels, warm, statistics.median(ours), theirs_s, is_stopped and bool(theirs))


def _measure_warm(query: Query, library: Library, report: str, repeat: int) -> float:
    """Return the median of runs in this process, as the pages run it, without the first one, which opens the report."""
    seconds = []
    for _ in range(max(repeat, 3) + 1):
        began = time.perf_counter()
        analysis.run(library, report, query.name, query.params)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds[1:])


def _measure_ours(query: Query, library: Path, report: str, output: Path) -> float:
    command: list[str | Path] = [sys.executable, "-m", "profiledb", "run", query.name, report, "--library", library]
    for name, value in query.params.items():
        command += ["--param", f"{name}={value}"]
    return _time_command([*command, "--format", "csv"], output)


def _measure_nsys(query: Query, nsys: str, export: Path, output: Path) -> float:
    command: list[str | Path] = [nsys, query.command, "-q", "-r", query.report, "--format", "csv", export]
    try:
        return _time_command(command, output, TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return TIMEOUT_S


def _time_command(command: list[str | Path], output: Path, timeout_s: float = TIMEOUT_S) -> float:
    done = measure.run(command, timeout_s=timeout_s, output=output)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(str(part) for part in command[:4])}: {done.stderr.strip()[-300:]}")
    return done.seconds
