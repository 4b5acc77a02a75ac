"""What an analysis is asked: everything that its answer goes by, for pages, command line and exports alike."""

import hashlib
from collections.abc import Hashable, Mapping
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

Key = tuple[Hashable, ...]
"""The key of a value that is worked out from a report (``key``)."""


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

    def key(self, library: Library) -> Key:
        """Return the key of the answer."""
        partners: dict[str, str] = {self.analysis.joins or "ncu": self.partner} if self.partner else {}
        asked = (self.selection, tuple(sorted(self.values.items())))
        version, by_phases = fingerprint(self.analysis), self.analysis.by_phases
        return key(library, self.report_id, version, asked, partners, by_phases=by_phases)


def key(
    library: Library,
    report_id: str,
    version: str,
    asked: Hashable,
    partners: Mapping[str, str],
    *,
    by_phases: bool = True,
) -> Key:
    """Return a key that differs wherever a value that is worked out from a report may differ.

    A report's file never changes; its time counts because a report can be deleted and taken in again. So do the times
    of its sidecars, which may be replaced, of the reports that it is linked to, and of a user's own phases.

    Args:
        library: the library of the report.
        report_id: the report.
        version: what is worked out, and the text of the SQL or the rules that do it.
        asked: the selection and the parameters.
        partners: ids of the linked reports that the value is worked out from as well, by kind of link.
        by_phases: whether the phases of a user's file are part of it.
    """
    linked = tuple(sorted(partners.items()))
    files = [library.path(one) for one in (report_id, *partners.values())]
    if trace := partners.get("trace"):
        files.append(library.pairs_path(report_id, trace))
    stamps = [library.stamp(file) for file in (*files, *library.sidecar_paths(report_id))]
    own = config.load().phases if by_phases else None
    phases = (str(own), stamp(own)) if own else ()
    return library.folder, version, report_id, linked, asked, tuple(stamps), phases


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


def stamp(path: Path) -> int:
    """What changes with a file: the time of its last change in ns, 0 where there is none."""
    return path.stat().st_mtime_ns if path.exists() else 0
