"""Requests: everything that an answer depends on, for pages, command line and exports alike."""

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
"""The cache key of a value derived from a report (``key``)."""


@dataclass(frozen=True)
class Request:
    """A request to run an analysis on a part of a report.

    ``values`` are the parameters of its SQL, defaults included. ``partner`` names the report that it joins; None if it
    joins none or none is linked.
    """

    report_id: str
    analysis: Analysis
    values: Mapping[str, Any]
    selection: Selection
    partner: str | None

    @property
    def includes(self) -> tuple[str, ...]:
        """Return the view files of the analysis, plus ``ranges`` if the selection keeps only units inside ranges."""
        return (*self.analysis.includes, *(["ranges"] if self.selection.within != "all" else []))

    def key(self, library: Library) -> Key:
        partners: dict[str, str] = {self.analysis.joins or "ncu": self.partner} if self.partner else {}
        asked = (self.selection, tuple(sorted(self.values.items())))
        version, by_phases = hash_analysis(self.analysis), self.analysis.by_phases
        return make_key(library, self.report_id, version, asked, partners, by_phases=by_phases)


def make_key(
    library: Library,
    report_id: str,
    version: str,
    asked: Hashable,
    partners: Mapping[str, str],
    *,
    by_phases: bool = True,
) -> Key:
    """Return a key that differs whenever a value derived from a report could differ.

    A report's file never changes, but its modification time counts because a report can be deleted and imported again.
    The key also covers the modification times of its sidecars, which may be replaced, of linked reports, and of the
    user's own phases file.

    Args:
        library: the library of the report.
        report_id: the report.
        version: identifies the computation, with the text of its SQL or rules.
        asked: the selection and the parameters.
        partners: ids of the linked reports that the value also depends on, by kind of link.
        by_phases: whether the value depends on the phases of the user's file.
    """
    linked = tuple(sorted(partners.items()))
    files = [library.path(one) for one in (report_id, *partners.values())]
    if trace := partners.get("trace"):
        files.append(library.pairs_path(report_id, trace))
    stamps = [library.stamp(file) for file in (*files, *library.sidecar_paths(report_id))]
    own = config.load().phases if by_phases else None
    phases = (str(own), read_modified_ns(own)) if own else ()
    return library.folder, version, report_id, linked, asked, tuple(stamps), phases


def build(library: Library, report_id: str, name: str, params: Mapping[str, Any] | None = None) -> Request:
    """Build the request for an analysis from its own parameters and those of a selection.

    Resets a mode that does not affect the answer to the default, so that both requests share one answer.

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
def hash_analysis(analysis: Analysis) -> str:
    """Return a hash of the SQL of an analysis and of the views that it builds on."""
    return hashlib.sha256(f"{views.build_sql(analysis.includes)}{analysis.sql}".encode()).hexdigest()[:16]


def read_modified_ns(path: Path) -> int:
    """Return the modification time of a file in ns, or 0 if it does not exist."""
    return path.stat().st_mtime_ns if path.exists() else 0
