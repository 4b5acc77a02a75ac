"""GPU metrics: a column each instead of a row a metric and moment, ten times less to store and to read."""

from itertools import pairwise

import duckdb

from ingest import diagnostics
from profiledb.report.schema import identifier, quote

MOST = 256
"""Metrics of a report; nsys samples some 100."""
CELLS = 50_000_000
"""Cells of the table, samples or not, that are made at a time."""
LONGEST = 200
"""Characters of the name of a metric, which is that of a column."""


def pivot(db: duckdb.DuckDBPyConnection) -> None:
    """Fills ``gpu_metric`` from the samples, after a column for each name in ``gpu_metric_name``."""
    db.execute(f"UPDATE gpu_metric_name SET name = cut(name, {LONGEST}) WHERE length(name) > {LONGEST}")
    names = _names(db)
    if not names:
        return
    db.execute("; ".join(f"ALTER TABLE gpu_metric ADD COLUMN {identifier(name)} DOUBLE" for name in names))
    values = ", ".join(
        f"max(value) FILTER (name = {quote(name)} AND isfinite(value)) AS {identifier(name)}" for name in names
    )
    for part in _parts(db, len(names)):
        db.execute(f"""
            INSERT INTO gpu_metric BY NAME
            SELECT gpu_id, timestamp AS time_ns, {values}
            FROM src.GPU_METRICS
            JOIN gpu_metric_name ON type_id = TRY_CAST("typeId" AS BIGINT) AND metric_id = "metricId"
            WHERE {part}
            GROUP BY gpu_id, timestamp ORDER BY gpu_id, timestamp
        """)


def _parts(db: duckdb.DuckDBPyConnection, columns: int) -> list[str]:
    """Conditions on the time of a sample, each of which takes moments for ``CELLS`` cells of the table."""
    (moments,) = db.execute("SELECT approx_count_distinct(timestamp) FROM src.GPU_METRICS").fetchone() or (0,)
    shares = [CELLS * part / (moments * columns) for part in range(1, moments * columns // CELLS + 1)]
    if not shares:
        return ["timestamp IS NOT NULL"]
    query = f"SELECT DISTINCT unnest(quantile_disc(timestamp, {shares})) AS t FROM src.GPU_METRICS ORDER BY t"
    cuts = [t for (t,) in db.execute(query).fetchall()]
    between = [f"timestamp > {low} AND timestamp <= {high}" for low, high in pairwise(cuts)]
    return [f"timestamp <= {cuts[0]}", *between, f"timestamp > {cuts[-1]}"]


def _names(db: duckdb.DuckDBPyConnection) -> list[str]:
    """Names that become columns; columns are equal whatever their case, and so the first of such names counts."""
    rows = db.execute("""
        SELECT name FROM gpu_metric_name WHERE name <> '' AND lower(name) NOT IN ('gpu_id', 'time_ns')
        GROUP BY name QUALIFY row_number() OVER (PARTITION BY lower(name) ORDER BY name) = 1 ORDER BY name
    """).fetchall()
    names = [name for (name,) in rows]
    if len(names) > MOST:
        diagnostics.remember(db, "warning", f"{len(names) - MOST:,} GPU metrics are excluded: {MOST:,} are read.")
        kept = ", ".join(map(quote, names[:MOST]))
        db.execute(f"DELETE FROM gpu_metric_name WHERE name NOT IN ({kept})")
    return names[:MOST]
