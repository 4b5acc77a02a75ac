"""Steps from one event to another: the next or previous one in a lane, the slowest or fastest one of a name."""

import duckdb

from profiledb.errors import AnalysisError
from profiledb.timeline import events
from profiledb.timeline.open_timeline import Opened

_REACHES = (20, 26, 32, 38, 62)
"""Distances to search for the next event, log2 of ns: most are near, and a short search reads little."""


def find_neighbor(
    cursor: duckdb.DuckDBPyConnection, opened: Opened, lane: int, time: int, direction: str, name: int | None = None
) -> events.Event | None:
    """Return the first event of a lane that starts after a time, or the last one that starts before it; None for none.

    Args:
        cursor: of this timeline.
        opened: the timeline.
        lane: number of the lane.
        time: ns from the start of the capture; an event that starts at it is neither next nor previous.
        direction: ``next`` or ``prev``.
        name: only events of this name.

    Raises:
        AnalysisError: the lane or the direction does not exist.
    """
    if direction not in ("next", "prev"):
        raise AnalysisError("dir is next or prev.")
    info = [events.find_lane(opened, lane)]
    named = f" AND name = {name}" if name is not None else ""
    for reach in _REACHES:
        if direction == "next":
            low, high, order = time + 1, time + (1 << reach), "s, row, ref"
        else:
            low, high, order = time - (1 << reach), time, "s DESC, row DESC, ref DESC"
        rows = cursor.execute(
            f"SELECT {events.COLUMNS} FROM ({events.build_events_query(opened, info, low, high)})"
            f" WHERE s >= {low} AND s < {high}{named} ORDER BY {order} LIMIT 1"
        ).fetchall()
        if rows:
            event: events.Event = rows[0]
            return event
    return None


def find_extreme(
    cursor: duckdb.DuckDBPyConnection, opened: Opened, by: str, name: int, lane: int | None = None
) -> events.Event | None:
    """Return the longest or shortest event of a name, in one lane or in all; the first of equal ones.

    Raises:
        AnalysisError: ``by`` is neither slowest nor fastest.
    """
    if by not in ("slowest", "fastest"):
        raise AnalysisError("by is slowest or fastest.")
    lanes = (
        [events.find_lane(opened, lane)] if lane is not None else [one for one in opened.lanes if one.kind in SEARCHED]
    )
    order = "DESC" if by == "slowest" else "ASC"
    rows = cursor.execute(
        f"SELECT {events.COLUMNS} FROM ({events.build_events_query(opened, lanes)}) WHERE name = {name}"
        f" ORDER BY e - s {order}, s, lane, row, ref LIMIT 1"
    ).fetchall()
    return rows[0] if rows else None


SEARCHED = (
    "stream", "range", "api", "sync", "nccl_call", "osrt", "mpi", "openacc", "openmp", "sched", "sample", "overhead",
)  # fmt: skip
"""Kinds of lanes that a search covers: no event is in two of them."""
