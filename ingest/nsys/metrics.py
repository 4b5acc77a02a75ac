"""Store GPU metrics as a column each instead of a row per metric and moment, at a tenth of the size."""

from itertools import pairwise

import duckdb

from ingest import diagnostics
from profiledb.report.schema import quote, quote_identifier

MOST = 256
"""Most metrics of a report; nsys samples some 100."""
CELLS = 50_000_000
"""Cells of the table, including empty ones, that one statement fills."""
LONGEST = 200
"""Longest name of a metric, and so of a column, in characters."""


def pivot_metrics(db: duckdb.DuckDBPyConnection) -> None:
    """Add a column to ``gpu_metric`` for each name in ``gpu_metric_name`` and fill it from the samples."""
    db.execute(f"UPDATE gpu_metric_name SET name = cut(name, {LONGEST}) WHERE length(name) > {LONGEST}")
    names = _list_metric_names(db)
    if not names:
        return
    db.execute("; ".join(f"ALTER TABLE gpu_metric ADD COLUMN {quote_identifier(name)} DOUBLE" for name in names))
    values = ", ".join(
        f"max(value) FILTER (name = {quote(name)} AND isfinite(value)) AS {quote_identifier(name)}" for name in names
    )
    for part in _split_columns(db, len(names)):
        db.execute(f"""
            INSERT INTO gpu_metric BY NAME
            SELECT gpu_id, timestamp AS time_ns, {values}
            FROM src.GPU_METRICS
            JOIN gpu_metric_name ON type_id = TRY_CAST("typeId" AS BIGINT) AND metric_id = "metricId"
            WHERE {part}
            GROUP BY gpu_id, timestamp ORDER BY gpu_id, timestamp
        """)


def _split_columns(db: duckdb.DuckDBPyConnection, columns: int) -> list[str]:
    """Return conditions on the time of a sample, each of which covers ``CELLS`` cells of the table."""
    (moments,) = db.execute("SELECT approx_count_distinct(timestamp) FROM src.GPU_METRICS").fetchone() or (0,)
    shares = [CELLS * part / (moments * columns) for part in range(1, moments * columns // CELLS + 1)]
    if not shares:
        return ["timestamp IS NOT NULL"]
    query = f"SELECT DISTINCT unnest(quantile_disc(timestamp, {shares})) AS t FROM src.GPU_METRICS ORDER BY t"
    cuts = [t for (t,) in db.execute(query).fetchall()]
    between = [f"timestamp > {low} AND timestamp <= {high}" for low, high in pairwise(cuts)]
    return [f"timestamp <= {cuts[0]}", *between, f"timestamp > {cuts[-1]}"]


def _list_metric_names(db: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the names that become columns. Column names ignore case, so the first of equal ones counts."""
    rows = db.execute("""
        SELECT name FROM gpu_metric_name WHERE name <> '' AND lower(name) NOT IN ('gpu_id', 'time_ns')
        GROUP BY name QUALIFY row_number() OVER (PARTITION BY lower(name) ORDER BY name) = 1 ORDER BY name
    """).fetchall()
    names = [name for (name,) in rows]
    if len(names) > MOST:
        diagnostics.remember(db, "warning", f"{len(names) - MOST:,} GPU metrics are excluded: {MOST:,} are read.")
        texts = ", ".join(map(quote, names[:MOST]))
        db.execute(f"DELETE FROM gpu_metric_name WHERE name NOT IN ({texts})")
    return names[:MOST]
