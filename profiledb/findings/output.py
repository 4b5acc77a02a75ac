"""Write findings as JSON and CSV for programs and as Markdown for people."""

import json
from collections.abc import Sequence
from typing import Any

from profiledb import spreadsheet, words
from profiledb.findings import program, sentences
from profiledb.findings.finding import Finding, Together
from profiledb.findings.judge import Steady, get_program, select_below
from profiledb.query import captures

_FLAT = (
    "rule", "title", "verdict", "severity", "sentence", "value", "threshold", "unit", "saving_ns", "saving_pct",
    "own_saving_ns", "parent", "why", "command", "saving_low_ns", "saving_high_ns", "at_most_ns", "change",
)  # fmt: skip


def record(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain data: times in ns, shares in percent, None for unknown values.

    It leaves out the program, which is the same in all findings of a report (program.list_records).
    """
    rule, prediction, together = finding.rule, finding.prediction, finding.together
    return {
        "rule": rule.name,
        "title": rule.title,
        "group": rule.group,
        "verdict": finding.verdict,
        "severity": finding.severity or None,
        "sentence": sentences.strip_sentence(finding),
        "value": finding.value,
        "threshold": finding.threshold,
        "unit": rule.unit,
        "saving_ns": finding.saving_ns,
        "saving_pct": finding.saving_pct,
        "saving_low_ns": prediction.low_ns if prediction else None,
        "saving_high_ns": prediction.high_ns if prediction else None,
        "at_most_ns": finding.at_most_ns,
        "change": prediction.changes[0] if prediction else None,
        "together": _describe_together(together) if together else None,
        "own_saving_ns": finding.own_saving_ns,
        "parent": finding.parent,
        "cause": finding.cause,
        "evidence": [dict(one) for one in finding.evidence],
        "advice": list(sentences.strip_advice(finding)),
        "why": finding.why or None,
        "command": finding.command or None,
        "source": rule.source,
        "version": rule.version,
    }


def _describe_together(together: Together) -> dict[str, Any]:
    prediction = together.prediction
    return {
        "rules": [rule.name for rule in together.rules],
        "changes": list(prediction.changes),
        "saving_ns": prediction.ns,
        "saving_pct": prediction.pct,
        "saving_low_ns": prediction.low_ns,
        "saving_high_ns": prediction.high_ns,
    }


def format_findings(findings: Sequence[Finding], form: str, title: str, part: Steady | None = None) -> str:
    """Return the findings as json, csv or md. The Markdown starts with ``title`` and the part that was judged."""
    if form == "json":
        return format_json(findings)
    return format_csv(findings) if form == "csv" else format_markdown(findings, title, part)


def format_json(findings: Sequence[Finding]) -> str:
    """Return a list of records in order, each with the traits of the program."""
    records = [{**record(one), "program": program.list_records(one.program)} for one in findings]
    return json.dumps(records, indent=1, ensure_ascii=False, default=float)


def format_csv(findings: Sequence[Finding]) -> str:
    """Return one row per finding, without evidence and advice."""
    return spreadsheet.format_csv_lines([_FLAT, *([record(one)[name] for name in _FLAT] for one in findings)])


def format_markdown(findings: Sequence[Finding], title: str, part: Steady | None = None) -> str:
    """Return a document: findings that fire with their advice, then rules not judged, then rules that are clear."""
    fires = [one for one in findings if one.verdict == "fires"]
    open_ = [one for one in findings if one.verdict == "cannot_judge"]
    clear = [one for one in findings if one.verdict == "clear"]
    about = program.describe_program(get_program(findings))
    lines = [f"# Findings: {words.plain(title)}", "", *([f"{about}.", ""] if about else [])]
    lines += [sentences.describe_judged(part), ""] if part else []
    lines += [line for one in fires if one.parent is None for line in _describe_firing(one, select_below(one, fires))]
    lines += [] if fires else ["No rule fires.", ""]
    lines += [f"{together}", ""] if (together := sentences.describe_savings(findings)) else []
    if open_:
        lines += ["## Not judged", "", *(f"- {one.rule.title}: {words.sentence(one.why)}" for one in open_), ""]
        commands = captures.join_commands(one.command for one in open_)
        lines += [line for command in commands for line in (f"Capture with: {words.code(command)}", "")]
    if clear:
        lines += ["## Clear", "", *(f"- {one.rule.title}: {sentences.says(one)}" for one in clear), ""]
    return "\n".join(lines)


def _describe_firing(finding: Finding, under: Sequence[Finding]) -> list[str]:
    saved = sentences.describe_saving(finding)
    bound = f" {saved}." if saved else ""
    advice = [f"- {one}" for one in sentences.fill_advice(finding)]
    also = [f"- In the same time, {one.rule.title}: {sentences.says(one)}" for one in under]
    title = f"## {finding.rule.title} ({finding.severity})"
    return [title, "", f"{sentences.says(finding)}{bound}", "", *advice, *also, ""]
