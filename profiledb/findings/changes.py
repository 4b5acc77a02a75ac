"""Which findings of one selection are gone, new or different in another one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from profiledb.findings.finding import Finding

Change = Literal["new", "gone", "changed", "same", "not judged"]
CHANGED = 0.2
"""A saving that differs by at least this part of the larger one has changed."""


@dataclass(frozen=True)
class Changed:
    """A rule that fires on at least one side, and what became of it from ``a`` to ``b``.

    ``not judged``: it fires on one side, and the other lacks what the rule needs, so nobody can say that it is gone.
    """

    a: Finding
    b: Finding
    change: Change

    @property
    def worth_ns(self) -> int:
        """The larger saving of both sides, ns."""
        return max((one.saving_ns or 0) if one.verdict == "fires" else 0 for one in (self.a, self.b))


def changes(a: Sequence[Finding], b: Sequence[Finding]) -> list[Changed]:
    """The rules that fire on either side, those that are new or gone first, then by what they cost."""
    theirs = {one.rule.name: one for one in b}
    both = [(one, theirs[one.rule.name]) for one in a if one.rule.name in theirs]
    told = [Changed(one, other, _change(one, other)) for one, other in both if "fires" in (one.verdict, other.verdict)]
    order: tuple[Change, ...] = ("new", "gone", "changed", "same", "not judged")
    return sorted(told, key=lambda one: (order.index(one.change), -one.worth_ns, one.a.rule.name))


def _change(a: Finding, b: Finding) -> Change:
    if "cannot_judge" in (a.verdict, b.verdict):
        return "not judged"
    if a.verdict != b.verdict:
        return "new" if b.verdict == "fires" else "gone"
    before, after = (_weight(a), _weight(b))
    return "changed" if abs(after - before) >= CHANGED * max(before, after, 1e-9) else "same"


def _weight(finding: Finding) -> float:
    """What changes are told by: the share that it costs, else its value."""
    return finding.saving_pct if finding.saving_pct is not None else abs(finding.value or 0.0)
