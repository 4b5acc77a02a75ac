"""Lanes of power and clocks from a report's power log (``NAME.nvml.csv``), over the time of the capture."""

import logging
from pathlib import Path

import duckdb

from profiledb.report import sidecar
from profiledb.timeline.lanes import Lane

_log = logging.getLogger("warpdeck")
_TITLES = {"power_w": ("Power", "W", 1), "sm_clock_mhz": ("SM clock", "Hz", 1_000_000),
           "memory_clock_mhz": ("Memory clock", "Hz", 1_000_000)}  # fmt: skip
"""Columns of the log with title, unit, and factor to that unit."""

_NONE = "CREATE OR REPLACE TEMP TABLE log_point AS SELECT 0 AS device, '' AS what, 0::BIGINT AS t, 0.0 AS value LIMIT 0"
_READINGS = ", ".join(f"{name}::DOUBLE * {factor} AS {name}" for name, (*_, factor) in _TITLES.items())
_POINTS = f"""
    CREATE OR REPLACE TEMP TABLE log_point AS
    SELECT gpu_id AS device, what, time_ns AS t, value
    FROM (UNPIVOT (
        SELECT gpu_id, time_ns, {_READINGS}
        FROM power_reading
    ) ON {", ".join(_TITLES)} INTO NAME what VALUE value) AS reading CROSS JOIN capture_window
    WHERE isfinite(value) AND value >= 0 AND time_ns < end_ns
    QUALIFY time_ns >= start_ns
        OR lead(time_ns, 1, start_ns) OVER (PARTITION BY gpu_id, what ORDER BY time_ns) >= start_ns
"""
"""The readings in the capture, and the last one before it. A value holds until the next one."""


def read_log(db: duckdb.DuckDBPyConnection, log: Path | None) -> None:
    """Create the table ``log_point`` of a log: device, what, t (ns, the report's clock), value; empty without a log.

    A damaged log is reported in the server's log, and the timeline is built without it.
    """
    db.execute(_NONE)
    if log is None or not log.exists():
        return
    try:
        db.execute(f"CREATE OR REPLACE TEMP VIEW power_log AS {sidecar.select_rows('power', log)}")
        db.execute(_POINTS)
    except duckdb.Error:
        _log.warning("The log of power beside a report cannot be read: %s", log.name, exc_info=True)


def find_lanes(db: duckdb.DuckDBPyConnection) -> list[Lane]:
    """Return one lane per GPU and kind of reading, power first."""
    rows = db.execute("SELECT DISTINCT device, what FROM log_point ORDER BY ALL").fetchall()
    several = len({device for device, _ in rows}) > 1
    lanes = []
    for device, what in sorted(rows, key=lambda row: (row[0], list(_TITLES).index(row[1]))):
        title, unit, _ = _TITLES[what]
        shown = f"GPU {device} · {title}" if several else title
        lanes.append(Lane("line", shown, device=device, unit=unit, source=what, log=True))
    return lanes


def build_values_query(lane: Lane, origin: int) -> str:
    """Return a query for the values of a lane, in ns from the start of the capture."""
    what = f"device = {lane.device} AND what = '{lane.source}'"
    return f"SELECT {lane.id} AS lane, t - {origin} AS s, value FROM log_point WHERE {what}"
