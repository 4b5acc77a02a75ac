"""What a part of the time holds in some lanes, in numbers.

Counts, sums, means, medians and extremes are of the events that begin in the area, with their whole durations: what the
other pages answer for the same time. Busy time is the union of what lies in the area, cut at its edges.
"""

from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np

from profiledb.errors import AnalysisError
from profiledb.timeline import events
from profiledb.timeline.store import LaneInfo, Opened

LANES = 20_000
"""Lanes of an area at most."""
NAMES = 20
GAPS = 10


def area(
    cursor: duckdb.DuckDBPyConnection, opened: Opened, low: int, high: int, lane_ids: Sequence[int]
) -> dict[str, Any]:
    """What lanes hold from ``low`` to ``high`` (ns from the begin of the capture, ``high`` excluded); all without any.

    Raises:
        AnalysisError: there is no such lane, too many are named, or the area is empty.
    """
    if high <= low:
        raise AnalysisError("The area has no length.")
    if len(lane_ids) > LANES:
        raise AnalysisError(f"An area has at most {LANES} lanes.")
    lanes = [events.lane(opened, one) for one in dict.fromkeys(lane_ids)]
    lanes = [lane for lane in lanes or opened.lanes if lane.kind != "line" and lane.group is not None]
    window = _window(opened, lanes, low, high)
    by_lane = _by_lane(cursor, window)
    busy = _busy(cursor, opened, lanes, low, high)
    rows = [_figures(lane, by_lane.get(lane.id), busy.get(lane.id, 0), high - low) for lane in lanes]
    idle = [lane for lane in opened.lanes if lane.kind == "idle" and _beside(opened, lane, lanes)]
    names = _by_name(cursor, opened, window)
    return {
        "lanes": rows,
        "total": _total(cursor, window),
        "classes": _classes(names),
        "names": [{key: name[key] for key in ("name", "count", "sum_ns")} for name in names[:NAMES]],
        "copies": _copies(cursor, opened, lanes, low, high),
        **_idle(cursor, opened, idle, low, high),
        "histogram": _histogram(cursor, window),
    }


def _window(opened: Opened, lanes: Sequence[LaneInfo], low: int, high: int) -> str:
    return f"SELECT lane, name, e - s AS ns FROM ({events.sql(opened, lanes, low, high)}) WHERE s >= {low}"


def _by_lane(cursor: duckdb.DuckDBPyConnection, window: str) -> dict[int, list[Any]]:
    rows = cursor.execute(
        f"SELECT lane, count(*), sum(ns)::BIGINT, min(ns), median(ns)::DOUBLE, max(ns) FROM ({window}) GROUP BY lane"
    ).fetchall()
    return {lane: figures for lane, *figures in rows}


def _busy(
    cursor: duckdb.DuckDBPyConnection, opened: Opened, lanes: Sequence[LaneInfo], low: int, high: int
) -> dict[int, int]:
    """The union of the time of each lane. Events of one row do not overlap, those of several may."""
    part = f"SELECT lane, greatest(s, {low}) AS s, least(e, {high}) AS e"
    flat = [lane for lane in lanes if lane.rows == 1]
    deep = [lane for lane in lanes if lane.rows > 1]
    rows = cursor.execute(f"""
        SELECT lane, sum(e - s)::BIGINT FROM ({part} FROM ({events.sql(opened, flat, low, high)})) GROUP BY lane
        UNION ALL
        SELECT lane, sum(greatest(0, e - greatest(s, coalesce(reach, s))))::BIGINT
        FROM (
            SELECT *, max(e) OVER (
                PARTITION BY lane ORDER BY s ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS reach
            FROM ({part} FROM ({events.sql(opened, deep, low, high)}))
        )
        GROUP BY lane
    """).fetchall()
    return dict(rows)


def _figures(lane: LaneInfo, figures: Sequence[Any] | None, busy: int, length: int) -> dict[str, Any]:
    count, total, least, median, most = figures or (0, 0, None, None, None)
    return {
        "lane": lane.id, "count": count, "sum_ns": total, "mean_ns": total / count if count else None, "min_ns": least,
        "median_ns": median, "max_ns": most, "busy_ns": busy, "share": busy / length,
    }  # fmt: skip


def _total(cursor: duckdb.DuckDBPyConnection, window: str) -> dict[str, Any]:
    """All lanes together; their busy time is not added up, because lanes overlap each other."""
    row = cursor.execute(
        f"SELECT count(*), coalesce(sum(ns), 0)::BIGINT, avg(ns), min(ns), median(ns)::DOUBLE, max(ns) FROM ({window})"
    ).fetchall()[0]
    return dict(zip(("count", "sum_ns", "mean_ns", "min_ns", "median_ns", "max_ns"), row, strict=True))


def _by_name(cursor: duckdb.DuckDBPyConnection, opened: Opened, window: str) -> list[dict[str, Any]]:
    rows = cursor.execute(
        f"SELECT name, count(*), sum(ns)::BIGINT AS total FROM ({window}) GROUP BY name ORDER BY total DESC, name"
    ).fetchall()
    colors = opened.colors(np.array([name for name, *_ in rows], dtype=np.uint32))
    return [
        {"name": name, "count": count, "sum_ns": total, "class": int(color)}
        for (name, count, total), color in zip(rows, colors, strict=True)
    ]


def _classes(names: Sequence[dict[str, Any]]) -> list[dict[str, int]]:
    """Events and the sum of their durations by class, the most first."""
    classes: dict[int, dict[str, int]] = {}
    for name in names:
        one = classes.setdefault(name["class"], {"class": name["class"], "count": 0, "sum_ns": 0})
        one["count"] += name["count"]
        one["sum_ns"] += name["sum_ns"]
    return sorted(classes.values(), key=lambda one: (-one["sum_ns"], one["class"]))


def _copies(
    cursor: duckdb.DuckDBPyConnection, opened: Opened, lanes: Sequence[LaneInfo], low: int, high: int
) -> list[dict[str, Any]]:
    """Copies and memory sets that begin in the area on these streams: bytes, sum of durations, and their quotient."""
    streams = [lane.id for lane in lanes if lane.kind == "stream"]
    rows = cursor.execute(f"""
        SELECT operation, count(*), sum(bytes)::BIGINT, sum(end_ns - start_ns)::BIGINT AS ns
        FROM memop JOIN (FROM lane WHERE {events.among("id", streams)}) AS lane
            ON lane.device IS NOT DISTINCT FROM device_id AND lane.pid IS NOT DISTINCT FROM global_pid
            AND lane.stream IS NOT DISTINCT FROM stream_id
        WHERE start_ns >= {low + opened.origin_ns} AND start_ns < {high + opened.origin_ns}
        GROUP BY operation ORDER BY ns DESC, operation
    """).fetchall()
    return [
        {"kind": kind, "count": count, "bytes": size, "sum_ns": ns, "gb_s": size / ns if size and ns else None}
        for kind, count, size, ns in rows
    ]


def _beside(opened: Opened, idle: LaneInfo, lanes: Sequence[LaneInfo]) -> bool:
    """Whether a lane of idle time is of a GPU that these lanes are of."""
    devices = {opened.listed[lane.id]["device"] for lane in lanes if lane.kind in ("stream", "idle", "nccl")}
    return opened.listed[idle.id]["device"] in devices


def _idle(
    cursor: duckdb.DuckDBPyConnection, opened: Opened, idle: Sequence[LaneInfo], low: int, high: int
) -> dict[str, Any]:
    """Idle time in the area by cause, cut at its edges, and the longest gaps, whole; pieces of one gap adjoin."""
    cursor.execute(f"""
        CREATE OR REPLACE TEMP TABLE idle_here AS
        SELECT lane, s, e, text, own_name.class AS cause
        FROM ({events.sql(opened, idle, low, high)}) LEFT JOIN own_name ON 4 * id + 3 = name
        WHERE e > {low}
    """)
    causes = cursor.execute(
        f"SELECT cause, sum(least(e, {high}) - greatest(s, {low}))::BIGINT AS ns FROM idle_here"
        " GROUP BY cause ORDER BY ns DESC, cause"
    ).fetchall()
    gaps = cursor.execute(f"""
        WITH piece AS (
            SELECT *, (s IS DISTINCT FROM lag(e) OVER (PARTITION BY lane ORDER BY s))::INTEGER AS begins FROM idle_here
        ), gap AS (
            SELECT *, sum(begins) OVER (PARTITION BY lane ORDER BY s) AS gap FROM piece
        ), of_cause AS (
            SELECT lane, gap, cause, arg_max(text, e - s) AS during, sum(e - s) AS ns, min(s) AS s, max(e) AS e
            FROM gap GROUP BY lane, gap, cause
        )
        SELECT min(s) AS low, max(e) AS high, arg_max(cause, ns), arg_max(during, ns), lane FROM of_cause
        GROUP BY lane, gap ORDER BY high - low DESC, low, lane LIMIT {GAPS}
    """).fetchall()
    places = {one.name: place for place, one in enumerate(opened.classes)}
    return {
        "idle": [{"cause": _word(cause), "class": places.get(cause), "ns": ns} for cause, ns in causes],
        "gaps": [
            {"start": s, "end": e, "cause": _word(cause), "during": during, "lane": lane}
            for s, e, cause, during, lane in gaps
        ],
    }


def _word(cause: str | None) -> str:
    return (cause or "idle-unknown").removeprefix("idle-").replace("host code", "non-CUDA code")


def _histogram(cursor: duckdb.DuckDBPyConnection, window: str) -> dict[str, list[int]]:
    """Durations in bins that double: [0, 1), [1, 2), [2, 4) ns and so on, as far as any reaches."""
    rows = cursor.execute(
        f"SELECT CASE WHEN ns < 1 THEN 0 ELSE floor(log2(ns))::INTEGER + 1 END AS bin, count(*) FROM ({window})"
        " GROUP BY bin ORDER BY bin"
    ).fetchall()
    if not rows:
        return {"edges_ns": [], "counts": []}
    counts, first = dict(rows), rows[0][0]
    bins = range(first, rows[-1][0] + 1)
    edges = [0 if one == 0 else 1 << (one - 1) for one in bins]
    return {"edges_ns": [*edges, 1 << bins[-1]], "counts": [counts.get(one, 0) for one in bins]}
