"""Runs analyses on reports."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb

from profiledb.errors import AnalysisError
from profiledb.query import header, needs, stored, views
from profiledb.query.header import Analysis
from profiledb.report.catalog import LAUNCHES
from profiledb.report.library import BROKEN, Library
from profiledb.rules import phases
from profiledb.selection import apply, model

if TYPE_CHECKING:
    import pandas as pd


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
    analysis = header.get(name)
    given = dict(params or {})
    chosen = model.parse(
        {key: given.pop(key) for key in tuple(given) if analysis.by_part and key in model.HELP}, analysis.mode
    )
    values = header.bind(analysis, given)
    partner = _partner(library, report_id, values.pop("ncu")) if analysis.joins else None
    includes = (*analysis.includes, *(["ranges"] if chosen.within != "all" else []))
    with library.cursor(report_id, partner, views.needed(includes)) as cursor:
        needs.check(cursor, analysis, alone=partner is None)
        apply.apply(cursor, chosen)
        if analysis.by_phases:
            phases.apply(cursor)
        if chosen == model.Selection(mode=analysis.mode) and (answer := stored.query(cursor, analysis, values)):
            analysis, values = replace(analysis, sql=answer), {}
        with _wrong_values():
            yield cursor, analysis, values


def _partner(library: Library, report_id: str, named: str | None) -> str | None:
    """The Compute report that an analysis joins: the one that is named, else the linked one."""
    if not named:
        return library.linked(report_id)
    found = library.find(named)
    if LAUNCHES not in found.subjects:
        raise AnalysisError(f"{found.name} is not a report of Nsight Compute.", hint="ncu takes one that is.")
    return found.id


def query(library: Library, report_id: str, sql: str, params: Mapping[str, Any] | None = None) -> "pd.DataFrame":
    """Runs any SQL on the tables of a report, read only; for the command line and for tests."""
    with library.cursor(report_id, views=views.everything()) as cursor:
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
