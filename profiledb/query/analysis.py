"""Runs analyses on reports."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb

from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.library.catalog import LAUNCHES
from profiledb.library.library import BROKEN, Library
from profiledb.query import needs, precomputed_answers, request, views
from profiledb.query.request import Request
from profiledb.rules import phases
from profiledb.selection import apply

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_BATCH_ROWS = 2048
"""Rows of an Arrow batch. DuckDB reserves the buffers of a whole batch, by default of a million rows: an answer of ten
rows held 22 MB of address space for as long as a cache kept it. A vector of DuckDB has 2,048 rows."""


def run(library: Library, report_id: str, name: str, params: Mapping[str, Any] | None = None) -> "pd.DataFrame":
    """Runs an analysis on a report: a row each, with the columns that its header names, in their order.

    Integers are Int64 and may be missing (NA); missing numbers stay missing and never become 0.

    Raises:
        AnalysisError: the analysis or a parameter does not exist, or a value is not one of its choices.
        NotCapturedError: the report lacks the tables that the analysis needs.
        NotLinkedError: it joins another report, and none is linked or given.
        ReportNotFoundError: the report is gone.
    """
    return answer(library, request.build(library, report_id, name, params))


def rows_or_none(ask: "Callable[..., pd.DataFrame]", *asked: Any, **params: Any) -> "pd.DataFrame":
    """What ``ask`` answers; no rows and no columns where the report does not have the data."""
    try:
        return ask(*asked, **params)
    except NotCapturedError:
        import pandas as pd

        return pd.DataFrame()


def answer(library: Library, asked: Request) -> "pd.DataFrame":
    """What ``run`` returns, and raises, for a request."""
    return frame_of(rows(library, asked))


def rows(library: Library, asked: Request) -> "pa.Table":
    """The same as Arrow has it."""
    try:
        return _rows(library, asked)
    except BROKEN:  # the library has connected anew
        return _rows(library, asked)


def _rows(library: Library, asked: Request) -> "pa.Table":
    with ready(library, asked) as (cursor, sql, values):
        return table(cursor, sql, values)


def check(library: Library, asked: Request) -> None:
    """Raises NotCapturedError where the report lacks what a request needs; cheap, unlike the answer."""
    with library.cursor(asked.report_id, views=views.needed(needs.INCLUDES)) as cursor:
        needs.check(cursor, asked.analysis, alone=asked.partner is None)


@contextmanager
def ready(library: Library, asked: Request) -> Iterator[tuple[duckdb.DuckDBPyConnection, str, dict[str, Any]]]:
    """A cursor on which a request can run, the SQL that answers it, and the values that this takes; raises as run."""
    analysis = asked.analysis
    joins = analysis.joins or "ncu"
    partner = _compute(library, asked.partner) if asked.partner and joins == "ncu" else asked.partner
    with library.cursor(asked.report_id, partner, views.needed((*needs.INCLUDES, *asked.includes)), joins) as cursor:
        needs.check(cursor, analysis, alone=partner is None)
        apply.apply(cursor, asked.selection)
        if analysis.by_phases:
            phases.apply(cursor)
        kept = precomputed_answers.query(cursor, asked)
        with _wrong_values():
            yield (cursor, kept, {}) if kept else (cursor, analysis.sql, dict(asked.values))


def _compute(library: Library, named: str) -> str:
    report = library.find(named)
    if LAUNCHES not in report.subjects:
        raise AnalysisError(
            f"{report.name} is not a report of Nsight Compute.", hint="The parameter ncu takes a Compute report."
        )
    return report.id


def query(library: Library, report_id: str, sql: str, params: Mapping[str, Any] | None = None) -> "pd.DataFrame":
    """Runs any SQL on the tables of a report, read only; for the command line and for tests."""
    with library.cursor(report_id, views=views.everything()) as cursor:
        return frame(cursor, sql, dict(params or {}))


def frame(cursor: duckdb.DuckDBPyConnection, sql: str, values: dict[str, Any]) -> "pd.DataFrame":
    """What a query answers on a cursor that is ready for it, with the types of ``run``."""
    return frame_of(table(cursor, sql, values))


def table(cursor: duckdb.DuckDBPyConnection, sql: str, values: dict[str, Any]) -> "pa.Table":
    """Run a query on a cursor and return its rows as an Arrow table, in small batches (``_BATCH_ROWS``)."""
    with _wrong_values():
        relation = cursor.execute(sql, values) if values else cursor.execute(sql)
        rows = relation.to_arrow_table(_BATCH_ROWS)
    return _compacted(rows) if rows.num_rows < _BATCH_ROWS else rows


def _compacted(rows: "pa.Table") -> "pa.Table":
    """Copy rows into buffers of their own size: a batch of DuckDB has room for ``_BATCH_ROWS`` in each column."""
    import pyarrow as pa

    return rows.take(pa.array(range(rows.num_rows), pa.int64()))


def frame_of(table: "pa.Table") -> "pd.DataFrame":
    """Rows with the types of ``run``."""
    found: pd.DataFrame = table.to_pandas(types_mapper=_arrow_types().get)
    return found


@contextmanager
def _wrong_values() -> Iterator[None]:
    try:
        yield
    except (duckdb.ConversionException, duckdb.InvalidInputException) as error:
        raise AnalysisError("A parameter has a value of the wrong type.", detail=str(error)) from error


@cache
def _arrow_types() -> dict[Any, Any]:
    import pandas as pd
    import pyarrow as pa

    signed = {pa.int8(): pd.Int8Dtype(), pa.int16(): pd.Int16Dtype(), pa.int32(): pd.Int32Dtype()}
    return signed | {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype(), pa.bool_(): pd.BooleanDtype()}
