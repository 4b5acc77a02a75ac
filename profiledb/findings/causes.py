"""Attribute the time of the GPUs to findings, counting each part of it once, and nest findings that explain each other.

The analysis ``time_split`` splits the time into parts, and a rule names the parts that its saving comes from. Findings
claim the parts in turn: causes first, then places, symptoms and frames, the costliest first within each level. The time
that a finding obtains is its own saving. If that is less than half of its saving, the finding is nested under the one
that took most of its parts, provided that one's claim is at least half of this saving (a quarter for a frame, or
anything if nothing of the frame is left). A rule may explain more time than it saves (``explains_ns``): it claims all
of that, but its own saving never exceeds its saving. A cause that names another rule among its parts details that
rule's time and is nested under it whenever it fires. Any other rule that names one shares its cause: the two never
stand side by side. The other one comes first if it saves at least half as much, unless this one knows its cause. A
symptom whose range is that of a place is nested under it by the same rule. A remark that names a rule among its parts
is nested under it if both fire with the same cause.

A place leads the causes within it if none of them explains a quarter of it (``LEAST_OF_PLACE``), or if its rule says
that none removes it (``is_cause``). So does a symptom whose rule knows its cause. For example, if the GPU waits for
`save` 78 % of the time, that finding comes before the output and the copies inside it, which are then nested under it.

No fix of a finding saves more than the time that its saving comes from (``reach_ns``): the parts of its rule, and the
idle time that no other finding of its level or of an earlier one explains. A replay knows no such bound: with CUDA
graphs, for example, the CPU gets ahead by so much that it also hides work in a range that another finding names.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

from profiledb.findings.finding import Finding
from profiledb.findings.rule import LEVELS, Rule
from profiledb.findings.rule_runner import Part

CAUSE, PLACE, SYMPTOM, FRAME = LEVELS
RANGE = "range"
"""The fact of a finding that names its range."""

IDLE = "idle"
"""The kind of the parts in which GPUs are idle."""
ALL = "all"
"""The name by which a rule claims all parts of the time."""
LEAST_OF_PLACE = 0.25
"""Part of the time of a place that a cause within it explains at least to come before the place."""


def nest(findings: Iterable[Finding], parts: Sequence[Part]) -> list[Finding]:
    """Return the findings in the same order, with their own savings in ns and the rules they are nested under.

    Without parts, as in a Compute report, no finding is nested.
    """
    every = list(findings)
    left = {part.name: part.ns for part in parts}
    took: dict[str, dict[str, int]] = {}  # by part and rule
    parents: dict[str, str] = {}
    own: dict[str, int] = {}
    costs = [one for one in every if _costs_time(one)]
    leading = {one.rule.name for one in costs if _is_leading(one, costs, parts)}
    for one in sorted(
        costs,
        key=lambda one: (-1 if one.rule.name in leading else LEVELS.index(one.rule.level), *_make_sort_key(one)),
    ):
        names = list_claimed(one.rule, parts)
        if not names:
            continue
        if one.rule.level == CAUSE and (inside := next((name for name in one.rule.parts if name in own), None)):
            own[one.rule.name], parents[one.rule.name] = 0, parents.get(inside, inside)
            continue
        saving = one.saving_ns or 0
        gets = min(saving, _take_parts(one, max(saving, one.explains_ns), names, left, took))
        own[one.rule.name] = gets
        others = _sum_takers(one.rule.name, names, took)
        taker = max(others, key=lambda other: (others[other], other), default="")
        if 2 * gets < saving and taker and others[taker] >= _find_least_taken(one, gets) * saving:
            parents[one.rule.name] = parents.get(taker, taker)
    _join_rules(costs, leading, parents)
    _join_ranges(costs, leading, parents)
    placed = (
        replace(
            one, own_saving_ns=own.get(one.rule.name), parent=parents.get(one.rule.name),
            leads=one.rule.name in leading, reach_ns=_measure_reach(one, costs, parts, took, parents),
        )
        for one in every
    )  # fmt: skip
    return nest_remarks(placed)


def _measure_reach(
    one: Finding,
    costs: Iterable[Finding],
    parts: Sequence[Part],
    took: Mapping[str, Mapping[str, int]],
    parents: Mapping[str, str],
) -> int | None:
    """Return the most that any fix of a finding saves: its parts, and the idle time that no other finding explains.

    It is at least the bound of the rule. A finding explains idle time to those of its level and of later ones, unless
    they are nested together.
    """
    names = list_claimed(one.rule, parts)
    if not names or one.saving_ns is None:
        return None
    mine, level = parents.get(one.rule.name, one.rule.name), LEVELS.index(one.rule.level)
    others = {
        other.rule.name
        for other in costs
        if LEVELS.index(other.rule.level) <= level and parents.get(other.rule.name, other.rule.name) != mine
    }
    idle = [part for part in parts if part.kind == IDLE]
    explained = sum(ns for part in idle for name, ns in took.get(part.name, {}).items() if name in others)
    limits = _read_limits(one)
    every = sum(part.ns for part in idle)
    for part in parts:
        if part.kind != IDLE and part.name in names:
            every += min(part.ns, limits.get(part.name, part.ns))
    return max(one.saving_ns, every - explained)


def nest_remarks(findings: Iterable[Finding]) -> list[Finding]:
    """Return nested findings in the same order, with remarks nested under the rules that they name."""
    every = list(findings)
    parents = {
        one.rule.name: other.parent or other.rule.name
        for one in every
        for other in every
        if one.verdict == "fires"
        and not one.rule.costs
        and _costs_time(other)
        and one.cause == other.cause
        and other.rule.name in one.rule.parts
    }
    return [replace(one, parent=parents.get(one.rule.name, one.parent)) for one in every]


def _find_least_taken(one: Finding, gets: int) -> float:
    """Return the part of a finding's saving that another one takes at least if it is nested under that one."""
    if one.rule.level != FRAME:
        return 0.5
    return LEAST_OF_PLACE if gets else 0.0


def _join_rules(costs: Iterable[Finding], leading: Container[str], parents: dict[str, str]) -> None:
    """Nest findings that share their cause: one under the other, with all that is nested under it."""
    top = {one.rule.name: one for one in costs if one.rule.name not in parents}
    for one in list(top.values()):
        other = next((top[name] for name in one.rule.parts if name in top and top[name] is not one), None)
        if other is None or one.rule.level == CAUSE:
            continue
        alike = one.rule.level == other.rule.level and other.rule.name in leading
        is_first = (one.rule.name in leading and not alike) or 2 * (other.saving_ns or 0) < (one.saving_ns or 0)
        _move(*((other, one) if is_first else (one, other)), parents)


def _join_ranges(costs: Iterable[Finding], leading: Container[str], parents: dict[str, str]) -> None:
    """Nest symptoms under the place in the same range, if that saves at least half as much."""
    top = [one for one in costs if one.rule.name not in parents]
    places = [one for one in top if one.rule.level == PLACE and one.facts.get(RANGE)]
    for one in top:
        if one.rule.level != SYMPTOM or one.rule.name in leading:
            continue
        same = (other for other in places if other.facts[RANGE] == one.facts.get(RANGE))
        if (place := next(same, None)) and 2 * (place.saving_ns or 0) >= (one.saving_ns or 0):
            _move(one, place, parents)


def _move(below: Finding, above: Finding, parents: dict[str, str]) -> None:
    """Nest a finding, and all that is nested under it, under another one."""
    moved = {below.rule.name, *(name for name, parent in parents.items() if parent == below.rule.name)}
    parents.update(dict.fromkeys(moved, above.rule.name))


def list_claimed(rule: Rule, parts: Sequence[Part]) -> list[str]:
    """Return the parts that a rule claims, in its order. A kind stands for all parts of that kind."""
    names = [part.name for wanted in rule.parts for part in parts if wanted in (part.name, part.kind, ALL)]
    return list(dict.fromkeys(names))


def _costs_time(one: Finding) -> bool:
    return one.verdict == "fires" and one.rule.costs and bool(one.saving_ns)


def _make_sort_key(one: Finding) -> tuple[int, str]:
    return -(one.saving_ns or 0), one.rule.name


def _is_leading(one: Finding, costs: Iterable[Finding], parts: Sequence[Part]) -> bool:
    """Return True for a place that contains causes of which none explains a quarter of its time, or removes it.

    Also for a symptom whose rule knows its cause.
    """
    if one.rule.level != PLACE:
        return one.is_cause
    mine = set(list_claimed(one.rule, parts))
    shares = [
        other for other in costs if other.rule.level == CAUSE and mine.intersection(list_claimed(other.rule, parts))
    ]
    most = max((max(other.saving_ns or 0, other.explains_ns) for other in shares), default=0)
    return bool(shares) and (one.is_cause or most < LEAST_OF_PLACE * (one.saving_ns or 0))


def _take_parts(
    one: Finding, most: int, names: Sequence[str], left: dict[str, int], took: dict[str, dict[str, int]]
) -> int:
    limits = _read_limits(one)
    gets = 0
    for name in names:
        taken = min(most - gets, left[name], limits.get(name, left[name]))
        left[name] -= taken
        gets += taken
        if taken:
            took.setdefault(name, {})[one.rule.name] = taken
    return gets


def _read_limits(one: Finding) -> dict[str, int]:
    """Return the most that a finding claims of some parts, in ns."""
    return {part: int(one.facts.get(column) or 0) for part, column in one.rule.limits}


def _sum_takers(rule: str, names: Sequence[str], took: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Return the time that other rules took of these parts, in ns by rule."""
    sums: dict[str, int] = {}
    for name in names:
        for other, ns in took.get(name, {}).items():
            if other != rule:
                sums[other] = sums.get(other, 0) + ns
    return sums
