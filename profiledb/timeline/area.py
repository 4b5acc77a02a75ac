"""Figures of an area: a part of the time in some lanes.

An event counts where it reaches into the area, with the part of its time inside; means, medians and extremes are of
whole durations. Only what may be added is: operations by class and name, calls by name, ranges of one name, idle time
by cause, never these together. Busy time is the union of the time in the area.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np

from profiledb.errors import AnalysisError
from profiledb.timeline import events, gaps, sums
from profiledb.timeline.area_sums import EventCounts, count_events
from profiledb.timeline.medians import find_medians
from profiledb.timeline.names import read_texts
from profiledb.timeline.open_timeline import LaneInfo, Opened
from profiledb.timeline.unions import Numbers

LANES = 20_000
"""Largest number of lanes in an area."""
NAMES = 20
GAPS = 10
AROUND = 20
"""Largest number of ranges that span the area."""

GROUPS = {
    "operations": ("stream", "nccl"), "calls": ("api", "osrt", "mpi", "openacc", "openmp", "nccl_call", "sync"),
    "ranges": ("range", "projection"),
}  # fmt: skip
"""Kinds of lanes that are about the same. Of operations and ranges only the first kind counts that the area has: the
second repeats it."""
_REPEATS = ("operations", "ranges")
_NESTED = GROUPS["ranges"]
"""Kinds of lanes with events in events, whose times cannot be added."""


def measure_area(
    cursor: duckdb.DuckDBPyConnection, opened: Opened, low: int, high: int, lane_ids: Sequence[int]
) -> dict[str, Any]:
    """Return the figures of lanes from ``low`` to ``high`` (ns from the start of the capture, ``high`` excluded).

    Without lanes it covers all of them.

    Raises:
        AnalysisError: a lane does not exist, too many are named, or the area is empty.
    """
    if high <= low:
        raise AnalysisError("The area has no length.")
    if len(lane_ids) > LANES:
        raise AnalysisError(f"An area has at most {LANES} lanes.")
    asked = {events.find_lane(opened, one).id for one in lane_ids}
    lanes = [lane for lane in opened.with_events if not lane_ids or lane.id in asked]
    counted = count_events(cursor, opened, lanes, low, high)
    buckets = counted.buckets()
    grouped = {group: _choose_lanes(group, lanes) for group in GROUPS}
    idle = [lane for lane in opened.lanes if lane.kind == "idle" and _is_of_same_gpu(opened, lane, lanes)]
    around = _list_around(cursor, opened, grouped["ranges"], low, high)
    names = {group: _sum_by_name(opened, counted.names(some)) for group, some in grouped.items()}
    names["ranges"] = _leave_out(names["ranges"], around, high - low)
    about = next((some for some in grouped.values() if some), [])
    shown = {group: rows[:NAMES] for group, rows in names.items()} | {"around": around[:AROUND]}
    texts = read_texts(cursor, sorted({one["name"] for rows in shown.values() for one in rows}))
    return {
        "lanes": _sum_by_lane(
            lanes, counted, buckets, find_medians(cursor, opened, lanes, low, high, counted), high - low
        ),
        "classes": _sum_classes(names["operations"]),
        **{group: [one | {"name": texts.get(one["name"], "")} for one in rows] for group, rows in shown.items()},
        "copies": _sum_copies(cursor, opened, lanes, low, high),
        "idle": _split_idle(cursor, opened, idle, low, high),
        "gaps": _find_longest_gaps(cursor, opened, idle, low, high),
        "histogram": _make_histogram(buckets[np.isin(buckets[:, 0], [lane.id for lane in about])]),
    }  # fmt: skip


def _choose_lanes(group: str, lanes: Sequence[LaneInfo]) -> list[LaneInfo]:
    """Return the lanes of a group, each event in one of them."""
    kinds: Sequence[str] = GROUPS[group]
    if group in _REPEATS:
        kinds = [kind for kind in kinds if any(lane.kind == kind for lane in lanes)][:1]
    return [lane for lane in lanes if lane.kind in kinds]


def _list_around(
    cursor: duckdb.DuckDBPyConnection, opened: Opened, lanes: Sequence[LaneInfo], low: int, high: int
) -> list[dict[str, int]]:
    """Return the ranges that span the whole area, the longest first."""
    rows = cursor.execute(f"""
        SELECT lane, name, s, e FROM ({events.build_events_query(opened, lanes, high, low + 1)})
        WHERE s <= {low} AND e >= {high} ORDER BY e - s DESC, s, lane
    """).fetchall()
    return [{"lane": lane, "name": name, "start": s, "end": e} for lane, name, s, e in rows]


def _leave_out(names: Sequence[dict[str, Any]], around: Sequence[dict[str, int]], length: int) -> list[dict[str, Any]]:
    """Return the sums by name without the ranges that span the area."""
    spanning = Counter(one["name"] for one in around)
    left = [
        name
        | {"count": name["count"] - spanning[name["name"]], "sum_ns": name["sum_ns"] - spanning[name["name"]] * length}
        for name in names
    ]
    return sorted((one for one in left if one["count"]), key=lambda one: (-one["sum_ns"], one["name"]))


def _sum_by_lane(
    lanes: Sequence[LaneInfo], counted: EventCounts, buckets: Numbers, middle: dict[int, float], length: int
) -> list[dict[str, Any]]:
    added = counted.by_lane()
    first = np.flatnonzero(np.diff(buckets[:, 0], prepend=-1))
    least = dict(zip(buckets[first, 0].tolist(), buckets[first, 3].tolist(), strict=True))
    last = np.append(first[1:], len(buckets)) - 1 if len(first) else first
    most = dict(zip(buckets[last, 0].tolist(), buckets[last, 4].tolist(), strict=True))
    rows = []
    for lane in lanes:
        number, total, inside = added.get(lane.id, (0, 0, 0))
        busy = counted.busy.get(lane.id, 0)
        rows.append(
            {
                "lane": lane.id, "count": number, "sum_ns": None if lane.kind in _NESTED else inside,
                "mean_ns": total / number if number else None, "min_ns": least.get(lane.id),
                "median_ns": middle.get(lane.id), "max_ns": most.get(lane.id), "busy_ns": busy, "share": busy / length,
            }
        )  # fmt: skip
    return rows


def _sum_by_name(opened: Opened, rows: Numbers) -> list[dict[str, Any]]:
    rows = rows[np.lexsort((rows[:, 0], -rows[:, 2]))]
    colors = opened.colors(rows[:, 0].astype(np.uint32))
    return [
        {"name": name, "count": number, "sum_ns": total, "class": color}
        for (name, number, total), color in zip(rows.tolist(), colors.tolist(), strict=True)
    ]


def _sum_classes(names: Sequence[dict[str, Any]]) -> list[dict[str, int]]:
    """Sum events and durations by class, most first."""
    classes: dict[int, dict[str, int]] = {}
    for name in names:
        one = classes.setdefault(name["class"], {"class": name["class"], "count": 0, "sum_ns": 0})
        one["count"] += name["count"]
        one["sum_ns"] += name["sum_ns"]
    return sorted(classes.values(), key=lambda one: (-one["sum_ns"], one["class"]))


def _sum_copies(
    cursor: duckdb.DuckDBPyConnection, opened: Opened, lanes: Sequence[LaneInfo], low: int, high: int
) -> list[dict[str, Any]]:
    """Sum bytes and durations of copies and memsets that reach into the area on these streams, with their quotient."""
    streams = [lane.id for lane in lanes if lane.kind == "stream"]
    rows = cursor.execute(f"""
        SELECT operation, count(*), sum(bytes)::BIGINT, sum(end_ns - start_ns)::BIGINT AS ns
        FROM memop JOIN (FROM lane WHERE {events.build_condition("id", streams)}) AS lane
            ON lane.device IS NOT DISTINCT FROM device_id AND lane.pid IS NOT DISTINCT FROM global_pid
            AND lane.stream IS NOT DISTINCT FROM stream_id
        WHERE start_ns < {high + opened.origin_ns}
            AND (end_ns > {low + opened.origin_ns} OR start_ns >= {low + opened.origin_ns})
        GROUP BY operation ORDER BY ns DESC, operation
    """).fetchall()
    return [
        {"kind": kind, "count": count, "bytes": size, "sum_ns": ns, "gb_s": size / ns if size and ns else None}
        for kind, count, size, ns in rows
    ]


def _is_of_same_gpu(opened: Opened, idle: LaneInfo, lanes: Sequence[LaneInfo]) -> bool:
    """Return True if a lane of idle time belongs to a GPU of these lanes."""
    devices = {opened.listed[lane.id]["device"] for lane in lanes if lane.kind in ("stream", "idle", "nccl")}
    return opened.listed[idle.id]["device"] in devices


def _split_idle(
    cursor: duckdb.DuckDBPyConnection, opened: Opened, idle: Sequence[LaneInfo], low: int, high: int
) -> list[dict[str, Any]]:
    """Split the idle time in the area by cause."""
    causes = dict(cursor.execute("SELECT 4 * id + 3, class FROM own_name WHERE kind = 'idle'").fetchall())
    by_cause: dict[str | None, int] = {}
    for name, _, ns in count_events(cursor, opened, idle, low, high).names(idle).tolist():
        cause = causes.get(name)
        by_cause[cause] = by_cause.get(cause, 0) + ns
    places = {one.name: place for place, one in enumerate(opened.classes)}
    return [
        {"cause": _format_cause(cause), "class": places.get(cause or ""), "ns": ns}
        for cause, ns in sorted(by_cause.items(), key=lambda one: (-one[1], one[0] or ""))
    ]


def _find_longest_gaps(
    cursor: duckdb.DuckDBPyConnection, opened: Opened, idle: Sequence[LaneInfo], low: int, high: int
) -> list[dict[str, Any]]:
    """Return the longest gaps that overlap the area, uncut."""
    columns, here = "lane, s, e, cause, during", f"e > {low} AND s < {high}"
    gaps_found: list[Any] = []
    for lane in idle:
        stored_gaps = f"SELECT {columns} FROM gap WHERE lane = {lane.id}"
        rows = cursor.execute(f"FROM ({stored_gaps}) WHERE {here} ORDER BY e - s DESC, s LIMIT {GAPS}").fetchall()
        ((known, longest),) = cursor.execute(f"SELECT count(*), max(e - s) FROM ({stored_gaps})").fetchall()
        if len(rows) < GAPS and known == gaps.KEPT:  # there may be more gaps, all shorter than those kept
            window = events.build_events_query(opened, [lane], low - longest, high + longest)
            pieces = f"""
                SELECT *, sum(begins) OVER (ORDER BY s, e) AS gap FROM (
                    SELECT lane, s, e, class AS cause, text, (s IS DISTINCT FROM lag(e) OVER (ORDER BY s, e))::INTEGER
                        AS begins FROM ({window}) LEFT JOIN own_name ON 4 * id + 3 = name
                )
            """
            rows = cursor.execute(
                f"SELECT {columns} FROM ({gaps.LONGEST.format(pieces=pieces)}) WHERE {here}"
                f" ORDER BY e - s DESC, s LIMIT {GAPS}"
            ).fetchall()
        gaps_found += rows
    gaps_found.sort(key=lambda gap: (gap[1] - gap[2], gap[1], gap[0]))
    return [
        {"start": s, "end": e, "cause": _format_cause(cause), "during": during, "lane": lane}
        for lane, s, e, cause, during in gaps_found[:GAPS]
    ]


def _format_cause(cause: str | None) -> str:
    return (cause or "idle-unknown").removeprefix("idle-").replace("host code", "non-CUDA code")


def _make_histogram(buckets: Numbers) -> dict[str, list[int]]:
    """Count durations in bins that double: [0, 1), [1, 2), [2, 4) ns and so on."""
    counts: dict[int, int] = {}
    for bucket, number in buckets[:, [1, 2]].tolist():
        counts[sums.find_octave(bucket)] = counts.get(sums.find_octave(bucket), 0) + number
    if not counts:
        return {"edges_ns": [], "counts": []}
    bins = range(min(counts), max(counts) + 1)
    edges = [0 if one == 0 else 1 << (one - 1) for one in bins]
    return {"edges_ns": [*edges, 1 << bins[-1]], "counts": [counts.get(one, 0) for one in bins]}
