"""Write the measurements as a page of tables."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from bench import measure
from bench.findings import FindingsTime
from bench.ingestion import REPORTS, Comparison
from bench.load import SESSIONS, Crowd, ViewTime
from bench.pages import PageTime
from bench.queries import QueryTime

MIB = 1 << 20
_PAGE = """\
# Measurements

Written by `{command}`; run it again to renew this page.

{about}

## Drop to ready

From the start of `python -m ingest --once`, with the file in an empty inbox, to its end. Beside it, on the same file
and in the same run, what a user would run instead: `nsys export -t sqlite` and
`nsys stats -r {reports}`, or only the latter where the file is a SQLite export already.
Medians; memory is the largest sum of the resident sizes of all processes of a run, pages that they share counted for
each. Synthetic reports come from `python -m bench.generate`.

{comparisons}

## Analyses

`python -m profiledb run ANALYSIS REPORT --format csv` beside the report or rule of the same name of `nsys stats` or
`nsys analyze` on the SQLite export, each with all rows into a file, in the same run; and in a process that has the
report open, as the pages have. Medians.

{queries}

## Findings

All rules on the whole report, in a process that has it open: live, with no answer kept, in seconds and in seconds of
processor time; and stored, as pages and `warpdeck findings` have it once the worker has prepared a report. Medians.

{findings}

## Pages

In a headless Chromium against `streamlit run app/main.py`, the reports with the most kernels and launches: from the
navigation to a script at rest with the page's main table or chart in sight. Medians, but for the first load.

{pages}

## Timeline

Tiles, areas and searches are asked over HTTP of one new server, a tile of six groups of lanes at ten levels and random
places; cold tiles are the first of a process that has opened nothing. What a bar must stay below stands beside it.

{timeline}

## Load

One new server without a browser, the report with the most kernels, prepared as the worker does once it has nothing else
to do: processor time of the server for its first look at each page in turn and for a further one, and what that sends.
Then {sessions} sessions that click from page to page, each from the start of another server on.

{load}
"""


def describe_machine(tools: dict[str, str | None]) -> list[str]:
    """Return lines about this machine: cores, memory, versions of Python, libraries and Nsight tools."""
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    libraries = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "streamlit", "pandas", "pyarrow"))
    return [
        f"- Date: {datetime.now(UTC):%Y-%m-%d}",
        f"- Machine: {cores} cores, {memory:.0f} GiB of memory, {platform.system()} {platform.machine()}",
        f"- Python {platform.python_version()}, {libraries}",
        "- " + ", ".join(f"{name} {read_tool_version(path)}" for name, path in tools.items()),
    ]


def read_tool_version(path: str | None) -> str:
    """Return the version that a tool prints."""
    if path is None:
        return "not found"
    done = measure.run([path, "--version"])
    match = re.search(r"\d{4}\.\d+[\d.]*", done.stdout)
    return match.group(0) if match else "of unknown version"


def find_tool(name: str) -> str | None:
    """Return the path of nsys or ncu: from PATH, or where scripts/install_nsight.sh puts them."""
    return shutil.which(name, path=os.environ.get("PATH", "") + os.pathsep + "/opt/nsight/bin")


def format_comparisons(comparisons: Sequence[Comparison]) -> list[str]:
    """Return the table of drop to ready beside the alternative."""
    lines = [
        "| report | size | drop to ready | peak memory | alternative | seconds | peak memory | times faster |",
        "|---|---:|---:|---:|---|---:|---:|---:|",
    ]
    for item in comparisons:
        ours, theirs = item.warpdeck, item.alternative
        cells = [item.name, _format_mib(item.size_bytes), f"{ours.seconds:.2f} s", _format_mib(ours.peak_bytes)]
        if theirs is None:
            cells += ["no tool here reads it", "-", "-", "-"]
        else:
            cells += [theirs.what, f"{theirs.seconds:.2f} s", _format_mib(theirs.peak_bytes), f"{item.ratio:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def format_pages(times: Sequence[PageTime]) -> list[str]:
    """Return the table of page times; a page is named by its path, without the report."""
    lines = [
        "| page | first load, new server | reload | change from another page |",
        "|---|---:|---:|---:|",
    ]
    for item in times:
        path = item.path.partition("?")[0]
        lines.append(f"| {path} | {item.cold_s:.2f} s | {item.reload_s:.2f} s | {item.change_s:.2f} s |")
    return lines


def format_load(views: Sequence[ViewTime], crowds: Sequence[Crowd]) -> list[str]:
    """Return the table of processor time per view, and a line on many sessions for each way to click."""
    lines = ["| page | first look, CPU | further look, CPU | sent |", "|---|---:|---:|---:|"]
    for item in views:
        path = item.path.partition("?")[0]
        lines.append(f"| {path} | {item.first_s:.2f} s | {item.warm_s:.3f} s | {item.sent_bytes / 1000:.0f} kB |")
    return [*lines, "", *(f"- {_format_crowd(crowd)}" for crowd in crowds)]


def _format_crowd(crowd: Crowd) -> str:
    how = f"a click every {crowd.pause_s:g} s" if crowd.pause_s else "without pause"
    return (
        f"{crowd.sessions} sessions, {how}: {crowd.views} views, {crowd.views / crowd.seconds:.1f} a second,"
        f" {crowd.cpu_s / crowd.views:.3f} s of CPU each; p50 {crowd.p50_s:.1f} s, p95 {crowd.p95_s:.1f} s,"
        f" {crowd.errors} errors; server memory {_format_mib(crowd.resident_bytes)}."
    )


def format_queries(times: Sequence[QueryTime]) -> list[str]:
    """Return the table of analyses beside nsys."""
    lines = [
        "| analysis | kernels | warm in process | command line | nsys | times faster in process | and as command |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for item in times:
        cells = [item.name, f"{item.kernels:,}", f"{item.warm_s:.3f} s", f"{item.command_s:.2f} s"]
        if item.nsys_s is None:
            cells += ["-", "-", "-"]
        else:
            over = "over " if item.is_stopped else ""
            ratios = (item.nsys_s / item.warm_s, item.nsys_s / item.command_s)
            cells += [f"{over}{item.nsys_s:.2f} s", *(f"{over}{ratio:.1f}" for ratio in ratios)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def format_findings(times: Sequence[FindingsTime]) -> list[str]:
    """Return the table of all rules, live and stored."""
    lines = ["| kernels | rules | live | live, CPU | stored |", "|---:|---:|---:|---:|---:|"]
    for item in times:
        seconds = (f"{item.live_s:.2f} s", f"{item.live_cpu_s:.2f} s", f"{item.stored_s:.3f} s")
        lines.append(f"| {' | '.join([f'{item.kernels:,}', str(item.rules), *seconds])} |")
    return lines


def write_page(path: Path, command: str, **parts: list[str]) -> None:
    """Write the page; ``parts`` are the lines of each part of it. Sections that it does not measure stay."""
    tables = {name: "\n".join(lines) for name, lines in parts.items()}
    page = _PAGE.format(command=command, reports=REPORTS, sessions=SESSIONS, **tables)
    before = split_sections(path.read_text(encoding="utf-8")) if path.exists() else {}
    sections = (before | split_sections(page)).values()
    path.write_text("\n\n".join(one.strip() for one in sections) + "\n", encoding="utf-8")


def split_sections(page: str) -> dict[str, str]:
    """Return the sections of a page by their headings, in order; "" has what precedes the first."""
    first, *others = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    return {"": first} | {one.partition("\n")[0]: one for one in others}


def _format_mib(size: int) -> str:
    return f"{size / MIB:.1f} MiB" if size < 10 * MIB else f"{size / MIB:.0f} MiB"
