"""Phrase findings: fill the columns of a rule's row into the sentences of its header."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from profiledb import words
from profiledb.findings import judge
from profiledb.findings.advice import translate
from profiledb.findings.finding import Finding, Prediction, Together
from profiledb.findings.judge import Steady
from profiledb.findings.predictions import LEAST_PCT
from profiledb.findings.program import list_names
from profiledb.findings.rule import PLACE, WHERE

FORMATS: dict[str, Callable[[Any], str]] = {
    "%": words.percent,
    "ns": words.duration,
    "bytes": words.bytes_,
    "bytes/s": words.rate,
    "count": words.count,
    "ratio": words.significant,
    "id": str,
}
"""Functions that format a value, by its unit. All other units are formatted as text."""
LONGEST_NAME = 80
ACTIVE = 0.1
"""Part of the capture in which GPUs are active, from which on shares of that part need no explanation."""
ALL_PCT = 99.0
"""Share of the time from which a saving of at most that says nothing."""
MORE = 1.05
"""Multiple of the largest single saving that changes must save together to be worth a sentence."""
_ORDINALS = ("the first finding", "the second", "the third", "the fourth", "the fifth")
_MORE = "the change shortens other waits, too"
_FASTER = "the change makes other kernels faster, too"
_BOUND = re.compile(r"\b(up to|at most|more than) <(?=0\.1 %)")


def says(finding: Finding, name: Callable[[Any], str] = words.code) -> str:
    """Return the sentence of a finding. ``name`` formats names from the report, as Markdown code by default.

    Uses the first sentence whose columns all have values. A share too small to show a digit is written as less than 0.1
    %, or as at most 0.1 % in a bound. A sentence on the profiler's overhead follows if it affects the value.
    """
    if finding.verdict == "cannot_judge":
        return finding.why
    sentences = finding.rule.says if finding.verdict == "fires" else finding.rule.clear
    text = next((one for one in sentences if _has_all_values(finding, one)), f"{finding.rule.title}: {{value}}.")
    sentence = _fill_text(finding, translate(text, list_names(finding.program)), name)
    return f"{sentence} {finding.slowed.sentence(name)}" if finding.slowed else sentence


def fill_advice(finding: Finding, name: Callable[[Any], str] = words.code) -> tuple[str, ...]:
    """Return the advice with its placeholders filled in; empty if the finding does not fire."""
    return tuple(_fill_text(finding, line, name) for line in list_general_advice(finding))


def list_general_advice(finding: Finding) -> tuple[str, ...]:
    """Return the advice with its placeholders, without lines for which the finding lacks values."""
    lines = finding.advice if finding.verdict == "fires" else ()
    return tuple(line for line in lines if _has_all_values(finding, line))


def has_amount(text: str, amount: str) -> bool:
    """Return True if a text gives an amount, such as 1.20 ms."""
    return bool(re.search(rf"(?<![\d.,]){re.escape(amount)}", text))


def describe_saving(finding: Finding, *, reason: bool = True) -> str:
    """State the saving of a fix, without amounts that its sentence already gives; empty if none is left.

    That is the predicted saving with its interval and, with ``reason``, that of ``explain_more``, or an upper bound.
    """
    sentence, prediction = strip_sentence(finding), finding.prediction
    if prediction:
        more = explain_more(finding) if reason else ""
        return _describe_prediction(_limit(prediction, finding.at_most_ns), sentence) + (
            f", because {more}" if more else ""
        )
    amounts = _list_new(sentence, finding.shown_ns, finding.shown_pct) if finding.shown_ns else ""
    return f"Saves at most {amounts}" if amounts else ""


def _limit(prediction: Prediction, at_most_ns: int | None) -> Prediction:
    """Return a prediction whose interval ends at the bound that the rule knows, unless it saves more than that."""
    if at_most_ns is None or not prediction.ns <= at_most_ns < prediction.high_ns:
        return prediction
    return replace(prediction, high_ns=at_most_ns, high_pct=prediction.high_pct * at_most_ns / prediction.high_ns)


def explain_more(finding: Finding) -> str:
    """Say why a change saves more than the time of its finding; empty if it does not."""
    prediction, most_ns = finding.prediction, finding.at_most_ns
    if prediction is None or most_ns is None or prediction.ns <= most_ns or prediction.pct < LEAST_PCT:
        return ""
    more = _FASTER if prediction.changes[0].startswith("precision=") else _MORE
    return more * (words.duration(prediction.ns) != words.duration(most_ns))


def describe_savings(findings: Sequence[Finding], *, titled: bool = True) -> str:
    """State the common saving of the fixes of the first findings.

    Without ``titled`` the list above shows no titles, so findings are named by their places in it.

    Empty if fewer than two have any, if one of them is not among ``findings``, or if one alone saves about as much.
    """
    alone = {one.rule.name: one.prediction.ns if one.prediction else 0 for one in findings}
    together = next((one.together for one in findings if one.together), None)
    if together is None or not alone.keys() >= (rules := {rule.name for rule in together.rules}):
        return ""
    if together.prediction.ns < MORE * max(alone[name] for name in rules):
        return ""
    places = [one.rule.name for one in findings]
    ordinals = dict(zip(places, _ORDINALS, strict=False)) if not titled else {}
    *most, last = [ordinals.get(one.name, f"“{one.title}”") for one in together.rules]
    saved = _describe_prediction(_limit_together(together, findings), "")
    return f"Fixing {', '.join(most)} and {last} together {_lower_first(saved)}."


def _limit_together(together: Together, findings: Iterable[Finding]) -> Prediction:
    """Return the saving of several changes, up to the sum of the largest savings of each, where all are known."""
    most = {one.rule.name: _limit(one.prediction, one.at_most_ns).high_ns for one in findings if one.prediction}
    if any(rule.name not in most for rule in together.rules):
        return together.prediction
    return _limit(together.prediction, sum(most[rule.name] for rule in together.rules))


def _describe_prediction(prediction: Prediction, sentence: str) -> str:
    if prediction.pct < LEAST_PCT:
        high = _list_new(sentence, prediction.high_ns, prediction.high_pct) if prediction.high_ns else ""
        return f"Saves little by itself, at most {high}" if high else "Saves little by itself"
    amounts = _list_new(sentence, prediction.ns, prediction.pct)
    interval = _describe_interval(prediction, f"{sentence} {amounts}")
    return f"Saves about {amounts}{', ' * bool(interval)}{interval}" if amounts else ""


def _describe_interval(prediction: Prediction, text: str) -> str:
    if not prediction.low_ns and round(prediction.high_pct, 1) >= ALL_PCT:
        return ""  # between nothing and all of the time
    low, high = words.duration(prediction.low_ns), words.duration(prediction.high_ns)
    new = [bool(_find_new([one], text)) for one in (low, high)]
    if all(new) and low != high:
        return f"between {low} and {high}" if prediction.low_ns else f"at most {high}"
    return f"at least {low}" if new[0] and prediction.low_ns else f"at most {high}" if new[1] else ""


def _list_new(text: str, ns: int | None, pct: float | None) -> str:
    """Return a saving and its share, leaving out amounts that ``text`` already gives."""
    share = [] if pct is None else [f"{words.percent(pct)} of the time"]
    new = _find_new([words.duration(ns), *share], text)
    return f"{new[0]} ({new[1]})" if len(new) == 2 else next(iter(new), "")


def _find_new(amounts: Iterable[str], text: str) -> list[str]:
    return [one for one in amounts if not has_amount(text, one.removesuffix(" of the time"))]


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def do_first(findings: Sequence[Finding], capture_ns: int | None = None) -> str:
    """Return what to do first, in Markdown: the first advice of the costliest finding and the most that it saves.

    If most kernel time is at its roof, that comes first. Without a finding that costs time, the first warning does,
    because figures then mislead or are missing; without that, the result is "". ``capture_ns`` is the length of the
    capture, which the sentence gives if GPUs are active in a small part of it only.
    """
    one = next(iter([*judge.find_at_roof(findings), *judge.select_worthwhile(findings)]), None)
    if one is None:
        warning = next(iter(judge.select_warnings(findings)), None)
        return " ".join([*fill_advice(warning)[:1], says(warning)]) if warning else ""
    first = next(iter(fill_advice(one)), says(one))
    if not one.shown_ns:
        return f"{first} {says(one)}"
    saved = f"Saves {'about' if one.prediction else 'at most'} {words.duration(one.shown_ns)}"
    if not one.shown_pct:
        return f"{first} {saved}."
    active_ns = 100 * one.shown_ns / one.shown_pct
    if not capture_ns or active_ns > capture_ns * ACTIVE:
        return f"{first} {saved} ({words.percent(one.shown_pct)})."
    return (
        f"{first} {saved}: {words.percent(one.shown_pct)} of the {words.duration(active_ns)} from the GPU's first"
        f" operation to its last, in a capture of {words.duration(capture_ns)}."
    )


def explain_nothing(findings: Iterable[Finding]) -> str:
    """Return the sentence on a report without a costly finding: if no rule could be judged, that is not good news."""
    every = list(findings)
    if judge.select_costly(every):
        return "Nothing found that costs enough time to be worth a change."
    judged = any(one.verdict in ("fires", "clear") for one in every)
    return "Nothing found that costs time by itself." if judged else "This report lacks the data that the rules need."


def strip_sentence(finding: Finding) -> str:
    """Return the sentence without Markdown, for JSON and CSV."""
    return says(finding, _shorten_name)


def strip_advice(finding: Finding) -> tuple[str, ...]:
    """Return the advice without Markdown."""
    return fill_advice(finding, _shorten_name)


def describe_judged(part: Steady) -> str:
    """Say which part of a report its findings judge, and which parts they leave out."""
    return f"Judged: {_describe_part(part)}. Left out: {_describe_left_out(part)}."


def describe_covered(part: Steady) -> str:
    """Say which part of a report its summary covers, and which parts it leaves out."""
    return f"This summary covers {_describe_part(part)}. It leaves out {_describe_left_out(part)}."


def _describe_part(part: Steady) -> str:
    return f"{words.count(part.steps)} steps ({words.duration(part.to_ns - part.from_ns)})"


def _describe_left_out(part: Steady) -> str:
    left = (
        [f"{words.duration(part.before_ns)} from the GPU's first operation to the first step"] if part.before_ns else []
    )
    left += [f"{words.duration(part.after_ns)} after the last one"] if part.after_ns else []
    return " and ".join(left)


def format_amount(value: Any, unit: str) -> str:
    """Format a value in the unit of a rule or column."""
    return FORMATS.get(unit, words.visible)(value)


def _shorten_name(name: Any) -> str:
    return words.shortened(name, LONGEST_NAME)


def _has_all_values(finding: Finding, text: str) -> bool:
    """Return True if the finding has values for all columns of a text."""
    return all(
        _find_value(finding, place["column"]) is not None or _find_fallback(place) for place in PLACE.finditer(text)
    )


def _find_fallback(place: re.Match[str]) -> str | None:
    """Return the fallback text of a column without a value."""
    return None if place["many"] else place["one"]


def _fill_text(finding: Finding, text: str, name: Callable[[Any], str]) -> str:
    return _BOUND.sub(r"\1 ", PLACE.sub(lambda place: _write_value(finding, place, name), text))


def _find_value(finding: Finding, column: str) -> Any:
    own = {"value": finding.value, "threshold": finding.threshold, "saving": finding.saving_ns, "cause": finding.cause}
    own |= {"place": finding.place or finding.line, "part": finding.part or finding.line, "pass": finding.outermost}
    return own[column] if column in own else finding.facts.get(column)


def _write_value(finding: Finding, place: re.Match[str], name: Callable[[Any], str]) -> str:
    column = place["column"]
    if place["many"]:
        return place["one"] if round(_find_value(finding, column)) == 1 else place["many"]
    if _find_value(finding, column) is None:
        return str(place["one"])
    units = {one.name: one.unit for one in finding.rule.analysis.columns}
    units |= {"value": finding.rule.unit, "threshold": finding.rule.unit, "saving": "ns", "cause": "text"}
    value, unit = _find_value(finding, column), "name" if column in WHERE else units[column]
    if unit != "name":
        return format_amount(value, unit)
    named = name(words.shortened(value, LONGEST_NAME))
    line = finding.line if column in WHERE and column != "pass" and value != finding.line else None
    return f"{named} ({name(words.shortened(line, LONGEST_NAME))})" if line else named
