"""Store the numbers of an export that no table of a report has, in the schema ``raw`` for SQL."""

from collections.abc import Mapping, Sequence

import duckdb

from ingest.nsys import column_allowlist
from ingest.nsys.attach import list_columns, list_wanted_columns
from ingest.nsys.source import Source
from profiledb.report.schema import quote_identifier


def copy_numbers(
    db: duckdb.DuckDBPyConnection, sources: Sequence[Source], present: Mapping[str, dict[str, str]]
) -> None:
    """Store the numbers of an export that no table of the report took, in the existing schema ``raw``.

    Args:
        db: connection that writes the report.
        sources: the export.
        present: known columns of its tables (attach).
    """
    reads = {name: read for source in reversed(sources) for name, read in source.tables.items()}
    for name in sorted(
        reads.keys() & (column_allowlist.RAW | list_wanted_columns().keys()) - set(column_allowlist.FACTS)
    ):
        _copy_columns(db, name, reads[name], present.get(name) or list_columns(db, reads[name]))


def copy_events(db: duckdb.DuckDBPyConnection) -> None:
    """Create the schema ``raw`` with the NVTX events that are neither ranges nor marks; needs ``nvtx``."""
    db.execute("CREATE SCHEMA raw")
    other = 'FROM nvtx WHERE "eventType" NOT IN (34, 59, 60, 70, 71)'
    if db.execute(f"SELECT 1 {other} LIMIT 1").fetchone():
        db.execute(f'CREATE TABLE raw."NVTX_OTHER" AS SELECT * EXCLUDE (global_pid) {other}')


def _copy_columns(db: duckdb.DuckDBPyConnection, name: str, read: str, present: Mapping[str, str]) -> None:
    known = {column.lower() for column in list_wanted_columns().get(name, ())} | {"row_id"}
    chosen = [
        (column, type_)
        for column, type_ in present.items()
        if type_ in column_allowlist.NUMBERS and column.lower() not in known
    ]
    if chosen:
        # SQLite stores anything in a column of numbers, and DuckDB reads a number only after a cast
        cells = ", ".join(
            f"TRY_CAST({quote_identifier(c)} AS {type_}) AS {quote_identifier(c)}"
            for c, type_ in chosen[: column_allowlist.MOST_COLUMNS]
        )
        db.execute(f"CREATE TABLE raw.{quote_identifier(name)} AS SELECT row_id, {cells} FROM ({read})")
