"""What rules say of a selection of a report: their answers (bench.py) against their thresholds."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from profiledb import words
from profiledb.findings import bench
from profiledb.findings.bench import COMMAND, Row, Window
from profiledb.findings.rule import EVIDENCE, OWN, Rule
from profiledb.findings.slowed import Slowed
from profiledb.query import header
from profiledb.report.catalog import Manifest
from profiledb.report.library import Library
from profiledb.selection import model

Verdict = Literal["fires", "clear", "cannot_judge"]
SEVERITIES = ("high", "medium", "low", "warning", "note")
"""From the worst on: by the share of the time that mending saves at most, then what costs nothing by itself."""
HIGH_PCT, MEDIUM_PCT = 10.0, 2.0
LESS = "torch.profiler.profile(record_shapes=False, profile_memory=False, with_stack=False)"
"""What captures a trace that slows the CPU down least."""
MOST_EVIDENCE = 20


@dataclass(frozen=True)
class Finding:
    """What a rule says of a selection.

    ``value`` and ``threshold`` are in the unit of the rule; ``saving_ns`` is an upper bound, ``saving_pct`` its share
    of the time from the first to the last operation, over all GPUs; of the capture where no GPU worked. Savings
    overlap: nobody adds them up.
    ``why`` and ``command`` say what is missing where it cannot be judged, and what captures it. ``torch``: the program
    uses PyTorch, so that advice may speak of it. ``slowed`` says what the profiler adds to the value.
    """

    rule: Rule
    verdict: Verdict
    value: float | None = None
    threshold: float | None = None
    saving_ns: int | None = None
    saving_pct: float | None = None
    cause: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[Mapping[str, Any], ...] = ()
    why: str = ""
    command: str = ""
    torch: bool = True
    slowed: Slowed | None = None

    @property
    def advice(self) -> tuple[str, ...]:
        """What to do."""
        return self.rule.advised(self.cause, torch=self.torch)

    @property
    def severity(self) -> str:
        """One of SEVERITIES where it fires, else nothing."""
        if self.verdict != "fires":
            return ""
        if self.rule.weight:
            return self.rule.weight
        share = (self.slowed.left if self.slowed else 1.0) * (self.saving_pct or 0.0)
        return "high" if share >= HIGH_PCT else "medium" if share >= MEDIUM_PCT else "low"


def judge(library: Library, report: Manifest, params: Mapping[str, Any], rules: Iterable[Rule]) -> list[Finding]:
    """What the rules say of the part of a report that ``params`` select, see ``order`` for theirs.

    Rules about what the report is not about (idle time in a Compute report) are left out.

    Raises:
        AnalysisError: the selection is none of this report.
        ReportNotFoundError: the report is gone.
    """
    asked = [rule for rule in rules if rule.subjects.intersection(report.subjects)]
    window, rows = bench.answers(library, report, model.parse(params), asked)
    return sorted((_finding(rule, rows[rule.name], window) for rule in asked), key=order)


def costly(findings: Iterable[Finding]) -> list[Finding]:
    """Those of some findings that fire and cost time, as they are ordered; what is a warning or a note is left out."""
    return [one for one in findings if one.verdict == "fires" and not one.rule.weight]


def order(finding: Finding) -> tuple[int, int, float, str]:
    """What fires comes first, the costliest before others and remarks last; then what cannot be judged."""
    verdicts: tuple[Verdict, ...] = ("fires", "cannot_judge", "clear")
    remark = ("", "warning", "note").index(finding.rule.weight)
    return verdicts.index(finding.verdict), remark, -(finding.saving_ns or 0), finding.rule.name


def _finding(rule: Rule, row: Row, window: Window) -> Finding:
    threshold = float(header.bind(rule.analysis, {})["threshold"])
    value = _number(row.get("value"))
    facts = {name: item for name, item in row.items() if name not in OWN}
    if value is None:
        why = row.get("unjudged") or "The selection has nothing that this rule could judge."
        command = str(row.get(COMMAND) or "")
        return Finding(rule, "cannot_judge", threshold=threshold, facts=facts, why=str(why), command=command)
    saving = row.get("saving_ns")
    saved = None if saving is None else max(0, int(saving))
    share = 100.0 * saved / window.ns if saved is not None and window.ns else None
    fires = value >= threshold if rule.fires == "above" else value <= threshold
    slowed = window.slowed if fires and window.slowed and window.slowed.holds(rule) else None
    if slowed and slowed.left * value < threshold:
        said = f"{rule.title}: {words.percent(value)}, but the profiler may account for too much of it."
        why = f"{said} {slowed.sentence()}"
        return Finding(rule, "cannot_judge", threshold=threshold, facts=facts, why=why, command=LESS)
    return Finding(
        rule, "fires" if fires else "clear", value, threshold, saved, share, row.get("cause"), facts,
        tuple(_piece(one, window.begin_ns) for one in (row.get("evidence") or [])[:MOST_EVIDENCE]), torch=window.torch,
        slowed=slowed,
    )  # fmt: skip


def _piece(one: Mapping[str, Any], begin_ns: int) -> dict[str, Any]:
    """A piece of evidence without the fields that it does not fill, its times from the begin of the capture on."""
    filled = {name: one[name] for name in EVIDENCE if one.get(name) is not None}
    return filled | {name: filled[name] - begin_ns for name in ("start_ns", "end_ns") if name in filled}


def _number(value: Any) -> float | None:
    if value is None or not math.isfinite(float(value)):
        return None
    return float(value)
