"""An nsys export in any storage: SQL that reads its tables, and functions for data that SQL cannot read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from profiledb.report.schema import quote, quote_identifier

TIMES = ("start", "end", "timestamp", "startTime", "stopTime", "duration", "utcEpochNs")
"""Columns with times in ns. An impossible time is NULL, so that its row is rejected; an impossible end lies before
every start, because a missing end means that a range is still open."""
LATEST = 1 << 61
"""Furthest possible time from the session's start, 73 years, in either direction. Differences of two such times, and
sums of two such differences, fit 64 bits."""
SIZES = ("bytes", "size", "recvSize", "localMemoryPoolSize", "localMemoryPoolUtilizedSize")
LARGEST = 1 << 47
"""Most bytes that one operation can move, 140 TB; a larger size is NULL, so that sums of sizes fit 64 bits."""
LONGEST = 1_000_000
"""Longest text in characters; longer ones are cut, so that no cell fills the memory of a page."""
CUT = " [cut]"
PLAIN = ("BIGINT", "INTEGER", "SMALLINT", "TINYINT", "HUGEINT", "UBIGINT", "UINTEGER", "USMALLINT", "UTINYINT",
          "UHUGEINT", "DOUBLE", "FLOAT", "DECIMAL", "BOOLEAN", "VARCHAR")  # fmt: skip
"""Types that cast directly to a number or a text."""

Payloads = Iterator[tuple[int, int | None, bytes]]
"""row_id of NVTX_EVENTS, domain and bytes of the events with a payload."""

Facts = Sequence[tuple[str, str | None]]
"""Names and values."""


@dataclass(frozen=True)
class Source:
    """The tables of an export.

    Args:
        tables: name -> SQL that reads the whole table, with ``row_id`` as its first column: 1, 2, ... in the order of
            the export.
        name: name of the export in messages.
        blobs: reads the payloads of NVTX events. No other query reads that column: it is declared as text and holds
            bytes, which DuckDB refuses in either form, and redaction could not search them.
        facts: reads a table of names and values, whatever bytes it holds.
        lossy: SQL for a table that DuckDB refuses to read, with every text decoded.
    """

    tables: dict[str, str]
    name: str
    blobs: Callable[[], Payloads]
    facts: Callable[[str], Facts]
    lossy: Callable[[str], str]


def register_texts(db: duckdb.DuckDBPyConnection, table: str, columns: Mapping[str, Sequence[str | None]]) -> str:
    """Make texts readable as a view and return its name as an SQL identifier."""
    import pyarrow as pa  # here: it takes 0.1 s, and few exports are damaged

    view = f"repaired {table}"
    arrays = [pa.array(column, pa.string()) for column in columns.values()]
    db.register(view, pa.table(arrays, names=list(columns)))
    return quote_identifier(view)


def select_columns(table: str) -> str:
    """Return the columns of a table to read: all except the bytes of payloads."""
    hidden = ["row_id", "file_row_number"] + ["binarydata"] * (table == "NVTX_EVENTS")
    return f"COLUMNS(c -> lower(c) NOT IN ({', '.join(map(quote, hidden))}))"
