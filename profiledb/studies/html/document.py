"""The HTML file: what to do first, where the time goes, the findings, then the tables of the summary, on a few screens.

Summary and findings are the Markdown of other commands, so that no figure has a second source. The file has no scripts,
and its own policy allows none: any name is text.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from profiledb import words
from profiledb.errors import NotCapturedError
from profiledb.findings import judge, sentences
from profiledb.findings.finding import Finding
from profiledb.library.catalog import TIMELINE, Manifest
from profiledb.library.library import Library
from profiledb.studies.html import charts, markdown
from profiledb.studies.summary import document, paths, top_findings
from profiledb.studies.summary.answers import Answers

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""Content policy of the file: it may load nothing and contains its styles."""
MOST_WORDS = 1200
"""Sections that would make the file longer than this are left out; the dashboard has them."""
MOST_FINDINGS = 5
SHORT, FINDINGS, LACKS = "In short", "Findings", "Not in this capture"
"""Headings of sections of the summary."""


def write_page(
    library: Library, report: Manifest, params: Mapping[str, Any], *, startup: bool = False, address: str = ""
) -> str:
    """Return the file of a report, for the selection ``params``; ``startup`` as in ``summary.document.text``.

    ``address`` is that of a dashboard, to whose page of the report the file then links.

    Raises:
        AnalysisError: the parameters are not those of a selection, or the report has no such range.
        ReportNotFoundError: the report is gone.
    """
    part = None if startup else judge.find_steady_part(library, report, params)
    answers = Answers(library, report, params, part)
    about, *sections = document.write_summary(library, report, params, startup=startup).split("\n## ")
    name = escape(words.visible(report.name))
    findings = answers.findings
    first = sentences.do_first(findings, None if part else report.duration_ns)
    nothing = f"**{sentences.explain_nothing(findings)}**"
    why = paths.explain(answers.rows) if paths.has_sums_only(report) else nothing
    by_heading = {section.partition("\n")[0]: section for section in sections}
    replaced = {FINDINGS, LACKS, *([SHORT] if judge.select_worthwhile(findings) else [])}
    details = about.partition("\n")[2]
    body = _fit_parts(
        [
            f"<h1>{name}</h1>",
            markdown.to_html(f"**Do first:** {first}" if first else why),
            _write_link(address, report) if address else "",
            markdown.to_html(_format_findings(findings)),
            _draw_charts(answers),
            markdown.to_html(f"## Details\n{details}"),
        ],
        [markdown.to_html(f"## {section}") for heading, section in by_heading.items() if heading not in replaced],
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name} · Warpdeck</title>\n<style>\n{_read_style()}</style>\n</head>\n<body>\n"
        f"<header>Warpdeck</header>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _write_link(dashboard: str, report: Manifest) -> str:
    page = "summary" if TIMELINE in report.subjects else "kernel_profiles"
    address = f"{dashboard.rstrip('/')}/{page}?report={report.id}"
    return f'<p><a href="{escape(address)}">Open on the dashboard</a></p>'


def _draw_charts(answers: Answers) -> str:
    """Return the charts for which the report has rows."""
    drawn = []
    for chart in charts.CHARTS:
        try:
            drawn += chart(answers)
        except NotCapturedError:
            continue
    return '<h2>Charts</h2>\n<div class="charts">\n' + "\n".join(drawn) + "\n</div>" if drawn else ""


def _format_findings(findings: Sequence[Finding]) -> str:
    """Return the costliest findings with their first advice, and the warnings; Markdown."""
    shown = judge.select_worthwhile(findings)[:MOST_FINDINGS]
    items = [top_findings.format_item(one, shown[:nth]) for nth, one in enumerate(shown)]
    items += [f"- {one}" for one in [sentences.describe_savings(shown, titled=False)] if one]
    items += map(top_findings.format_item, judge.select_warnings(findings))
    return "\n".join(["## Findings", "", *items]) if items else ""


def _fit_parts(always: Sequence[str], more: Sequence[str]) -> str:
    """Join the parts: those of ``always`` but the last, as many of ``more`` as fit, and the last."""
    room = MOST_WORDS - sum(map(_count_words, always))
    fitting = []
    for part in more:
        if (cost := _count_words(part)) <= room:
            room -= cost
            fitting.append(part)
    return "\n".join(part for part in (*always[:-1], *fitting, always[-1]) if part)


def _count_words(text: str) -> int:
    return len(re.sub(r"<[^>]*>", " ", text).split())


@cache
def _read_style() -> str:
    return resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")
