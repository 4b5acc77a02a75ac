"""What is kept of each report: figures of a step, and what each class, range and kernel has of them.

They are those of Compare (``compare.matching``, ``compare.totals``) under the selection with which pages open, so that
a change of a series is made up of the same parts as the comparison of its two sides. Where a report tells no steps the
figures are those of all that is selected.
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
"""Kernels of a report that are kept, those with most time."""
RANGES = 60
"""Ranges of a report that are kept, at the two top levels."""
NAME = 240
"""Characters of a name; a longer one ends in a hash of the whole."""
META = 100
"""Facts of the program that are kept, of ``NAME`` characters each."""
_NOT_KEPT = ("kernel_sample",)
"""Analyses of a comparison of which a summary has no use."""

Unit = Literal["ns", "count", "bytes", "%", "J"]


@dataclass(frozen=True)
class Measure:
    """A figure of a report: what people call it, its unit, and whether more of it is worse (1) or better (-1)."""

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
"""Figures of a report as a whole; all but memory, MFU and findings are of a step where it has steps."""
PARTS = {"class": "Class", "range": "Range", "kernel": "Kernel"}
"""What kernel time is divided among."""
FINDING = "finding"
"""A rule that fires; its value is what mending it saves at most, percent."""

_CAPTURES = {
    "kernel": "kernels", "graph_launch": "CUDA graphs", "memop": "copies", "api_call": "CUDA calls",
    "range": "ranges", "osrt_call": "OS calls", "cpu_sample": "CPU samples", "python_sample": "Python samples",
    "sched_event": "scheduling", "gpu_metric": "GPU metrics", "memory_event": "memory use",
}  # fmt: skip
"""Kinds of data whose recording is a matter of flags, by the table that holds them."""


def summarize(library: Library, report: Manifest) -> tuple[Facts, list[Row]]:
    """What is kept of a report with a timeline."""
    params = document.page_params(library, report, {})
    answers = Answers(library, report, params)

    def run(name: str, **more: Any) -> pd.DataFrame:
        return pd.DataFrame() if name in _NOT_KEPT else answers.rows(name, **more)

    side = _gathered(run)
    rows = [*_whole(side), *_parts(side), *_others(answers, side), *_found(library, report)]
    return _facts(answers, side), rows


def _gathered(run: matching.Run) -> Side:
    """What ``matching.gather`` answers; of a report with steps without what lies outside of them."""
    try:
        steps = run(matching.STEPS)
    except NotCapturedError:
        return matching.gather(run)
    if not len(steps) or not steps["count"].iloc[0]:
        return matching.gather(run)
    inside, lacks = matching.answers(lambda name: run(name, within="steps"))
    nothing = dict.fromkeys(matching.ANALYSES, pd.DataFrame()) | {"gpu_busy": inside["gpu_busy"]}
    return Side(**nothing, iteration_summary=steps, inside=Part(**inside), lacks=lacks)


def kept_name(name: str) -> str:
    """A name in the length that is kept; one that is cut stays apart from all others."""
    shown = visible(name)
    if len(shown) <= NAME:
        return shown
    return f"{shown[: NAME - 11]}…{hashlib.sha256(shown.encode(errors='surrogatepass')).hexdigest()[:10]}"


def _inside(side: Side) -> tuple[Part, int]:
    """What figures are of, and by what sums are divided."""
    return (side.inside, side.unit[1]) if side.inside is not None and side.unit is not None else (side, 1)


def _whole(side: Side) -> Iterator[Row]:
    part, count = _inside(side)
    for name, value in totals.sums(part).items():
        if name in MEASURES:
            low, high = _spread(side) if name == "wall_ns" else (None, None)
            yield Row(name, value / count, low=low, high=high)


def _spread(side: Side) -> tuple[float | None, float | None]:
    """The shortest step, and what 95 % of them take at most, on the host."""
    if side.steps is None:
        return None, None
    row = side.iteration_summary.iloc[0]
    return number(row["min_ns"]), number(row["p95_ns"])


def _parts(side: Side) -> Iterator[Row]:
    """Kernel time by class, by kernel and by range, each of a step."""
    part, count = _inside(side)
    kernels = part.kernel_totals
    if len(kernels):
        for name, ns in kernels.groupby("class")["total_ns"].sum().items():
            yield Row("class", float(ns) / count, str(name))
        named = kernels.assign(kept=kernels["demangled"].fillna(kernels["name"]).map(kept_name))
        groups = named.groupby("kept", sort=False).agg(ns=("total_ns", "sum"), name=("name", "first"))
        for name, row in groups.nlargest(KERNELS, "ns").iterrows():
            yield Row("kernel", float(row["ns"]) / count, str(name), title=kept_name(str(row["name"])))
    if len(part.range_patterns) and part.range_patterns["kernel_ns"].notna().any():
        yield from _ranges(part.range_patterns, count)


def _ranges(rows: pd.DataFrame, count: int) -> Iterator[Row]:
    """The ranges right inside the outermost ones; what these run themselves counts for them."""
    times = rows.assign(ns=rows["kernel_ns"].fillna(0).astype(float))
    inner = times[times["level"] == 1]
    found = dict(zip(inner["pattern"], inner["ns"], strict=True))
    for pattern, ns in times.loc[times["level"] == 0, ["pattern", "ns"]].itertuples(index=False):
        below = sum(one for name, one in found.items() if name.startswith(f"{pattern}/"))
        found[pattern] = max(0.0, ns - below)
    largest = sorted((item for item in found.items() if item[1]), key=lambda item: -item[1])
    for name, ns in largest[:RANGES]:
        yield Row("range", ns / count, kept_name(str(name)))


def _others(answers: Answers, side: Side) -> Iterator[Row]:
    """Memory, MFU and energy, as far as the report and what lies beside it tell."""
    _, count = _inside(side)
    within = {"within": "ranges" if side.steps is None else "steps"} if side.unit is not None else {}
    asked: dict[str, tuple[str, dict[str, Any], Callable[[pd.DataFrame], Any]]] = {
        "memory_bytes": ("memory_use", {}, lambda rows: rows["peak_bytes"].max()),
        "mfu_pct": ("mfu", {}, lambda rows: rows["mfu_pct"].iloc[0]),
        "energy_j": ("energy_summary", within, lambda rows: _energy(rows, count)),
    }
    for name, (analysis, params, figure) in asked.items():
        with suppress(NotCapturedError):
            rows = answers.rows(analysis, **params)
            if len(rows) and (value := number(figure(rows))) is not None:
                yield Row(name, value)


def _energy(rows: pd.DataFrame, count: int) -> float | None:
    """The energy of all GPUs, where it is known of each."""
    known = rows["joules"].notna() & rows["measurable"].fillna(False).astype(bool)
    return float(rows["joules"].sum()) / count if known.all() else None


def _found(library: Library, report: Manifest) -> Iterator[Row]:
    """What fires, where the report was judged."""
    links = digest.links(library.catalog.links.all)
    found = digest.read(library, report.id, links, rulebook.load(config.load().rules))
    if found is None:
        return
    yield Row("findings", sum(one.costs for one in found))
    for one in found:
        yield Row(FINDING, one.saving_pct or 0.0, one.rule)


def _facts(answers: Answers, side: Side) -> Facts:
    report, facts = answers.report, answers.rows("report_facts").iloc[0]
    texts = {name: facts[name] for name in ("driver_version", "cpu", "os") if isinstance(facts[name], str)}
    tool = " ".join(part for part in (report.tool, report.tool_version) if part)
    machine = ", ".join(texts[name] for name in ("cpu", "os") if name in texts)
    worked = side.gpu_busy[side.gpu_busy["operations"] > 0] if len(side.gpu_busy) else side.gpu_busy
    return Facts(
        report_id=report.id,
        name=kept_name(report.name),
        kind=report.kind,
        gpu=kept_name(report.gpu) if report.gpu else None,
        gpus=len(worked) or None,
        command=kept_name(report.command) if report.command else None,
        captured_at=report.captured_at or report.ingested_at,
        driver=texts.get("driver_version"),
        tool=tool or None,
        machine=kept_name(machine) or None,
        capture=", ".join(title for table, title in _CAPTURES.items() if report.rows.get(table)),
        basis=kept_name(side.unit[0]) if side.unit is not None else "",
        meta=_meta(sidecar.path(answers.library.reports, report.id, "meta")),
    )


def _meta(path: Path) -> dict[str, str]:
    """What the program said of its run, bounded: the library's plain copy has texts by name (report/sidecar.py)."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    pairs = [(key, value) for key, value in told.items() if isinstance(value, str)] if isinstance(told, dict) else []
    outer_first = sorted(pairs, key=lambda pair: pair[0].count("."))
    return {kept_name(key): kept_name(value) for key, value in outer_first[:META]}
