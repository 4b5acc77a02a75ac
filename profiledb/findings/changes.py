"""Compare the findings of two selections: which are new, gone or changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from profiledb.findings.finding import Finding

Change = Literal["new", "gone", "changed", "same", "not judged"]
CHANGED = 0.2
"""A saving has changed if the difference is at least this fraction of the larger one."""


@dataclass(frozen=True)
class Changed:
    """A rule that fires on at least one side, and how its finding changed from ``a`` to ``b``.

    ``not judged``: it fires on one side, but the other lacks the data that it needs.
    """

    a: Finding
    b: Finding
    change: Change

    @property
    def worth_ns(self) -> int:
        """Return the larger saving of the two sides in ns."""
        return max((one.saving_ns or 0) if one.verdict == "fires" else 0 for one in (self.a, self.b))


def compare_findings(a: Sequence[Finding], b: Sequence[Finding]) -> list[Changed]:
    """Return the rules that fire on either side: new ones first, then those that are gone, each group by cost."""
    theirs = {one.rule.name: one for one in b}
    both = [(one, theirs[one.rule.name]) for one in a if one.rule.name in theirs]
    changed = [
        Changed(one, other, _judge_change(one, other)) for one, other in both if "fires" in (one.verdict, other.verdict)
    ]
    order: tuple[Change, ...] = ("new", "gone", "changed", "same", "not judged")
    return sorted(changed, key=lambda one: (order.index(one.change), -one.worth_ns, one.a.rule.name))


def _judge_change(a: Finding, b: Finding) -> Change:
    if "cannot_judge" in (a.verdict, b.verdict):
        return "not judged"
    if a.verdict != b.verdict:
        return "new" if b.verdict == "fires" else "gone"
    before, after = (_weigh_finding(a), _weigh_finding(b))
    return "changed" if abs(after - before) >= CHANGED * max(before, after, 1e-9) else "same"


def _weigh_finding(finding: Finding) -> float:
    """Return the quantity to compare: the saving as a share of the time, or else the value."""
    return finding.saving_pct if finding.saving_pct is not None else abs(finding.value or 0.0)
