"""Tiles: lanes in 1024 bins of 2^z ns, as bytes that a browser reads without parsing (docs/timeline.md)."""

import struct
from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from profiledb.errors import AnalysisError
from profiledb.timeline import binning_sql, bins, events, lines
from profiledb.timeline.open_timeline import LaneInfo, Opened

MAGIC = 0x31544457
BINS = 1024
ZOOMS = 53
GROUPS = 64
"""Groups in one tile."""

_FAR = 1 << 62
_ITEMS = (
    ("s", "<f8"), ("e", "<f8"), ("lane", "<u4"), ("row", "<u2"), ("name", "<u4"), ("color", "<u2"), ("n", "<u4"),
    ("busy", "<f4"), ("ref", "<f8"),
)  # fmt: skip
_POINTS = (("s", "<f8"), ("lane", "<u4"), ("mean", "<f4"), ("low", "<f4"), ("high", "<f4"))
Columns = dict[str, NDArray[Any]]


def make_tile(
    cursor: duckdb.DuckDBPyConnection, opened: Opened, groups: Sequence[int], z: int, i: int, *, captured: bool = False
) -> bytes:
    """Return tile ``i`` of zoom ``z`` of these groups of lanes; ``captured``: with the capture's colors of ranges.

    Raises:
        AnalysisError: a group or the zoom does not exist.
    """
    if not 0 <= z < ZOOMS:
        raise AnalysisError(f"There is no zoom {z}.")
    if len(groups) > GROUPS or any(group not in opened.groups for group in groups):
        raise AnalysisError("There is no such group of lanes.")
    lanes = [lane for group in dict.fromkeys(groups) for lane in opened.groups[group]]
    low, high = (max(-_FAR, min(_FAR, (i + step) * BINS << z)) for step in (0, 1))
    binned_items = read_items(
        cursor, opened, [lane for lane in lanes if lane.kind != "line"], z, low, high, captured=captured
    )
    values = read_points(cursor, opened, [lane for lane in lanes if lane.kind == "line"], z, low, high)
    return encode_tile(binned_items, values)


def read_items(
    cursor: duckdb.DuckDBPyConnection,
    opened: Opened,
    lanes: Sequence[LaneInfo],
    z: int,
    low: int,
    high: int,
    *,
    captured: bool = False,
) -> Columns:
    """Return the items of lanes from ``low`` to ``high`` (edges of bins of 2^z ns): columns of ``binning_sql.SOURCE``
    and color.
    """
    width = 1 << z
    queries = _list_source_queries(opened, lanes, z, low - width, high)
    if not queries:
        return _make_empty(_ITEMS)
    query = " UNION ALL ".join(queries)
    read = cursor.execute(f"SELECT {binning_sql.SOURCE} FROM ({query}) ORDER BY lane, row, s, e").fetchnumpy()
    rows = bins.make_items({key: np.asarray(column) for key, column in read.items()}, z, low - width)
    seen = (rows["s"] < high) & ((rows["e"] > low) | (rows["s"] >= low))
    rows = {key: column[seen] for key, column in rows.items()}
    name = np.asarray(rows["name"], dtype=np.uint32)
    span = np.maximum(rows["e"] - rows["s"], 1)
    busy = np.where(rows["n"] > 1, rows["busy"] / span, 1.0)
    return {**rows, "name": name, "color": opened.colors(name, captured=captured), "busy": busy}


def _list_source_queries(opened: Opened, lanes: Sequence[LaneInfo], z: int, low: int, high: int) -> list[str]:
    """Return queries for all content of these lanes between two times, unbinned or in bins of at most 2^z ns."""
    level = max((one for one in opened.zooms if one <= z), default=None)
    coarse = [lane.id for lane in lanes if lane.leveled and level is not None]
    queries = []
    if coarse:
        queries.append(
            f"SELECT {binning_sql.SOURCE} FROM level WHERE z = {level} AND {events.build_condition('lane', coarse)}"
            f" AND e >= {low} AND s < {high}"
        )
    if fine := [lane for lane in lanes if lane.id not in coarse]:
        queries.append(f"SELECT {binning_sql.EVENTS} FROM ({events.build_events_query(opened, fine, low, high)})")
    return queries


def read_points(
    cursor: duckdb.DuckDBPyConnection, opened: Opened, lanes: Sequence[LaneInfo], z: int, low: int, high: int
) -> Columns:
    """Return the values of lines from ``low`` to ``high`` in bins of 2^z ns, preceded by the last earlier value of
    each.
    """
    if not lanes:
        return _make_empty(_POINTS)
    level = max((one for one in opened.point_zooms if one <= z), default=None)
    ids = [lane.id for lane in lanes]
    leveled = [lane.id for lane in lanes if lane.leveled and level is not None]
    whole = [one for one in ids if one not in leveled]
    queries = []
    if leveled:
        queries.append(
            f"SELECT lane, s, n, mean, low, high, last FROM point_level WHERE z = {level}"
            f" AND {events.build_condition('lane', leveled)} AND s >= {low} AND s < {high}"
        )
    if whole:
        queries.append(
            "SELECT lane, s, 1 AS n, value AS mean, value AS low, value AS high, value AS last FROM point"
            f" WHERE {events.build_condition('lane', whole)} AND s >= {low} AND s < {high}"
        )
    before = f"""
        SELECT lane, max(s) AS s, 1 AS n, arg_max(value, s) AS mean, arg_max(value, s) AS low,
            arg_max(value, s) AS high, arg_max(value, s) AS last
        FROM point WHERE {events.build_condition("lane", ids)} AND s < {low} GROUP BY lane
    """
    query = f"{lines.build_binned_query(' UNION ALL '.join(queries), 1 << z)} UNION ALL {before} ORDER BY lane, s"
    return {key: np.asarray(column) for key, column in cursor.execute(query).fetchnumpy().items()}


def encode_tile(binned_items: Columns, values: Columns) -> bytes:
    """Encode items and values as the bytes of a tile."""
    blocks = [struct.pack("<IIII", MAGIC, len(binned_items["s"]), len(values["s"]), 0)]
    for columns, layout in ((binned_items, _ITEMS), (values, _POINTS)):
        for name, kind in layout:
            column = np.ascontiguousarray(columns[name]).astype(kind).tobytes()
            blocks += [column, b"\0" * (-len(column) % 8)]
    return b"".join(blocks)


def _make_empty(layout: Sequence[tuple[str, str]]) -> Columns:
    return {name: np.empty(0) for name, _ in layout}
