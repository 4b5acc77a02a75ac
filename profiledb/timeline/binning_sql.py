"""Events in bins, which a tile shows for events shorter than a bin.

An event of at least a bin's length is an item of its own, at its own times. The others are counted in the bin in which
they start. A bin with one starting event shows it at its own times. A bin with several is one item, from edge to edge,
with their number, their busy time in it, and name and number of the longest. If the last event of such a bin reaches
into the next bin, its end is busy time there: of that bin's item if that has several events, else of an item of its own
that counts nothing.

Events of one row never overlap, so sums are unions. Binning items again, in bins of a multiple of the width, gives the
same items as binning the events: a level of detail is as exact as the events.
"""

SOURCE = "lane, row, s, e, n, busy, name, ref, d"
"""Columns of the input and of the items: lane, row, start and end (ns), number of events that start in it, busy time in
it (ns), name and number of the longest event, and its length (ns; -1 for the end of an event that started in the bin
before)."""

EVENTS = "lane, row, s, e, 1 AS n, e - s AS busy, name, ref, e - s AS d"
"""The same columns, computed from columns of events."""


def build_binning(source: str, width: int, base: int) -> str:
    """Return a query for the items (columns of ``SOURCE``) of a source.

    Args:
        source: a query with the columns of ``SOURCE``; rows of a lane and row do not overlap, and ``width`` is a
            multiple of the width of its bins by a power of two.
        width: of a bin, ns.
        base: an edge of a bin at or before the start of everything shorter than a bin, ns.
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
