"""What a rule says of a selection of a report."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from profiledb.findings.rule import Rule
from profiledb.findings.slowed import Slowed

Verdict = Literal["fires", "clear", "cannot_judge"]
SEVERITIES = ("high", "medium", "low", "warning", "note")
"""From the worst on: by the share of the time that mending saves at most, then what costs nothing by itself."""
HIGH_PCT, MEDIUM_PCT = 10.0, 2.0


@dataclass(frozen=True)
class Finding:
    """What a rule says of a selection.

    ``value`` and ``threshold`` are in the unit of the rule; ``saving_ns`` is an upper bound, ``saving_pct`` its share
    of the time from the first to the last operation, over all GPUs; of the capture where no GPU worked. Savings
    overlap; ``own_saving_ns`` is what no finding before it takes, so that these add up. ``parent`` is the rule that
    most of the saving belongs to (causes.py).
    ``explains_ns`` is time of these parts that is its own whether mending it saves that or not.
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
    own_saving_ns: int | None = None
    parent: str | None = None
    explains_ns: int = 0

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
