"""Read the events of each kind once, for their lanes and for the sums that answer areas (sums.py)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from profiledb.timeline import sums, unions
from profiledb.timeline.lanes import SPARSE, Lane
from profiledb.timeline.rows import ROWS
from profiledb.timeline.unions import Numbers

WINDOW = 1_000_000
"""Events per window, about."""
FAR = (1 << 63) - 1
"""A time after all others."""
NONE = 1 - (1 << 63)
"""Value for NULL in a key."""
NESTED = ("range", "projection")
"""Kinds whose rows are the levels of ranges."""

Columns = dict[str, NDArray[Any]]


class Codes:
    """Numbers for the rows of some columns: 0, 1, 2 ... in their order."""

    def __init__(self, rows: Sequence[Numbers]) -> None:
        self._values = [np.unique(column) for column in rows]
        self._known = np.unique(self._join_rows(rows))

    def __len__(self) -> int:
        return len(self._known)

    def of(self, rows: Sequence[Numbers]) -> Numbers:
        """Return the number of each row; all rows are known."""
        return np.searchsorted(self._known, self._join_rows(rows)).astype(np.int64)

    def _join_rows(self, rows: Sequence[Numbers]) -> Numbers:
        joined = np.zeros(len(rows[0]), dtype=np.int64)
        for values, column in zip(self._values, rows, strict=True):
            if len(values) > 1:
                joined = joined * len(values) + np.searchsorted(values, column)
        return joined


def scan_lanes(db: duckdb.DuckDBPyConnection, kind: str, keys: Sequence[str], source: str, origin: int) -> list[Lane]:
    """Return the lanes of a kind, ordered by key, and leave the facts for areas in ``sums.PARTS``.

    Args:
        db: a connection that has executed ``sums.PARTS``.
        kind: of the lanes.
        keys: columns that identify its lanes.
        source: a table or view with these columns, depth, start_ns, end_ns and name.
        origin: start of the capture on the report's clock.
    """
    by = "".join(f"coalesce({key}, {NONE})::BIGINT AS {key}, " for key in keys)
    depth = f"least(depth, {ROWS})::BIGINT AS depth"
    read = db.execute(f"""
        SELECT {by}{depth}, count(*) AS n, min(start_ns) AS low, max(end_ns) AS high, max(depth) AS deepest
        FROM {source} GROUP BY ALL
    """).fetchnumpy()
    groups: Columns = {name: np.asarray(column) for name, column in read.items()}
    if not len(groups["n"]):
        return []
    reader = _LaneReader(kind, keys, groups, origin)
    low, high = int(groups["low"].min()), int(groups["high"].max())
    window_edges = find_edges(db, source, int(groups["n"].sum()), "start_ns")
    for first, last in pairwise([-FAR, *window_edges, FAR]):
        rows = db.execute(f"""
            SELECT {by}{depth}, start_ns - {origin} AS s, end_ns - {origin} AS e, name::UINTEGER AS name
            FROM {source} WHERE start_ns >= {first} AND start_ns < {last}
        """).fetchnumpy()
        reader.add(db, {name: np.asarray(column) for name, column in rows.items()}, sums.choose_zoom(high - low))
    reader.write_busy(db)
    return list(reader.lanes(sums.choose_zoom(high - low)))


def find_edges(db: duckdb.DuckDBPyConnection, source: str, count: int, column: str) -> Sequence[int]:
    """Return times that divide events into windows of about ``WINDOW``; ``column`` has the start of each event."""
    windows = -(-count // WINDOW)
    if windows < 2:
        return []
    places = ", ".join(str(place / windows) for place in range(1, windows))
    quantiles = db.execute(f"SELECT reservoir_quantile({column}, [{places}]) FROM {source}").fetchall()
    return sorted(set(quantiles[0][0]))


class _LaneReader:
    """The lanes of a kind, as far as they were read."""

    def __init__(self, kind: str, keys: Sequence[str], groups: Columns, origin: int) -> None:
        self._kind, self._keys, self._origin = kind, keys, origin
        columns = [np.asarray(groups[key]) for key in keys] or [np.zeros(len(groups["n"]), dtype=np.int64)]
        self._codes = Codes(columns)
        self._row_codes = Codes([*columns, np.asarray(groups["depth"])])
        code = self._codes.of(columns)
        self._key_of = {int(one): [column[at] for column in columns] for at, one in enumerate(code)}
        self._events, self._busy, deepest = (np.zeros(len(self._codes), dtype=np.int64) for _ in range(3))
        np.add.at(self._events, code, groups["n"])
        np.maximum.at(deepest, code, groups["deepest"])
        self._depth = deepest + 1
        self._first = np.full(len(self._codes), (1 << 63) - 1)
        self._last = np.full(len(self._codes), NONE)
        np.minimum.at(self._first, code, groups["low"])
        np.maximum.at(self._last, code, groups["high"])
        self._overlaps = np.zeros(len(self._codes), dtype=bool)
        self._reach = np.full(len(self._codes), unions.NEVER)
        self._row_reach = np.full(len(self._row_codes), unions.NEVER)
        self._bins: dict[int, dict[int, int]] = {}

    def add(self, db: duckdb.DuckDBPyConnection, rows: Columns, z: int) -> None:
        """Add a window of events; windows come in order of time."""
        columns = [rows[key] for key in self._keys] or [np.zeros(len(rows["s"]), dtype=np.int64)]
        code = self._codes.of(columns)
        order = np.lexsort((-rows["e"], rows["s"], code))
        lane, s, e = code[order], rows["s"][order], rows["e"][order]
        before = unions.find_latest_ends(lane, e, self._reach)
        begin, end = unions.find_new_parts(s, e, before)
        np.add.at(self._busy, lane, end - begin)
        if self._kind in NESTED:
            self._look_at_rows(self._row_codes.of([*columns, rows["depth"]]), code, rows["s"], rows["e"])
        else:
            self._overlaps[lane[s < before]] = True
        many = self._events[lane] > SPARSE
        if many.any():
            sums.add_events(db, self._kind, lane[many], s[many], e[many], rows["name"][order][many], z)
            sums.add_busy(self._bins, lane[many], begin[many], end[many], z)

    def _look_at_rows(self, row: Numbers, code: Numbers, starts: Numbers, ends: Numbers) -> None:
        order = np.lexsort((-ends, starts, row))
        before = unions.find_latest_ends(row[order], ends[order], self._row_reach)
        self._overlaps[code[order][starts[order] < before]] = True

    def write_busy(self, db: duckdb.DuckDBPyConnection) -> None:
        """Store the busy time of bins for ``sums.write_sums``."""
        sums.store_busy(db, self._kind, self._bins)

    def lanes(self, z: int) -> Iterator[Lane]:
        """Yield all lanes, ordered by key."""
        for code in range(len(self._codes)):
            key = {
                name: None if value == NONE else int(value)
                for name, value in zip(self._keys, self._key_of[code], strict=False)
            }
            events, depth = int(self._events[code]), int(self._depth[code])
            one = Lane(self._kind, events=events, rows=depth, busy_ns=int(self._busy[code]), **key)  # type: ignore[arg-type]
            one.first_ns, one.last_ns = int(self._first[code]), int(self._last[code])
            one.overlaps = bool(self._overlaps[code]) or depth > ROWS
            one.leveled = events > SPARSE
            one.code, one.sum_z = code, z if one.leveled else None
            yield one
