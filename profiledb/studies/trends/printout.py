"""Print a check as Markdown for a pull request, as JSON, and as JUnit. Names from reports are formatted as code."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

from profiledb import words
from profiledb.errors import AnalysisError
from profiledb.studies.compare.verdict import format_difference, format_percent_change
from profiledb.studies.trends.drift import SIDE, Drift
from profiledb.studies.trends.explanation import Explanation, Part
from profiledb.studies.trends.gate import CheckResult, Judged
from profiledb.studies.trends.measures import PARTS, Measure
from profiledb.studies.trends.series import Point
from profiledb.studies.trends.series_changes import describe_program_differences
from profiledb.studies.trends.series_lines import MAIN

Form = Literal["md", "json", "junit"]
TOP = 5
"""Number of parts of a kind that are named."""
_WORDS: dict[str, Callable[[Any], str]] = {
    "ns": words.duration, "bytes": words.bytes_, "%": words.percent, "count": words.significant,
    "J": lambda value: f"{words.significant(value)} J",
}  # fmt: skip
_MARK = {"worse": "worse", "better": "better", "same": "as before"}


def format_check(checked: CheckResult, form: Form, url: str = "") -> str:
    """Return a check as text.

    Args:
        checked: its result.
        form: the format.
        url: address of the dashboard for links; empty for no links.

    Raises:
        AnalysisError: the address is invalid.
    """
    links = _build_links(checked, check_address(url)) if url else {}
    made = {"md": _format_markdown, "json": _format_json, "junit": _format_junit}
    return made[form](checked, links)


def check_address(url: str) -> str:
    """Return an address of a dashboard without its last slash. Raises AnalysisError if it is none."""
    if not (url.startswith(("http://", "https://")) and url.isprintable() and not set(url) & set(" <>()\"'")):
        raise AnalysisError(f"{url[:80]!r} is no address of a dashboard.", hint="It is like http://host:8501")
    return url.rstrip("/")


def format_value(measure: Measure, number: float) -> str:
    """Format a figure with its unit."""
    return _WORDS[measure.unit](number)


def format_change(before: float, after: float) -> str:
    """Format a change in percent, or in words if it starts from zero."""
    return format_percent_change(100 * (after / before - 1)) if before else "from none" if after else "±0.0 %"


def _build_links(checked: CheckResult, url: str) -> dict[str, str]:
    links = {"report": f"{url}/summary?{urlencode({'report': checked.report.id})}"}
    if checked.before:
        links["compare"] = f"{url}/compare?{urlencode({'report': checked.before.id, 'other': checked.report.id})}"
    if checked.series:
        links["series"] = f"{url}/trends?{urlencode({'series': checked.series.key})}"
    return links


def _format_markdown(checked: CheckResult, links: dict[str, str]) -> str:
    name = words.code(checked.report.facts.name)
    sections = [f"### Warpdeck: {_write_headline(checked)}", f"{name}{_describe_base(checked)}"]
    if checked.judged:
        sections.append(format_judged(checked.judged))
    sections += [_format_drift(one, checked.report) for one in checked.drifts]
    if checked.held:
        lines = [
            f"| {words.code(one.name, cell=True)} | {words.significant(one.value)} | {words.significant(one.most)} |"
            f" {'within' if one.holds else 'above (fails)'} |"
            for one in checked.held
        ]
        sections.append("\n".join(["| Budget | Now | At most | |\n| --- | --- | --- | --- |", *lines]))
    if checked.explained:
        sections.append(_format_explanation(checked.explained))
    if checked.before and (differences := describe_program_differences(checked.before, checked.report)):
        sections.append("The program says: " + ", ".join(map(words.code, differences[:8])) + ".")
    titles = {"report": "Report", "compare": "Compare both", "series": "Its series"}
    if links:
        sections.append(" · ".join(f"[{titles[kind]}]({link})" for kind, link in links.items()))
    return "\n\n".join(sections) + "\n"


def format_judged(judged: Sequence[Judged]) -> str:
    """Return a table of measures as Markdown."""
    lines = [
        f"| {'**' * one.counts}{one.measure.title}{'**' * one.counts} | {format_value(one.measure, one.before)} |"
        f" {format_value(one.measure, one.after)} | {format_change(one.before, one.after)}"
        f" | {format_value(one.measure, one.limit)} |"
        f" {_MARK[one.verdict]}{' (fails)' * one.fails} |"
        for one in judged
    ]
    head = "| Measure | Before | Now | Change | Allowed | |\n| --- | --- | --- | --- | --- | --- |"
    return "\n".join([head, *lines])


def list_failures(judged: Sequence[Judged]) -> list[str]:
    """Name the measures that close the gate, with their change."""
    return [f"{one.measure.title.lower()} {format_change(one.before, one.after)}" for one in judged if one.fails]


def _write_headline(checked: CheckResult) -> str:
    fails = list_failures(checked.judged)
    fails += [
        f"{one.measure.title.lower()} drifts, {format_change(one.base, one.now)} since {_format_since(one)}"
        for one in checked.drifts
        if one.counts
    ]
    fails += [f"above budget: {words.code(one.name)}" for one in checked.held if not one.holds]
    if fails:
        return ", ".join(fails)
    return "within all limits" if checked.judged or checked.held else "nothing to check"


def _describe_base(checked: CheckResult) -> str:
    if not checked.judged or checked.before is None:
        return ", held against budgets alone."
    count = checked.judged[0].reports
    basis = f"the median of {count} reports of " if count > 1 else ""
    like = f"; {words.code(checked.before.facts.name)} stands for them" if count > 1 else ""
    return f" against {basis}{words.code(checked.against)}{like}.{_format_other_gpus(checked)}"


def _format_other_gpus(checked: CheckResult) -> str:
    """State that the series has reports on other GPUs."""
    count = sum(checked.elsewhere.values())
    if not count:
        return ""
    gpus = ", ".join(map(words.code, checked.elsewhere))
    return f" Not compared: {words.counted(count, 'earlier report')} of the series on another GPU ({gpus})."


def _format_drift(one: Drift, new: Point) -> str:
    """State the drift, its start, and how to reopen the gate."""
    measure = "" if one.measure.name == MAIN else f" --measure {one.measure.name}"
    return (
        f"**{one.measure.title} drifts{' (fails)' * one.counts}**:"
        f" {format_change(one.base, one.now)} since {_format_since(one)}"
        f" ({words.code(one.since.facts.name)}). The median of the first {SIDE} reports of this level is"
        f" {format_value(one.measure, one.base)}, that of the last {SIDE} {format_value(one.measure, one.now)};"
        f" {format_value(one.measure, one.limit)} more is allowed."
        f" To accept it: `warpdeck series --accept {new.id}{measure}`."
    )


def _format_since(one: Drift) -> str:
    return f"{one.since.at:%Y-%m-%d}"


def _format_explanation(explanation: Explanation) -> str:
    """List the parts of the change of step time, each list adding up to its whole."""
    lines = [f"Step time {format_difference(explanation.wall.change)}: {_list_parts(explanation.work)}."]
    if explanation.kernels and explanation.kernels.change:
        for kind, parts in explanation.by.items():
            kernel_time = format_difference(explanation.kernels.change)
            lines.append(f"- Kernel time {kernel_time} by {PARTS[kind].lower()}: {_list_parts(parts)}")
    return "\n".join(lines)


def _list_parts(parts: Sequence[Part]) -> str:
    named_parts, rest = parts[:TOP], parts[TOP:]
    phrases = [
        f"{words.code(words.shortened(one.title, 80)) if one.name else one.title} {format_difference(one.change)}"
        for one in named_parts
    ]
    return ", ".join(phrases + ([f"others {format_difference(sum(one.change for one in rest))}"] if rest else []))


def _format_json(checked: CheckResult, links: dict[str, str]) -> str:
    content = {
        "report": checked.report.id,
        "name": checked.report.facts.name,
        "series": checked.series.name if checked.series else None,
        "against": checked.against or None,
        "before": checked.before.id if checked.before else None,
        "fails": checked.fails,
        "measures": [describe_judged(one) | {"reports": one.reports} for one in checked.judged],
        "drifts": [
            {
                "measure": one.measure.name, "unit": one.measure.unit, "base": one.base, "now": one.now,
                "limit": one.limit, "since": one.since.id, "since_at": one.since.at.isoformat(), "fails": one.counts,
            }
            for one in checked.drifts
        ],
        "other_gpus": dict(checked.elsewhere),
        "budgets": [
            {"budget": one.name, "value": one.value, "most": one.most, "holds": one.holds} for one in checked.held
        ],
        "explained": _describe_parts(checked.explained),
        "links": links,
    }  # fmt: skip
    return json.dumps(content, indent=1) + "\n"


def describe_judged(one: Judged) -> dict[str, Any]:
    """Return a measure as plain data."""
    return {
        "measure": one.measure.name, "unit": one.measure.unit, "before": one.before, "after": one.after,
        "limit": one.limit, "verdict": one.verdict, "counts": one.counts, "fails": one.fails,
    }  # fmt: skip


def _describe_parts(explanation: Explanation | None) -> dict[str, Any] | None:
    if explanation is None:
        return None
    lists = {"work": explanation.work, **explanation.by}
    return {
        "wall_change_ns": explanation.wall.change,
        "kernel_change_ns": explanation.kernels.change if explanation.kernels else None,
        **{
            kind: [
                {"title": one.title, "name": one.name, "before_ns": one.before, "after_ns": one.after} for one in parts
            ]
            for kind, parts in lists.items()
        },
    }


def _format_junit(checked: CheckResult, links: dict[str, str]) -> str:
    """Return one test per measure that closes the gate, and one per budget."""
    suite = ET.Element("testsuite", name="warpdeck")
    add_judged(suite, checked.judged)
    for drift in (one for one in checked.drifts if one.counts):
        _add_case(
            suite, f"{drift.measure.title}, drift", _format_drift(drift, checked.report).replace("*", ""), fails=True
        )
    for held in checked.held:
        text = f"{words.significant(held.value)} of at most {words.significant(held.most)}"
        _add_case(suite, words.visible(held.name), text, fails=not held.holds)
    return write_suite(suite, links.values())


def add_judged(suite: ET.Element, judged: Sequence[Judged]) -> None:
    """Add a test per measure that counts."""
    for one in (one for one in judged if one.counts):
        text = (
            f"{format_value(one.measure, one.before)} -> {format_value(one.measure, one.after)}"
            f" ({format_change(one.before, one.after)}),"
            f" allowed {format_value(one.measure, one.limit)}"
        )
        _add_case(suite, one.measure.title, text, fails=one.fails)


def write_suite(suite: ET.Element, links: Iterable[str]) -> str:
    """Count the tests and return the suite as text."""
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in suite)))
    if output := "\n".join(links):
        ET.SubElement(suite, "system-out").text = output
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _add_case(suite: ET.Element, name: str, text: str, *, fails: bool) -> None:
    case = ET.SubElement(suite, "testcase", classname="warpdeck", name=name)
    if fails:
        ET.SubElement(case, "failure", message=text)
    else:
        ET.SubElement(case, "system-out").text = text
