"""Measure Warpdeck beside other tools and write bench/RESULTS.md: `make bench`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import ncu as ncu_reports
from bench import results, timeline_bars, traces
from bench.findings import FindingsTime, measure_findings
from bench.fixed_tables import SESSION_EPOCH_NS
from bench.generate import Options, generate
from bench.ingestion import (
    BenchError,
    Case,
    Comparison,
    compare,
    list_report_ids,
    run_export_and_stats,
    run_holistic,
    run_ingest,
    run_json_load,
    run_ncu_pages,
    run_stats,
)
from bench.load import PAUSE_S, Crowd, ViewTime, measure_crowd, measure_views
from bench.pages import PageTime, measure_pages
from bench.queries import QueryTime, measure_queries
from bench.timeline_bars import Bar, Prepared
from profiledb.library.library import Library
from profiledb.studies import prefetch

ROOT = Path(__file__).resolve().parent.parent
CROWD_KERNELS = 1_000_000
"""Kernels of the report whose timeline many people view, and to whose import its file is compared."""
LAUNCHES = 1000
"""Launches of the large Compute report, of 2,184 metrics each."""
PAGES = (
    *(f"/{page}?report={{id}}" for page in ("summary", "kernels", "ranges", "idle", "memory", "api")),
    *(f"/{page}?report={{id}}" for page in ("phases", "attention", "timer_check", "energy", "scaling")),
    "/compare?report={id}&other={other}",
)
CROWD_PAGES = tuple(f"/{page}?report={{id}}" for page in ("summary", "kernels", "idle", "ranges", "phases", "memory"))
"""Pages that are viewed without a browser: first by one session, then by many at once."""
NCU_PAGES = ("/roofline?report={id}", "/kernel_profiles?report={id}", "/kernel_profiles?report={id}&launch=5")
_SAMPLE_SUFFIXES = (".nsys-rep", ".ncu-rep", ".pt.trace.json.gz")


def list_sample_cases(samples: Path, nsys: str | None, ncu: str | None) -> Iterator[Case]:
    """Yield a case for each report in `samples`, with the export beside it."""
    for path in sorted(samples.iterdir()) if samples.is_dir() else ():
        if not path.name.endswith(_SAMPLE_SUFFIXES):
            continue
        export = path.with_suffix(".sqlite")
        alternative = None
        if path.suffix == ".nsys-rep" and nsys:
            alternative = run_export_and_stats(nsys, path)
        elif path.suffix == ".ncu-rep" and ncu:
            alternative = run_ncu_pages(ncu, path)
        yield Case(path.name, (path, export) if export.exists() else (path,), alternative)


def make_synthetic_cases(folder: Path, kernels: list[int], nsys: str | None) -> Iterator[Case]:
    """Make exports of each size in both formats and yield a case for each; the alternative reads the SQLite."""
    for count in kernels:
        export, tables = folder / f"synthetic_{count}.sqlite", folder / f"synthetic_{count}"
        generate(Options(count), export, "sqlite")
        generate(Options(count), tables, "parquetdir")
        alternative = run_stats(nsys, export) if nsys else None
        yield Case(f"{count:,} kernels, SQLite", (export,), alternative)
        yield Case(f"{count:,} kernels, parquetdir", (tables,), alternative)


def make_compute_case(folder: Path) -> Case:
    """Make a very large Compute report. ncu itself takes minutes to print it, so there is no alternative."""
    path = folder / f"launches_{LAUNCHES}.ncu-rep"
    ncu_reports.generate(ncu_reports.SAMPLES / "kernels.ncu-rep", LAUNCHES, path)
    return Case(f"{LAUNCHES:,} launches of 2,184 metrics", (path,), None)


def make_trace_cases(folder: Path, megabytes: list[int], hta: str | None) -> Iterator[Case]:
    """Make traces of the PyTorch profiler of each size; beside json.load and, if a Python has it, HTA."""
    for size in megabytes:
        path = folder / f"trace_{size}.pt.trace.json"
        traces.repeat_trace(ROOT / "tests/data/torch/training.pt.trace.json.gz", path, size * 1_000_000)
        yield Case(f"trace of PyTorch, {size:,} MB", (path,), run_json_load(path))
        if hta:
            yield Case(f"trace of PyTorch, {size:,} MB", (path,), run_holistic(hta, path))
        path.unlink()


def measure_cases(folder: Path, chosen: argparse.Namespace, tools: dict[str, str | None]) -> list[Comparison]:
    """Measure drop to ready for the samples and the synthetic reports, and print each result."""
    comparisons = []
    others = (
        list_sample_cases(ROOT / "sample_reports", tools["nsys"], tools["ncu"]),
        make_synthetic_cases(folder, chosen.kernels, tools["nsys"]),
        (make_compute_case(folder),),
    )
    for cases in (*(others if chosen.only != "traces" else ()), make_trace_cases(folder, chosen.traces, chosen.hta)):
        for case in cases:
            comparisons.append(compare(case, chosen.repeat))
            print(results.format_comparisons(comparisons[-1:])[-1], flush=True)
    return comparisons


def measure_analyses(
    folder: Path, chosen: argparse.Namespace, nsys: str | None
) -> tuple[list[QueryTime], list[FindingsTime]]:
    """Ingest a synthetic report of each size, measure its analyses and findings, and print each result."""
    times, findings = [], []
    for count in chosen.kernels:
        export, library = folder / f"analyses_{count}.sqlite", folder / f"analyses_{count}"
        generate(Options(count), export, "sqlite")
        run_ingest((export,), folder / f"analyses_{count}_inbox", library)
        for item in measure_queries(library, export, count, nsys, chosen.repeat):
            times.append(item)
            print(results.format_queries([item])[-1], flush=True)
        findings.append(measure_findings(library, count, chosen.repeat))
        print(results.format_findings(findings)[-1], flush=True)
    return times, findings


def measure_report_pages(folder: Path, chosen: argparse.Namespace) -> list[PageTime]:
    """Ingest the largest synthetic reports and measure their pages."""
    reports = []
    for seed in (0, 1):
        tables = folder / f"pages_{max(chosen.kernels)}_{seed}"
        generate(Options(max(chosen.kernels), seed=seed), tables, "parquetdir")
        reports += [tables, *_write_sidecars(tables)]
    times = _list_pages(tuple(reports), folder / "nsys_pages", chosen.page or PAGES, chosen.repeat)
    return (
        times
        if chosen.page
        else times + _list_pages(make_compute_case(folder).files, folder / "ncu_pages", NCU_PAGES, chosen.repeat)
    )


def measure_load(folder: Path, chosen: argparse.Namespace) -> tuple[list[ViewTime], list[Crowd]]:
    """Ingest the largest synthetic report and measure the server's cost of page views."""
    tables = folder / f"load_{max(chosen.kernels)}"
    generate(Options(max(chosen.kernels)), tables, "parquetdir")
    env, ids = _prepare_server((tables,), folder / "load")
    paths = [page.format(id=ids[0]) for page in CROWD_PAGES]
    return measure_views(env, paths), [measure_crowd(env, paths, pause_s=pause_s) for pause_s in (0.0, PAUSE_S)]


def measure_timeline(folder: Path, chosen: argparse.Namespace) -> Iterator[Bar]:
    """Ingest synthetic reports: the timeline's file and a crowd at 1 million kernels, all else at the most."""
    bar = max((count for count in chosen.kernels if count <= CROWD_KERNELS), default=min(chosen.kernels))
    for count in chosen.kernels:
        if count not in (bar, max(chosen.kernels)):
            continue
        tables = folder / f"timeline_{count}"
        generate(Options(count), tables, "parquetdir")
        inbox, library = (folder / f"timeline_{part}_{count}" for part in ("inbox", "library"))
        _, spent = timeline_bars.time_ingest(partial(run_ingest, (tables,), inbox, library))
        prepared = Prepared(_make_environment(inbox, library), library, list_report_ids(library)[0], count, spent)
        yield from timeline_bars.measure_timeline_file(prepared)
        if count == max(chosen.kernels):
            yield from timeline_bars.measure_bars(prepared)
        if count == bar:
            yield timeline_bars.measure_crowd(prepared)


def _write_sidecars(report: Path) -> Iterator[Path]:
    """Write timings of 1,000 steps and two minutes of a power log beside a report, and yield the files."""
    timings, power = (report.with_name(f"{report.name}.{kind}.csv") for kind in ("timings", "nvml"))
    timings.write_text("label,step,seconds\n" + "".join(f"step,{step},0.01\n" for step in range(1000)))
    readings = (f"{SESSION_EPOCH_NS + 25_000_000 * n},0,500,{50_000 * (n // 4)}\n" for n in range(4800))
    power.write_text("time_ns,device,power_w,energy_mj\n" + "".join(readings))
    yield from (timings, power)


def _list_pages(files: tuple[Path, ...], folder: Path, pages: Sequence[str], repeat: int) -> list[PageTime]:
    env, ids = _prepare_server(files, folder)
    paths = [page.format(id=ids[0], other=ids[-1]) for page in pages]
    return measure_pages(env, paths, max(repeat, 5))


def _prepare_server(files: tuple[Path, ...], folder: Path) -> tuple[dict[str, str], list[str]]:
    """Ingest files and prepare their first view, as the worker does; return a server's environment and the reports'
    ids."""
    folder.mkdir()
    inbox, library = folder / "inbox", folder / "library"
    run_ingest(files, inbox, library)
    for report_id in list_report_ids(library):
        prefetch.prepare(Library(library), report_id)
    return _make_environment(inbox, library), list_report_ids(library)


def _make_environment(inbox: Path, library: Path) -> dict[str, str]:
    return {
        "WARPDECK_INBOX": str(inbox),
        "WARPDECK_LIBRARY": str(library),
        "WARPDECK_WORKER": "off",
        "WARPDECK_SAMPLES": "off",
    }


def _parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.run", description=__doc__)
    parser.add_argument("--kernels", type=int, nargs="+", default=[100_000, 1_000_000], help="sizes to generate")
    parser.add_argument("--traces", type=int, nargs="+", default=[100], help="sizes of traces in MB (default 100)")
    parser.add_argument(
        "--hta", metavar="PYTHON", help="a Python that has HolisticTraceAnalysis: measured beside traces"
    )
    parser.add_argument("--repeat", type=int, default=3, help="runs of each side; the median counts (default 3)")
    parser.add_argument(
        "--only",
        choices=("ingest", "traces", "analyses", "pages", "load", "timeline"),
        help="one part: print it, write no file",
    )
    parser.add_argument(
        "--page", action="append", metavar="PATH", help="a page to measure: {id} is the report, {other} a second one"
    )
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "bench" / "RESULTS.md")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    chosen = _parse_arguments(arguments)
    tools = {name: results.find_tool(name) for name in ("nsys", "ncu")}
    try:
        with TemporaryDirectory(prefix="warpdeck-bench-") as folder:
            comparisons = (
                measure_cases(Path(folder), chosen, tools) if chosen.only in (None, "ingest", "traces") else []
            )
            queries, findings = (
                measure_analyses(Path(folder), chosen, tools["nsys"]) if chosen.only in (None, "analyses") else ([], [])
            )
            times = measure_report_pages(Path(folder), chosen) if chosen.only in (None, "pages") else []
            load = results.format_load(*measure_load(Path(folder), chosen)) if chosen.only in (None, "load") else []
            bars = []
            for bar in measure_timeline(Path(folder), chosen) if chosen.only in (None, "timeline") else ():
                bars.append(bar)
                print(timeline_bars.format_table([bar])[-1], flush=True)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    pages = results.format_pages(times)
    timeline = timeline_bars.format_table(bars) if bars else []
    print("\n".join([*(pages if times else []), *load, *timeline]))
    if not chosen.only:
        command_line = " ".join(sys.argv[1:] if arguments is None else arguments)
        command = f"python -m bench.run {command_line}".strip()
        results.write_page(
            chosen.output,
            command,
            about=results.describe_machine(tools),
            comparisons=results.format_comparisons(comparisons),
            queries=results.format_queries(queries),
            findings=results.format_findings(findings),
            pages=pages,
            load=load,
            timeline=timeline,
        )
        print(f"wrote {chosen.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
