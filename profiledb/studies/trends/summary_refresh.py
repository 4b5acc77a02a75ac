"""Keep the summaries of a library's reports up to date, in the worker and wherever a missing one is needed."""

import json
import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict

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
from profiledb.studies.trends.team_summary_store import open_summaries

_log = logging.getLogger("warpdeck")
Times = Mapping[str, Mapping[str, int]]
"""Times of files in ns since 1970, by report id and file name (``Library.file_times``)."""


def refresh(library: Library) -> int:
    """Make missing and outdated summaries and forget those of deleted reports; return the number made.

    Retired reports keep theirs, which the catalog has, too.

    A report that cannot be asked is left out, and tried again next time. Needs a visitor who sees all reports: it would
    forget the summaries of hidden ones.
    """
    library.catalog.visibility.require_all()
    store, reports = open_summaries(library), _select_summarizable(library.list())
    known = store.stamps()
    if not store.exists:
        store.make()
    retired = library.catalog.removals.retired().keys()
    if gone := known.keys() - {report.id for report in reports} - retired:
        store.forget(gone)
    for report_id in retired - known.keys():
        if summary := parse_summary(library.catalog.removals.summary(report_id) or ""):
            store.put(*summary)
    times = library.file_times()
    return sum(_make_summary(library, store, report) for report in reports if _is_due(library, report, known, times))


def refresh_missing(library: Library) -> None:
    """Make the summaries of reports that have none: unlike ``refresh``, it looks at no report that has one.

    Needs a visitor who sees all reports.
    """
    library.catalog.visibility.require_all()
    store = open_summaries(library)
    for report in _select_summarizable(library.catalog.listing.get(store.missing(library.catalog)).values()):
        _make_summary(library, store, report)


def refresh_reports(library: Library, reports: Iterable[Manifest], *, skip_broken: bool = False) -> int:
    """Make missing and outdated summaries of some reports; return the number made.

    Raises:
        WarpdeckError: a report cannot be asked, unless ``skip_broken``.
    """
    store, asked = open_summaries(library), _select_summarizable(reports)
    known = store.stamps([report.id for report in asked])
    due = [report for report in asked if _is_due(library, report, known)]
    if skip_broken:
        return sum(_make_summary(library, store, report) for report in due)
    for report in due:
        store.put(*_summarize_report(library, report))
    return len(due)


def keep_summary(library: Library, report: Manifest) -> str:
    """Return the remaining facts of a retired report as JSON; empty for a damaged one, or one without a timeline."""
    with suppress(WarpdeckError, duckdb.Error, OSError):
        refresh_reports(library, [report])
    store = open_summaries(library)
    facts = store.facts([report.id]).get(report.id)
    if facts is None:
        return ""
    rows = [asdict(row) for row in store.of([report.id])[report.id]]
    return json.dumps({"facts": asdict(facts), "rows": rows})


def parse_summary(text: str) -> tuple[Facts, str, list[Row]] | None:
    """Return the summary of a retired report with an empty stamp; None if it cannot be read."""
    try:
        content = json.loads(text)
        return Facts(**content["facts"]), "", [Row(**one) for one in content["rows"]]
    except (ValueError, KeyError, TypeError):
        _log.warning("What stays of a retired report cannot be read")
        return None


def _select_summarizable(reports: Iterable[Manifest]) -> list[Manifest]:
    return [report for report in reports if TIMELINE in report.subjects and not report.preparing]


def _is_due(library: Library, report: Manifest, known: dict[str, tuple[int, str]], times: Times | None = None) -> bool:
    return known.get(report.id) != (VERSION, make_stamp(library, report.id, times))


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


def make_stamp(library: Library, report_id: str, times: Times | None = None) -> str:
    """Return a value that changes with the files from which a summary is made.

    ``times`` are those of the files of all reports, which spares a look at each.
    """
    reports, answers = library.reports, library.derived.answers / report_id
    files = [library.path(report_id), *(reports / f"{report_id}{suffix}" for suffix in sidecar.SUFFIX.values())]
    files.append(answers / FINDINGS)
    if times is None:
        stamps = [library.stamp(path) for path in files]
    else:
        own = times.get(report_id, {})
        stamps = [own.get(path.name, 0) for path in files]
    return " ".join(str(stamp or "") for stamp in stamps)
