"""Convert a report of an earlier schema to the present one by copying its rows.

Since schema 2 every version has only added tables and columns, and an empty one means "not recorded". Derived data
(classes, stored answers) is computed again, and texts and settings pass the filters of a new report, because earlier
versions stored more of them. docs/design.md, Upgrades, has a line per version.
"""

from pathlib import Path

import duckdb

from ingest import diagnostics, scrub
from ingest.conversion import prepared_files, sandbox
from ingest.conversion.messages import DATABASE, Outcome, Request
from ingest.derive import classes
from ingest.nsys import attach, column_allowlist, redact
from profiledb import config
from profiledb.errors import ConversionError
from profiledb.library import manifest_rebuild
from profiledb.report import schema, store
from profiledb.report.schema import quote, quote_identifier

_ADDED = {"python_sample": "Python stacks", "openmp_event": "OpenMP events"}
"""Data that a conversion of an nsys report reads into tables that some earlier schemas lack."""
_OLDER = "older"
_STRING = "string:"
"""Start of the comment of a column that holds ids of ``string``."""
_COPIED_LAST = {"string", "capture_setting", "system_info", "stored_result"}


def upgrade(request: Request) -> Outcome:
    """Write ``WORK/report.duckdb`` from a report file of the library.

    Raises:
        ConversionError: the file holds no report.
        duckdb.Error: a part of it cannot be read.
    """
    sandbox.close_reads(request)
    with store.create(
        request.work / DATABASE,
        config.load().memory_limit,
        store.Access(reads=(request.source, Path(f"{request.source}.wal"))),  # DuckDB looks for a log
        prepared_files.list_ready(),
        request.limits.threads,
    ) as db:
        db.execute(f"ATTACH {quote(str(request.source))} AS {_OLDER} (READ_ONLY)")
        db.execute("ATTACH ':memory:' AS src")
        redact.prepare(db, [])
        _copy_content(db)
        _note_unread_data(db)
        db.execute("DETACH src")
        classes.assign_classes(db)
        manifest = manifest_rebuild.read_manifest(db)
    if manifest is None:
        raise ConversionError("The file of the report holds no report.")
    return Outcome("ready", manifest.id, manifest.to_json())


def _copy_content(db: duckdb.DuckDBPyConnection) -> None:
    old_columns = _list_columns(db, "main")
    for name in schema.read_tables().keys() - _COPIED_LAST:
        _copy_table(db, name, old_columns.get(name, {}))
    references = [
        f"SELECT {quote_identifier(column.name)} FROM {quote_identifier(table.name)}"
        for table in schema.read_tables().values()
        for column in table.columns
        if column.comment.startswith(_STRING)
    ]
    names = "SELECT unnest([demangled, short, mangled]) FROM kernel_name UNION SELECT name FROM range_name"
    used = f"WHERE string_id IN ({' UNION '.join(references)}) OR value IN ({names})"
    _copy_table(db, "string", old_columns.get("string", {}), used)
    for name in ("capture_setting", "system_info"):
        _copy_settings(db, name)
    if (command := db.execute("SELECT command FROM report").fetchone()) and command[0] is not None:
        db.execute(f"UPDATE report SET command = {quote(scrub.scrub_command_line(command[0]))}")
    _copy_raw(db)


def _copy_table(db: duckdb.DuckDBPyConnection, name: str, old_columns: dict[str, str], where: str = "") -> None:
    """Copy the rows of a table in order, column by column name; missing columns stay NULL."""
    columns = [column for column in schema.read_tables()[name].columns if column.name in old_columns]
    if columns:
        names = ", ".join(quote_identifier(column.name) for column in columns)
        cells = ", ".join(
            f"src.clean({quote_identifier(column.name)})" if column.type == "VARCHAR" else quote_identifier(column.name)
            for column in columns
        )
        source = f"{_OLDER}.{quote_identifier(name)}"
        db.execute(f"INSERT INTO {quote_identifier(name)} ({names}) SELECT {cells} FROM {source} {where}")


def _copy_settings(db: duckdb.DuckDBPyConnection, name: str) -> None:
    rows = db.execute(f"SELECT name, value FROM {_OLDER}.{name}").fetchall()
    if db.execute("SELECT 1 FROM report WHERE kind = 'nsys'").fetchone():
        *tables, machine = column_allowlist.FACTS
        wanted = [machine] if name == "system_info" else tables
        rows = [row for table in wanted for row in redact.select_wanted(table, rows)]
    if rows:
        values = ", ".join(f"({quote(key)}, {quote(value)})" for key, value in rows)
        db.execute(f"INSERT INTO {name} (name, value) VALUES {values}")


def _copy_raw(db: duckdb.DuckDBPyConnection) -> None:
    """Copy the numbers that a new conversion stores in the schema ``raw``."""
    if not db.execute("SELECT 1 FROM report WHERE kind = 'nsys'").fetchone():
        return
    db.execute("CREATE SCHEMA raw")
    old_columns = _list_columns(db, "raw")
    for name in sorted(
        old_columns.keys()
        & (column_allowlist.RAW | attach.list_wanted_columns().keys() | {"NVTX_OTHER"}) - set(column_allowlist.FACTS)
    ):
        numbers = [column for column, type_ in old_columns[name].items() if type_ in column_allowlist.NUMBERS][
            : column_allowlist.MOST_COLUMNS
        ]
        if numbers:
            names, table = ", ".join(map(quote_identifier, numbers)), quote_identifier(name)
            db.execute(f"CREATE TABLE raw.{table} AS SELECT {names} FROM {_OLDER}.raw.{table}")


def _note_unread_data(db: duckdb.DuckDBPyConnection) -> None:
    old_columns = _list_columns(db, "main")
    unread = " and ".join(data for table, data in _ADDED.items() if table not in old_columns)
    if unread and db.execute("SELECT 1 FROM report WHERE kind = 'nsys'").fetchone():
        text = f"An earlier version of Warpdeck imported this report without {unread}."
        diagnostics.note(db, "info", f"{text} Drop its source again to add them.")


def _list_columns(db: duckdb.DuckDBPyConnection, schema_name: str) -> dict[str, dict[str, str]]:
    """Return the columns of each table of a schema of the older report, with their types."""
    columns: dict[str, dict[str, str]] = {}
    rows = db.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns()"
        f" WHERE database_name = {quote(_OLDER)} AND schema_name = {quote(schema_name)} ORDER BY column_index"
    ).fetchall()
    for table, column, type_ in rows:
        columns.setdefault(table, {})[column] = type_
    return columns
