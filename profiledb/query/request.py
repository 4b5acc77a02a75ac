"""What an analysis is asked: everything that its answer goes by, for pages, command line and exports alike."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from profiledb import config
from profiledb.library.library import Library
from profiledb.query import header, views
from profiledb.query.header import Analysis
from profiledb.selection import model
from profiledb.selection.model import Selection


@dataclass(frozen=True)
class Request:
    """An analysis of a part of a report.

    ``values`` are what its SQL takes, the defaults included; ``partner`` names the report that it joins, None where it
    joins none, or none is linked.
    """

    report_id: str
    analysis: Analysis
    values: Mapping[str, Any]
    selection: Selection
    partner: str | None

    @property
    def includes(self) -> tuple[str, ...]:
        """The files of views that its answer builds on: those of the analysis, and where it keeps units, of ranges."""
        return (*self.analysis.includes, *(["ranges"] if self.selection.within != "all" else []))

    @property
    def plain(self) -> bool:
        """Whether it asks for the whole report with all parameters at their defaults, as stored answers do."""
        return self.selection == Selection(mode=self.analysis.mode) and self.values == header.bind(self.analysis, {})

    def key(self, library: Library) -> tuple[Any, ...]:
        """What differs wherever answers may differ: those of ``stamps``, and what is asked."""
        known = stamps(library, self.report_id, self.partner, by_phases=self.analysis.by_phases)
        if self.partner and self.analysis.joins == "trace":
            known = (*known, library.stamp(library.pairs_path(self.report_id, self.partner)))
        asked = (self.report_id, self.partner, self.selection, tuple(sorted(self.values.items())))
        return library.folder, fingerprint(self.analysis), asked, known


def build(library: Library, report_id: str, name: str, params: Mapping[str, Any] | None = None) -> Request:
    """The request of an analysis with these parameters, its own and those of a selection.

    A mode that changes nothing is left out: one answer for both.

    Raises:
        AnalysisError: the analysis or a parameter does not exist, or a value is not one of its choices.
    """
    library.fetch(report_id)
    analysis, given = header.get(name), dict(params or {})
    part = {key: given.pop(key) for key in tuple(given) if analysis.by_part and key in model.HELP}
    selection = model.parse(part, analysis.mode)
    if not selection.ranges and selection.within == "all" and not analysis.by_mode:
        selection = replace(selection, mode=analysis.mode)
    values = header.bind(analysis, given)
    partner = values.pop("ncu") if analysis.joins == "ncu" else None
    if analysis.joins and not partner:
        partner = library.linked_report(report_id, analysis.joins)
    if partner:
        library.fetch(partner)
    return Request(report_id, analysis, values, selection, partner)


@cache
def fingerprint(analysis: Analysis) -> str:
    """What changes with the SQL of an analysis, or with a view that it builds on."""
    return hashlib.sha256(f"{views.sql(analysis.includes)}{analysis.sql}".encode()).hexdigest()[:16]


def stamps(library: Library, report_id: str, partner: str | None = None, *, by_phases: bool = True) -> tuple[int, ...]:
    """What changes with the files that answers about a report go by.

    A report's file never changes; its time counts because a report can be deleted and taken in again. So do those of
    its sidecars, which may be replaced, of the report that it is linked to, and of a user's own phases.
    """
    reports = [library.path(one) for one in (report_id, partner) if one]
    own = config.load().phases if by_phases else None
    found = [library.stamp(file) for file in (*reports, *library.sidecar_paths(report_id))]
    return (*found, *([stamp(own)] if own else []))


def stamp(path: Path) -> int:
    """What changes with a file: the time of its last change in ns, 0 where there is none."""
    return path.stat().st_mtime_ns if path.exists() else 0
