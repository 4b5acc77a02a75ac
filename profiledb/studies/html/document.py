"""The HTML file: the summary, charts, and all findings with their advice.

Summary and findings are the Markdown of other commands, so that no figure has a second source. The file has no scripts,
and its own policy allows none: any name is text.
"""

from collections.abc import Mapping
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from profiledb import words
from profiledb.errors import NotCapturedError
from profiledb.findings import judge, output
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.studies.html import charts, markdown
from profiledb.studies.summary import document, top_findings
from profiledb.studies.summary.answers import Answers

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""Content policy of the file: it may load nothing and contains its styles."""


def write_page(library: Library, report: Manifest, params: Mapping[str, Any], *, startup: bool = False) -> str:
    """Return the file of a report, for the selection ``params``; ``startup`` as in ``summary.document.text``.

    Raises:
        AnalysisError: the parameters are not those of a selection, or the report has no such range.
        ReportNotFoundError: the report is gone.
    """
    part = None if startup else judge.steady_part(library, report, params)
    answers = Answers(library, report, params, part)
    about, *sections = document.write_summary(library, report, params, startup=startup).split("\n## ")
    name = escape(words.visible(report.name))
    parts = [
        markdown.to_html("\n## ".join([about, *sections[:1]])),
        _draw_charts(answers),
        *(markdown.to_html(f"## {section}") for section in sections[1:]),
        _format_findings(answers),
    ]
    body = "\n".join(part for part in parts if part)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name} · Warpdeck</title>\n<style>\n{_style()}</style>\n</head>\n<body>\n"
        f"<header>Warpdeck</header>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _draw_charts(answers: Answers) -> str:
    """Return the charts for which the report has rows."""
    drawn = []
    for chart in charts.CHARTS:
        try:
            drawn += chart(answers)
        except NotCapturedError:
            continue
    return '<h2>Charts</h2>\n<div class="charts">\n' + "\n".join(drawn) + "\n</div>" if drawn else ""


def _format_findings(answers: Answers) -> str:
    """Return all rules: findings with advice, those that cannot be judged, and clear ones."""
    text = output.as_markdown(top_findings.judged(answers), answers.report.name).partition("\n")[2]
    return "<h2>All findings</h2>\n" + markdown.to_html(text.replace("\n## ", "\n### "))


@cache
def _style() -> str:
    return resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")
