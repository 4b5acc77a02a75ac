"""The findings that cost most, as the dashboard begins its Summary with them, and the warnings.

That the GPU is idle is said before them (headline.py), so that of its finding there is only the advice.
"""

from profiledb import config
from profiledb.findings import judge, rulebook
from profiledb.findings import words as sentences
from profiledb.findings.finding import Finding
from profiledb.studies.summary.answers import Answers

MOST = 3
IDLE = "gpu_idle"


def judged(answers: Answers) -> list[Finding]:
    """What the rules say of the report and its selection, the costliest first."""
    rules = rulebook.load(config.load().rules)
    return judge.judge(answers.library, answers.report, answers.params, rules.values(), steady=True)


def section(answers: Answers) -> str:
    """What costs most, with what mending it saves at most and the first advice; then why figures may mislead."""
    findings = [one for one in judged(answers) if one.rule.name != IDLE]
    told = [_line(one) for one in judge.leading(findings, MOST)]
    told += [_line(one) for one in findings if one.verdict == "fires" and one.rule.weight == "warning"]
    part = judge.steady_part(answers.library, answers.report, answers.params)
    judged_part = [f"{sentences.judged(part)}\n"] if part else []
    return "\n".join(["## Findings", "", *judged_part, *told]) if told else ""


def idle_advice(answers: Answers) -> str:
    """What to do about an idle GPU, with a space before it; nothing where that is no finding."""
    fires = (one for one in judged(answers) if one.rule.name == IDLE and one.verdict == "fires")
    return "".join(f" {advice}" for one in fires for advice in sentences.advice(one)[:1])


def _line(finding: Finding) -> str:
    saved = sentences.bound(finding)
    bound = [f"Saves at most {saved}."] if saved else []
    return " ".join([f"- {sentences.says(finding)}", *bound, *sentences.advice(finding)[:1]])
