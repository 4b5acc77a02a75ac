"""Judge a selection of a report: compare the rules' answers (rule_runner.py) with their thresholds."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from profiledb import words
from profiledb.errors import NotCapturedError
from profiledb.findings import causes, predictions, program, rule_runner
from profiledb.findings.causes import PLACE
from profiledb.findings.finding import HIGH_PCT, Finding, Verdict
from profiledb.findings.program import Program
from profiledb.findings.rule import EVIDENCE, LEVELS, OWN, Rule
from profiledb.findings.rule_runner import COMMAND, Row, Window
from profiledb.library.catalog import TIMELINE, Manifest
from profiledb.library.library import Library
from profiledb.query import answer_store, header
from profiledb.replay.saving import Savings
from profiledb.selection import model

if TYPE_CHECKING:
    import pandas as pd

LESS = "torch.profiler.profile(record_shapes=False, profile_memory=False, with_stack=False)"
"""The command for a trace that slows the CPU down as little as possible."""
MOST_EVIDENCE = 20
Ask = Callable[[str, Mapping[str, Any]], "pd.DataFrame"]
STEPS = "steps"
"""The group of rules about steps."""
ROOF = "profile_at_roof"
MOST_OF_IT_PCT = 50.0
"""Share of the measured kernel time at its roof from which that comes first."""
LEAST_BEFORE = 0.5
"""Share of the saving of a place, symptom or frame from which a cause precedes it: what the cause leaves is less."""
OF_PART = frozenset(
    {
        "communication_overlap", "fluctuating_use", "graphs_hide_kernels", "hot_kernel", "memory_bound", "one_stream",
        "profiler_overhead", "warmup_inside",
    }
)  # fmt: skip
"""Remarks about the work of the steady part, and on warm-up and the profiler: before the part they distort no figures
of it."""
HOST = ("idle", "launch", "host")
"""Groups of rules whose evidence is CPU time, so that a source line is meaningful."""


@dataclass(frozen=True)
class Steady:
    """The repeating part of a report (analysis ``steady_part``); times in ns from the start of the capture.

    ``before_ns`` and ``after_ns`` are the durations outside it.
    """

    steps: int
    from_ns: int
    to_ns: int
    before_ns: int
    after_ns: int

    @property
    def times(self) -> dict[str, int]:
        return {"from_ns": self.from_ns, "to_ns": self.to_ns}


def judge(
    library: Library, report: Manifest, params: Mapping[str, Any], rules: Iterable[Rule], part: Steady | None = None
) -> list[Finding]:
    """Evaluate the rules on the part of a report that ``params`` select, in display order.

    Rules that fire come first, the costliest at the top, each followed by those nested under it, with remarks at the
    end; then rules that cannot be judged. Rules that do not apply to the report (idle time in a Compute report) are
    left out.

    Args:
        library: holds the report.
        report: the report.
        params: the parameters of the selection.
        rules: the rules to evaluate.
        part: the result of ``steady_part``. Rules whose findings cost time judge only that part. Rules about steps
            choose the steps that count by themselves, so they see the whole selection, and their savings are shares of
            the part.

    Raises:
        AnalysisError: the selection does not exist in this report.
        ReportNotFoundError: the report was deleted.
    """
    asked = [rule for rule in rules if rule.subjects.intersection(report.subjects)]
    of = program.recognize(library, report.id)
    savings = Savings(library, report.id) if _is_whole(report, params) else None
    if part is None:
        window, rows = rule_runner.answer_rules(library, report, model.parse(params), asked)
        return _order_findings(_judge_rows(library, report, asked, rows, window, of, savings), savings, window)
    inside = [rule for rule in asked if _is_of_steady_part(rule)]
    around = [rule for rule in asked if not _is_of_steady_part(rule)]
    window, rows = rule_runner.answer_rules(library, report, model.parse({**params, **part.times}), inside)
    whole, others = rule_runner.answer_rules(library, report, model.parse(params), around)
    findings = _judge_rows(library, report, [rule for rule in asked if rule.costs], rows | others, window, of, savings)
    findings += [_make_finding(rule, rows[rule.name], window, of) for rule in inside if not rule.costs]
    findings += [_make_finding(rule, others[rule.name], whole, of) for rule in around if not rule.costs]
    return _order_findings(causes.nest_remarks(findings), savings, window)


def _is_whole(report: Manifest, params: Mapping[str, Any]) -> bool:
    """Return True if no ranges, steps, times or GPUs of a timeline are selected."""
    selection = model.parse(params)
    return TIMELINE in report.subjects and selection == model.Selection(warmup=selection.warmup, mode=selection.mode)


def _is_of_steady_part(rule: Rule) -> bool:
    """Return True if a rule judges only the steady part, if there is one."""
    return rule.name in OF_PART or (rule.costs and rule.group != STEPS)


def find_steady_part(
    library: Library, report: Manifest, params: Mapping[str, Any], ask: Ask | None = None
) -> Steady | None:
    """Return the repeating part of a timeline, or None if there is none or the user selected ranges, steps or times.

    ``ask`` runs an analysis of the report, for callers that cache answers in memory.
    """
    if not _is_whole(report, params):
        return None
    try:
        rows = ask("steady_part", params) if ask else answer_store.run(library, report.id, "steady_part", params)
    except NotCapturedError:
        return None
    names = [one.name for one in fields(Steady)]
    return Steady(**{name: int(rows[name][0]) for name in names}) if len(rows) else None


def _judge_rows(
    library: Library, report: Manifest, rules: Iterable[Rule], rows: Mapping[str, Row], window: Window, of: Program,
    savings: Savings | None,
) -> list[Finding]:  # fmt: skip
    findings = causes.nest((_make_finding(rule, rows[rule.name], window, of) for rule in rules), window.parts)
    findings = predictions.predict(findings, savings, window.ns) if savings else findings
    lines = _find_lines(library, report, findings, window)
    return [replace(one, line=lines.get(one.rule.name)) for one in findings]


def _find_lines(library: Library, report: Manifest, findings: Iterable[Finding], window: Window) -> dict[str, str]:
    """Return the source line of each finding about the CPU, by rule: the middle of its first piece of evidence.

    The pieces of a frame are examples: no line stands for most of its time.
    """
    host_findings = [
        one
        for one in findings
        if one.verdict == "fires" and one.rule.group in HOST and one.rule.costs and one.rule.level != LEVELS[-1]
    ]
    spans = {one.rule.name: one.evidence[0] for one in host_findings if one.evidence and "end_ns" in one.evidence[0]}
    if not spans or not any(map(report.rows.get, ("python_call", "python_sample"))):
        return {}
    text = ",".join(f"{one['start_ns'] + window.begin_ns}-{one['end_ns'] + window.begin_ns}" for one in spans.values())
    rows = answer_store.run(library, report.id, "source_lines", {"spans": text})
    names = list(spans)
    return {names[int(number) - 1]: str(line) for number, line in zip(rows["number"], rows["line"], strict=True)}


def get_program(findings: Sequence[Finding]) -> Program:
    """Return the program that the findings are about, which is the same in all findings of a report."""
    return findings[0].program if findings else ()


def select_costly(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that fire, cost time and are not nested under another one, in order."""
    return [one for one in findings if one.verdict == "fires" and one.rule.costs and one.parent is None]


def select_worthwhile(findings: Iterable[Finding]) -> list[Finding]:
    """Return those of ``costly`` whose saving is large enough to matter, in order."""
    return [one for one in select_costly(findings) if not one.is_little]


def find_at_roof(findings: Iterable[Finding]) -> list[Finding]:
    """Return the finding that most kernel time is at its roof, if so: whatever else these kernels need saves little."""
    return [one for one in findings if one.rule.name == ROOF and (one.value or 0) >= MOST_OF_IT_PCT]


def select_leading(findings: Iterable[Finding], most: int) -> list[Finding]:
    """Return the ``most`` costliest of ``select_worthwhile``, plus those whose fix is a choice, in order."""
    costs = select_worthwhile(findings)
    others = [one for one in costs if not one.rule.is_choice][:most]
    return [one for one in costs if one.rule.is_choice or one in others]


def select_warnings(findings: Iterable[Finding]) -> list[Finding]:
    """Return the warnings that fire and stand under no finding, in order."""
    return [one for one in findings if one.verdict == "fires" and one.rule.weight == "warning" and not one.parent]


def select_below(finding: Finding, findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that are nested under this one."""
    return [one for one in findings if one.parent == finding.rule.name]


def _order_findings(findings: Sequence[Finding], savings: Savings | None, window: Window) -> list[Finding]:
    """Return the findings in display order: by the saving that they show, the largest first.

    A cause with a large part of the time of a place, symptom or frame precedes it, because fixing the cause shrinks it,
    unless that one leads its causes (causes.py).
    """
    top = [one for one in findings if one.parent is None]

    def place(one: Finding) -> tuple[Any, ...]:
        return _make_sort_key(
            one, max((_weigh_saving(other) for other in _list_containers(one, top, window)), default=0.0)
        )

    ordered = [
        one for first in sorted(top, key=place) for one in (first, *sorted(select_below(first, findings), key=place))
    ]
    return predictions.combine(ordered, savings, window.ns) if savings else ordered


def _list_containers(one: Finding, top: Iterable[Finding], window: Window) -> Iterator[Finding]:
    """Yield the costly findings of a later level that this one accounts for a large part of."""
    mine, weight = set(causes.list_claimed(one.rule, window.parts)), _weigh_saving(one)
    if weight * 100 < HIGH_PCT * (window.ns or math.inf):
        return
    for other in select_costly(top):
        if (
            _rank_directness(other) > _rank_directness(one)
            and not other.leads
            and weight >= LEAST_BEFORE * (other.shown_ns or 0)
            and mine.intersection(causes.list_claimed(other.rule, window.parts))
        ):
            yield other


def _weigh_saving(finding: Finding) -> float:
    """Return the saving that it shows in ns; if its fix is a choice, that of the square root of its speedup.

    A report does not show whether the user has that choice: four times as fast counts as twice, a small saving as half.
    """
    shown, share = float(finding.shown_ns or 0), (finding.shown_pct or 0.0) / 100
    if not finding.rule.is_choice or not share:
        return shown
    return shown * (1 - math.sqrt(max(0.0, 1 - share))) / share


def _rank_directness(finding: Finding) -> int:
    """Return how directly its time can be fixed. A symptom that knows its cause, and a choice, count as places.

    A cause that leads shortens what others are about, so it precedes them.
    """
    if finding.leads and finding.rule.level == causes.CAUSE:
        return -1
    return LEVELS.index(PLACE if finding.leads or finding.rule.is_choice else finding.rule.level)


def _make_sort_key(finding: Finding, container: float) -> tuple[int, int, float, int, float, str]:
    """Return the sort key of a finding that precedes one of the weight ``container``; 0 if none."""
    verdicts: tuple[Verdict, ...] = ("fires", "cannot_judge", "clear")
    remark = 0 if finding.rule.costs else ("warning", "note").index(finding.rule.weight) + 1
    weight = _weigh_saving(finding)
    return (
        verdicts.index(finding.verdict),
        remark,
        -max(weight, container),
        _rank_directness(finding),
        -weight,
        finding.rule.name,
    )


def _make_finding(rule: Rule, row: Row, window: Window, of: Program) -> Finding:
    threshold = float(header.bind(rule.analysis, {})["threshold"])
    if rule.costs and row.get("is_choice") is not None:
        rule = replace(rule, weight="low" if row["is_choice"] else "")
    value = _convert_number(row.get("value"))
    facts = {name: item for name, item in row.items() if name not in OWN}
    if value is None:
        why = row.get("unjudged") or "The selection has nothing that this rule could judge."
        command = str(row.get(COMMAND) or "")
        return _make_unjudged(rule, threshold, facts, str(why), command, of)
    saving = row.get("saving_ns")
    saved = None if saving is None else max(0, min(int(saving), window.ns or int(saving)))  # no share exceeds 100 %
    share = 100.0 * saved / window.ns if saved is not None and window.ns else None
    fires = value >= threshold if rule.fires == "above" else value <= threshold
    slowed = window.slowed if fires and window.slowed and window.slowed.holds(rule, row.get("cause")) else None
    if slowed and slowed.left * value < threshold:
        sentence = f"{rule.title}: {words.percent(value)}, but the profiler may account for too much of it."
        why = f"{sentence} {slowed.sentence()}"
        return replace(_make_unjudged(rule, threshold, facts, why, LESS, of), slowed=slowed)
    if fires and window.lost_pct and rule.group in HOST:
        lost = words.percent(window.lost_pct)
        why = f"nsys failed to process {lost} of its CUDA events, so the report does not show when the GPU works."
        return _make_unjudged(rule, threshold, facts, why, "", of)
    return Finding(
        rule, "fires" if fires else "clear", value, threshold, saved, share, row.get("cause"), facts,
        tuple(_make_piece(one, window.begin_ns) for one in (row.get("evidence") or [])[:MOST_EVIDENCE]), program=of,
        slowed=slowed, explains_ns=int(row.get("explains_ns") or 0), is_cause=bool(row.get("is_cause")),
        is_little=window.is_little(saved), at_most_ns=saved,
    )  # fmt: skip


def _make_unjudged(
    rule: Rule, threshold: float, facts: Mapping[str, Any], why: str, command: str, of: Program
) -> Finding:
    return Finding(rule, "cannot_judge", threshold=threshold, facts=facts, why=why, command=command, program=of)


def _make_piece(one: Mapping[str, Any], begin_ns: int) -> dict[str, Any]:
    """Return a piece of evidence with only the fields it fills, its times relative to the start of the capture."""
    filled = {name: one[name] for name in EVIDENCE if one.get(name) is not None}
    return filled | {name: filled[name] - begin_ns for name in ("start_ns", "end_ns") if name in filled}


def _convert_number(value: Any) -> float | None:
    if value is None or not math.isfinite(float(value)):
        return None
    return float(value)
