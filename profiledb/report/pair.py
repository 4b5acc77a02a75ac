"""A Systems report and a Compute report of the same program, side by side on one cursor."""

import duckdb

from profiledb.report import schema

OF_COMPUTE = {"ncu_gpu": "gpu", "ncu_kernel_name": "kernel_name"}
"""Views (ncu.sql, pair.sql) that stand for tables which both reports have: those of the Compute report."""


def join(cursor: duckdb.DuckDBPyConnection, catalog: str) -> None:
    """Makes everything of Nsight Compute on this cursor answer from another attached report.

    A temporary view hides what the search path has under its name, also from the shared views.
    """
    names = {name: name for name in schema.tables() if name.startswith("ncu_")} | OF_COMPUTE
    views = (f"CREATE OR REPLACE TEMP VIEW {view} AS FROM {catalog}.{table}" for view, table in names.items())
    cursor.execute(";".join(views))
