"""Queries for events of lanes in the report's own tables."""

from collections.abc import Mapping
from typing import Any

KEYS = {
    "stream": ("device", "pid", "stream"), "api": ("tid",), "osrt": ("tid",), "range": ("tid",), "mpi": ("tid",),
    "openacc": ("tid",), "openmp": ("tid",), "nccl_call": ("tid",), "sync": ("tid",), "sched": ("tid",),
    "sample": ("tid",), "nccl": ("device",), "projection": ("device", "tid"), "idle": ("device",), "overhead": (),
    "path": (),
}  # fmt: skip
"""Columns that identify the lanes of each kind."""


def read_direct(
    kind: str, lanes: str, origin: int, low: int | None = None, high: int | None = None, table: str = ""
) -> str:
    """Return a query for events of a kind from the report's tables; times in ns from the start of the capture.

    Args:
        kind: one of ``KEYS``.
        lanes: a condition on the lanes.
        origin: start of the capture on the report's clock.
        low, high: limits; events end at or after ``low`` and start before ``high``; None for no limit.
        table: table of the events, if not in the report.
    """
    keys = " AND ".join(f"lane.{key} IS NOT DISTINCT FROM raw.{key}" for key in KEYS[kind]) or "true"
    window = f"WHERE {_build_time_condition(origin, low, high)}" if low is not None and high is not None else ""
    return f"""
        SELECT lane.id AS lane, {_build_event(origin)}
        FROM {table or f"raw_{kind}"} AS raw
        JOIN (FROM lane WHERE kind = '{kind}' AND {lanes}) AS lane ON {keys} {window}
    """


def read_lane(lane: Mapping[str, Any], origin: int, low: int | None = None, high: int | None = None) -> str:
    """Return such a query for one lane, a row of the table of lanes."""
    keys = [f"{key} IS NULL" if lane[key] is None else f"{key} = {int(lane[key])}" for key in KEYS[str(lane["kind"])]]
    window = [_build_time_condition(origin, low, high)] if low is not None and high is not None else []
    conditions = " AND ".join([*keys, *window]) or "true"
    return f"SELECT {int(lane['id'])} AS lane, {_build_event(origin)} FROM raw_{lane['kind']} AS raw WHERE {conditions}"


def _build_event(origin: int) -> str:
    return f"depth::SMALLINT AS row, start_ns - {origin} AS s, end_ns - {origin} AS e, name::UINTEGER AS name, ref"


def _build_time_condition(origin: int, low: int, high: int) -> str:
    return f"raw.end_ns >= {low + origin} AND raw.start_ns < {high + origin}"
