"""The summary of a report: figures per step, and the parts of each class, range and kernel.

They are those of Compare (``compare.matching``, ``compare.totals``) under the default selection of the pages, so that a
change in a series splits into the same parts as a comparison of its two sides. In a report without steps the figures
cover the whole selection.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from profiledb import config
from profiledb.errors import NotCapturedError
from profiledb.findings import digest, rulebook
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.report import sidecar
from profiledb.studies.compare import matching, totals
from profiledb.studies.compare.matching import Part, Side
from profiledb.studies.summary import document
from profiledb.studies.summary.answers import Answers
from profiledb.studies.trends.summary_store import Facts, Row
from profiledb.words import number, visible

KERNELS = 40
"""Kernels per summary, those with the most time."""
RANGES = 60
"""Ranges per summary, at the two top levels."""
NAME = 240
"""Length limit of a name, in characters; a longer one ends in a hash of the whole."""
META = 100
"""Facts of the program per summary, of ``NAME`` characters each."""
_NOT_KEPT = ("kernel_sample",)
"""Analyses of a comparison that a summary does not need."""

Unit = Literal["ns", "count", "bytes", "%", "J"]


@dataclass(frozen=True)
class Measure:
    """A figure of a report: its title, its unit, and whether more is worse (1) or better (-1)."""

    name: str
    title: str
    unit: Unit
    worse: int = 1


MEASURES = {
    one.name: one
    for one in (
        Measure("wall_ns", "Step time", "ns"),
        Measure("busy_ns", "GPU busy time", "ns"),
        Measure("kernel_ns", "Kernel time", "ns"),
        Measure("idle_ns", "GPU idle time", "ns"),
        Measure("copy_ns", "Copy time", "ns"),
        Measure("memset_ns", "Memset time", "ns"),
        Measure("launches", "Kernel launches", "count"),
        Measure("copy_bytes", "Bytes copied", "bytes"),
        Measure("memory_bytes", "Peak GPU memory", "bytes"),
        Measure("mfu_pct", "MFU", "%", worse=-1),
        Measure("energy_j", "Energy", "J"),
        Measure("findings", "Findings that cost time", "count"),
    )
}
"""Figures of a whole report; all but memory, MFU and findings are per step if it has steps."""
PARTS = {"class": "Class", "range": "Range", "kernel": "Kernel"}
"""Divisions of kernel time."""
FINDING = "finding"
"""A rule that fires; the value is the largest saving from mending it, percent."""

_CAPTURES = {
    "kernel": "kernels", "graph_launch": "CUDA graphs", "memop": "copies", "api_call": "CUDA calls",
    "range": "ranges", "osrt_call": "OS calls", "cpu_sample": "CPU samples", "python_sample": "Python samples",
    "sched_event": "scheduling", "gpu_metric": "GPU metrics", "memory_event": "memory use",
}  # fmt: skip
"""Kinds of data that flags turn on, by the table that holds them."""


def summarize(library: Library, report: Manifest) -> tuple[Facts, list[Row]]:
    """Return the summary of a report with a timeline."""
    params = document.get_page_params(library, report, {})
    answers = Answers(library, report, params)

    def run(name: str, **more: Any) -> pd.DataFrame:
        return pd.DataFrame() if name in _NOT_KEPT else answers.rows(name, **more)

    side = _gather_steps(run)
    rows = [
        *_list_total_rows(side),
        *_list_part_rows(side),
        *_list_other_rows(answers, side),
        *_list_finding_rows(library, report),
    ]
    return _read_facts(answers, side), rows


def _gather_steps(run: matching.Run) -> Side:
    """Return ``matching.gather`` without the part outside the steps, if the report has steps."""
    try:
        steps = run(matching.STEPS)
    except NotCapturedError:
        return matching.gather(run)
    if not len(steps) or not steps["count"].iloc[0]:
        return matching.gather(run)
    inside, lacks = matching.gather_answers(lambda name: run(name, within="steps"))
    nothing = dict.fromkeys(matching.ANALYSES, pd.DataFrame()) | {"gpu_busy": inside["gpu_busy"]}
    return Side(**nothing, iteration_summary=steps, inside=Part(**inside), lacks=lacks)


def shorten_name(name: str) -> str:
    """Shorten a name to the stored length; a shortened name stays unique."""
    shown = visible(name)
    if len(shown) <= NAME:
        return shown
    return f"{shown[: NAME - 11]}…{hashlib.sha256(shown.encode(errors='surrogatepass')).hexdigest()[:10]}"


def _choose_part(side: Side) -> tuple[Part, int]:
    """Return the part that figures cover, and the divisor of sums."""
    return (side.inside, side.unit[1]) if side.inside is not None and side.unit is not None else (side, 1)


def _list_total_rows(side: Side) -> Iterator[Row]:
    part, count = _choose_part(side)
    for name, value in totals.sum_up(part).items():
        if name in MEASURES:
            low, high = _read_spread(side) if name == "wall_ns" else (None, None)
            yield Row(name, value / count, low=low, high=high)


def _read_spread(side: Side) -> tuple[float | None, float | None]:
    """Return the shortest step and the 95th percentile on the host."""
    if side.steps is None:
        return None, None
    row = side.iteration_summary.iloc[0]
    return number(row["min_ns"]), number(row["p95_ns"])


def _list_part_rows(side: Side) -> Iterator[Row]:
    """Yield kernel time per step by class, by kernel and by range."""
    part, count = _choose_part(side)
    kernels = part.kernel_totals
    if len(kernels):
        for name, ns in kernels.groupby("class")["total_ns"].sum().items():
            yield Row("class", float(ns) / count, str(name))
        named = kernels.assign(short_name=kernels["demangled"].fillna(kernels["name"]).map(shorten_name))
        groups = named.groupby("short_name", sort=False).agg(ns=("total_ns", "sum"), name=("name", "first"))
        for name, row in groups.nlargest(KERNELS, "ns").iterrows():
            yield Row("kernel", float(row["ns"]) / count, str(name), title=shorten_name(str(row["name"])))
    if len(part.range_patterns) and part.range_patterns["kernel_ns"].notna().any():
        yield from _list_range_rows(part.range_patterns, count)


def _list_range_rows(rows: pd.DataFrame, count: int) -> Iterator[Row]:
    """Yield the ranges directly inside the outermost ones, whose own work counts for themselves."""
    times = rows.assign(ns=rows["kernel_ns"].fillna(0).astype(float))
    inner = times[times["level"] == 1]
    ns_by_pattern = dict(zip(inner["pattern"], inner["ns"], strict=True))
    for pattern, ns in times.loc[times["level"] == 0, ["pattern", "ns"]].itertuples(index=False):
        below = sum(one for name, one in ns_by_pattern.items() if name.startswith(f"{pattern}/"))
        ns_by_pattern[pattern] = max(0.0, ns - below)
    largest = sorted((item for item in ns_by_pattern.items() if item[1]), key=lambda item: -item[1])
    for name, ns in largest[:RANGES]:
        yield Row("range", ns / count, shorten_name(str(name)))


def _list_other_rows(answers: Answers, side: Side) -> Iterator[Row]:
    """Yield memory, MFU and energy, as far as the report and its sidecars have them."""
    _, count = _choose_part(side)
    within = {"within": "ranges" if side.steps is None else "steps"} if side.unit is not None else {}
    asked: dict[str, tuple[str, dict[str, Any], Callable[[pd.DataFrame], Any]]] = {
        "memory_bytes": ("memory_use", {}, lambda rows: rows["peak_bytes"].max()),
        "mfu_pct": ("mfu", {}, lambda rows: rows["mfu_pct"].iloc[0]),
        "energy_j": ("energy_summary", within, lambda rows: _sum_energy(rows, count)),
    }
    for name, (analysis, params, figure) in asked.items():
        with suppress(NotCapturedError):
            rows = answers.rows(analysis, **params)
            if len(rows) and (value := number(figure(rows))) is not None:
                yield Row(name, value)


def _sum_energy(rows: pd.DataFrame, count: int) -> float | None:
    """Return the energy of all GPUs, if that of each is known."""
    known = rows["joules"].notna() & rows["measurable"].fillna(False).astype(bool)
    return float(rows["joules"].sum()) / count if known.all() else None


def _list_finding_rows(library: Library, report: Manifest) -> Iterator[Row]:
    """Yield the findings that fire, if the report was judged."""
    links = digest.read_links(library.catalog.links.all)
    findings = digest.read_digest(library, report.id, links, rulebook.load(config.load().rules))
    if findings is None:
        return
    yield Row("findings", sum(one.costs for one in findings))
    for one in findings:
        yield Row(FINDING, one.saving_pct or 0.0, one.rule)


def _read_facts(answers: Answers, side: Side) -> Facts:
    report, facts = answers.report, answers.rows("report_facts").iloc[0]
    texts = {name: facts[name] for name in ("driver_version", "cpu", "os") if isinstance(facts[name], str)}
    tool = " ".join(part for part in (report.tool, report.tool_version) if part)
    machine = ", ".join(texts[name] for name in ("cpu", "os") if name in texts)
    worked = side.gpu_busy[side.gpu_busy["operations"] > 0] if len(side.gpu_busy) else side.gpu_busy
    return Facts(
        report_id=report.id,
        name=shorten_name(report.name),
        kind=report.kind,
        gpu=shorten_name(report.gpu) if report.gpu else None,
        gpus=len(worked) or None,
        command=shorten_name(report.command) if report.command else None,
        captured_at=report.captured_at or report.ingested_at,
        driver=texts.get("driver_version"),
        tool=tool or None,
        machine=shorten_name(machine) or None,
        capture=", ".join(title for table, title in _CAPTURES.items() if report.rows.get(table)),
        basis=shorten_name(side.unit[0]) if side.unit is not None else "",
        meta=_read_meta(sidecar.get_path(answers.library.reports, report.id, "meta")),
    )


def _read_meta(path: Path) -> dict[str, str]:
    """Return the program's facts about its run, bounded (report/sidecar.py)."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    pairs = (
        [(key, value) for key, value in content.items() if isinstance(value, str)] if isinstance(content, dict) else []
    )
    outer_first = sorted(pairs, key=lambda pair: pair[0].count("."))
    return {shorten_name(key): shorten_name(value) for key, value in outer_first[:META]}
