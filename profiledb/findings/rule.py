"""Rules as their files describe them.

The header is that of an analysis (profiledb.query.header), with these additional lines::

    -- title: GPU idle
    -- question: Is the GPU idle while the program runs?
    -- Prose: what the value is, and of what.
    -- unit: %                             of value and threshold: %, ns, bytes, count, ratio
    -- fires: above                        or below: the side of the threshold, inclusive, on which the rule fires
    -- param: threshold = 15 fires at or above this share of the active span
    -- joins: ncu                          it reads a Compute report, or a Systems report with its linked one
    -- parts: host code, launch call       parts of the time (analysis time_split), or kinds of them, that the saving
                                           comes from; time that several findings claim is counted once.
                                           ``host code (staged_ns)`` claims no more of a part than that column says
    -- level: place                        a finding names a cause (without this line), the place of time that causes
                                           explain (place), time whose cause other rules find (symptom), or all time of
                                           a kind (frame)
    -- weight: note                        without a cost of its own: a remark on the capture (note) or on the validity
                                           of the figures (warning); or its fix is a choice, so that its severity never
                                           exceeds low (low); without this line, the saving decides
    -- says: The GPU is idle {value} of the time; for {share_pct} of that the CPU is in {range}.
    -- clear: The GPU is idle {value} of the time.
    -- advice: [launch call, PyTorch] Compile {place|the step}.     conditions first: cause, traits of the program
    -- advice: -> launch_less              lines that several rules share
    -- change: [file] host_code={range}    the change (profiledb.replay.changes) whose replay predicts the saving, with
                                           conditions as in advice; of a column with a range it takes the innermost
                                           name. All that hold are made together, except those whose column has no value
    -- source: where formula and threshold come from

The query returns one row. Its ``value`` is compared with the threshold. If there is nothing to judge, ``value`` is
NULL or the row is missing, and ``unjudged`` may give the reason in a sentence. ``saving_ns`` is an upper bound of
the time that a fix saves, summed over all GPUs of the selection. ``explains_ns``, if larger, is time of the parts
that no other rule can explain until this one is fixed. ``is_cause`` is true if a place leads the causes within it,
whatever they explain, because fixing them would not remove it, if a symptom names its cause, or if a cause shortens
what the others of its parts are about. ``is_choice`` overrides ``weight: low`` or its absence. ``evidence`` is a list
of structs, the most important first, with any of the fields of ``EVIDENCE``. All other columns are facts for the
sentences. Of several ``says`` or ``clear`` lines, the first whose columns all have values is used. ``{gaps}
{gaps|gap|gaps}`` is a count followed by the singular or plural noun, and ``{range|the step}`` a column with a
fallback text.

Advice starts with the change and its location: ``{place}`` is the range of the finding or of its first piece of
evidence, and ``{part}`` the same without operators. advice.py describes the conditions. A line is left out if one of
its columns has no value.
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
"""The groups of rules, which are also the folders of their files, with their titles."""

UNITS = ("%", "ns", "bytes", "count", "ratio")
SIDES = ("above", "below")
WEIGHTS = ("", "low", "note", "warning")
LEVELS = ("cause", "place", "symptom", "frame")
"""Levels of a rule, which say how directly the time that it claims can be fixed, the most direct first."""

EVIDENCE = {
    "name": "text", "note": "text", "value": "", "ns": "ns", "count": "count", "bytes": "bytes", "start_ns": "ns",
    "end_ns": "ns", "kernel": "id", "range": "text", "launch": "id", "device": "id", "stream": "id",
}  # fmt: skip
"""The fields of a piece of evidence with their units; ``value`` has the unit of the rule. ``start_ns`` and ``end_ns``
are on the report's clock, but relative to the start of the capture in a finding. ``kernel`` is the number of a kernel
(kernel_key), ``range`` a path as a selection names it, and ``launch`` a launch of the Compute report."""

OWN = ("value", "saving_ns", "explains_ns", "is_cause", "is_choice", "unjudged", "cause", "evidence")
"""Columns that any rule may return. All others are facts, which its header declares."""

_KEYS = (
    "title", "question", "needs", "includes", "selects", "param", "joins", "column", "once", "parts", "level", "unit",
    "fires", "weight", "says", "clear", "advice", "change", "source",
)  # fmt: skip
_LINE = re.compile(rf"^-- ?(?:(?P<key>{'|'.join(_KEYS)}): )?(?P<text>.*)$")
_MUST = ("title", "question", "unit", "fires", "says", "clear", "advice", "source", "param")
WHERE = ("place", "part", "pass")
"""Placeholders in advice: the range of a finding, the same up to the first operator, and its outermost range."""
_LIMITED = re.compile(r"^(?P<part>[^()]+) \((?P<column>\w+)\)$")
PLACE = re.compile(r"\{(?P<column>\w+)(?:\|(?P<one>[^{}|]+)(?:\|(?P<many>[^{}|]+))?)?\}")
"""A column in a sentence. One text after it is a fallback for a missing value; two texts are the singular and plural
nouns that go with a count."""


@dataclass(frozen=True)
class Rule:
    """A rule. ``analysis`` holds what rules share with analyses; ``own`` marks a rule from a user's folder."""

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
    parts: tuple[str, ...] = ()
    limits: tuple[tuple[str, str], ...] = ()
    level: str = LEVELS[0]
    changes: tuple[str, ...] = ()
    own: bool = False

    @property
    def name(self) -> str:
        """Return its identifier in settings, addresses and ``--fail-on``."""
        return self.analysis.name

    @property
    def title(self) -> str:
        return self.analysis.title

    @property
    def costs(self) -> bool:
        """Return True if a fix saves time; otherwise the finding is a remark."""
        return self.weight in ("", "low")

    @property
    def is_choice(self) -> bool:
        """Return True if only the program's author knows whether the program could do without the reported work."""
        return self.weight == "low"

    @property
    def subjects(self) -> frozenset[Subject]:
        """Return the report subjects that it applies to. A rule with a join also applies to a Compute report alone."""
        return frozenset((LAUNCHES, TIMELINE) if self.analysis.joins else (TIMELINE,))

    @cached_property
    def version(self) -> str:
        """Return a hash of its text and of the views that it builds on."""
        text = f"{views.build_sql(self.analysis.includes)}{self.analysis.sql}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def causes(self) -> frozenset[str]:
        """Return the causes that it gives advice for."""
        return advice.list_causes(self.advice)

    def advised(self, cause: str | None, traits: Collection[str] = ("PyTorch",)) -> tuple[str, ...]:
        """Return the advice for this cause in a program with these traits, with placeholders for columns."""
        return advice.choose(self.advice, cause, traits)

    def list_changes(self, cause: str | None, traits: Collection[str] = ()) -> tuple[str, ...]:
        """Return the changes for this cause and these traits, with placeholders for columns."""
        return advice.choose(self.changes, cause, traits)


def parse(name: str, text: str, group: str, *, own: bool = False) -> Rule:
    """Parse a rule.

    Raises:
        AnalysisError: the header is not that of a rule; the message names the rule and the mistake.
    """
    lines = header.read_header(text, _LINE)
    if lacking := [key for key in _MUST if key not in lines]:
        raise make_error(name, f"has no line {lacking[0]!r}")
    try:
        advice_lines = advice.expand_lines(lines["advice"])
    except KeyError as error:
        raise make_error(name, f"refers to advice {error.args[0]!r}, which advice.toml does not have") from error
    parts = header.split_names(lines.get("parts", []))
    limited = tuple((one["part"], one["column"]) for one in map(_LIMITED.match, parts) if one)
    rule = Rule(
        analysis=header.build_analysis(name, lines, text, "findings"),
        group=group,
        question=" ".join(lines["question"]),
        unit=lines["unit"][0],
        fires=lines["fires"][0],
        weight=lines.get("weight", [""])[0],
        says=tuple(lines["says"]),
        clear=tuple(lines["clear"]),
        advice=advice_lines,
        source=" ".join(lines["source"]),
        parts=tuple(_LIMITED.sub(r"\g<part>", one) for one in parts),
        limits=limited,
        level=lines.get("level", [LEVELS[0]])[0],
        changes=tuple(lines.get("change", ())),
        own=own,
    )
    _check_rule(rule)
    return rule


def make_error(name: str, what: str, detail: str = "") -> AnalysisError:
    """Return the error that describes a mistake in a rule."""
    return AnalysisError(
        f"The rule {name!r} {what}.", hint="docs/findings.md describes the file of a rule.", detail=detail
    )


def _check_rule(rule: Rule) -> None:
    choices: Mapping[str, tuple[str, tuple[str, ...]]] = {
        "group": (rule.group, tuple(GROUPS)),
        "unit": (rule.unit, UNITS),
        "fires": (rule.fires, SIDES),
        "weight": (rule.weight, WEIGHTS),
        "level": (rule.level, LEVELS),
    }
    for key, (value, of) in choices.items():
        if value not in of:
            raise make_error(rule.name, f"has the {key} {value!r}, which is none of: {', '.join(filter(None, of))}")
    if "threshold" not in {param.name for param in rule.analysis.params}:
        raise make_error(rule.name, "has no parameter 'threshold'")
    units = {column.name: column.unit for column in rule.analysis.columns}
    units |= {"value": rule.unit, "threshold": rule.unit, "saving": "ns", "cause": "text"}
    if unknown := [column for _, column in rule.limits if units.get(column) != "ns"]:
        raise make_error(rule.name, f"limits a part by {unknown[0]!r}, which is no column in ns")
    advice_lines, changes = ([advice.strip_conditions(line) for line in lines] for lines in (rule.advice, rule.changes))
    for place in (
        match for text in (*rule.says, *rule.clear, *advice_lines, *changes) for match in PLACE.finditer(text)
    ):
        if place["column"] not in units and not (place.string in advice_lines and place["column"] in WHERE):
            raise make_error(rule.name, f"names a column {place['column']!r} that its header does not declare")
        if place["many"] and units[place["column"]] != "count":
            raise make_error(rule.name, f"has words for one and many of {place['column']!r}, which is no count")
