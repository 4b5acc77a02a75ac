"""The findings that cost most, as the dashboard begins its Summary with them, and the warnings.

That the GPU is idle is said before them (headline.py), so that of its finding there is only the advice.
"""

from collections.abc import Iterable

from profiledb import config
from profiledb.findings import judge, rulebook, sentences
from profiledb.findings.finding import Finding
from profiledb.studies.summary.answers import Answers

MOST = 3
IDLE = "gpu_idle"


def judged(answers: Answers) -> list[Finding]:
    """What the rules say of the report and its selection, the costliest first."""
    rules = rulebook.load(config.load().rules)
    return judge.judge(answers.library, answers.report, answers.params, rules.values(), answers.part)


def section(answers: Answers) -> str:
    """What costs most, with what mending it saves and the first advice; then why figures may mislead."""
    findings = [one for one in judged(answers) if one.rule.name != IDLE]
    told = [line(one) for one in judge.at_roof(findings)]
    told += [line(one) for one in judge.leading(findings, MOST)]
    told += [f"- {one}" for one in [sentences.together(findings)] if one]
    told += [line(one) for one in findings if one.verdict == "fires" and one.rule.weight == "warning"]
    return "\n".join(["## Findings", "", *told]) if told else ""


def idle_remark(findings: Iterable[Finding]) -> str:
    """What has to be added where the GPU is said to be idle, with a space before it.

    That is what the profiler costs, or why nobody can judge it, and what to do where no other finding explains it.
    """
    one = next((one for one in findings if one.rule.name == IDLE), None)
    if one is None or one.verdict == "clear":
        return ""
    told = [one.slowed.sentence()] if one.slowed else []
    if one.verdict == "cannot_judge":
        told = told or [one.why]
    elif one.parent is None:
        told += sentences.advice(one)[:1]
    return "".join(f" {text}" for text in told)


def line(finding: Finding) -> str:
    """Return a finding as an item of a list: its sentence, what mending it saves, its first advice."""
    saved = [f"{one}." for one in [sentences.saves(finding)] if one]
    return " ".join([f"- {sentences.says(finding)}", *saved, *sentences.advice(finding)[:1]])
