"""Completes a loaded report: the class of every kernel."""

import duckdb

from profiledb import classes, config


def classify(db: duckdb.DuckDBPyConnection) -> None:
    """Gives each kernel name its class, after adding the names that Nsight Compute reports."""
    db.execute("""
        INSERT INTO kernel_name (name_id, demangled, short, mangled)
        SELECT (SELECT coalesce(max(name_id), 0) FROM kernel_name) + row_number() OVER (ORDER BY min(launch_id)),
            kernel, regexp_extract(kernel, '^(?:void )?([^<(]+)', 1), any_value(mangled)
        FROM ncu_launch
        WHERE kernel IS NOT NULL GROUP BY kernel
    """)
    rule = classes.case_sql("demangled", classes.load(config.load().classes))
    db.execute(f"UPDATE kernel_name SET class = {rule}")
