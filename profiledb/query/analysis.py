"""Run analyses on reports."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb

from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.library.catalog import LAUNCHES
from profiledb.library.library import BROKEN, Library
from profiledb.query import needs, request, shared_rows, views
from profiledb.query.header import Analysis
from profiledb.query.request import Request
from profiledb.rules import phases
from profiledb.selection import apply

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_PARAM = re.compile(r"\$(\w+)")
_BATCH_ROWS = 2048
"""Rows per Arrow batch, the size of a DuckDB vector. DuckDB allocates buffers for a whole batch, one million rows by
default: 22 MB of address space for an answer of ten rows."""


def run(library: Library, report_id: str, name: str, params: Mapping[str, Any] | None = None) -> "pd.DataFrame":
    """Run an analysis on a report and return the columns that its header declares, in that order.

    Integers have the type Int64 and may be NA. Missing numbers stay missing and never become 0.

    Raises:
        AnalysisError: the analysis or a parameter does not exist, or a value is not one of its choices.
        NotCapturedError: the report lacks a table that the analysis needs.
        NotLinkedError: the analysis joins another report, and none is linked or given.
        ReportNotFoundError: the report was deleted.
    """
    return answer(library, request.build(library, report_id, name, params))


def rows_or_none(ask: "Callable[..., pd.DataFrame]", *asked: Any, **params: Any) -> "pd.DataFrame":
    """Call ``ask`` and return its rows, or an empty frame without columns if the report lacks the data."""
    try:
        return ask(*asked, **params)
    except NotCapturedError:
        import pandas as pd

        return pd.DataFrame()


def answer(library: Library, asked: Request) -> "pd.DataFrame":
    """Answer a request as a frame. Raises the same errors as ``run``."""
    return convert_frame(read_rows(library, asked))


def read_rows(library: Library, asked: Request, *, again: bool = False) -> "pa.Table":
    """Answer a request as an Arrow table."""
    try:
        with ready(library, asked) as (cursor, _, values):
            return query_first(cursor, asked.analysis, values)
    except BROKEN:
        if again:
            raise
    return read_rows(library, asked, again=True)  # the library has reconnected


def check(library: Library, asked: Request) -> None:
    """Raise NotCapturedError if the report lacks data that a request needs. Much cheaper than answering it."""
    with library.cursor(asked.report_id, views=views.list_needed(needs.INCLUDES)) as cursor:
        needs.check(cursor, asked.analysis, alone=asked.partner is None)


@contextmanager
def ready(library: Library, asked: Request) -> Iterator[tuple[duckdb.DuckDBPyConnection, str, dict[str, Any]]]:
    """Yield a cursor prepared for a request, the SQL that answers it, and its values. Raises the errors of ``run``."""
    analysis = asked.analysis
    joins = analysis.joins or "ncu"
    partner = _find_compute_report(library, asked.partner) if asked.partner and joins == "ncu" else asked.partner
    if shared_rows.fit(analysis, asked.values, asked.selection):
        others: dict[str, Any] = {"partner": partner, "joins": joins, "alone": partner is None}
        with shared_rows.opened(library, asked.report_id, asked.selection, asked.includes, **others) as part:
            part.check(analysis)
            part.prepare(analysis)
            with _explain_wrong_values():
                yield part.cursor, analysis.queries[-1], dict(asked.values)
        return
    with library.cursor(
        asked.report_id, partner, views.list_needed((*needs.INCLUDES, *asked.includes)), joins
    ) as cursor:
        needs.check(cursor, analysis, alone=partner is None)
        apply.apply(cursor, asked.selection)
        if analysis.by_phases:
            phases.apply(cursor)
        with _explain_wrong_values():
            yield cursor, analysis.queries[-1], dict(asked.values)


def _find_compute_report(library: Library, named: str) -> str:
    report = library.find(named)
    if LAUNCHES not in report.subjects:
        raise AnalysisError(
            f"{report.name} is not a report of Nsight Compute.", hint="The parameter ncu takes a Compute report."
        )
    return report.id


def query(library: Library, report_id: str, sql: str, params: Mapping[str, Any] | None = None) -> "pd.DataFrame":
    """Run arbitrary read-only SQL on the tables of a report, for the command line and for tests."""
    with library.cursor(report_id, views=views.list_all()) as cursor:
        return query_frame(cursor, sql, dict(params or {}))


def query_frame(cursor: duckdb.DuckDBPyConnection, sql: str, values: dict[str, Any]) -> "pd.DataFrame":
    """Run a query on a prepared cursor and return a frame with the column types of ``run``."""
    return convert_frame(query_table(cursor, sql, values))


def query_first(cursor: duckdb.DuckDBPyConnection, analysis: Analysis, values: Mapping[str, Any]) -> "pa.Table":
    """Return the rows of the first query of an analysis or rule that has some on a prepared cursor, else of the last.

    Those before the last one are for reports that lack what it looks at, which takes less time to find out than to
    plan it.
    """
    *first, last = analysis.queries
    for sql in first:
        rows = query_table(cursor, sql, _pick_used(sql, values))
        if rows.num_rows:
            return rows
    return query_table(cursor, last, _pick_used(last, values))


def _pick_used(sql: str, values: Mapping[str, Any]) -> dict[str, Any]:
    used = set(_PARAM.findall(sql))
    return {name: value for name, value in values.items() if name in used}


def query_table(cursor: duckdb.DuckDBPyConnection, sql: str, values: dict[str, Any]) -> "pa.Table":
    """Run a query on a cursor and return its rows as an Arrow table in small batches (``_BATCH_ROWS``)."""
    with _explain_wrong_values():
        relation = cursor.execute(sql, values) if values else cursor.execute(sql)
        return relation.to_arrow_table(_BATCH_ROWS)


def convert_frame(table: "pa.Table") -> "pd.DataFrame":
    """Convert an Arrow table to a frame with the column types of ``run``."""
    frame: pd.DataFrame = table.to_pandas(types_mapper=_map_arrow_types().get)
    return frame


@contextmanager
def _explain_wrong_values() -> Iterator[None]:
    try:
        yield
    except (duckdb.ConversionException, duckdb.InvalidInputException) as error:
        raise AnalysisError("A parameter has a value of the wrong type.", detail=str(error)) from error


@cache
def _map_arrow_types() -> dict[Any, Any]:
    import pandas as pd
    import pyarrow as pa

    signed = {pa.int8(): pd.Int8Dtype(), pa.int16(): pd.Int16Dtype(), pa.int32(): pd.Int32Dtype()}
    return signed | {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype(), pa.bool_(): pd.BooleanDtype()}
