"""Loads, checks and runs the analyses: documented SQL files in ``analyses/``, one each.

The header of a file, up to its first line of SQL, is what people read and what a test holds against the query::

    -- title: CUDA GPU kernel summary
    -- Prose, any number of lines.
    -- needs: kernel                       tables that must have rows; "a or b" where one is enough
    -- param: by = demangled (demangled, short) which name to group by
    -- stored: yes                        its answer is worked out when a report is taken in (stored.py)
    -- joins: ncu                         it runs on a Systems report together with a Compute report (pair.py)
    -- column: Avg (ns) | ns | .1f | mean duration of an execution

A column line has the name, the unit, a number format for text output (or nothing) and the meaning.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import duckdb

from profiledb import captures, phases, selection, stored
from profiledb.errors import AnalysisError, NotLinkedError
from profiledb.library import BROKEN, Library

if TYPE_CHECKING:
    import pandas as pd

_LINE = re.compile(r"^-- ?(?:(?P<key>title|needs|param|stored|joins|column): )?(?P<text>.*)$")
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
    """A column of the result: name, unit (ns, bytes, %, text ...), Python number format or "", meaning."""

    name: str
    unit: str
    format: str
    help: str


@dataclass(frozen=True)
class Analysis:
    """An analysis as its file describes it; ``needs`` holds alternatives of tables.

    Where ``joins`` is set, its parameter ``ncu`` names a Compute report that answers what begins with ``ncu_``.
    """

    name: str
    title: str
    prose: str
    needs: tuple[tuple[str, ...], ...]
    params: tuple[Param, ...]
    columns: tuple[Column, ...]
    sql: str
    stored: bool = False
    joins: bool = False

    @property
    def selects(self) -> bool:
        """Whether it takes the parameters of a selection besides its own (selection.HELP)."""
        return "selected_" in self.sql

    @property
    def by_mode(self) -> bool:
        """Whether the mode of attribution changes its answer even where no range is chosen."""
        return "selected_mode" in self.sql or "range_by_mode" in self.sql

    @property
    def phased(self) -> bool:
        """Whether its answer goes by the phases of the settings (phases.toml)."""
        return "selected_phase" in self.sql


@cache
def analyses() -> dict[str, Analysis]:
    """All analyses by name, sorted."""
    folder = resources.files("profiledb").joinpath("analyses")
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return {f.name[:-4]: parse(f.name[:-4], f.read_text(encoding="utf-8")) for f in files}


def get(name: str) -> Analysis:
    """One analysis.

    Raises:
        AnalysisError: there is none of that name.
    """
    if name not in analyses():
        raise AnalysisError(f"No analysis is called {name!r}.", hint="python -m profiledb analyses lists them.")
    return analyses()[name]


def parse(name: str, text: str) -> Analysis:
    """Reads the header of an analysis file; ``sql`` is the whole text."""
    found: dict[str, list[str]] = {key: [] for key in ("title", "needs", "param", "stored", "joins", "column", "")}
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        match = _LINE.match(line)
        assert match is not None
        found[match["key"] or ""].append(match["text"].strip())
    return Analysis(
        name=name,
        title=found["title"][0],
        prose=" ".join(found[""]).strip(),
        needs=tuple(tuple(need.split(" or ")) for need in found["needs"]),
        params=tuple(_param(line) for line in found["param"]),
        columns=tuple(Column(*(part.strip() for part in line.split("|"))) for line in found["column"]),
        sql=text,
        stored=bool(found["stored"]),
        joins=bool(found["joins"]),
    )


def _param(line: str) -> Param:
    match = _PARAM.match(line)
    if match is None:
        raise AnalysisError(f"A param line cannot be read: {line}")
    choices = tuple(part.strip() for part in (match["choices"] or "").split(",") if part.strip())
    return Param(match["name"], match["default"], choices, match["help"])


def run(library: Library, report_id: str, name: str, params: Mapping[str, Any] | None = None) -> "pd.DataFrame":
    """Runs an analysis on a report: a row each, with the columns that its header names, in their order.

    Integers are Int64 and may be missing (NA); missing numbers stay missing and never become 0.

    Raises:
        AnalysisError: the analysis or a parameter does not exist, or a value is not one of its choices.
        NotCapturedError: the report lacks the tables that the analysis needs.
        NotLinkedError: it joins a Compute report, and none is linked or given.
        ReportNotFoundError: the report is gone.
    """
    try:
        return _run(library, report_id, name, params)
    except BROKEN:  # the library has connected anew
        return _run(library, report_id, name, params)


def _run(library: Library, report_id: str, name: str, params: Mapping[str, Any] | None) -> "pd.DataFrame":
    with ready(library, report_id, name, params) as (cursor, analysis, values):
        return _frame(cursor, analysis.sql, values)


@contextmanager
def ready(
    library: Library, report_id: str, name: str, params: Mapping[str, Any] | None = None
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Analysis, dict[str, Any]]]:
    """A cursor on which an analysis can run, the analysis, and the values of what its SQL takes; raises as run."""
    analysis = get(name)
    given = dict(params or {})
    chosen = selection.parse(
        {key: given.pop(key) for key in tuple(given) if analysis.selects and key in selection.HELP}
    )
    values = bind(analysis, given)
    partner = _partner(library, report_id, values.pop("ncu")) if analysis.joins else None
    with library.cursor(report_id, partner) as cursor:
        check_needs(cursor, analysis, alone=partner is None)
        selection.apply(cursor, chosen)
        if analysis.phased:
            phases.apply(cursor)
        if chosen == selection.Selection() and (answer := stored.query(cursor, analysis, values)):
            analysis, values = replace(analysis, sql=answer), {}
        with _wrong_values():
            yield cursor, analysis, values


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


def _partner(library: Library, report_id: str, named: str | None) -> str | None:
    """The Compute report that an analysis joins: the one that is named, else the linked one."""
    if not named:
        return library.linked(report_id)
    found = library.find(named)
    if found.kind != "ncu":
        raise AnalysisError(f"{found.name} is not a report of Nsight Compute.", hint="ncu takes one that is.")
    return found.id


def check_needs(cursor: duckdb.DuckDBPyConnection, analysis: Analysis, *, alone: bool = True) -> None:
    """Raises NotCapturedError where none of the alternatives of a need has rows.

    ``alone`` says that no Compute report stands beside this one: NotLinkedError where the analysis joins one.
    """
    for tables in analysis.needs:
        if analysis.joins and alone and tables[0].startswith("ncu_"):
            raise NotLinkedError(
                "No Compute report is linked to this report.",
                hint="Link one on the Library page, or: python -m profiledb link REPORT COMPUTE_REPORT",
            )
        if not any(captures.has_rows(cursor, table) for table in tables):
            work = any(captures.has_rows(cursor, table) for table in captures.GPU_SIDE)
            raise captures.how_to_capture(
                tables[0],
                calls_traced=not work and captures.has_rows(cursor, "api_call"),
                graphs_traced=not work and captures.has_rows(cursor, "graph_launch"),
            )


def query(library: Library, report_id: str, sql: str, params: Mapping[str, Any] | None = None) -> "pd.DataFrame":
    """Runs any SQL on the tables of a report, read only; for the command line and for tests."""
    with library.cursor(report_id) as cursor:
        return _frame(cursor, sql, dict(params or {}))


def _frame(cursor: duckdb.DuckDBPyConnection, sql: str, values: dict[str, Any]) -> "pd.DataFrame":
    with _wrong_values():
        relation = cursor.execute(sql, values) if values else cursor.execute(sql)
        frame: pd.DataFrame = relation.to_arrow_table().to_pandas(types_mapper=_arrow_types().get)
    return frame


@contextmanager
def _wrong_values() -> Iterator[None]:
    try:
        yield
    except (duckdb.ConversionException, duckdb.InvalidInputException) as error:
        raise AnalysisError("A parameter has a value of the wrong kind.", detail=str(error)) from error


@cache
def _arrow_types() -> dict[Any, Any]:
    import pandas as pd
    import pyarrow as pa

    signed = {pa.int8(): pd.Int8Dtype(), pa.int16(): pd.Int16Dtype(), pa.int32(): pd.Int32Dtype()}
    return signed | {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype(), pa.bool_(): pd.BooleanDtype()}
