"""Events in bins: what a tile shows where events are shorter than a bin.

An event of at least a bin's length is an item of its own, at its own times. The others are counted in the bin in which
they begin. A bin in which one begins shows it at its own times. A bin in which several begin is one item, from edge to
edge, with their number, the time in it that is busy, and the name and number of the longest. The end of such a bin's
last event that lies in the next bin is busy time there: of the item of that bin where it has several, else of an item
of its own that counts nothing.

Events of one row never overlap, so sums are unions. Binning what was binned before, in bins that are a fraction as
long, gives the same items as binning the events: a level of detail is as exact as they are.
"""

SOURCE = "lane, row, s, e, n, busy, name, ref, d"
"""Columns of what is binned and of the items: lane, row, begin and end (ns), events that begin in it, busy time in it
(ns), name and number of the longest event, and its length (ns; -1 for an end of an event that began in the bin
before)."""

EVENTS = "lane, row, s, e, 1 AS n, e - s AS busy, name, ref, e - s AS d"
"""These columns from those of events."""


def sql(source: str, width: int, base: int) -> str:
    """A query that answers the items (columns of ``SOURCE``) of what ``source`` answers.

    Args:
        source: a query with the columns of ``SOURCE``, rows of one lane and row without overlap, and bins only of a
            width of which ``width`` is a multiple by a power of two.
        width: of a bin, ns.
        base: an edge of a bin at or before the begin of everything shorter than a bin, ns.
    """
    return f"""
WITH x AS ({source}), short AS (
    SELECT *, (s - {base}) // {width} AS bin FROM x WHERE NOT (n = 1 AND e - s >= {width})
), grouped AS (
    SELECT lane, row, bin, sum(n)::BIGINT AS n, {base} + bin * {width} AS low, low + {width} AS high,
        (sum(busy) - sum(greatest(0, e - ({base} + (bin + 1) * {width}))))::BIGINT AS inside,
        arg_max({{name: name, ref: ref}}, d) AS top, max(d) AS d,
        min(s) FILTER (n = 1) AS s, max(e) FILTER (n = 1) AS e,
        max(e) AS reach, arg_max({{name: name, ref: ref}}, e) AS last,
        max(e) FILTER (n = 0) AS rest, any_value({{name: name, ref: ref}}) FILTER (n = 0) AS rest_of
    FROM short GROUP BY lane, row, bin
), beside AS (
    SELECT *, CASE WHEN n > 1 AND reach > high THEN reach END AS over,
        CASE WHEN lag(bin) OVER in_row = bin - 1 AND lag(n) OVER in_row > 1 THEN
            greatest(0, lag(reach) OVER in_row - low) ELSE 0 END AS carried,
        coalesce(lead(bin) OVER in_row = bin + 1 AND lead(n) OVER in_row > 1, false) AS taken
    FROM grouped WINDOW in_row AS (PARTITION BY lane, row ORDER BY bin)
)
SELECT {SOURCE} FROM x WHERE n = 1 AND e - s >= {width}
UNION ALL
SELECT lane, row, low, high, n, inside + carried, top.name, top.ref, d FROM beside WHERE n > 1
UNION ALL
SELECT lane, row, s, e, 1, e - s, top.name, top.ref, d FROM beside WHERE n = 1
UNION ALL
SELECT lane, row, low, rest, 0, rest - low, rest_of.name, rest_of.ref, -1 FROM beside WHERE n < 2 AND rest > low
UNION ALL
SELECT lane, row, high, over, 0, over - high, last.name, last.ref, -1 FROM beside WHERE over IS NOT NULL AND NOT taken
"""
