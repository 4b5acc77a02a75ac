"""What of an export goes beyond the tables of a report: numbers that stay in reach of SQL, in the schema ``raw``."""

from collections.abc import Mapping, Sequence

import duckdb

from ingest.nsys import column_allowlist
from ingest.nsys.attach import columns, wanted
from ingest.nsys.source import Source
from profiledb.report.schema import identifier


def keep(db: duckdb.DuckDBPyConnection, sources: Sequence[Source], present: Mapping[str, dict[str, str]]) -> None:
    """Stores the numbers of an export that no table of the report took in the schema ``raw``, which is there.

    Args:
        db: connection that writes the report.
        sources: the export.
        present: columns of its tables as far as they are known (attach).
    """
    reads = {name: read for source in reversed(sources) for name, read in source.tables.items()}
    for name in sorted(reads.keys() & (column_allowlist.RAW | wanted().keys()) - set(column_allowlist.FACTS)):
        _keep_numbers(db, name, reads[name], present.get(name) or columns(db, reads[name]))


def keep_events(db: duckdb.DuckDBPyConnection) -> None:
    """Begins the schema ``raw`` with those NVTX events that are neither ranges nor marks; needs ``nvtx``."""
    db.execute("CREATE SCHEMA raw")
    other = 'FROM nvtx WHERE "eventType" NOT IN (34, 59, 60, 70, 71)'
    if db.execute(f"SELECT 1 {other} LIMIT 1").fetchone():
        db.execute(f'CREATE TABLE raw."NVTX_OTHER" AS SELECT * EXCLUDE (global_pid) {other}')


def _keep_numbers(db: duckdb.DuckDBPyConnection, name: str, read: str, present: Mapping[str, str]) -> None:
    known = {column.lower() for column in wanted().get(name, ())} | {"row_id"}
    chosen = [
        (column, type_)
        for column, type_ in present.items()
        if type_ in column_allowlist.NUMBERS and column.lower() not in known
    ]
    if chosen:
        # SQLite holds anything in a column of numbers, and DuckDB reads it as one only where it is cast
        cells = ", ".join(
            f"TRY_CAST({identifier(c)} AS {type_}) AS {identifier(c)}"
            for c, type_ in chosen[: column_allowlist.MOST_COLUMNS]
        )
        db.execute(f"CREATE TABLE raw.{identifier(name)} AS SELECT row_id, {cells} FROM ({read})")
