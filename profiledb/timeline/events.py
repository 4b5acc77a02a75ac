"""The events of lanes, wherever they are kept: the timeline's own file, or the tables of the report."""

from collections.abc import Sequence

import duckdb

from profiledb.errors import AnalysisError
from profiledb.timeline import event_queries
from profiledb.timeline.open_timeline import LaneInfo, Lanes, Opened

Event = tuple[int, int, int, int, int, int]
"""An event: lane, row, begin and end in ns from the begin of the capture, number of its name, number in its lane."""

FEW = 4
"""Lanes of a kind that are read one by one."""
COLUMNS = "lane, row, s, e, name, ref"


def build_events_query(
    opened: Lanes, lanes: Sequence[LaneInfo], low: int | None = None, high: int | None = None
) -> str:
    """Return a query for the events of lanes that end at or after ``low`` and begin before ``high`` (ns)."""
    window = "" if low is None or high is None else f" AND e >= {low} AND s < {high}"
    stored = [lane.id for lane in lanes if not lane.direct and lane.kind != "line"]
    queries = [f"SELECT {COLUMNS} FROM event WHERE {build_condition('lane', stored)}{window}"] if stored else []
    for kind in sorted({lane.kind for lane in lanes if lane.direct}):
        mine = [lane.id for lane in lanes if lane.direct and lane.kind == kind]
        if len(mine) > FEW:
            queries.append(event_queries.read_direct(kind, build_condition("id", mine), opened.origin_ns, low, high))
        else:  # compared with constants, a third of the work of a join
            queries += [event_queries.read_lane(opened.listed[one], opened.origin_ns, low, high) for one in mine]
    return " UNION ALL ".join(queries) or f"SELECT {COLUMNS} FROM event LIMIT 0"


def read_event(cursor: duckdb.DuckDBPyConnection, opened: Opened, lane_id: int, ref: int) -> Event:
    """Return the event with a number in a lane.

    Raises:
        AnalysisError: there is no such lane, or no such event in it.
    """
    row = cursor.execute(
        f"SELECT {COLUMNS} FROM ({build_events_query(opened, [find_lane(opened, lane_id)])}) WHERE ref = {ref} LIMIT 1"
    ).fetchall()
    if not row:
        raise AnalysisError("There is no such event in this lane.")
    event: Event = row[0]
    return event


def find_lane(opened: Opened, lane_id: int) -> LaneInfo:
    """Return the lane with this number; raise AnalysisError if there is none, or it has no events."""
    if not 0 <= lane_id < len(opened.lanes) or opened.lanes[lane_id].group is None:
        raise AnalysisError("There is no such lane.")
    return opened.lanes[lane_id]


def format_event(opened: Opened, event: Event) -> dict[str, int]:
    """Return an event as the browser gets it."""
    import numpy as np

    lane_id, row, start, end, name, ref = event
    color = int(opened.colors(np.array([name], dtype=np.uint32))[0])
    return {"lane": lane_id, "row": row, "start": start, "end": end, "name": name, "color": color, "ref": ref}


def build_condition(column: str, ids: Sequence[int]) -> str:
    """Return a condition that a column has one of these numbers."""
    return f"{column} IN ({', '.join(map(str, ids))})" if ids else "false"
