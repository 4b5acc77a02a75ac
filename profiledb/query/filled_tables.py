"""Which tables of a report have rows, told to DuckDB before it plans a statement.

A statement asks by ``has_rows('sched_event')`` (selection/selected.sql), a subquery unless ``declare`` has said it:
then it is a constant, and DuckDB plans nothing of what needs the rows of an empty table.
"""

from collections.abc import Mapping

import duckdb

from profiledb.report.schema import quote

OF_PARTNER = "ncu_"
"""Start of the names of tables that another report on the same cursor answers (report_pair.py)."""


def read(cursor: duckdb.DuckDBPyConnection, catalog: str, *, alone: bool) -> Mapping[str, bool]:
    """Return whether each table of a report has rows; no table of a preview, of which some are not there yet.

    Args:
        cursor: a cursor on the report.
        catalog: the name in SQL of the report.
        alone: False if another report answers the tables ``OF_PARTNER``, which are left out.
    """
    rows: dict[str, bool] = dict(
        cursor.execute(
            "SELECT table_name, estimated_size > 0 FROM duckdb_tables()"
            f" WHERE database_name = {quote(catalog)} AND schema_name = 'main'"
        ).fetchall()
    )
    if "kernel" not in rows:
        return {}
    return {name: filled for name, filled in rows.items() if alone or not name.startswith(OF_PARTNER)}


def declare(cursor: duckdb.DuckDBPyConnection, tables: Mapping[str, bool]) -> None:
    """Make ``has_rows`` of a cursor a constant for these tables, if any are known."""
    if tables:
        filled = [quote(name) for name, has_rows in sorted(tables.items()) if has_rows]
        cursor.execute(f"CREATE OR REPLACE TEMP MACRO has_rows(name) AS name IN ({', '.join(filled) or 'NULL'})")
