"""Which reports belong together: names such as ``ddp_strong_4_rank2.sqlite``, and what programs say of their runs.

Traces of the PyTorch profiler tell rank and number of ranks themselves, and when they were captured: where names do not
say which are of one run, those of different ranks whose captures overlap are (``together``).
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.report import sidecar

_ENDING = re.compile(r"\.(nsys-rep|qdrep|sqlite)$", re.IGNORECASE)
_RANK = re.compile(r"[._-]+rank[._-]?(\d{1,6})$", re.IGNORECASE)
_COUNT = re.compile(r"[._-]*x?(\d{1,6})(gpus?|ranks?|nodes?)?$", re.IGNORECASE)


@dataclass(frozen=True)
class Named:
    """A report with what its name and its program tell.

    Args:
        rank: its rank; None where nothing tells.
        size: how many ranks its run had; None where nothing tells.
        run: name of its run: that of the report without its rank.
        curve: name of the run without the number of ranks at its end.
        workload: what its program calls itself; "" where it says nothing.
        scaling: strong or weak; "" where its program does not say.
        items: what a rank computes in a step: how many, and of what.
        during: begin and end of its capture, ns since 1970, where only that can tell its run; else None.
    """

    id: str
    name: str
    rank: int | None
    size: int | None
    run: str
    curve: str
    workload: str = ""
    scaling: str = ""
    items: tuple[float, str] | None = None
    during: tuple[int, int] | None = None


def named(library: Library, manifest: Manifest) -> Named:
    """What name and program of a report tell, and the report itself where it is of a distributed run."""
    return of_name(manifest.id, manifest.name, facts(library, manifest.id), said(library, manifest))


def facts(library: Library, report_id: str) -> dict[str, Any]:
    """What the program says of its run (NAME.meta.json), nothing where there is no such file."""
    path = sidecar.path(library.reports, report_id, "meta")
    library.fetch_file(report_id, path)
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return written if isinstance(written, dict) else {}


def said(library: Library, manifest: Manifest) -> dict[str, Any]:
    """What a report says of the distributed run that it is of (``distributed_run``); nothing where it does not."""
    if not manifest.rows.get("distributed"):
        return {}
    rows = analysis.rows_or_none(analysis.run, library, manifest.id, "distributed_run")
    return {} if rows.empty else {str(key): value for key, value in rows.iloc[0].dropna().items()}


def of_name(report_id: str, name: str, told: Mapping[str, Any], said: Mapping[str, Any] | None = None) -> Named:
    """The same of a name and facts; facts that make no sense tell nothing. The program's own go before the report's."""
    said = said or {}
    told = {key: said[key] for key in ("rank", "ranks") if key in said} | dict(told)
    stem, kind = _stem(name)
    match = _RANK.search(stem)
    run = (stem[: match.start()] if match else stem) or stem
    rank = _whole(told.get("rank"))
    if rank is None and match:
        rank = int(match[1])
    scaling = str(told.get("scaling", "")).lower()
    return Named(
        id=report_id,
        name=name,
        rank=rank if match or (_whole(told.get("ranks")) or 0) > 1 else None,
        size=_whole(told.get("ranks")) or _whole(told.get("world_size")),
        run=run + kind,
        curve=(_COUNT.sub("", run) or run) + kind,
        workload=str(told.get("workload", "")),
        scaling=scaling if scaling in ("strong", "weak") else "",
        items=_items(told),
        during=None if match else _during(said),
    )


def _during(said: Mapping[str, Any]) -> tuple[int, int] | None:
    return (int(said["begin_ns"]), int(said["end_ns"])) if {"begin_ns", "end_ns"} <= set(said) else None


def together(every: Sequence[Named]) -> list[Named]:
    """The same reports; those whose captures overlap have the name of the run of their lowest rank.

    Only ranks of as many, each once: where two reports of one rank overlap, nothing tells which run they are of.
    """
    timed = [(one.size, one.during, one) for one in every if one.during and one.rank is not None and one.size]
    groups: list[list[Named]] = []
    until = 0
    for size, (begin, end), one in sorted(timed, key=lambda told: told[:2]):
        if groups and groups[-1][0].size == size and begin < until:
            groups[-1].append(one)
            until = max(until, end)
        else:
            groups.append([one])
            until = end
    runs = {
        one.id: min(group, key=lambda one: one.rank or 0)
        for group in groups
        if len({one.rank for one in group}) == len(group)
        for one in group
    }
    return [replace(one, run=runs[one.id].run, curve=runs[one.id].curve) if one.id in runs else one for one in every]


def _stem(name: str) -> tuple[str, str]:
    """The name without its ending, and what tells a trace from a report of the same run by another profiler."""
    for ending in sidecar.TRACES:
        if name.lower().endswith(ending):
            return name[: -len(ending)], " (trace)"
    return _ENDING.sub("", name), ""


def _items(told: Mapping[str, Any]) -> tuple[float, str] | None:
    for key, value in told.items():
        if key.startswith("items_per_step."):
            try:
                number = float(value)
            except (TypeError, ValueError):
                continue
            return (number, key.removeprefix("items_per_step.")) if 0 < number < float("inf") else None
    return None


def _whole(value: Any) -> int | None:
    try:
        number = int(value)
    except (OverflowError, TypeError, ValueError):
        return None
    return number if 0 <= number < 1_000_000 else None


def family(chosen: Named, others: Iterable[Named]) -> list[Named]:
    """The reports of the same family, the chosen one first.

    They have the name of its curve, or their programs call themselves the same and both tell their ranks.
    """
    members = [chosen]
    for named in others:
        same_program = bool(chosen.workload) and named.workload == chosen.workload and bool(named.size and chosen.size)
        if named.id != chosen.id and (named.curve == chosen.curve or same_program):
            members.append(named)
    return members
