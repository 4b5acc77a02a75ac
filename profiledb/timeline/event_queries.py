"""Queries of the events of lanes that the report's own tables answer."""

from collections.abc import Mapping
from typing import Any

KEYS = {
    "stream": ("device", "pid", "stream"), "api": ("tid",), "osrt": ("tid",), "range": ("tid",), "mpi": ("tid",),
    "openacc": ("tid",), "openmp": ("tid",), "nccl_call": ("tid",), "sync": ("tid",), "sched": ("tid",),
    "sample": ("tid",), "nccl": ("device",), "projection": ("device", "tid"), "idle": ("device",), "overhead": (),
}  # fmt: skip
"""The columns that tell the lanes of each kind apart."""


def read_direct(
    kind: str, lanes: str, origin: int, low: int | None = None, high: int | None = None, table: str = ""
) -> str:
    """A query of the events of lanes of a kind from the report's tables; times in ns from the begin of the capture.

    Args:
        kind: one of ``KEYS``.
        lanes: a condition on the lanes.
        origin: begin of the capture on the clock of the report.
        low, high: events that end at or after, and begin before; none where they are None.
        table: where the events are, if not in the report.
    """
    keys = " AND ".join(f"lane.{key} IS NOT DISTINCT FROM raw.{key}" for key in KEYS[kind]) or "true"
    window = f"WHERE {_within(origin, low, high)}" if low is not None and high is not None else ""
    return f"""
        SELECT lane.id AS lane, {_event(origin)}
        FROM {table or f"raw_{kind}"} AS raw
        JOIN (FROM lane WHERE kind = '{kind}' AND {lanes}) AS lane ON {keys} {window}
    """


def read_lane(lane: Mapping[str, Any], origin: int, low: int | None = None, high: int | None = None) -> str:
    """The same of one lane, a row of the table of lanes."""
    keys = [f"{key} IS NULL" if lane[key] is None else f"{key} = {int(lane[key])}" for key in KEYS[str(lane["kind"])]]
    window = [_within(origin, low, high)] if low is not None and high is not None else []
    conditions = " AND ".join([*keys, *window]) or "true"
    return f"SELECT {int(lane['id'])} AS lane, {_event(origin)} FROM raw_{lane['kind']} AS raw WHERE {conditions}"


def _event(origin: int) -> str:
    return f"depth::SMALLINT AS row, start_ns - {origin} AS s, end_ns - {origin} AS e, name::UINTEGER AS name, ref"


def _within(origin: int, low: int, high: int) -> str:
    return f"raw.end_ns >= {low + origin} AND raw.start_ns < {high + origin}"
