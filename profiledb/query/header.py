"""Headers of analyses, the documented SQL files in ``analyses/<topic>/``.

The header of a file ends at its first line of SQL. People read it as documentation, and tests check it against the
query::

    -- title: CUDA GPU kernel summary
    -- Prose, any number of lines.
    -- page: kernels                       address of the page that shows it; omitted if no page does
    -- show: name 300, share_pct bar 110, total_ns     columns of its table on the page, in order; width in pixels
    -- prefetch: part limit=1              a query that pages send first, one per line: one of PARTS, parameters;
                                           "of TABLE" if they send it only of reports where that has rows
    -- needs: kernel                       tables that must have rows; "a or b" if either is enough
    -- includes: selection, nsys           view files that it builds on (views.py), with the files that those include
    -- selects: part, mode                 parts of a selection that change its answer, see SELECTS
    -- param: by = demangled (demangled, short) which name to group by
    -- once: steps, functions              rows shared with other analyses, made once for all (shared_rows.py)
    -- joins: ncu                         it runs on a Systems report together with a Compute report (pair.py), or with
                                          a linked trace (trace)
    -- column: avg_ns = Average | ns | .1f | mean duration of an execution

Queries before the last one, each followed by an empty line, answer for reports that lack what the last one looks at:
the first query that has rows answers.

A column line gives the name, the unit, a number format for text output (may be empty) and the meaning. A heading for
display may follow the name; the default is the name in words, without its unit.
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
"""Inputs besides its own parameters that an answer may depend on.

part: the selected part of the report (selection/model.py). mode: the attribution mode, even if no range is selected.
phases: the configured phases (rules/phases.toml).
"""

PARTS = ("whole", "part", "steady")
"""Parts of a report that pages query on first load.

whole: the whole report, including warm-up. part: the default of pages, without warm-up. steady: the same, limited to
the time in which steps repeat, if any do.
"""

NSYS_STATS = "nsys_stats"
"""The topic of analyses that are named after an nsys report and reproduce its numbers."""

_KEYS = (
    "title",
    "page",
    "show",
    "prefetch",
    "needs",
    "includes",
    "selects",
    "param",
    "joins",
    "once",
    "column",
)
_COMMENTS = re.compile(r"^\s*--.*$", re.MULTILINE)
_LINE = re.compile(rf"^-- ?(?:(?P<key>{'|'.join(_KEYS)}): )?(?P<text>.*)$")
_UNIT = re.compile(r"_(ns|pct|bytes|j|w)$")
_SHOWN = re.compile(r"(?P<column>\w+)(?P<bar> bar)?(?: (?P<width>\d+))?")
_PARAM = re.compile(r"^(?P<name>\w+) = (?P<default>\S*) (?:\((?P<choices>[\w, ]+)\) )?(?P<help>.+)$")


@dataclass(frozen=True)
class Param:
    """A parameter of an analysis. Empty ``choices`` allow any value; an empty ``default`` means NULL."""

    name: str
    default: str
    choices: tuple[str, ...]
    help: str


@dataclass(frozen=True)
class Column:
    """A column of the result: name, unit (ns, bytes, %, class ...), number format or "", meaning, heading.

    The heading defaults to the name in words, without its unit.
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
    """A column of an analysis's table on a page. ``bar`` draws percentages as bars; ``width`` is in pixels."""

    column: str
    bar: bool = False
    width: int | None = None


@dataclass(frozen=True)
class Asked:
    """A query that pages send before the user selects anything; ``part`` is one of PARTS.

    If ``of`` names a table, they send it only of reports where that has rows.
    """

    part: str
    params: tuple[tuple[str, str | int], ...]
    of: str = ""


@dataclass(frozen=True)
class Analysis:
    """An analysis as its file describes it. ``needs`` holds alternative tables; ``includes`` names view files.

    ``page`` is the address of the page that shows the answer, or empty. ``show`` lists the columns of its table there,
    and ``prefetch`` the queries that pages send first.

    If ``joins`` is ``ncu``, the parameter of that name selects a Compute report, which supplies the tables and views
    that start with ``ncu_``. If it is ``trace``, a linked trace supplies those that start with ``trace_``.
    """

    name: str
    title: str
    prose: str
    needs: tuple[tuple[str, ...], ...]
    params: tuple[Param, ...]
    columns: tuple[Column, ...]
    sql: str
    joins: Partner | None = None
    includes: tuple[str, ...] = ()
    selects: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    topic: str = ""
    page: str = ""
    show: tuple[Shown, ...] = ()
    prefetch: tuple[Asked, ...] = ()

    @property
    def limit(self) -> int:
        """Return the number of rows that pages request on first load, or 0 for all rows."""
        return max((int(dict(asked.params).get("limit", 0)) for asked in self.prefetch), default=0)

    @property
    def queries(self) -> list[str]:
        """Return its queries. The first that has rows answers; the last one always answers right."""
        return [sql for sql in self.sql.split(";\n\n") if _COMMENTS.sub("", sql).strip()]

    @property
    def mode(self) -> str:
        """Return the default attribution mode: that of nsys for analyses named after an nsys report."""
        return "thread" if self.topic == NSYS_STATS else "process"

    @property
    def takes(self) -> frozenset[str]:
        """Return the names of its parameters, including those of a selection."""
        return frozenset(param.name for param in self.params).union(model.HELP if self.by_part else ())

    def taken(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return only the parameters that it accepts."""
        names = self.takes
        return {name: value for name, value in params.items() if name in names}

    @property
    def by_part(self) -> bool:
        """Return True if it also accepts the parameters of a selection (selection.model.HELP)."""
        return "part" in self.selects

    @property
    def by_mode(self) -> bool:
        """Return True if the attribution mode changes its answer even if no range is selected."""
        return "mode" in self.selects

    @property
    def by_phases(self) -> bool:
        """Return True if its answer depends on the configured phases (phases.toml)."""
        return "phases" in self.selects


@cache
def list_analyses() -> dict[str, Analysis]:
    """Return all analyses by name, sorted."""
    topics = [topic for topic in resources.files("profiledb").joinpath("analyses").iterdir() if topic.is_dir()]
    files = [(file, topic.name) for topic in topics for file in topic.iterdir() if file.name.endswith(".sql")]
    return {
        file.name[:-4]: parse(file.name[:-4], file.read_text(encoding="utf-8"), topic)
        for file, topic in sorted(files, key=lambda pair: pair[0].name)
    }


def get(name: str) -> Analysis:
    """Return an analysis by name.

    Raises:
        AnalysisError: no analysis has that name.
    """
    if name not in list_analyses():
        raise AnalysisError(f"No analysis is called {name!r}.", hint="warpdeck analyses lists them.")
    return list_analyses()[name]


def parse(name: str, text: str, topic: str = "") -> Analysis:
    """Parse an analysis file from the folder ``topic``; ``sql`` becomes the whole text."""
    return build_analysis(name, read_header(text, _LINE), text, topic)


def build_analysis(name: str, lines: Mapping[str, list[str]], text: str, topic: str = "") -> Analysis:
    """Build an analysis from its header lines by key; ``text`` is the whole file."""
    return Analysis(
        name=name,
        title=lines["title"][0],
        prose=" ".join(lines.get("", [])).strip(),
        needs=tuple(tuple(need.split(" or ")) for need in lines.get("needs", [])),
        params=tuple(_parse_param(line) for line in lines.get("param", [])),
        columns=tuple(_parse_column(line) for line in lines.get("column", [])),
        sql=text,
        joins="trace" if lines.get("joins") == ["trace"] else "ncu" if lines.get("joins") else None,
        includes=split_names(lines.get("includes", [])),
        selects=split_names(lines.get("selects", [])),
        once=split_names(lines.get("once", [])),
        topic=topic,
        page=next(iter(lines.get("page", [])), ""),
        show=tuple(map(_parse_shown, split_names(lines.get("show", [])))),
        prefetch=tuple(map(_parse_asked, lines.get("prefetch", []))),
    )


def read_header(text: str, line: re.Pattern[str]) -> dict[str, list[str]]:
    """Return the comment lines before the first line of SQL, by key. Lines without a key are under the empty key."""
    values: dict[str, list[str]] = {}
    for comment in text.splitlines():
        if not comment.startswith("--"):
            break
        match = line.match(comment)
        assert match is not None
        values.setdefault(match["key"] or "", []).append(match["text"].strip())
    return values


def split_names(values: list[str]) -> tuple[str, ...]:
    """Split lines of comma-separated names."""
    return tuple(name.strip() for value in values for name in value.split(","))


def _parse_column(line: str) -> Column:
    named, unit, form, about = (part.strip() for part in line.split("|"))
    name, _, title = named.partition(" = ")
    return Column(name, unit, form, about, title)


def _parse_shown(text: str) -> Shown:
    match = _SHOWN.fullmatch(text)
    if match is None:
        raise AnalysisError(f"A show line cannot be read: {text}")
    return Shown(match["column"], match["bar"] is not None, int(match["width"]) if match["width"] else None)


def _parse_asked(line: str) -> Asked:
    query, _, of = line.partition(" of ")
    part, *params = query.split()
    if part not in PARTS:
        raise AnalysisError(f"A prefetch line names no part of a report: {line}")
    values = (param.split("=", 1) for param in params)
    return Asked(part, tuple((name, int(value) if value.isdigit() else value) for name, value in values), of)


def _parse_param(line: str) -> Param:
    match = _PARAM.match(line)
    if match is None:
        raise AnalysisError(f"A param line cannot be read: {line}")
    choices = tuple(part.strip() for part in (match["choices"] or "").split(",") if part.strip())
    return Param(match["name"], match["default"], choices, match["help"])


def bind(analysis: Analysis, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of all parameters, with defaults for those not given.

    Raises:
        AnalysisError: the analysis does not have a parameter, or a parameter does not accept its value.
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
