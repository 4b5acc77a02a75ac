"""The result of a rule on a selection of a report."""

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from profiledb.findings.program import Program, list_names
from profiledb.findings.rule import LEVELS, Rule
from profiledb.findings.trace_overhead import Slowed

Verdict = Literal["fires", "clear", "cannot_judge"]
SEVERITIES = ("high", "medium", "low", "warning", "note")
"""Severities, the worst first: by the largest saving as a share of the time, then remarks without a cost of
their own."""
HIGH_PCT, MEDIUM_PCT = 10.0, 2.0
SLASH = re.compile(r"(?<!\\)/")
"""The separator of the names in a path of ranges."""
_OPERATOR = re.compile(r"\w+::|\w+Backward\d*\**$|Optimizer\.")
_LIBRARY = re.compile(r"(nccl|nvshmem|cccl|cu(blas|dnn|fft|solver|sparse|tensor)(lt|xt)?):", re.IGNORECASE)
"""The NVTX domains of CUDA libraries, as names of ranges begin with them."""


@dataclass(frozen=True)
class Prediction:
    """The saving of changes that is predicted from a replay, with an interval of about 95 %.

    ``pct`` and ``high_pct`` are shares of the time that is judged.
    """

    changes: tuple[str, ...]
    ns: int
    low_ns: int
    high_ns: int
    pct: float
    high_pct: float


@dataclass(frozen=True)
class Together:
    """The rules whose changes are made together, and their saving."""

    rules: tuple[Rule, ...]
    prediction: Prediction


@dataclass(frozen=True)
class Finding:
    """The result of a rule on a selection.

    Attributes:
        value, threshold: in the unit of the rule.
        saving_ns: the predicted saving, or an upper bound of it without ``prediction``.
        saving_pct: its share of the time from the first to the last operation over all GPUs, or of the capture if no
            GPU worked.
        at_most_ns: the upper bound that the rule knows.
        reach_ns: the time that its saving comes from, which no prediction exceeds (causes.py); None if unknown.
        prediction: what a replay with the change of the rule tells.
        together: what the changes of the first findings save if all are made.
        own_saving_ns: the part of the saving that no earlier finding claims. Savings overlap; own savings add up.
        parent: the rule that claims most of the saving (causes.py).
        explains_ns: the time of its parts that only it explains, whether or not a fix saves it.
        leads: True for a place or symptom that comes before the causes within it (causes.py).
        is_cause: True if its rule knows that fixing the causes within a place would not remove it.
        why, command: if the rule cannot be judged, the missing data and the command that captures it.
        program: the traits of the program, which select the advice.
        slowed: how much the profiler adds to the value.
        is_little: True if GPUs work in a small part of the time only, and the saving is too small to matter there.
        line: the program's source line in the first piece of evidence, if Python stacks show it.
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
    is_cause: bool = False
    is_little: bool = False
    at_most_ns: int | None = None
    reach_ns: int | None = None
    prediction: Prediction | None = None
    together: Together | None = None

    @property
    def shown_ns(self) -> int | None:
        """Return the saving that pages show and that orders findings.

        Other findings explain the time of symptoms and frames, so what counts is the part that none of them claims.
        """
        if self.prediction or self.leads or self.own_saving_ns is None or self.rule.level not in LEVELS[2:]:
            return self.saving_ns
        return self.own_saving_ns

    @property
    def shown_pct(self) -> float | None:
        """Return its share of the time in percent."""
        if self.saving_pct is None or not self.saving_ns:
            return self.saving_pct
        return self.saving_pct * (self.shown_ns or 0) / self.saving_ns

    @property
    def advice(self) -> tuple[str, ...]:
        """Return the advice, with placeholders for columns (sentences.choose_advice fills them in)."""
        return self.rule.advised(self.cause, list_names(self.program))

    @property
    def place(self) -> str | None:
        """Return the range that it is about, or the range of its first piece of evidence; None if there is none.

        The pieces of a frame are examples, none of which is the place of most of its time. A path ends before the
        ranges inside CUDA libraries: nobody changes code there.
        """
        pieces = (piece.get("range") for piece in self.evidence[:1] if self.rule.level != LEVELS[-1])
        return _cut_path(self.facts.get("place") or self.facts.get("range") or next(pieces, None), _LIBRARY)

    @property
    def part(self) -> str | None:
        """Return its place up to the first PyTorch operator, or None if nothing is left."""
        return _cut_path(self.place, _OPERATOR)

    @property
    def outermost(self) -> str | None:
        """Return the outermost range of its part: the whole step or pass, or None if nothing is left."""
        return SLASH.split(self.part)[0] if self.part else None

    @property
    def severity(self) -> str:
        """Return one of SEVERITIES if it fires, else an empty string."""
        if self.verdict != "fires":
            return ""
        if self.rule.weight:
            return self.rule.weight
        if self.is_little:
            return SEVERITIES[2]
        share = (self.slowed.left if self.slowed else 1.0) * (self.saving_pct or 0.0)
        return "high" if share >= HIGH_PCT else "medium" if share >= MEDIUM_PCT else "low"


def _cut_path(path: str | None, at: re.Pattern[str]) -> str | None:
    """Return a path up to the first name that begins like this, or None if nothing is left."""
    names = itertools.takewhile(lambda name: not at.match(name), SLASH.split(path or ""))
    return "/".join(names) or None
