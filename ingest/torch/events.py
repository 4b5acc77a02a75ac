"""Have DuckDB parse a trace's events in batches and sort them by kind into temporary tables (events.sql)."""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import duckdb
import numpy as np
import pyarrow as pa

from ingest.torch.cutter import Batch
from profiledb.report.schema import quote, read_sql

_TABLE = "trace_batch"
"""Input of take.sql."""
_KNOWN = 100_000
"""Up to this many texts, each batch is compared with all earlier ones; a trace with more stores those of each batch."""
_ROWS = 1 << 12
"""Rows of a part of a batch: DuckDB reads parts in parallel."""
_KEYS = {"ph": "VARCHAR", "cat": "VARCHAR", "name": "VARCHAR", "pid": "VARCHAR", "tid": "VARCHAR", "ts": "DOUBLE",
         "dur": "DOUBLE", "id": "VARCHAR"}  # fmt: skip
_ARGS: Mapping[str, str | list[str]] = {
    "name": "VARCHAR",
    "External id": "BIGINT", "correlation": "BIGINT", "device": "BIGINT", "context": "BIGINT", "stream": "BIGINT",
    "registers per thread": "BIGINT", "shared memory": "BIGINT", "blocks per SM": "DOUBLE",
    "warps per SM": "DOUBLE", "est. achieved occupancy %": "DOUBLE", "grid": ["BIGINT"], "block": ["BIGINT"],
    "graph id": "BIGINT", "graph node id": "BIGINT", "bytes": "BIGINT",
    "cuda_sync_kind": "VARCHAR", "wait_on_cuda_event_id": "BIGINT",
    "Ev Idx": "BIGINT", "Sequence number": "BIGINT", "Fwd thread id": "BIGINT", "Input Dims": "VARCHAR",
    "Input type": "VARCHAR", "Input Strides": "VARCHAR", "Concrete Inputs": "VARCHAR", "flops": "BIGINT",
    "Call stack": "VARCHAR", "kernel_backend": "VARCHAR", "kernel_hash": "VARCHAR",
    "Python id": "BIGINT", "Python parent id": "BIGINT", "Python module id": "BIGINT",
    "Addr": "UBIGINT", "tensor bytes": "BIGINT", "Total Allocated": "BIGINT", "Total Reserved": "BIGINT",
    "Device Type": "BIGINT", "Device Id": "BIGINT",
    "Collective name": "VARCHAR", "Process Group Name": "VARCHAR", "Process Group Description": "VARCHAR",
    "Process Group Ranks": "VARCHAR", "Group size": "BIGINT", "Seq": "BIGINT", "Comms Id": "BIGINT",
    "dtype": "VARCHAR", "In msg nelems": "BIGINT", "Out msg nelems": "BIGINT", "In split size": "VARCHAR",
    "Out split size": "VARCHAR", "Src Rank": "BIGINT", "Dst Rank": "BIGINT", "counters": "MAP(VARCHAR, DOUBLE)",
}  # fmt: skip
_STRUCTURE = quote(json.dumps({**_KEYS, "args": _ARGS}))


class Events:
    """Imports events. One batch is parsed while the next one is cut.

    After ``take``, ``count`` is the number of events and ``unreadable`` the number of those that are no JSON.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self._db = db
        self.count = 0
        self.unreadable = 0
        db.execute(read_sql("events.sql", "ingest.torch"))
        read = f"json_transform(event, {_STRUCTURE})"
        db.execute(f"CREATE OR REPLACE TEMP MACRO read_event(event) AS TRY({read})")
        self._take = read_sql("take.sql", "ingest.torch")

    def take(self, batches: Iterator[Batch]) -> None:
        """Fill the temporary tables."""
        with ThreadPoolExecutor(1) as pool:
            parsing: Future[None] | None = None
            for batch in batches:
                table = _make_table(batch, self.count + 1)
                self.count += len(batch.starts)
                if parsing:
                    parsing.result()
                parsing = pool.submit(self._parse_table, table)
            if parsing:
                parsing.result()
        (unreadable,) = self._db.execute("SELECT sum(n) FROM trace_other WHERE kind = 'unreadable'").fetchone() or (0,)
        self.unreadable = int(unreadable or 0)

    def _parse_table(self, table: pa.Table) -> None:
        self._db.register(_TABLE, table)
        try:
            self._db.execute(self._take)
        finally:
            self._db.unregister(_TABLE)
        (texts,) = self._db.execute("SELECT count(*) FROM trace_text").fetchone() or (0,)
        if texts > _KNOWN:
            self._db.execute("CREATE OR REPLACE TEMP VIEW known_text AS FROM trace_text LIMIT 0")


def _make_table(batch: Batch, number: int) -> pa.Table:
    """Return the events as texts, numbered from ``number`` on; the bytes between them become blanks."""
    low, count = int(batch.starts[0]), len(batch.starts)
    text = np.frombuffer(batch.data, dtype=np.uint8)[low : int(batch.ends[-1])].copy()
    gaps = batch.starts[1:] - batch.ends[:-1]
    before = np.cumsum(gaps) - gaps
    text[np.repeat(batch.ends[:-1] - low - before, gaps) + np.arange(int(gaps.sum()))] = 0x20
    offsets = np.append(batch.starts - low, len(text)).astype(np.int64)
    numbers = np.arange(number, number + count)
    columns = [  # of bytes: arrays would import pandas, which takes 0.3 s
        pa.Array.from_buffers(pa.int64(), count, [None, pa.py_buffer(numbers)]),
        pa.LargeStringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(text)),
    ]
    table = pa.Table.from_arrays(columns, names=["number", "event"])
    return pa.Table.from_batches(table.to_batches(max_chunksize=_ROWS))
