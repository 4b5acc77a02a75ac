"""Facts that align two reports: the machine's clock at the start of the capture, and the ends of collectives."""

from typing import Any

import duckdb

from profiledb.timeline.open_timeline import Opened

MOST = 2_000
"""Collectives in the answer, the first of the capture."""


def read_alignment(cursor: duckdb.DuckDBPyConnection, opened: Opened) -> dict[str, Any]:
    """Return the facts that align this report with another one.

    ``epoch_ns`` is the start of the capture in ns since 1970, UTC, as text; null if the report does not tell.
    ``collectives`` has name and end (ns from the start) of each NCCL kernel, in order of their ends.

    A collective ends on all ranks when the last one has sent its part, which is nearly the same moment.
    """
    ((epoch,),) = cursor.execute("SELECT epoch_ns(any_value(captured_at)) FROM report").fetchall()
    rows = cursor.execute(f"""
        SELECT short, end_ns - {opened.origin_ns} FROM kernel JOIN kernel_name USING (name_id)
        WHERE starts_with(short, 'nccl') AND NOT contains(short, 'SendRecv') ORDER BY end_ns, kernel_id LIMIT {MOST}
    """).fetchall()
    begin = None if epoch is None else str(int(epoch) + opened.origin_ns)
    return {"epoch_ns": begin, "collectives": [[name, end] for name, end in rows]}
