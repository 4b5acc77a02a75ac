"""The feature table for machine learning: a row a report, task and size, as CSV and Parquet.

Its columns are fixed: those of ``REPORT_COLUMNS``, then those of the analysis ``task_features``, whose header says what
each is and in which unit. A CSV has nothing where a value is missing, a Parquet file NULL.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import duckdb

from profiledb import spreadsheet
from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis, header, request
from profiledb.query.header import Column
from profiledb.report.schema import identifier, quote

if TYPE_CHECKING:
    import pandas as pd

Format = Literal["csv", "parquet"]

NAME = "task_features"
REPORT_COLUMNS = (
    Column("report_id", "text", "", "identity of the report: the same file has the same one everywhere"),
    Column("report_name", "text", "", "name of its file"),
)
_OPTIONS: dict[Format, str] = {"csv": "FORMAT csv, HEADER", "parquet": "FORMAT parquet, COMPRESSION zstd"}
_SKIPPED = "it has no task times"


def columns() -> tuple[Column, ...]:
    """The columns of the table, in their order."""
    return (*REPORT_COLUMNS, *header.get(NAME).columns)


def table(library: Library, reports: Sequence[Manifest], left_out: Callable[[str], None] | None = None) -> Any:
    """The rows of all reports, one after the other, as a table of pyarrow.

    Args:
        library: the library.
        reports: in the order of the rows; one that is named twice counts once.
        left_out: takes a sentence about each report without times of tasks, where others have some.

    Raises:
        AnalysisError: none of them has times of tasks.
    """
    import pyarrow as pa

    tables, lacking = [], []
    for report in {given.id: given for given in reports}.values():
        try:
            rows = _rows(library, report.id)
        except NotCapturedError:
            lacking.append(report.name)
            continue
        for place, (name, text) in enumerate((("report_id", report.id), ("report_name", report.name))):
            rows = rows.add_column(place, name, pa.array([text] * len(rows), pa.string()))
        tables.append(rows)
    if not tables:
        names = ", ".join(lacking[:5])
        raise AnalysisError(
            f"{names}: {_SKIPPED}.", hint="NAME.tasks.csv has them; python -m workloads profile tasks makes one."
        )
    for name in lacking:
        if left_out:
            left_out(f"{name} is excluded: {_SKIPPED}.")
    return pa.concat_tables(tables)


def frame(library: Library, report: Manifest) -> "pd.DataFrame":
    """The rows of one report as ``analysis.run`` answers: integers may be missing.

    Raises:
        NotCapturedError: no times of tasks lie beside it.
    """
    rows = analysis.run(library, report.id, NAME).assign(report_id=report.id, report_name=report.name)
    return rows[[column.name for column in columns()]]


def _rows(library: Library, report_id: str) -> Any:
    with analysis.ready(library, request.build(library, report_id, NAME)) as (cursor, sql, values):
        return analysis.table(cursor, sql, values)


def content(rows: Any, form: Format) -> bytes:
    """A table as the bytes of a file, written by DuckDB."""
    with tempfile.TemporaryDirectory(prefix="warpdeck-") as folder, duckdb.connect() as db:
        path = Path(folder) / f"features.{form}"
        db.register("features", rows)
        rows = f"SELECT * REPLACE ({_defused(rows)}) FROM features" if form == "csv" else "FROM features"
        db.execute(f"COPY ({rows}) TO {quote(str(path))} ({_OPTIONS[form]})")
        return path.read_bytes()


def _defused(rows: Any) -> str:
    """SQL of the columns of texts: the names of the report and its tasks are among them."""
    texts = [identifier(field.name) for field in rows.schema if str(field.type) in ("string", "large_string")]
    return ", ".join(f"{spreadsheet.defused_sql(name)} AS {name}" for name in texts)
