"""What two reports are aligned by: when the capture began by the clock of its machine, and when collectives ended."""

from typing import Any

import duckdb

from profiledb.timeline.open_timeline import Opened

MOST = 2_000
"""Collectives that are told, the first of the capture."""


def moments(cursor: duckdb.DuckDBPyConnection, opened: Opened) -> dict[str, Any]:
    """``epoch_ns``: begin of the capture in ns since 1970, UTC, as a text, null where the report does not say;
    ``collectives``: name and end (ns from the begin) of each kernel of NCCL, in the order in which they ended.

    A collective ends on all its ranks when the last of them has sent its part: as good as at the same moment.
    """
    ((epoch,),) = cursor.execute("SELECT epoch_ns(any_value(captured_at)) FROM report").fetchall()
    rows = cursor.execute(f"""
        SELECT short, end_ns - {opened.origin_ns} FROM kernel JOIN kernel_name USING (name_id)
        WHERE starts_with(short, 'nccl') AND NOT contains(short, 'SendRecv') ORDER BY end_ns, kernel_id LIMIT {MOST}
    """).fetchall()
    begin = None if epoch is None else str(int(epoch) + opened.origin_ns)
    return {"epoch_ns": begin, "collectives": [[name, end] for name, end in rows]}
