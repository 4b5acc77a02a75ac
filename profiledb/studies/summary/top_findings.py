"""The findings that cost most, as the dashboard begins its Summary with them, and the warnings.

That the GPU is idle is said before them (headline.py), so that of its finding there is only the advice.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace

from profiledb import words
from profiledb.findings import judge, sentences
from profiledb.findings.finding import Finding
from profiledb.studies.summary.answers import Answers
from profiledb.studies.summary.statement import Statement, get_page

MOST = 3
IDLE = "gpu_idle"
HOT = "hot_kernel"
LITTLE = "low"
_SAME_ADVICE = "The change advised above helps here, too."
FUNCTIONS = "functions"
"""The fact of a finding that names functions from CPU samples."""


def write_section(answers: Answers, without: Container[str] = ()) -> str:
    """Write the costliest findings, each with its saving and the first advice; then reasons why figures may mislead.

    ``without`` names rules whose findings other sections give.
    """
    every = [one for one in answers.findings if one.rule.name not in without]
    shown = select_shown(every)
    slowed = {one.slowed.sentence() for one in every if one.slowed and one.rule.name == IDLE}
    items = [format_item(one, shown[:nth], slowed) for nth, one in enumerate(shown)]
    items += [f"- {one}" for one in [sentences.describe_savings(shown, titled=False)] if one]
    items += map(format_item, judge.select_warnings(every))
    return "\n".join(["## Findings", "", *items]) if items else ""


def select_shown(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that the Summary tells, without the idle GPU and warnings.

    Nor does it tell those that save little and have the same first advice as one before them.
    """
    others = [one for one in findings if one.rule.name != IDLE]
    selected: list[Finding] = []
    for one in [*judge.find_at_roof(others), *judge.select_leading(others, MOST)]:
        advised = sentences.list_general_advice(one)[:1]
        repeats_advice = advised in [sentences.list_general_advice(other)[:1] for other in selected]
        if one.severity != LITTLE or one.rule.is_choice or not repeats_advice or not advised:
            selected.append(one)
    return selected


def select_statements(statements: Sequence[Statement], findings: Sequence[Finding]) -> list[Statement]:
    """Return the statements that no finding of the Summary says again, with the remark on idle time.

    If findings say all of it, the first one remains.
    """
    shown = select_shown(findings)
    findings_text = " ".join(sentences.says(one) for one in shown)
    remark, idle, kernel = find_idle_remark(findings), get_page("idle_reasons"), get_page("kernel_instances")
    sampled = any(one.facts.get(FUNCTIONS) for one in shown)
    groups = {one.rule.group for one in [*shown, *judge.select_warnings(findings)]}
    gives_basis = any(one.page == idle for one in statements)
    selected = []
    for one in statements:
        if one.group in groups:
            continue
        amount, code = words.duration(one.worth_ns), f" {one.code}" if one.code and not sampled else ""
        if one.within:
            selected.append(replace(one, text=_explain_part(one.text, findings, gives_basis=gives_basis)))
        elif one.page == idle and (unknown := _explain_unknown_idle(findings)):
            selected.append(replace(one, text=f"**{unknown}**"))
        elif remark and one.page == idle:
            selected.append(replace(one, text=f"{one.text}{code}{remark}"))
        elif not all(sentences.has_amount(text, amount) for text in (one.text, findings_text)):
            profile = _advise_profile(findings) if one.page == kernel else ""
            selected.append(replace(one, text=f"{one.text}{code}{profile}"))
    return selected or list(statements[:1])


def _advise_profile(findings: Sequence[Finding]) -> str:
    """Return the advice to profile the dominant kernel, with a space before it, if no finding costs time."""
    one = next((one for one in findings if one.rule.name == HOT and one.verdict == "fires"), None)
    return (
        ""
        if one is None or judge.select_costly(findings)
        else "".join(f" {text}" for text in sentences.fill_advice(one)[:1])
    )


def _explain_part(text: str, findings: Sequence[Finding], *, gives_basis: bool) -> str:
    """Add to a text on the small part of the capture in which the GPU works whether that part is worth tuning.

    If it is, shares of the time refer to it, which the statement on idle time may say.
    """
    costs = judge.select_costly(findings)
    if costs and all(one.is_little for one in costs):
        return f"{text} That is too little to be worth tuning: capture a run with more work."
    return text if gives_basis or not costs else f"{text.removesuffix('.')}, to which shares of the time refer."


def _explain_unknown_idle(findings: Iterable[Finding]) -> str:
    """Return why the report does not show when the GPU is idle; "" if it does, the profiler's overhead aside."""
    one = next((one for one in findings if one.rule.name == IDLE), None)
    return one.why if one and one.verdict == "cannot_judge" and one.slowed is None else ""


def find_idle_remark(findings: Iterable[Finding]) -> str:
    """Return the remark to add to a statement that the GPU is idle, with a space before it.

    That is what the profiler costs, and what to do where no other finding explains it.
    """
    one = next((one for one in findings if one.rule.name == IDLE), None)
    if one is None or one.verdict == "clear":
        return ""
    remarks = [one.slowed.sentence()] if one.slowed else []
    if one.verdict == "fires" and one.parent is None and not one.is_little:
        remarks += sentences.fill_advice(one)[:1]
    return "".join(f" {text}" for text in remarks)


def format_item(finding: Finding, before: Sequence[Finding] = (), slowed: Iterable[str] = ()) -> str:
    """Return a finding as an item of a list: its sentence, what mending it saves, its first advice.

    Left out is what the findings ``before`` it say, too: their first advice, to which it refers if it has no other, and
    the profiler's overhead, which ``slowed`` may have told already.
    """
    overheads = {*slowed, *(one.slowed.sentence() for one in before if one.slowed)}
    is_repeated = finding.slowed is not None and finding.slowed.sentence() in overheads
    saved = [f"{one}." for one in [sentences.describe_saving(finding)] if one]
    advised = {one for other in before for one in sentences.list_general_advice(other)[:1]}
    every = list(zip(sentences.fill_advice(finding), sentences.list_general_advice(finding), strict=True))
    advice = [one for one, rule in every if rule not in advised] or ([_SAME_ADVICE] if every else [])
    says = sentences.says(replace(finding, slowed=None) if is_repeated else finding)
    return " ".join([f"- {says}", *saved, *advice[:1]])
