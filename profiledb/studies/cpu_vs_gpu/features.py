"""The feature table for machine learning: one row per report, task and size, as CSV and Parquet.

Its columns are fixed: those of ``REPORT_COLUMNS``, then those of the analysis ``task_features``, whose header has
meaning and unit of each. A missing value is empty in CSV and NULL in Parquet.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import duckdb

from profiledb import config, spreadsheet
from profiledb.errors import AnalysisError, NotCapturedError
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis, header, request
from profiledb.query.header import Column
from profiledb.report.schema import quote, quote_identifier

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


def list_columns() -> tuple[Column, ...]:
    """Return the columns of the table in order."""
    return (*REPORT_COLUMNS, *header.get(NAME).columns)


def build_table(library: Library, reports: Sequence[Manifest], left_out: Callable[[str], None] | None = None) -> Any:
    """Return the rows of all reports, in order, as a pyarrow table.

    Args:
        library: the library.
        reports: in the order of the rows; a repeated one counts once.
        left_out: takes a sentence about each report without times of tasks, if other reports have some.

    Raises:
        AnalysisError: no report has times of tasks.
    """
    import pyarrow as pa

    tables, lacking = [], []
    for report in {given.id: given for given in reports}.values():
        try:
            rows = _read_rows(library, report.id)
        except NotCapturedError:
            lacking.append(report.name)
            continue
        for place, (name, text) in enumerate((("report_id", report.id), ("report_name", report.name))):
            rows = rows.add_column(place, name, pa.array([text] * len(rows), pa.string()))
        tables.append(rows)
    if not tables:
        names = ", ".join(lacking[:5])
        raise AnalysisError(
            f"{names}: {_SKIPPED}.", hint=f"NAME.tasks.csv has them; {config.WORKLOADS} profile tasks makes one."
        )
    for name in lacking:
        if left_out:
            left_out(f"{name} is excluded: {_SKIPPED}.")
    return pa.concat_tables(tables)


def read_rows(library: Library, report: Manifest) -> "pd.DataFrame":
    """Return the rows of one report, as ``analysis.run`` does: integers may be missing.

    Raises:
        NotCapturedError: the report has no times of tasks.
    """
    rows = analysis.run(library, report.id, NAME).assign(report_id=report.id, report_name=report.name)
    return rows[[column.name for column in list_columns()]]


def _read_rows(library: Library, report_id: str) -> Any:
    with analysis.ready(library, request.build(library, report_id, NAME)) as (cursor, sql, values):
        return analysis.query_table(cursor, sql, values)


def encode_table(rows: Any, form: Format) -> bytes:
    """Encode a table as a file, with DuckDB."""
    with tempfile.TemporaryDirectory(prefix="warpdeck-") as folder, duckdb.connect() as db:
        path = Path(folder) / f"features.{form}"
        db.register("features", rows)
        rows = f"SELECT * REPLACE ({_build_defused_sql(rows)}) FROM features" if form == "csv" else "FROM features"
        db.execute(f"COPY ({rows}) TO {quote(str(path))} ({_OPTIONS[form]})")
        return path.read_bytes()


def _build_defused_sql(rows: Any) -> str:
    """Return SQL for the columns of texts, which include names from the report and its tasks."""
    texts = [quote_identifier(field.name) for field in rows.schema if str(field.type) in ("string", "large_string")]
    return ", ".join(f"{spreadsheet.build_defused_sql(name)} AS {name}" for name in texts)
