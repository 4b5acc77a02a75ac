"""What analyses say of themselves: documented SQL files in ``analyses/<topic>/``, one each.

The header of a file, up to its first line of SQL, is what people read and what tests hold against the query::

    -- title: CUDA GPU kernel summary
    -- Prose, any number of lines.
    -- page: kernels                       address of the page that shows it; none where no page asks it
    -- show: name 300, share_pct bar 110, total_ns     columns of its table on the page, in order; width in pixels
    -- prefetch: part limit=1              what pages ask at their first look, a line each: of which PARTS, parameters
    -- needs: kernel                       tables that must have rows; "a or b" where one is enough
    -- includes: selection, nsys           files of views that it builds on (views.py); what they include comes along
    -- selects: part, mode                 what of a selection changes its answer, see SELECTS
    -- param: by = demangled (demangled, short) which name to group by
    -- stored: yes                        its answer is worked out when a report is taken in (precomputed_answers.py)
    -- joins: ncu                         it runs on a Systems report together with a Compute report (pair.py), or with
                                          a linked trace (trace)
    -- column: avg_ns = Average | ns | .1f | mean duration of an execution

A column line has the name, the unit, a number format for text output (or nothing) and the meaning. Behind the name may
stand the heading that people read over it; without one it is the name in words, without its unit.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from profiledb.errors import AnalysisError
from profiledb.library.report_links import Partner
from profiledb.selection import model

SELECTS = ("part", "mode", "phases")
"""What an answer may go by besides its own parameters.

part: the part of the report that is selected (selection/model.py). mode: the mode of attribution, also where no range
is chosen. phases: the phases of the settings (rules/phases.toml).
"""

PARTS = ("whole", "part", "steady")
"""Parts of a report of which pages ask at their first look.

whole: all of it, the warm-up included. part: what pages show by default, without the warm-up. steady: the same, of the
time in which steps repeat, where the report has such.
"""

NSYS_STATS = "nsys_stats"
"""The topic of analyses that carry the name of an nsys report and print its numbers."""

_KEYS = ("title", "page", "show", "prefetch", "needs", "includes", "selects", "param", "stored", "joins", "column")
_LINE = re.compile(rf"^-- ?(?:(?P<key>{'|'.join(_KEYS)}): )?(?P<text>.*)$")
_UNIT = re.compile(r"_(ns|pct|bytes|j|w)$")
_SHOWN = re.compile(r"(?P<column>\w+)(?P<bar> bar)?(?: (?P<width>\d+))?")
_PARAM = re.compile(r"^(?P<name>\w+) = (?P<default>\S*) (?:\((?P<choices>[\w, ]+)\) )?(?P<help>.+)$")


@dataclass(frozen=True)
class Param:
    """A parameter of an analysis; ``choices`` is empty where any value goes, ``default`` empty means NULL."""

    name: str
    default: str
    choices: tuple[str, ...]
    help: str


@dataclass(frozen=True)
class Column:
    """A column of the result: name, unit (ns, bytes, %, class ...), number format or "", meaning, heading.

    Without a heading it is the name in words, without its unit.
    """

    name: str
    unit: str
    format: str
    help: str
    title: str = ""

    def __post_init__(self) -> None:
        if not self.title:
            words = _UNIT.sub("", self.name).replace("_", " ")
            object.__setattr__(self, "title", words[:1].upper() + words[1:])


@dataclass(frozen=True)
class Shown:
    """A column of the table that a page has of an analysis; ``bar``: percentages as bars. ``width``: pixels."""

    column: str
    bar: bool = False
    width: int | None = None


@dataclass(frozen=True)
class Asked:
    """What pages ask of an analysis before anybody has chosen anything; ``part`` is one of PARTS."""

    part: str
    params: tuple[tuple[str, str | int], ...]


@dataclass(frozen=True)
class Analysis:
    """An analysis as its file describes it; ``needs`` holds alternatives of tables, ``includes`` files of views.

    ``page`` is the address of the page that shows its answer, empty where none does; ``show`` are the columns of its
    table there, ``prefetch`` is what pages ask of it first.

    Where ``joins`` is ``ncu``, its parameter of that name names a Compute report that answers what begins with
    ``ncu_``; where it is ``trace``, a linked trace answers what begins with ``trace_``.
    """

    name: str
    title: str
    prose: str
    needs: tuple[tuple[str, ...], ...]
    params: tuple[Param, ...]
    columns: tuple[Column, ...]
    sql: str
    stored: bool = False
    joins: Partner | None = None
    includes: tuple[str, ...] = ()
    selects: tuple[str, ...] = ()
    topic: str = ""
    page: str = ""
    show: tuple[Shown, ...] = ()
    prefetch: tuple[Asked, ...] = ()

    @property
    def limit(self) -> int:
        """Return how many rows pages ask for at their first look; 0 where they ask for all."""
        return max((int(dict(asked.params).get("limit", 0)) for asked in self.prefetch), default=0)

    @property
    def mode(self) -> str:
        """Which mode of attribution it counts by where nobody says: that of nsys where it carries a name of nsys."""
        return "thread" if self.topic == NSYS_STATS else "process"

    @property
    def takes(self) -> frozenset[str]:
        """The names of its parameters, those of a selection included."""
        return frozenset(param.name for param in self.params).union(model.HELP if self.by_part else ())

    def taken(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Those of some parameters that it takes."""
        names = self.takes
        return {name: value for name, value in params.items() if name in names}

    @property
    def by_part(self) -> bool:
        """Whether it takes the parameters of a selection besides its own (selection.model.HELP)."""
        return "part" in self.selects

    @property
    def by_mode(self) -> bool:
        """Whether the mode of attribution changes its answer even where no range is chosen."""
        return "mode" in self.selects

    @property
    def by_phases(self) -> bool:
        """Whether its answer goes by the phases of the settings (phases.toml)."""
        return "phases" in self.selects


@cache
def analyses() -> dict[str, Analysis]:
    """All analyses by name, sorted."""
    topics = [topic for topic in resources.files("profiledb").joinpath("analyses").iterdir() if topic.is_dir()]
    files = [(file, topic.name) for topic in topics for file in topic.iterdir() if file.name.endswith(".sql")]
    return {
        file.name[:-4]: parse(file.name[:-4], file.read_text(encoding="utf-8"), topic)
        for file, topic in sorted(files, key=lambda pair: pair[0].name)
    }


def get(name: str) -> Analysis:
    """One analysis.

    Raises:
        AnalysisError: there is none of that name.
    """
    if name not in analyses():
        raise AnalysisError(f"No analysis is called {name!r}.", hint="warpdeck analyses lists them.")
    return analyses()[name]


def parse(name: str, text: str, topic: str = "") -> Analysis:
    """Reads the header of an analysis file, which lies in the folder ``topic``; ``sql`` is the whole text."""
    return of(name, read(text, _LINE), text, topic)


def of(name: str, lines: Mapping[str, list[str]], text: str, topic: str = "") -> Analysis:
    """The analysis that the lines of a header describe, by their keys; ``text`` is the whole file."""
    return Analysis(
        name=name,
        title=lines["title"][0],
        prose=" ".join(lines.get("", [])).strip(),
        needs=tuple(tuple(need.split(" or ")) for need in lines.get("needs", [])),
        params=tuple(_param(line) for line in lines.get("param", [])),
        columns=tuple(_column(line) for line in lines.get("column", [])),
        sql=text,
        stored=bool(lines.get("stored")),
        joins="trace" if lines.get("joins") == ["trace"] else "ncu" if lines.get("joins") else None,
        includes=listed(lines.get("includes", [])),
        selects=listed(lines.get("selects", [])),
        topic=topic,
        page=next(iter(lines.get("page", [])), ""),
        show=tuple(map(_shown, listed(lines.get("show", [])))),
        prefetch=tuple(map(_asked, lines.get("prefetch", []))),
    )


def read(text: str, line: re.Pattern[str]) -> dict[str, list[str]]:
    """The comments before the first line of SQL, by their key; what has none stands under the empty one."""
    values: dict[str, list[str]] = {}
    for comment in text.splitlines():
        if not comment.startswith("--"):
            break
        match = line.match(comment)
        assert match is not None
        values.setdefault(match["key"] or "", []).append(match["text"].strip())
    return values


def listed(values: list[str]) -> tuple[str, ...]:
    """The names of lines that list some with commas between them."""
    return tuple(name.strip() for value in values for name in value.split(","))


def _column(line: str) -> Column:
    named, unit, form, about = (part.strip() for part in line.split("|"))
    name, _, title = named.partition(" = ")
    return Column(name, unit, form, about, title)


def _shown(text: str) -> Shown:
    match = _SHOWN.fullmatch(text)
    if match is None:
        raise AnalysisError(f"A show line cannot be read: {text}")
    return Shown(match["column"], match["bar"] is not None, int(match["width"]) if match["width"] else None)


def _asked(line: str) -> Asked:
    part, *params = line.split()
    if part not in PARTS:
        raise AnalysisError(f"A prefetch line names no part of a report: {line}")
    values = (param.split("=", 1) for param in params)
    return Asked(part, tuple((name, int(value) if value.isdigit() else value) for name, value in values))


def _param(line: str) -> Param:
    match = _PARAM.match(line)
    if match is None:
        raise AnalysisError(f"A param line cannot be read: {line}")
    choices = tuple(part.strip() for part in (match["choices"] or "").split(",") if part.strip())
    return Param(match["name"], match["default"], choices, match["help"])


def bind(analysis: Analysis, given: Mapping[str, Any]) -> dict[str, Any]:
    """Values of all parameters: those given, and the defaults.

    Raises:
        AnalysisError: a name that the analysis does not have, or a value that it does not take.
    """
    known = {p.name: p for p in analysis.params}
    if unknown := sorted(set(given) - set(known)):
        names = ", ".join(known) or "none"
        raise AnalysisError(f"{analysis.name} has no parameter {unknown[0]!r}.", hint=f"Its parameters: {names}.")
    values = {p.name: given.get(p.name, p.default or None) for p in analysis.params}
    for param in analysis.params:
        if param.choices and values[param.name] not in param.choices:
            raise AnalysisError(
                f"{param.name} of {analysis.name} cannot be {values[param.name]!r}.",
                hint=f"It is one of: {', '.join(param.choices)}.",
            )
    return values
