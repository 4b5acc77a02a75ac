"""A rule as its file describes it.

The header is that of an analysis (profiledb.query.header), with these lines besides::

    -- title: GPU idle
    -- question: Is the GPU idle while the program runs?
    -- Prose: what the value is, and of what.
    -- unit: %                             of value and threshold: %, ns, bytes, count, ratio
    -- fires: above                        or below: on which side of the threshold the rule fires; at it, it does
    -- param: threshold = 15 share of the time from which on it is said
    -- joins: ncu                          it asks a Compute report, or a Systems report with its linked one
    -- once: idle                          rows that several rules build on (analyses/<topic>/once), made once for all
    -- parts: host code, launch call       parts of the time (analysis time_split), or kinds of them, that the saving is
                                           taken from: what several findings take from one part is counted once
    -- level: place                        what it tells: a cause (without this line), the place of time that causes
                                           explain (place), time that others tell the cause of (symptom), or all time
                                           of a kind (frame)
    -- weight: note                        it costs nothing by itself: a remark on the capture (note) or on what the
                                           figures are worth (warning); or mending it is a choice, so that its severity
                                           is never above low (low); without this line the saving tells
    -- says: The GPU is idle {value} of the time; for {share_pct} of that the CPU is in {range}.
    -- clear: The GPU is idle {value} of the time.
    -- advice: [launch call, PyTorch] Compile {place|the step}.     conditions in front: cause, traits of the program
    -- advice: -> launch_less              lines that several rules share
    -- source: where formula and threshold come from

The query answers one row. ``value`` is compared with the threshold; it is NULL, or there is no row, where there is
nothing to judge, and ``unjudged`` may say why in a sentence. ``saving_ns`` is an upper bound of the time that mending
it saves, on all GPUs of the selection together. ``explains_ns``, where it is more, is time of the parts that no other
rule can tell anything of before this one is mended. ``evidence`` is a list of structs, the weightiest first, with any
of the fields of ``EVIDENCE``. All other columns are facts for the sentences. Of several ``says`` the first is taken
whose columns are all there, and of several ``clear``. ``{gaps} {gaps|gap|gaps}`` is a count and the word that goes with
it, ``{range|the step}`` a column, or other words where it is not there.

Advice says first what to change, and where: ``{place}`` is the range of the finding, or of its first piece of evidence,
``{part}`` the same without operators. advice.py describes the conditions in front of a line. A line with a column that
is not there is left out.
"""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from profiledb.errors import AnalysisError
from profiledb.findings import advice
from profiledb.library.catalog import LAUNCHES, TIMELINE, Subject
from profiledb.query import header, views
from profiledb.query.header import Analysis

GROUPS = {
    "idle": "GPU idle",
    "launch": "Launches and synchronization",
    "copies": "Copies and memory",
    "steps": "Steps",
    "host": "Host and input",
    "kernels": "Kernels",
    "communication": "Communication",
    "profile": "Kernel profiles",
    "machine": "Machine",
    "capture": "Capture",
}
"""The groups of rules, which are the folders of their files, and what people read for each."""

UNITS = ("%", "ns", "bytes", "count", "ratio")
SIDES = ("above", "below")
WEIGHTS = ("", "low", "note", "warning")
LEVELS = ("cause", "place", "symptom", "frame")
"""What a rule tells of the time that it claims, the nearest to what can be mended first."""

EVIDENCE = {
    "name": "text", "note": "text", "value": "", "ns": "ns", "count": "count", "bytes": "bytes", "start_ns": "ns",
    "end_ns": "ns", "kernel": "id", "range": "text", "launch": "id", "device": "id", "stream": "id",
}  # fmt: skip
"""The fields of a piece of evidence with their units; ``value`` has that of the rule. ``start_ns`` and ``end_ns`` are
times on the report's clock, in a finding from the begin of the capture on; ``kernel`` is the number of a kernel
(kernel_key), ``range`` a path as a selection names it, ``launch`` a launch of the Compute report."""

OWN = ("value", "saving_ns", "explains_ns", "unjudged", "cause", "evidence")
"""Columns that every rule may answer; all others are facts, declared in its header."""

_KEYS = (
    "title", "question", "needs", "includes", "selects", "param", "joins", "column", "once", "parts", "level", "unit",
    "fires", "weight", "says", "clear", "advice", "source",
)  # fmt: skip
_LINE = re.compile(rf"^-- ?(?:(?P<key>{'|'.join(_KEYS)}): )?(?P<text>.*)$")
_MUST = ("title", "question", "unit", "fires", "says", "clear", "advice", "source", "param")
WHERE = ("place", "part")
"""What advice calls the range that a finding is about, and the same without operators and ranges inside of these."""
PLACE = re.compile(r"\{(?P<column>\w+)(?:\|(?P<one>[^{}|]+)(?:\|(?P<many>[^{}|]+))?)?\}")
"""A column in a sentence; with a text behind it also where it is not there, which then says that text; with two the
word that goes with one of what it counts, and the word that goes with many."""


@dataclass(frozen=True)
class Rule:
    """A rule; ``analysis`` holds what it has in common with an analysis. ``own``: it is from a user's folder."""

    analysis: Analysis
    group: str
    question: str
    unit: str
    fires: str
    weight: str
    says: tuple[str, ...]
    clear: tuple[str, ...]
    advice: tuple[str, ...]
    source: str
    once: tuple[str, ...]
    parts: tuple[str, ...] = ()
    level: str = LEVELS[0]
    own: bool = False

    @property
    def name(self) -> str:
        """What settings, addresses and ``--fail-on`` call it."""
        return self.analysis.name

    @property
    def title(self) -> str:
        """What people read."""
        return self.analysis.title

    @property
    def costs(self) -> bool:
        """Whether mending it saves time; else it is a remark."""
        return self.weight in ("", "low")

    @property
    def is_choice(self) -> bool:
        """Whether nobody but its author knows if the program could do without what it says."""
        return self.weight == "low"

    @property
    def subjects(self) -> frozenset[Subject]:
        """What a report may be about for the rule to be asked; one that joins asks a Compute report alone, too."""
        return frozenset((LAUNCHES, TIMELINE) if self.analysis.joins else (TIMELINE,))

    @cached_property
    def version(self) -> str:
        """What changes with its text, or with a view that it builds on."""
        text = f"{views.sql(self.analysis.includes)}{self.analysis.sql}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def causes(self) -> frozenset[str]:
        """Those for which there is advice."""
        return advice.causes(self.advice)

    def advised(self, cause: str | None, traits: Collection[str] = ("PyTorch",)) -> tuple[str, ...]:
        """What to do, where the cause is this one, in a program with these traits; columns stand in it by name."""
        return advice.choose(self.advice, cause, traits)


def parse(name: str, text: str, group: str, *, own: bool = False) -> Rule:
    """Reads a rule.

    Raises:
        AnalysisError: its header is not that of a rule; the message names the rule and what is wrong.
    """
    lines = header.read(text, _LINE)
    if lacking := [key for key in _MUST if key not in lines]:
        raise wrong(name, f"has no line {lacking[0]!r}")
    try:
        told = advice.expanded(lines["advice"])
    except KeyError as error:
        raise wrong(name, f"refers to advice {error.args[0]!r}, which advice.toml does not have") from error
    rule = Rule(
        analysis=header.of(name, lines, text, "findings"),
        group=group,
        question=" ".join(lines["question"]),
        unit=lines["unit"][0],
        fires=lines["fires"][0],
        weight=lines.get("weight", [""])[0],
        says=tuple(lines["says"]),
        clear=tuple(lines["clear"]),
        advice=told,
        source=" ".join(lines["source"]),
        once=header.listed(lines.get("once", [])),
        parts=header.listed(lines.get("parts", [])),
        level=lines.get("level", [LEVELS[0]])[0],
        own=own,
    )
    _check(rule)
    return rule


def wrong(name: str, what: str, detail: str = "") -> AnalysisError:
    """The error that says what is wrong with a rule."""
    return AnalysisError(
        f"The rule {name!r} {what}.", hint="docs/findings.md describes the file of a rule.", detail=detail
    )


def _check(rule: Rule) -> None:
    choices: Mapping[str, tuple[str, tuple[str, ...]]] = {
        "group": (rule.group, tuple(GROUPS)),
        "unit": (rule.unit, UNITS),
        "fires": (rule.fires, SIDES),
        "weight": (rule.weight, WEIGHTS),
        "level": (rule.level, LEVELS),
    }
    for key, (value, of) in choices.items():
        if value not in of:
            raise wrong(rule.name, f"has the {key} {value!r}, which is none of: {', '.join(filter(None, of))}")
    if "threshold" not in {param.name for param in rule.analysis.params}:
        raise wrong(rule.name, "has no parameter 'threshold'")
    units = {column.name: column.unit for column in rule.analysis.columns}
    units |= {"value": rule.unit, "threshold": rule.unit, "saving": "ns", "cause": "text"}
    told = [advice.text(line) for line in rule.advice]
    for place in (match for sentence in (*rule.says, *rule.clear, *told) for match in PLACE.finditer(sentence)):
        if place["column"] not in units and not (place.string in told and place["column"] in WHERE):
            raise wrong(rule.name, f"names a column {place['column']!r} that its header does not declare")
        if place["many"] and units[place["column"]] != "count":
            raise wrong(rule.name, f"has words for one and many of {place['column']!r}, which is no count")
