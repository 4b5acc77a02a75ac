"""Keeps the summaries of a library's reports up to date: by the worker, and by whoever needs one that is missing."""

import logging
from collections.abc import Iterable

import duckdb

from profiledb.errors import WarpdeckError
from profiledb.library.catalog import TIMELINE, Manifest
from profiledb.library.derived_files import FINDINGS
from profiledb.library.library import Library
from profiledb.report import sidecar
from profiledb.studies.trends import measures
from profiledb.studies.trends.summary_store import VERSION, Facts, Row, Summaries
from profiledb.studies.trends.team_summary_store import summaries_of

_log = logging.getLogger("warpdeck")


def refresh(library: Library) -> int:
    """Makes the summaries that are missing or out of date, forgets those of reports that are gone; how many it made.

    A report that cannot be asked is left out, and tried again at the next time. Only of a whole library: of what
    somebody does not see it would forget the summaries.
    """
    library.catalog.sight.require_whole()
    kept, reports = summaries_of(library), _summarized(library.list())
    known = kept.stamps()
    if not kept.exists:
        kept.make()
    if gone := known.keys() - {report.id for report in reports}:
        kept.forget(gone)
    there = library.there()
    return sum(_made(library, kept, report) for report in reports if _due(library, report, known, there))


def ensure(library: Library, reports: Iterable[Manifest]) -> None:
    """Makes the summaries of some reports where they are missing or out of date.

    Raises:
        WarpdeckError: one of them cannot be asked.
    """
    kept = summaries_of(library)
    known = kept.stamps()
    for report in _summarized(reports):
        if _due(library, report, known):
            kept.put(*_summary(library, report))


def waiting(library: Library, reports: Iterable[Manifest]) -> int:
    """How many of some reports have no summary yet."""
    known = summaries_of(library).stamps()
    return sum(known.get(report.id, (0, ""))[0] != VERSION for report in _summarized(reports))


def _summarized(reports: Iterable[Manifest]) -> list[Manifest]:
    return [report for report in reports if TIMELINE in report.subjects]


def _due(
    library: Library, report: Manifest, known: dict[str, tuple[int, str]], there: frozenset[str] | None = None
) -> bool:
    return known.get(report.id) != (VERSION, stamp(library, report.id, there))


def _made(library: Library, kept: Summaries, report: Manifest) -> bool:
    try:
        kept.put(*_summary(library, report))
    except (WarpdeckError, duckdb.Error, OSError):
        _log.warning("No summary of %s could be made", report.name, exc_info=True)
        return False
    return True


def _summary(library: Library, report: Manifest) -> tuple[Facts, str, list[Row]]:
    before = stamp(library, report.id)  # what changes meanwhile is looked at again
    facts, rows = measures.summarize(library, report)
    return facts, before, rows


def stamp(library: Library, report_id: str, there: frozenset[str] | None = None) -> str:
    """What changes with the files that a summary is made from.

    ``there`` names what is in the folder of reports: of tens of thousands most have no file beside them.
    """
    names = (library.path(report_id).name, *(f"{report_id}{suffix}" for suffix in sidecar.SUFFIX.values()))
    beside = (f"{library.reports}/{name}" if there is None or name in there else "" for name in names)
    files = (*beside, f"{library.derived.answers}/{report_id}/{FINDINGS}")
    return " ".join(str(library.stamp(path) or "") if path else "" for path in files)
