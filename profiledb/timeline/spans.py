"""The time of a selection for events of all kinds: that of its ranges, with all work that they launched."""

import duckdb

from profiledb.errors import AnalysisError
from profiledb.selection import apply
from profiledb.selection.model import Selection
from profiledb.timeline.open_timeline import Opened
from profiledb.timeline.trace import Span, merge_spans


def find_spans(cursor: duckdb.DuckDBPyConnection, opened: Opened, selection: Selection) -> list[Span]:
    """Return the intervals of a selection, ns from the start of the capture.

    Raises:
        AnalysisError: it contains more than times and ranges, or a range that does not exist.
    """
    known = Selection(
        ranges=selection.ranges, skip_first=selection.skip_first, from_ns=selection.from_ns, to_ns=selection.to_ns
    )
    if selection != known:
        raise AnalysisError("A trace holds all that ran in a time.", hint="It takes range, skip_first, from_ns, to_ns.")
    low = opened.begin_ns if selection.from_ns is None else selection.from_ns
    high = opened.end_ns + 1 if selection.to_ns is None else selection.to_ns
    if high <= low:
        raise AnalysisError("This time has no length.")
    if not selection.ranges:
        return [(low, high)]
    apply.apply(cursor, Selection(ranges=selection.ranges, skip_first=selection.skip_first))
    rows = cursor.execute(f"""
        SELECT min(range.start_ns) - {opened.origin_ns}, max(greatest(range.end_ns, coalesce(ran.end_ns, range.end_ns)))
            - {opened.origin_ns} + 1
        FROM range SEMI JOIN chosen USING (range_id)
        LEFT JOIN (FROM projection WHERE mode = 'process') AS ran USING (range_id) GROUP BY range_id
    """).fetchall()
    merged = merge_spans((max(low, begin), min(high, end)) for begin, end in rows if end > low and begin < high)
    if not merged:
        raise AnalysisError("The range does not lie in this time.")
    return merged
