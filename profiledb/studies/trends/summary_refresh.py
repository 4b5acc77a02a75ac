"""Keep the summaries of a library's reports up to date, in the worker and wherever a missing one is needed."""

import logging
from collections.abc import Iterable

import duckdb

from profiledb.errors import WarpdeckError
from profiledb.library.catalog import TIMELINE, Manifest
from profiledb.library.library import Library
from profiledb.report import sidecar
from profiledb.report.derived_files import FINDINGS
from profiledb.studies.runs import rank_summary
from profiledb.studies.runs.rank_summary import RankSummary
from profiledb.studies.trends import measures
from profiledb.studies.trends.summary_store import VERSION, Facts, Row, Summaries
from profiledb.studies.trends.team_summary_store import summaries_of

_log = logging.getLogger("warpdeck")


def refresh(library: Library) -> int:
    """Make missing and outdated summaries and forget those of deleted reports; return the number made.

    A report that cannot be asked is left out, and tried again next time. Needs a visitor who sees all reports: it would
    forget the summaries of hidden ones.
    """
    library.catalog.visibility.require_all()
    store, reports = summaries_of(library), _select_summarizable(library.list())
    known = store.stamps()
    if not store.exists:
        store.make()
    if gone := known.keys() - {report.id for report in reports}:
        store.forget(gone)
    there = library.file_names()
    return sum(_make_summary(library, store, report) for report in reports if _is_due(library, report, known, there))


def refresh_reports(library: Library, reports: Iterable[Manifest]) -> None:
    """Make missing and outdated summaries of some reports.

    Raises:
        WarpdeckError: a report cannot be asked.
    """
    store = summaries_of(library)
    known = store.stamps()
    for report in _select_summarizable(reports):
        if _is_due(library, report, known):
            store.put(*_summarize_report(library, report))


def _select_summarizable(reports: Iterable[Manifest]) -> list[Manifest]:
    return [report for report in reports if TIMELINE in report.subjects]


def _is_due(
    library: Library, report: Manifest, known: dict[str, tuple[int, str]], there: frozenset[str] | None = None
) -> bool:
    return known.get(report.id) != (VERSION, make_stamp(library, report.id, there))


def _make_summary(library: Library, store: Summaries, report: Manifest) -> bool:
    try:
        store.put(*_summarize_report(library, report))
    except (WarpdeckError, duckdb.Error, OSError):
        _log.warning("No summary of %s could be made", report.name, exc_info=True)
        return False
    return True


def _summarize_report(library: Library, report: Manifest) -> tuple[Facts, str, list[Row], list[RankSummary]]:
    before = make_stamp(library, report.id)  # a change during the summary makes it outdated
    facts, rows = measures.summarize(library, report)
    return facts, before, rows, rank_summary.summarize(library, report)


def make_stamp(library: Library, report_id: str, there: frozenset[str] | None = None) -> str:
    """Return a value that changes with the files from which a summary is made.

    ``there`` has the names in the folder of reports: most of tens of thousands have no sidecar.
    """
    names = (library.path(report_id).name, *(f"{report_id}{suffix}" for suffix in sidecar.SUFFIX.values()))
    paths = (f"{library.reports}/{name}" if there is None or name in there else "" for name in names)
    files = (*paths, f"{library.derived.answers}/{report_id}/{FINDINGS}")
    return " ".join(str(library.stamp(path) or "") if path else "" for path in files)
