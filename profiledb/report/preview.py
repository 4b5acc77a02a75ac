"""The preview of a report: a report file with the operations of the GPU alone, listed while its file is converted.

A table or column that is not there yet is a view that raises ``MESSAGE`` as soon as a query needs its rows, so no query
can answer with a wrong number or none. The complete report then takes the file's place.
"""

from pathlib import Path

import duckdb

from profiledb.report import damage, schema
from profiledb.report.schema import Table, quote, quote_identifier

MESSAGE = "The report is being prepared"
"""Start of the message that DuckDB raises for rows that are not there yet."""
FILLED = frozenset({
    "report", "process", "capture_setting", "system_info", "gpu", "string", "enum_value", "kernel_name", "kernel",
    "memop", "graph_launch", "openmp_event", "busy", "stored_result",
})  # fmt: skip
"""Tables with all of their rows; no answer is stored."""
PLACED = ("kernel", "memop", "graph_launch", "openmp_event")
"""Tables whose calls and ranges come later."""
_LATER = frozenset({"call_id", "thread_range", "process_range"})
_ROWS = "_row"
"""Ending of the table that holds the plain columns of one of ``PLACED``."""


def create(db: duckdb.DuckDBPyConnection) -> None:
    """Create the tables and views of a preview, empty, in the current schema of ``db``."""
    db.execute(";".join(_declare(table) for table in schema.read_tables().values()))


def name_rows(table: str) -> str:
    """Return the name of the table to fill for one of ``PLACED``."""
    return table + _ROWS


def make_blank(db: duckdb.DuckDBPyConnection, catalog: str) -> bool:
    """Hide the missing tables of a preview that is attached as ``catalog`` behind empty temporary tables, for a picture
    of the others; return False for a complete report."""
    if not _has_rows(db, catalog):
        return False
    statements = []
    for table in schema.read_tables().values():
        if table.name in PLACED:
            cells = _list_cells(table, "NULL")
            statements.append(f"CREATE TEMP VIEW {table.name} AS SELECT {cells} FROM {catalog}.{name_rows(table.name)}")
        elif table.name not in FILLED:
            statements.append(f"CREATE TEMP TABLE {table.name} AS SELECT {_list_nulls(table)} LIMIT 0")
    db.execute(";".join(statements))
    return True


def is_preview(path: Path) -> bool:
    """Return True if a report file is a preview.

    Raises:
        duckdb.Error: the file does not open.
    """
    with damage.attach(path) as db:
        return _has_rows(db, damage.CATALOG)


def _has_rows(db: duckdb.DuckDBPyConnection, catalog: str) -> bool:
    query = f"SELECT 1 FROM duckdb_tables() WHERE database_name = {quote(catalog)}"
    return db.execute(f"{query} AND table_name = {quote(name_rows('kernel'))}").fetchone() is not None


def _declare(table: Table) -> str:
    plain = ", ".join(
        f"{quote_identifier(column.name)} {column.type}" for column in table.columns if column.name not in _LATER
    )
    failing = f"error({quote(MESSAGE)})"
    if table.name in PLACED:
        rows = name_rows(table.name)
        view = f"CREATE VIEW {table.name} AS SELECT {_list_cells(table, failing)} FROM {rows}"
        return f"CREATE TABLE {rows} ({plain}); {view}"
    if table.name in FILLED:
        return f"CREATE TABLE {table.name} ({plain})"
    return f"CREATE VIEW {table.name} AS SELECT {_list_nulls(table)} WHERE {failing} IS NOT NULL"


def _list_cells(table: Table, later: str) -> str:
    """Return the columns of one of ``PLACED``, with this value for those that come later."""
    names = ((quote_identifier(column.name), column) for column in table.columns)
    return ", ".join(f"{later}::{column.type} AS {name}" if column.name in _LATER else name for name, column in names)


def _list_nulls(table: Table) -> str:
    return ", ".join(f"NULL::{column.type} AS {quote_identifier(column.name)}" for column in table.columns)
