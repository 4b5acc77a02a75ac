"""Find reports of one family by names such as ``ddp_strong_4_rank2.sqlite``, and by facts from programs about their
runs.

Traces of the PyTorch profiler contain rank, number of ranks and time of capture: if names do not tell which are of one
run, traces of different ranks whose captures overlap are (``together``).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.library.report_list import Filters
from profiledb.query import analysis
from profiledb.report import sidecar

TRACE = " (trace)"
"""Follows the name of a run of traces: nsys may have captured the same job."""
_MOST_RANKS = 10_000
"""Reports among which the other ranks of a run are looked for."""
_TOGETHER = timedelta(hours=1)
"""The ranks of a run begin their captures within this time of each other."""
_ENDING = re.compile(r"\.(nsys-rep|qdrep|sqlite)$", re.IGNORECASE)
_RANK = re.compile(r"[._-]+rank[._-]?(\d{1,6})$", re.IGNORECASE)
_COUNT = re.compile(r"[._-]*x?(?<!\d)([1-9]\d{0,4})(gpus?|ranks?|nodes?)?$", re.IGNORECASE)


@dataclass(frozen=True)
class Named:
    """A report with the facts from its name and its program.

    Args:
        rank: its rank; None if unknown.
        size: number of ranks of its run; None if unknown.
        run: name of its run: that of the report without its rank.
        curve: name of the run without the number of ranks at its end.
        workload: the program's name for itself; "" if unknown.
        scaling: strong or weak; "" if the program does not tell.
        items: number and kind of items that a rank computes per step.
        during: start and end of its capture, ns since 1970, if nothing else identifies its run; else None.
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


def read_named(library: Library, manifest: Manifest) -> Named:
    """Return the facts from a report's name and program, and from the report itself if it is a trace of a distributed
    run. Opens no other report, because pages ask all of a library.
    """
    run_facts = read_run_facts(library, manifest) if manifest.rows.get("distributed") else {}
    return parse_name(manifest.id, manifest.name, read_facts(library, manifest.id), run_facts)


def read_facts(library: Library, report_id: str) -> dict[str, Any]:
    """Return the program's facts about its run (NAME.meta.json); empty without such a file."""
    path = sidecar.get_path(library.reports, report_id, "meta")
    library.fetch_file(report_id, path)
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return written if isinstance(written, dict) else {}


def read_run_facts(library: Library, manifest: Manifest) -> dict[str, Any]:
    """Return a report's facts about its distributed run (``distributed_run``); empty if it has none."""
    rows = analysis.rows_or_none(analysis.run, library, manifest.id, "distributed_run")
    return {} if rows.empty else {str(key): value for key, value in rows.iloc[0].dropna().items()}


def parse_name(
    report_id: str, name: str, facts: Mapping[str, Any], run_facts: Mapping[str, Any] | None = None
) -> Named:
    """Return the facts from a name and from given facts; invalid ones are ignored. The program's win over the
    report's.
    """
    run_facts = run_facts or {}
    facts = {key: run_facts[key] for key in ("rank", "ranks") if key in run_facts} | dict(facts)
    stem, kind = _split_name(name)
    match = _RANK.search(stem)
    run = (stem[: match.start()] if match else stem) or stem
    rank = _parse_whole(facts.get("rank"))
    if rank is None and match:
        rank = int(match[1])
    size = _parse_whole(facts.get("ranks")) or _parse_whole(facts.get("world_size"))
    scaling = str(facts.get("scaling", "")).lower()
    return Named(
        id=report_id,
        name=name,
        rank=rank if match or (_parse_whole(facts.get("ranks")) or 0) > 1 else None,
        size=size,
        run=run + kind,
        curve=_strip_count(run, has_ranks=bool(match or size)) + kind,
        workload=str(facts.get("workload", "")),
        scaling=scaling if scaling in ("strong", "weak") else "",
        items=_parse_items(facts),
        during=None if match else _parse_capture_time(run_facts),
    )


def _strip_count(run: str, *, has_ranks: bool) -> str:
    """Return the name of a run without the number of ranks at its end.

    If nothing else tells that the run has ranks, and no unit follows the number, it may count captures: only a power
    of two and a multiple of eight are numbers of ranks then.
    """
    match = _COUNT.search(run)
    if match is None or not (has_ranks or match[2] or _is_usual(int(match[1]))):
        return run
    return run[: match.start()] or run


def _is_usual(size: int) -> bool:
    return size & (size - 1) == 0 or size % 8 == 0


def names_rank(name: str) -> bool:
    """Return True if the name of a report tells its rank."""
    return _RANK.search(_split_name(name)[0]) is not None


def _parse_capture_time(run_facts: Mapping[str, Any]) -> tuple[int, int] | None:
    return (int(run_facts["begin_ns"]), int(run_facts["end_ns"])) if {"begin_ns", "end_ns"} <= set(run_facts) else None


def join_overlapping(every: Sequence[Named]) -> list[Named]:
    """Return the reports; those with overlapping captures get the run name of their lowest rank.

    Only runs of equal size with each rank once are joined: if two reports of one rank overlap, their runs are
    ambiguous.
    """
    timed = [(one.size, one.during, one) for one in every if one.during and one.rank is not None and one.size]
    groups: list[list[Named]] = []
    until = 0
    for size, (begin, end), one in sorted(timed, key=lambda entry: entry[:2]):
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


def _split_name(name: str) -> tuple[str, str]:
    """Return the name without its ending, and the mark of a trace, to keep it apart from another profiler's report."""
    for ending in sidecar.TRACES:
        if name.lower().endswith(ending):
            return name[: -len(ending)], TRACE
    return _ENDING.sub("", name), ""


def _parse_items(facts: Mapping[str, Any]) -> tuple[float, str] | None:
    for key, value in facts.items():
        if key.startswith("items_per_step."):
            try:
                number = float(value)
            except (TypeError, ValueError):
                continue
            return (number, key.removeprefix("items_per_step.")) if 0 < number < float("inf") else None
    return None


def _parse_whole(value: Any) -> int | None:
    try:
        number = int(value)
    except (OverflowError, TypeError, ValueError):
        return None
    return number if 0 <= number < 1_000_000 else None


def find_family(chosen: Named, others: Iterable[Named]) -> list[Named]:
    """Return the reports of the same family, the chosen one first.

    They share its curve, or their programs have the same name and both tell their ranks.
    """
    members = [chosen]
    for named in others:
        same_program = bool(chosen.workload) and named.workload == chosen.workload and bool(named.size and chosen.size)
        if named.id != chosen.id and (named.curve == chosen.curve or same_program):
            members.append(named)
    return members


def find_ranks(library: Library, manifest: Manifest) -> list[str]:
    """Return the reports of the other ranks of a report's run, in the order of the ranks; empty if it has no rank.

    Reads names and facts instead of summaries (``run_list``): a new report has none yet.
    """
    chosen = read_named(library, manifest)
    if chosen.rank is None:
        return []
    others = {one.id: one for one in _list_candidates(library, manifest, chosen) if one.id != manifest.id}
    named = [read_named(library, one) for one in others.values() if one.kind == manifest.kind and _can_be_rank(one)]
    every = join_overlapping([chosen, *named])
    mates = {one.rank: one.id for one in every[1:] if one.run == every[0].run and one.rank not in (None, chosen.rank)}
    return [mates[rank] for rank in sorted(mates, key=lambda rank: rank or 0)]


def _list_candidates(library: Library, manifest: Manifest, chosen: Named) -> Iterator[Manifest]:
    """Yield the reports whose names hold that of the run, and those captured at the time if that tells the run."""
    yield from library.catalog.listing.page(Filters(text=chosen.run.removesuffix(TRACE)), most=_MOST_RANKS)
    if chosen.during:
        with suppress(ValueError, OverflowError):
            when = datetime.fromisoformat(manifest.captured_at or "")
            near = Filters(since=when - _TOGETHER, until=when + _TOGETHER)
            yield from library.catalog.listing.page(near, most=_MOST_RANKS)


def _can_be_rank(manifest: Manifest) -> bool:
    return bool(manifest.rows.get("distributed")) or parse_name(manifest.id, manifest.name, {}).rank is not None
