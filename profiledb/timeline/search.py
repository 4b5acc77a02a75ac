"""Search the names of the whole capture: number of events, their density, and the first ones."""

from typing import Any

import duckdb

from profiledb.errors import AnalysisError
from profiledb.report.schema import quote
from profiledb.timeline import events
from profiledb.timeline.names import TEXTS
from profiledb.timeline.neighbors import SEARCHED
from profiledb.timeline.open_timeline import Opened

LONGEST = 256
"""Length limit of the search text, in characters."""
BINS = 512
FIRST = 200
NAMES = 512
"""Largest number of names in an answer; all matches are counted."""


def search_names(cursor: duckdb.DuckDBPyConnection, opened: Opened, text: str, how: str) -> dict[str, Any]:
    """Return the result of a search.

    ``hits`` is the number of events, ``density`` counts those that start in each of 512 equal bins of the capture,
    ``first`` has up to 200 events in order of start, ``names`` the numbers of matching names.

    Args:
        cursor: of this timeline.
        opened: the timeline.
        text: the search text; case counts for ``exact`` only.
        how: ``part`` of a name, the ``exact`` name, or a ``pattern`` (RE2).

    Raises:
        AnalysisError: the text is too long or no pattern.
    """
    try:
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE hit_name AS {_build_matching_sql(text, how)}")
    except duckdb.InvalidInputException as error:
        raise AnalysisError("This is not a valid pattern.", detail=str(error)) from error
    lanes = [lane for lane in opened.lanes if lane.kind in SEARCHED]
    begin, width = opened.begin_ns, max(1, -(-(opened.end_ns - opened.begin_ns + 1) // BINS))
    matching = f"({events.build_events_query(opened, lanes)}) SEMI JOIN hit_name ON code = name"
    rows = cursor.execute(
        f"SELECT (s - {begin}) // {width} AS bin, count(*) FROM {matching} GROUP BY bin ORDER BY bin"
    ).fetchall()
    density = [0] * BINS
    for place, count in rows:
        density[min(BINS - 1, max(0, place))] += count
    first = cursor.execute(
        f"SELECT {events.COLUMNS} FROM {matching} ORDER BY s, lane, row, ref LIMIT {FIRST}"
    ).fetchall()
    names = [code for (code,) in cursor.execute(f"FROM hit_name ORDER BY code LIMIT {NAMES}").fetchall()]
    return {
        "hits": sum(density),
        "density": density,
        "first": [events.format_event(opened, event) for event in first],
        "names": names,
    }


def _build_matching_sql(text: str, how: str) -> str:
    """Return a query for the numbers of matching names."""
    if not text or len(text) > LONGEST:
        raise AnalysisError(f"A search takes 1 to {LONGEST} characters.")
    conditions = {
        "part": f"contains(lower(text), lower({quote(text)})) OR contains(lower(whole), lower({quote(text)}))",
        "exact": f"text = {quote(text)} OR whole = {quote(text)}",
        "pattern": f"regexp_matches(text, {quote(text)}, 'i') OR regexp_matches(whole, {quote(text)}, 'i')",
    }
    if how not in conditions:
        raise AnalysisError("how is part, exact or pattern.")
    return f"SELECT code FROM ({TEXTS}) SEMI JOIN name USING (code) WHERE {conditions[how]}"
