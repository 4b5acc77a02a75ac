"""Lanes of values over time: sampled GPU metrics, and the memory in use."""

from collections.abc import Sequence

import duckdb

from profiledb.report.schema import quote, quote_identifier
from profiledb.timeline import power
from profiledb.timeline.lanes import SPARSE, Lane

METRICS = "SMs? Active|GR Active|Tensor|DRAM|PCIe|NVLink|GPC Clock"
"""Metrics that become lanes; an RE2 pattern on their names."""


def find_lanes(db: duckdb.DuckDBPyConnection) -> list[Lane]:
    """Return the lanes for which a report has values."""
    metrics = db.execute(
        f"SELECT gpu_id, name, metric_unit(name) FROM gpu_metric_name WHERE regexp_matches(name, {quote(METRICS)}, 'i')"
        " ORDER BY gpu_id, metric_id"
    ).fetchall()
    held = db.execute("SELECT DISTINCT device_id FROM memory_held ORDER BY ALL").fetchall()
    return [
        *(Lane("line", name, device=device, unit=unit, source=name) for device, name, unit in metrics),
        *(Lane("line", "Memory in use", device=device, unit="bytes") for (device,) in held),
    ]


def write_values(db: duckdb.DuckDBPyConnection, lanes: Sequence[Lane], origin: int, zooms: Sequence[int]) -> None:
    """Write the values of lanes, and those of long lanes in bins, too; the events of a lane are its values."""
    queries = [_build_value_sql(lane, origin) for lane in lanes]
    if not queries:
        return
    db.execute(
        f"INSERT INTO t.point SELECT * FROM ({' UNION ALL '.join(queries)}) WHERE isfinite(value) ORDER BY lane, s"
    )
    db.execute(
        """
        UPDATE t.lane
        SET events = had.events, max = had.most, leveled = had.leveled, first_ns = had.low, last_ns = had.high
        FROM (
            SELECT lane, count(*) AS events, max(value) AS most, min(s) AS low, max(s) AS high,
                count(*) > $sparse AS leveled
            FROM t.point GROUP BY lane
        ) AS had WHERE had.lane = id
    """.replace("$sparse", str(SPARSE))
    )
    source = "SELECT lane, s, 1 AS n, value AS mean, value AS low, value AS high, value AS last FROM t.point"
    source += " WHERE lane IN (SELECT id FROM t.lane WHERE leveled AND kind = 'line')"
    for z in zooms:
        db.execute(
            f"INSERT INTO t.point_level SELECT {z}, * FROM ({build_binned_query(source, 1 << z)}) ORDER BY lane, s"
        )
        source = f"SELECT lane, s, n, mean, low, high, last FROM t.point_level WHERE z = {z}"


def build_binned_query(source: str, width: int) -> str:
    """Return a query for values in bins of a width in ns: count, mean, minimum, maximum and last value."""
    bin_ = f"s - ((s % {width}) + {width}) % {width}"
    return f"""
        SELECT lane, {bin_} AS s, sum(n)::INTEGER AS n, sum(n * mean) / sum(n) AS mean, min(low) AS low,
            max(high) AS high, arg_max(last, s) AS last
        FROM ({source}) GROUP BY lane, 2
    """


def _build_value_sql(lane: Lane, origin: int) -> str:
    if lane.log:
        return power.build_values_query(lane, origin)
    if lane.source is None:
        return f"""
            SELECT {lane.id} AS lane, moment_ns - {origin} AS s, held_bytes::DOUBLE AS value FROM memory_held
            WHERE device_id IS NOT DISTINCT FROM {"NULL" if lane.device is None else lane.device}
            QUALIFY row_number() OVER (PARTITION BY moment_ns ORDER BY event_id DESC) = 1
        """
    column = quote_identifier(lane.source)
    return f"""
        SELECT {lane.id} AS lane, time_ns - {origin} AS s, {column}::DOUBLE AS value FROM gpu_metric
        WHERE gpu_id = {lane.device} AND {column} IS NOT NULL
    """
