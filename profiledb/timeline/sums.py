"""Sums of lanes with many events, in coarse bins, so that an area reads events at its edges only.

Per bin of 2^z ns, where z depends on the kind of lanes: number and summed duration of the events that start in it, by
name; the number per bucket of durations, with the shortest and the longest; and the union of the time in the bin.
Buckets are the exponent of a floating-point number with five more bits, so a bucket is at most 3.2 % wide and lies
between two powers of two.
"""

from collections.abc import Sequence
from itertools import chain

import duckdb
import numpy as np
from numpy.typing import NDArray

from profiledb.timeline.lanes import Lane
from profiledb.timeline.unions import Numbers

BINS = 64
"""Bins that the events of a kind fall into, about."""
SHARE = 8
"""Store a lane in sums only if they have so many times fewer rows than it has events."""
_MANTISSA = 5

PARTS = """
CREATE OR REPLACE TEMP TABLE name_part (kind VARCHAR, code BIGINT, bin BIGINT, name UINTEGER, n BIGINT, ns BIGINT);
CREATE OR REPLACE TEMP TABLE length_part (
    kind VARCHAR, code BIGINT, bin BIGINT, bucket INTEGER, n BIGINT, low BIGINT, high BIGINT
);
CREATE OR REPLACE TEMP TABLE busy_part (kind VARCHAR, code BIGINT, bin BIGINT, ns BIGINT);
"""
"""Results by window, with the number that a lane has within its kind."""


def choose_zoom(span: int) -> int:
    """Return the logarithm of the bins' width, ns, for events over this many ns."""
    return max(0, span.bit_length() - (BINS.bit_length() - 1))


def find_buckets(lengths: Numbers) -> NDArray[np.int32]:
    """Return the bucket of each duration in ns, ascending with the duration."""
    bits = np.maximum(lengths, 0).astype(np.float64).view(np.int64)
    return (bits >> (52 - _MANTISSA)).astype(np.int32)


def find_octave(bucket: int) -> int:
    """Return the octave of a bucket: 0 for 0 ns, n for 2^(n-1) to 2^n ns."""
    return max(0, (bucket >> _MANTISSA) - 1022)


def add_events(
    db: duckdb.DuckDBPyConnection, kind: str, code: Numbers, s: Numbers, e: Numbers, name: NDArray[np.uint32], z: int
) -> None:
    """Sum the events of a window."""
    import pyarrow as pa

    rows = pa.table({"code": code, "bin": s >> z, "name": name, "ns": e - s, "bucket": find_buckets(e - s)})
    db.register("seen", rows)
    db.execute(
        f"INSERT INTO name_part SELECT '{kind}', code, bin, name, count(*), sum(ns) FROM seen GROUP BY code, bin, name"
    )
    db.execute(f"""
        INSERT INTO length_part SELECT '{kind}', code, bin, bucket, count(*), min(ns), max(ns) FROM seen
        GROUP BY code, bin, bucket
    """)
    db.unregister("seen")


def add_busy(busy: dict[int, dict[int, int]], code: Numbers, begin: Numbers, end: Numbers, z: int) -> None:
    """Add intervals that do not overlap, ordered by lane, to the busy time by lane and bin."""
    some = end > begin
    code, begin, end = code[some], begin[some], end[some]
    low, high = begin >> z, (end - 1) >> z
    across = low != high
    first = np.where(across, ((low + 1) << z) - begin, end - begin)
    _add_busy(busy, code, low, first)
    _add_busy(busy, code[across], high[across], end[across] - (high[across] << z))
    gaps = (high - low - 1)[across]
    middle = np.repeat(low[across] + 1, gaps) + np.arange(gaps.sum()) - np.repeat(np.cumsum(gaps) - gaps, gaps)
    _add_busy(busy, np.repeat(code[across], gaps), middle, np.full(len(middle), 1 << z))


def _add_busy(busy: dict[int, dict[int, int]], code: Numbers, bins: Numbers, ns: Numbers) -> None:
    if not len(code):
        return
    order = np.lexsort((bins, code))
    code, bins = code[order], bins[order]
    first = np.flatnonzero(np.append(True, (np.diff(code) != 0) | (np.diff(bins) != 0)))
    totals = np.add.reduceat(ns[order], first).tolist()
    for one, at, total in zip(code[first].tolist(), bins[first].tolist(), totals, strict=True):
        of_lane = busy.setdefault(one, {})
        of_lane[at] = of_lane.get(at, 0) + total


def store_busy(db: duckdb.DuckDBPyConnection, kind: str, busy: dict[int, dict[int, int]]) -> None:
    """Store the busy time of the lanes of a kind with the other parts."""
    import pyarrow as pa

    rows = list(chain.from_iterable(((code, at, ns) for at, ns in bins.items()) for code, bins in busy.items()))
    if rows:
        code, at, ns = zip(*rows, strict=True)
        db.register("seen", pa.table({"code": code, "bin": at, "ns": ns}))
        db.execute(f"INSERT INTO busy_part SELECT '{kind}', code, bin, ns FROM seen")
        db.unregister("seen")


def drop_long_sums(db: duckdb.DuckDBPyConnection, lanes: Sequence[Lane]) -> None:
    """Drop the sums of lanes for which they are no shorter than the events, because names hardly repeat."""
    counts = db.execute("""
        SELECT kind, code, count(*) FROM (
            SELECT kind, code FROM name_part UNION ALL SELECT kind, code FROM length_part
            UNION ALL SELECT kind, code FROM busy_part
        ) GROUP BY kind, code
    """).fetchall()
    rows = {(kind, code): count for kind, code, count in counts}
    for lane in lanes:
        if lane.sum_z is not None and rows.get((lane.kind, lane.code), 0) * SHARE > lane.events:
            lane.sum_z = None


def write_sums(db: duckdb.DuckDBPyConnection, lanes: Sequence[Lane]) -> None:
    """Write the sums of the remaining lanes, whose numbers are final by now."""
    summed = [lane for lane in lanes if lane.sum_z is not None]
    if not summed:
        return
    values = ", ".join(f"({lane.id}, '{lane.kind}', {lane.code})" for lane in summed)
    db.execute(f"CREATE OR REPLACE TEMP TABLE summed AS SELECT * FROM (VALUES {values}) AS x (lane, kind, code)")
    db.execute("""
        INSERT INTO t.name_sum SELECT lane, bin, name, sum(n), sum(ns) FROM name_part JOIN summed USING (kind, code)
        GROUP BY lane, bin, name ORDER BY lane, bin, name
    """)
    db.execute("""
        INSERT INTO t.length_sum SELECT lane, bin, bucket, sum(n), min(low), max(high)
        FROM length_part JOIN summed USING (kind, code) GROUP BY lane, bin, bucket ORDER BY lane, bin, bucket
    """)
    db.execute("""
        INSERT INTO t.busy_sum SELECT lane, bin, ns FROM busy_part JOIN summed USING (kind, code) ORDER BY lane, bin
    """)
