"""Which finding explains which. The time of the GPUs is split once, and nothing of it is counted for two findings.

The analysis ``time_split`` splits the time into parts, and a rule names those that its saving comes from. Findings
take from the parts one after the other: causes first, then places, symptoms and frames, of each the costliest first.
What a finding still gets is its own saving. One that gets less than half of its saving stands under the finding that
took most of its parts, if that saves half as much at least; a frame does so in any case. A rule may explain more time
than it saves (``explains_ns``): it takes all of that, and its own saving is no more than its saving. One that names
another rule among its parts says more of the time of that one: where that one fires, it stands under it.

A place of which causes explain something, but none of them half, leads them: that the GPU waits 78 % of the time for
`save` comes before the output and the copies in it, which then stand under it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from profiledb.findings.finding import Finding
from profiledb.findings.rule import LEVELS, Rule
from profiledb.findings.rule_runner import Part

CAUSE, PLACE = LEVELS[:2]

ALL = "all"
"""All parts of the time, as a rule names them."""


def nest(found: Iterable[Finding], parts: Sequence[Part]) -> list[Finding]:
    """The findings with their own savings, ns, and the rules that they stand under; in the same order.

    Without parts, in a report of Nsight Compute, no finding stands under another one.
    """
    every = list(found)
    left = {part.name: part.ns for part in parts}
    took: dict[str, dict[str, int]] = {}  # by part and rule
    parents: dict[str, str] = {}
    own: dict[str, int] = {}
    costs = [one for one in every if _costs(one)]
    leading = {one.rule.name for one in costs if _leads(one, costs, parts)}
    for one in sorted(
        costs, key=lambda one: (one.rule.name not in leading and LEVELS.index(one.rule.level), *_turn(one))
    ):
        names = claimed(one.rule, parts)
        if not names:
            continue
        if inside := next((name for name in one.rule.parts if name in own), None):
            own[one.rule.name], parents[one.rule.name] = 0, parents.get(inside, inside)
            continue
        saving = one.saving_ns or 0
        gets = min(saving, _take(one.rule.name, max(saving, one.explains_ns), names, left, took))
        own[one.rule.name] = gets
        others = _takers(one.rule.name, names, took)
        taker = max(others, key=lambda other: (others[other], other), default="")
        if 2 * gets < saving and taker and (2 * others[taker] >= saving or one.rule.level == LEVELS[-1]):
            parents[one.rule.name] = parents.get(taker, taker)
    return [
        replace(
            one, own_saving_ns=own.get(one.rule.name), parent=parents.get(one.rule.name), leads=one.rule.name in leading
        )
        for one in every
    ]


def claimed(rule: Rule, parts: Sequence[Part]) -> list[str]:
    """The names of the parts that a rule names, in its order; a kind stands for all of its parts."""
    names = [part.name for wanted in rule.parts for part in parts if wanted in (part.name, part.kind, ALL)]
    return list(dict.fromkeys(names))


def _costs(one: Finding) -> bool:
    return one.verdict == "fires" and one.rule.costs and bool(one.saving_ns)


def _turn(one: Finding) -> tuple[int, str]:
    return -(one.saving_ns or 0), one.rule.name


def _leads(one: Finding, costs: Iterable[Finding], parts: Sequence[Part]) -> bool:
    """Return whether a place leads the causes that share its parts: there are some, and none explains half of it."""
    if one.rule.level != PLACE:
        return False
    mine = set(claimed(one.rule, parts))
    shares = [other for other in costs if other.rule.level == CAUSE and mine.intersection(claimed(other.rule, parts))]
    most = max((max(other.saving_ns or 0, other.explains_ns) for other in shares), default=0)
    return bool(shares) and 2 * most < (one.saving_ns or 0)


def _take(rule: str, most: int, names: Sequence[str], left: dict[str, int], took: dict[str, dict[str, int]]) -> int:
    gets = 0
    for name in names:
        taken = min(most - gets, left[name])
        left[name] -= taken
        gets += taken
        if taken:
            took.setdefault(name, {})[rule] = taken
    return gets


def _takers(rule: str, names: Sequence[str], took: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """What other rules took of these parts, ns by rule."""
    sums: dict[str, int] = {}
    for name in names:
        for other, ns in took.get(name, {}).items():
            if other != rule:
                sums[other] = sums.get(other, 0) + ns
    return sums
