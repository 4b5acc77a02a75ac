"""Take recorded reports into the library, and print what holds the program back."""

import contextlib
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from profiledb import terminal
from profiledb.config import Settings
from profiledb.errors import WarpdeckError
from profiledb.words import counted, visible

if TYPE_CHECKING:
    from profiledb.findings.finding import Finding
    from profiledb.library.catalog import Manifest
    from profiledb.library.library import Library
    from profiledb.library.server_file import Serving

MOST = 5
"""Findings that are printed."""
MOST_WARNINGS = 3
_WARNING_CHARS = 300


def answer(reports: Sequence[Path], settings: Settings, *, show: bool) -> "list[Manifest]":
    """Take reports in, print findings and address, and return the reports of the library.

    All goes to standard error, because standard output is the program's.

    Args:
        reports: files of the ranks in order, or one file.
        settings: library and inbox.
        show: whether a server follows that prints the address.

    Raises:
        WarpdeckError: a report cannot be taken in.
    """
    with contextlib.redirect_stdout(sys.stderr):
        return _print_answers(reports, settings, show=show)


def _print_answers(reports: Sequence[Path], settings: Settings, *, show: bool) -> "list[Manifest]":
    from profiledb.library.locations import open_library
    from warpdeck import server_process

    serving = server_process.find_server(settings)
    library = open_library(settings)
    manifests = take_in(reports, settings, library, serving)
    if not manifests:
        return []
    print_findings(library, manifests[0], len(manifests))
    for path in reports:
        terminal.say(f"Report: {path}")
    if serving:
        from warpdeck import browser

        terminal.say(f"Page: {browser.make_link(serving, manifests[0])}")
    elif not show:
        terminal.say(f"Page: warpdeck open {shlex.quote(str(reports[0]))}")
    if len(manifests) > 1:
        ids = " ".join(one.id for one in manifests)
        terminal.say(f"Ranks: warpdeck scaling {ids}")
    return manifests


def serve(report: Path, settings: Settings) -> None:
    """Open the page of a report in the browser; serve until Ctrl-C where no server runs."""
    from warpdeck import open_command

    open_command.open_files([report], settings)


def take_in(
    reports: Sequence[Path], settings: Settings, library: "Library", serving: "Serving | None"
) -> "list[Manifest]":
    """Return the reports of the library; the message of one that fails goes to standard error."""
    from profiledb.library import worker_lock
    from warpdeck import import_progress, inbox_copy, open_command, server_process

    inbox = open_command.choose_inbox(settings, serving)
    with import_progress.show_steps() as progress:
        copied = [inbox_copy.copy_source(path, library, inbox) for path in reports]
        if not (serving or settings.database or worker_lock.is_library_locked(settings.library)):
            server_process.convert_once(settings)
        results = list(import_progress.follow_files(library, copied, progress, open_command.make_check(settings, None)))
    for result in results:
        if result.report_id is None:
            terminal.say(result.message, sys.stderr)
    by_file = {result.file: result.report_id for result in results}
    return [library.find(report_id) for one in copied if (report_id := by_file.get(one))]


def print_findings(library: "Library", report: "Manifest", ranks: int = 1) -> None:
    """Print the first findings of a report, of rank 0 where it is one of several; an error is a line."""
    from profiledb import config
    from profiledb.findings import judge, rulebook, sentences
    from profiledb.studies.summary import document

    params = document.get_page_params(library, report, {})
    try:
        part = judge.find_steady_part(library, report, params)
        findings = judge.judge(library, report, params, rulebook.load(config.load().rules).values(), part)
    except WarpdeckError as error:
        terminal.say(terminal.describe_error(error), sys.stderr)
        return
    fires = [one for one in findings if one.verdict == "fires" and one.parent is None]
    whose = " of rank 0" if ranks > 1 else ""
    terminal.say(f"{counted(len(fires), 'finding')}{whose}:" if fires else f"No finding{whose}: no rule fires.")
    for number, one in enumerate(fires[:MOST], 1):
        _print_finding(number, one)
    if len(fires) > MOST:
        terminal.say(f"  {len(fires) - MOST} more: warpdeck findings {report.id}")
    for line in _list_warnings(library, report):
        terminal.say(f"The profiler says: {line}")
    lacking = list(dict.fromkeys(one.why for one in findings if one.verdict == "cannot_judge" and one.why))
    if part is not None:
        terminal.say(sentences.describe_judged(part))
    if lacking and not fires:
        terminal.say(f"Not judged: {' '.join(lacking[:3])}")


def _list_warnings(library: "Library", report: "Manifest") -> list[str]:
    """Return the profiler's warnings if no kernel was recorded, such as an unknown driver."""
    from profiledb.query import analysis

    if report.rows.get("kernel"):
        return []
    rows = analysis.run(library, report.id, "diagnostics")
    loud = rows[rows["severity"].isin(["error", "warning"]) & (rows["source"] != "warpdeck")]
    return [visible(text)[:_WARNING_CHARS] for text in loud["text"].head(MOST_WARNINGS)]


def _print_finding(number: int, finding: "Finding") -> None:
    from profiledb.findings import sentences

    saves = sentences.describe_saving(finding)
    line = f"  {number}. {finding.rule.title} ({finding.severity}): {sentences.strip_sentence(finding)}"
    terminal.say(f"{line} {saves}." if saves else line)
    for line in sentences.strip_advice(finding)[:2]:
        terminal.say(f"     - {line}")
