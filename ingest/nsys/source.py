"""An nsys export, whichever way it is stored: SQL that reads its tables, and what SQL cannot read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from profiledb.report.schema import identifier, quote

TIMES = ("start", "end", "timestamp", "startTime", "stopTime", "duration", "utcEpochNs")
"""Columns with times in ns. A time that cannot be is NULL, so that its row is rejected; an end is then before every
begin, because an end that is missing says that a range is still open."""
LATEST = 1 << 61
"""How far from the session's begin a time can be, 73 years; it is before that begin for what was there already.
Differences of two such times, and sums of two such differences, are numbers of 64 bits."""
SIZES = ("bytes", "size", "recvSize", "localMemoryPoolSize", "localMemoryPoolUtilizedSize")
LARGEST = 1 << 47
"""Bytes that one operation can move, 140 TB; a size beyond is NULL, so that sums of sizes are numbers of 64 bits."""
LONGEST = 1_000_000
"""Characters of a text; of a longer one the rest is cut off, so that no cell fills the memory of a page."""
CUT = " [cut]"
PLAIN = ("BIGINT", "INTEGER", "SMALLINT", "TINYINT", "HUGEINT", "UBIGINT", "UINTEGER", "USMALLINT", "UTINYINT",
          "UHUGEINT", "DOUBLE", "FLOAT", "DECIMAL", "BOOLEAN", "VARCHAR")  # fmt: skip
"""Types that a number or a text is cast from as it is."""

Payloads = Iterator[tuple[int, int | None, bytes]]
"""row_id of NVTX_EVENTS, domain and bytes of the events that have a payload."""

Facts = Sequence[tuple[str, str | None]]
"""Names and values."""


@dataclass(frozen=True)
class Source:
    """The tables of an export.

    Args:
        tables: name -> SQL that reads all of it, its first column ``row_id``: 1, 2, ... in the order of the export.
        name: how the export is called in messages.
        blobs: reads the payloads of NVTX events. No other read sees that column: it is declared as text and holds
            bytes, which DuckDB refuses in either form, and redaction could not search them.
        facts: reads a table of names and values, whatever bytes it holds.
        lossy: SQL for a table that DuckDB refuses to read, every text in it made one.
    """

    tables: dict[str, str]
    name: str
    blobs: Callable[[], Payloads]
    facts: Callable[[str], Facts]
    lossy: Callable[[str], str]


def register_texts(db: duckdb.DuckDBPyConnection, table: str, columns: Mapping[str, Sequence[str | None]]) -> str:
    """Makes texts readable as a view, and returns its name as an SQL identifier."""
    import pyarrow as pa  # here, because it takes 0.1 s and few exports are damaged

    view = f"repaired {table}"
    arrays = [pa.array(column, pa.string()) for column in columns.values()]
    db.register(view, pa.table(arrays, names=list(columns)))
    return identifier(view)


def columns_of(table: str) -> str:
    """The columns of a table to read: all of its own, but never the bytes of payloads."""
    hidden = ["row_id", "file_row_number"] + ["binarydata"] * (table == "NVTX_EVENTS")
    return f"COLUMNS(c -> lower(c) NOT IN ({', '.join(map(quote, hidden))}))"
