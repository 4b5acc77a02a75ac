"""Which reports belong together: names such as ``ddp_strong_4_rank2.sqlite``, and what programs say of their runs."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from profiledb.report import sidecar
from profiledb.report.catalog import Manifest
from profiledb.report.library import Library

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


def named(library: Library, manifest: Manifest) -> Named:
    """What name and program of a report tell; without a look into the report itself."""
    return of_name(manifest.id, manifest.name, facts(library, manifest.id))


def facts(library: Library, report_id: str) -> dict[str, Any]:
    """What the program says of its run (NAME.meta.json), nothing where there is no such file."""
    try:
        written = json.loads(sidecar.path(library.reports, report_id, "meta").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return written if isinstance(written, dict) else {}


def of_name(report_id: str, name: str, told: dict[str, Any]) -> Named:
    """The same of a name and facts; facts that make no sense tell nothing."""
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
    )


def _stem(name: str) -> tuple[str, str]:
    """The name without its ending, and what tells a trace from a report of the same run by another profiler."""
    for ending in sidecar.TRACES:
        if name.lower().endswith(ending):
            return name[: -len(ending)], " (trace)"
    return _ENDING.sub("", name), ""


def _items(told: dict[str, Any]) -> tuple[float, str] | None:
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
