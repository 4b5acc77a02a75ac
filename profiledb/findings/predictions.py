"""Predict what fixing a finding saves: replay the report with the change that its rule declares (profiledb.replay)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from profiledb.findings.causes import FRAME, LEAST_OF_PLACE
from profiledb.findings.finding import SLASH, Finding, Prediction, Together
from profiledb.findings.program import list_names
from profiledb.findings.rule import LEVELS, PLACE
from profiledb.replay.saving import Saving, Savings

LEAST_PCT = 0.5
"""Share of the time below which a bound is not replayed, and a predicted saving counts as none."""
MORE = 1.25
"""Ratio of savings from which a finding takes the place of the one above it: savings that are closer agree."""
MOST_TOGETHER = 3
"""Number of findings whose changes are replayed together."""


def predict(findings: Iterable[Finding], savings: Savings, window_ns: int | None) -> list[Finding]:
    """Return the findings with predicted savings where their rules declare a change that the report can replay.

    Findings with the same change have the same saving, so they are nested under one of them: a cause before a place,
    then the one that obtained most time. One whose change saves ``MORE`` times as much as that of the finding above it
    takes its place. A frame leaves the finding above it if that one's change saves less than a quarter of what nobody
    claims of the frame. ``window_ns`` is the time that savings are a share of.
    """
    return _free_frames(
        _promote(_nest_same_changes([_predict_finding(one, savings, window_ns or 0) for one in findings]))
    )


def _free_frames(findings: Sequence[Finding]) -> list[Finding]:
    by_name = {one.rule.name: one for one in findings}

    def is_free(one: Finding) -> bool:
        above = by_name.get(one.parent or "")
        if above is None or above.prediction is None or one.rule.level != FRAME:
            return False
        return (above.saving_ns or 0) < LEAST_OF_PLACE * (one.own_saving_ns or 0)

    return [replace(one, parent=None) if is_free(one) else one for one in findings]


def _promote(findings: Sequence[Finding]) -> list[Finding]:
    """Exchange findings with one below them whose change saves far more, with all that is nested and obtained.

    For example, copies beside kernels save more than copies from pinned memory, which those need to be.
    """
    by_name = {one.rule.name: one for one in findings}
    best: dict[str, Finding] = {}
    for one in findings:
        above = by_name.get(one.parent or "")
        if above and above.prediction and one.prediction and _saves_more(one, above):
            best[above.rule.name] = max(best.get(above.rule.name, one), one, key=lambda one: one.saving_ns or 0)
    places = {above: one.rule.name for above, one in best.items()}
    ahead = {name: above for above, name in places.items()}
    return [
        replace(one, parent=None, own_saving_ns=by_name[ahead[one.rule.name]].own_saving_ns)
        if one.rule.name in ahead
        else replace(one, parent=places[one.rule.name], own_saving_ns=one.own_saving_ns and 0)
        if one.rule.name in places
        else replace(one, parent=places.get(one.parent or "", one.parent))
        for one in findings
    ]


def _saves_more(one: Finding, above: Finding) -> bool:
    is_later = LEVELS.index(one.rule.level) > LEVELS.index(above.rule.level)
    return not is_later and not above.leads and (one.saving_ns or 0) > MORE * (above.saving_ns or 0)


def _nest_same_changes(findings: Sequence[Finding]) -> list[Finding]:
    most: dict[tuple[str, ...], Finding] = {}
    for one in sorted(findings, key=_make_sort_key):
        if one.prediction and one.parent is None:
            most.setdefault(one.prediction.changes, one)
    parents = {
        one.rule.name: most[one.prediction.changes].rule.name
        for one in findings
        if one.prediction
        and one.parent is None
        and one is not (first := most[one.prediction.changes])
        and _is_same(one, first)
    }
    return [
        replace(one, parent=parents.get(one.rule.name) or parents.get(one.parent or "", one.parent)) for one in findings
    ]


def _make_sort_key(one: Finding) -> tuple[int, int, str]:
    return LEVELS.index(one.rule.level), -(one.own_saving_ns or 0), one.rule.name


def _is_same(one: Finding, most: Finding) -> bool:
    """Return False for a place of which the change of a cause removes too little to explain it."""
    is_later = LEVELS.index(one.rule.level) > LEVELS.index(most.rule.level)
    return not is_later or (one.saving_ns or 0) >= LEAST_OF_PLACE * (one.at_most_ns or 0)


def combine(findings: Sequence[Finding], savings: Savings, window_ns: int | None) -> list[Finding]:
    """Return the findings, the first of which (``MOST_TOGETHER`` with different changes) know their common saving."""
    first: dict[tuple[str, ...], Finding] = {}
    for one in findings:
        if one.prediction and one.prediction.pct >= LEAST_PCT and one.parent is None:
            first.setdefault(one.prediction.changes, one)
    chosen = list(first)[:MOST_TOGETHER]
    changes = tuple(change for several in chosen for change in several)
    saving = savings.find(changes) if len(chosen) > 1 else None
    if saving is None:
        return [*findings]
    rules = tuple(first[several].rule for several in chosen)
    together = Together(rules, _convert_saving(changes, saving, window_ns or 0))
    return [replace(one, together=together) if one.rule in rules else one for one in findings]


def _predict_finding(finding: Finding, savings: Savings, window_ns: int) -> Finding:
    if finding.verdict != "fires" or (finding.saving_pct or 0.0) < LEAST_PCT:
        return finding
    every = finding.rule.list_changes(finding.cause, list_names(finding.program))
    changes = tuple(dict.fromkeys(filter(None, (_fill_change(change, finding) for change in every))))
    saving = savings.find(changes) if changes else None
    if saving is None or not saving.stands_for(window_ns):
        return finding
    prediction = _bound_prediction(_convert_saving(changes, saving, window_ns), finding.reach_ns)
    own = None if finding.own_saving_ns is None else min(finding.own_saving_ns, prediction.ns)
    return replace(
        finding, saving_ns=prediction.ns, saving_pct=prediction.pct, own_saving_ns=own, prediction=prediction
    )


def _convert_saving(changes: tuple[str, ...], saving: Saving, window_ns: int) -> Prediction:
    """Return the saving of the time that is judged. An interval that reaches below zero begins there."""
    pct, low, high = (min(100.0, max(0.0, one)) for one in (saving.pct, saving.low_pct, saving.high_pct))
    ns, low_ns, high_ns = (int(window_ns * one / 100) for one in (pct, low, high))
    return Prediction(changes, ns, low_ns, high_ns, pct, high)


def _bound_prediction(prediction: Prediction, most_ns: int | None) -> Prediction:
    """Return a prediction that saves, and whose interval holds, no more than the time that the saving comes from."""
    if most_ns is None or prediction.high_ns <= most_ns:
        return prediction
    pct = prediction.high_pct * most_ns / prediction.high_ns
    return replace(
        prediction, ns=min(prediction.ns, most_ns), low_ns=min(prediction.low_ns, most_ns), high_ns=most_ns,
        pct=min(prediction.pct, pct), high_pct=pct,
    )  # fmt: skip


def _fill_change(change: str, finding: Finding) -> str:
    """Return the change with the innermost name of its range, or "" if the range is unknown."""
    column = PLACE.search(change)
    if column is None:
        return change
    path = finding.facts.get(column["column"])
    name = SLASH.split(path)[-1].replace("\\/", "/") if path else ""
    return PLACE.sub(lambda _: name, change) if name else ""
