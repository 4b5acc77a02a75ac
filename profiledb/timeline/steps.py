"""The steps of a program, as the page Ranges tells them, kept for the strip above the axis."""

import duckdb

MOST = 5_000
"""Steps that are kept, the first of the capture."""
LONGEST = 200
"""Characters of a name."""


def write(db: duckdb.DuckDBPyConnection) -> None:
    """Writes the steps of the loop that steps of the report are counted by: those that were closed, warm-ups too."""
    db.execute(f"""
        INSERT INTO t.step
        SELECT step.start_ns - capture_window.start_ns, step.end_ns - capture_window.start_ns, left(name, {LONGEST}),
            is_warmup
        FROM selected_step('process') AS step CROSS JOIN capture_window
        WHERE rank = 1 AND closed AND step.end_ns > step.start_ns ORDER BY ALL LIMIT {MOST}
    """)
