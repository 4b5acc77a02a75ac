"""Measure the time from drop to ready, beside that of other tools on the same file."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import measure

REPORTS = "cuda_gpu_kern_sum,nvtx_sum,cuda_api_sum,nvtx_kern_sum,nvtx_gpu_proj_sum"


class BenchError(Exception):
    """A measurement is impossible; the message tells why in one sentence."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison: seconds (median of the runs), peak bytes (the largest) and the command."""

    seconds: float
    peak_bytes: int
    what: str


@dataclass(frozen=True)
class Comparison:
    """Warpdeck beside the alternative, which is None if no available tool can read the file."""

    name: str
    size_bytes: int
    warpdeck: Side
    alternative: Side | None

    @property
    def ratio(self) -> float | None:
        """How many times faster Warpdeck is."""
        return self.alternative.seconds / self.warpdeck.seconds if self.alternative else None


@dataclass(frozen=True)
class Case:
    """Files to drop together, the report first; `alternative` runs the other tool in a folder."""

    name: str
    files: tuple[Path, ...]
    alternative: Callable[[Path], Side] | None


def compare(case: Case, repeat: int) -> Comparison:
    """Measure both sides `repeat` times in turn; a failing alternative counts as none."""
    ours, theirs = [], []
    for _ in range(repeat):
        ours.append(drop_to_ready(case))
        if case.alternative:
            with TemporaryDirectory() as folder:
                try:
                    theirs.append(case.alternative(Path(folder)))
                except BenchError as error:
                    print(f"  {case.name}: {error}", file=sys.stderr)
                    case = Case(case.name, case.files, None)
    size = sum(file.stat().st_size for path in case.files[:1] for file in _list_files(path))
    return Comparison(case.name, size, _compute_median(ours), _compute_median(theirs) if theirs else None)


def _compute_median(sides: list[Side]) -> Side:
    seconds = statistics.median(side.seconds for side in sides)
    return Side(seconds, max(side.peak_bytes for side in sides), sides[0].what)


def _list_files(path: Path) -> list[Path]:
    return [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]


def drop_to_ready(case: Case) -> Side:
    """Drop the files into an empty inbox and import them, from the start of Python to the end."""
    with TemporaryDirectory() as folder:
        inbox, library = Path(folder, "inbox"), Path(folder, "library")
        return run_ingest(case.files, inbox, library)


def run_ingest(files: tuple[Path, ...], inbox: Path, library: Path) -> Side:
    """Put `files` into `inbox` and run the worker once; leave the reports in `library`."""
    inbox.mkdir()
    for path in files:
        _link_or_copy(path, inbox / path.name)
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "ingest",
        "--once",
        "--strict",
        "--inbox",
        inbox,
        "--library",
        library,
    ]
    done = measure.run(command, {"WARPDECK_SAMPLES": "off"})
    statuses = {line.split(maxsplit=1)[0] for line in done.stdout.splitlines() if line.strip()}
    if done.returncode != 0 or "ready" not in statuses:
        raise BenchError(f"{files[0].name} did not become ready: {(done.stdout + done.stderr).strip()[-500:]}")
    return Side(done.seconds, done.peak_bytes, "python -m ingest --once")


def list_report_ids(library: Path) -> list[str]:
    """Return the ids of the reports in `library`, the newest first."""
    done = measure.run([sys.executable, "-m", "profiledb", "list", "--library", library, "--format", "json"])
    try:
        return [str(report["id"]) for report in json.loads(done.stdout)]
    except (ValueError, KeyError) as error:
        raise BenchError(f"profiledb list told no report: {done.stderr.strip()[-500:]}") from error


def _link_or_copy(source: Path, target: Path) -> None:
    """Use hard links if the file system allows them: a drop is a move, not a copy."""

    def link(one: str, other: str) -> None:
        try:
            os.link(one, other)
        except OSError:
            shutil.copyfile(one, other)

    if source.is_dir():
        shutil.copytree(source, target, copy_function=link)
    else:
        link(str(source), str(target))


def run_stats(nsys: str, export: Path) -> Callable[[Path], Side]:
    """Run `nsys stats` on an existing export."""

    def run_alternative(_: Path) -> Side:
        return _run_stats_once(nsys, export)

    return run_alternative


def run_export_and_stats(nsys: str, report: Path) -> Callable[[Path], Side]:
    """Run `nsys export` to SQLite and `nsys stats` on it; if this nsys is too old, stats of the export beside it."""

    def run_alternative(folder: Path) -> Side:
        target = folder / "report.sqlite"
        exported = measure.run([nsys, "export", "-q", "true", "-t", "sqlite", "-o", target, report])
        if exported.returncode != 0:
            return _run_stats_once(nsys, report.with_suffix(".sqlite"))
        stats = _run_stats_once(nsys, target)
        peak = max(exported.peak_bytes, stats.peak_bytes)
        return Side(exported.seconds + stats.seconds, peak, "nsys export + nsys stats")

    return run_alternative


def _run_stats_once(nsys: str, export: Path) -> Side:
    if not export.exists():
        raise BenchError("this nsys cannot read it, and no export lies beside it")
    done = measure.run([nsys, "stats", "-q", "--format", "csv", "-r", REPORTS, export])
    if done.returncode != 0 or "Time (%)" not in done.stdout:
        raise BenchError(f"nsys stats: {(done.stderr or done.stdout).strip()[-300:]}")
    return Side(done.seconds, done.peak_bytes, "nsys stats of the SQLite")


def run_json_load(trace: Path) -> Callable[[Path], Side]:
    """Run Python's ``json.load`` on a trace: tools that read a trace as a whole start with that."""
    program = "import json, sys; json.load(open(sys.argv[1], encoding='utf-8'))"
    return _run_program("json.load", [sys.executable, "-c", program, trace])


def run_holistic(python: str, trace: Path) -> Callable[[Path], Side]:
    """Run HolisticTraceAnalysis: read the trace and compute its temporal breakdown."""
    program = (
        "import sys; from hta.trace_analysis import TraceAnalysis;"
        " TraceAnalysis({0: sys.argv[1]}, '/').get_temporal_breakdown(visualize=False)"
    )
    return _run_program("HTA", [python, "-c", program, trace])


def _run_program(name: str, command: list[str | Path]) -> Callable[[Path], Side]:
    def run_alternative(_: Path) -> Side:
        done = measure.run(command)
        if done.returncode != 0:
            raise BenchError(f"{name}: {done.stderr.strip()[-300:]}")
        return Side(done.seconds, done.peak_bytes, name)

    return run_alternative


def run_ncu_pages(ncu: str, report: Path) -> Callable[[Path], Side]:
    """Run `ncu --import` to CSV, both pages."""

    def run_alternative(_: Path) -> Side:
        seconds, peak = 0.0, 0
        for page in ("raw", "details"):
            done = measure.run([ncu, "--import", report, "--csv", "--page", page])
            if done.returncode != 0:
                raise BenchError(f"ncu --import: {done.stdout.strip()[-300:]}")
            seconds, peak = seconds + done.seconds, max(peak, done.peak_bytes)
        return Side(seconds, peak, "ncu --import, raw and details")

    return run_alternative
