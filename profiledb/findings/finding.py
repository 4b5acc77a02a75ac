"""What a rule says of a selection of a report."""

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from profiledb.findings.program import Program, names
from profiledb.findings.rule import Rule
from profiledb.findings.trace_overhead import Slowed

Verdict = Literal["fires", "clear", "cannot_judge"]
SEVERITIES = ("high", "medium", "low", "warning", "note")
"""From the worst on: by the share of the time that mending saves at most, then what costs nothing by itself."""
HIGH_PCT, MEDIUM_PCT = 10.0, 2.0
_SLASH = re.compile(r"(?<!\\)/")
_OPERATOR = re.compile(r"\w+::|\w+Backward\d*\**$|Optimizer\.")


@dataclass(frozen=True)
class Finding:
    """What a rule says of a selection.

    ``value`` and ``threshold`` are in the unit of the rule; ``saving_ns`` is an upper bound, ``saving_pct`` its share
    of the time from the first to the last operation, over all GPUs; of the capture where no GPU worked. Savings
    overlap; ``own_saving_ns`` is what no finding before it takes, so that these add up. ``parent`` is the rule that
    most of the saving belongs to (causes.py).
    ``explains_ns`` is time of these parts that is its own whether mending it saves that or not. ``leads``: a place that
    comes before the causes in it, because none of them explains half of it.
    ``why`` and ``command`` say what is missing where it cannot be judged, and what captures it. ``program`` is what the
    report tells of the program, by which advice goes. ``slowed`` says what the profiler adds to the value. ``line`` is
    the source line of the program in the first piece of evidence, where Python stacks tell.
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
    program: Program = ()
    line: str | None = None
    slowed: Slowed | None = None
    own_saving_ns: int | None = None
    parent: str | None = None
    leads: bool = False
    explains_ns: int = 0

    @property
    def advice(self) -> tuple[str, ...]:
        """What to do, with the columns by name (words.advice puts them in)."""
        return self.rule.advised(self.cause, names(self.program))

    @property
    def place(self) -> str | None:
        """The range that it is about, or that its first piece of evidence lies in."""
        pieces = (piece.get("range") for piece in self.evidence[:1])
        return self.facts.get("place") or self.facts.get("range") or next(pieces, None)

    @property
    def part(self) -> str | None:
        """Its place without the operators of PyTorch, and what lies in them; None where nothing is left."""
        names = _SLASH.split(self.place or "")
        kept = itertools.takewhile(lambda name: not _OPERATOR.match(name), names)
        return "/".join(kept) or None

    @property
    def severity(self) -> str:
        """One of SEVERITIES where it fires, else nothing."""
        if self.verdict != "fires":
            return ""
        if self.rule.weight:
            return self.rule.weight
        share = (self.slowed.left if self.slowed else 1.0) * (self.saving_pct or 0.0)
        return "high" if share >= HIGH_PCT else "medium" if share >= MEDIUM_PCT else "low"
