"""A Systems report and another report of the same program on one cursor."""

from pathlib import Path

import duckdb

from profiledb.errors import DamagedError
from profiledb.report import schema
from profiledb.report.schema import quote

SUFFIX = ".pairs.parquet"
"""Suffix, after the ids of a Systems report and a trace, of the table that pairs their kernels."""
OF_COMPUTE = {"ncu_gpu": "gpu", "ncu_kernel_name": "kernel_name"}
"""Views (ncu.sql, pair.sql) over tables that both reports have: those of the Compute report."""
OF_TRACE = {
    f"trace_{name}": name
    for name in ("kernel", "range", "range_name", "range_path", "operator", "python_call", "string")
}
"""Views (traced.sql) over the tables of a trace."""


def join(cursor: duckdb.DuckDBPyConnection, catalog: str, pairs: Path | None = None) -> None:
    """Make everything of Nsight Compute on this cursor answer from another attached report.

    With ``pairs`` that report is a trace, which answers everything that begins with ``trace_``. A temporary view hides
    the object of the same name in the search path, also from the shared views.
    """
    of_compute = {name: name for name in schema.read_tables() if name.startswith("ncu_")} | OF_COMPUTE
    named = OF_TRACE if pairs else of_compute
    views = [f"CREATE OR REPLACE TEMP VIEW {view} AS FROM {catalog}.{table}" for view, table in named.items()]
    cursor.execute(";".join(views))
    if pairs:
        try:
            cursor.execute(f"CREATE OR REPLACE TEMP VIEW trace_pair AS FROM read_parquet({quote(str(pairs))})")
        except (duckdb.IOException, duckdb.InvalidInputException) as error:
            raise DamagedError("The link to the trace is damaged.", hint="Link the trace again.") from error
