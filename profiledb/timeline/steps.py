"""The steps of a program, as on the Ranges page, stored for the strip above the axis."""

import duckdb

MOST = 5_000
"""Steps stored, the first of the capture."""
LONGEST = 200
"""Length limit of a name, in characters."""


def write_steps(db: duckdb.DuckDBPyConnection) -> None:
    """Write the steps of the loop that the report's steps are counted by: those that ended, warm-ups included."""
    db.execute(f"""
        INSERT INTO t.step
        SELECT step.start_ns - capture_window.start_ns, step.end_ns - capture_window.start_ns, left(name, {LONGEST}),
            is_warmup
        FROM selected_step('process') AS step CROSS JOIN capture_window
        WHERE rank = 1 AND closed AND step.end_ns > step.start_ns ORDER BY ALL LIMIT {MOST}
    """)
