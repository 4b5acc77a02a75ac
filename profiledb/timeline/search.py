"""Search over the names of the whole capture: how many events, where they lie, and the first of them."""

from typing import Any

import duckdb

from profiledb.errors import AnalysisError
from profiledb.report.schema import quote
from profiledb.timeline import events
from profiledb.timeline.names import TEXTS
from profiledb.timeline.neighbors import SEARCHED
from profiledb.timeline.open_timeline import Opened

LONGEST = 256
"""Characters of what is searched for."""
BINS = 512
FIRST = 200
NAMES = 512
"""Names in an answer at most; all that match are counted."""


def search(cursor: duckdb.DuckDBPyConnection, opened: Opened, text: str, how: str) -> dict[str, Any]:
    """What a search finds: ``hits``, ``density`` (events that begin in each of 512 equal bins of the capture),
    ``first`` (up to 200 events in the order of their begin) and ``names`` (numbers).

    Args:
        cursor: one of this timeline.
        opened: the timeline.
        text: what to look for, without regard to case but for ``exact``.
        how: ``part`` of a name, the ``exact`` name, or a ``pattern`` (RE2).

    Raises:
        AnalysisError: the text is too long, or no pattern.
    """
    try:
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE hit_name AS {_matching(text, how)}")
    except duckdb.InvalidInputException as error:
        raise AnalysisError("This is no pattern.", detail=str(error)) from error
    lanes = [lane for lane in opened.lanes if lane.kind in SEARCHED]
    begin, width = opened.begin_ns, max(1, -(-(opened.end_ns - opened.begin_ns + 1) // BINS))
    found = f"({events.sql(opened, lanes)}) SEMI JOIN hit_name ON code = name"
    rows = cursor.execute(
        f"SELECT (s - {begin}) // {width} AS bin, count(*) FROM {found} GROUP BY bin ORDER BY bin"
    ).fetchall()
    density = [0] * BINS
    for place, count in rows:
        density[min(BINS - 1, max(0, place))] += count
    first = cursor.execute(f"SELECT {events.COLUMNS} FROM {found} ORDER BY s, lane, row, ref LIMIT {FIRST}").fetchall()
    names = [code for (code,) in cursor.execute(f"FROM hit_name ORDER BY code LIMIT {NAMES}").fetchall()]
    return {
        "hits": sum(density),
        "density": density,
        "first": [events.item(opened, event) for event in first],
        "names": names,
    }


def _matching(text: str, how: str) -> str:
    """A query of the numbers of the names that match."""
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
