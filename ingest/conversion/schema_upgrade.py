"""Makes a report of the present schema out of one that an earlier version made: its rows, in tables that have more.

Since schema 2 every step has only added tables and columns, and one that is empty says "not recorded": so rows are
copied. What is worked out from rows is worked out anew (classes, stored answers), and texts and settings pass what
those of a new report pass, because earlier versions kept more of them. docs/design.md, Upgrades, has a line a version.
"""

from pathlib import Path

import duckdb

from ingest import diagnostics, scrub
from ingest.conversion import prepared_files, sandbox
from ingest.conversion.child import DATABASE, Request
from ingest.conversion.outcome import Outcome
from ingest.derive import classes
from ingest.nsys import attach, column_allowlist, redact
from profiledb import config
from profiledb.errors import ConversionError
from profiledb.library import manifest_rebuild
from profiledb.query import precomputed_answers
from profiledb.report import schema, store
from profiledb.report.schema import identifier, quote

_ADDED = {"python_sample": "Python stacks", "openmp_event": "OpenMP events"}
"""What a conversion of nsys's reports reads into tables that not every earlier schema has."""
_OLDER = "older"
_STRING = "string:"
"""How the comment of a column begins that names a row of ``string``."""
_COPIED_LAST = {"string", "capture_setting", "system_info", "stored_result"}


def upgrade(request: Request) -> Outcome:
    """Writes ``WORK/report.duckdb`` from a report file of the library; what of it cannot be read is an error."""
    sandbox.close_reads(request)
    with store.create(
        request.work / DATABASE,
        config.load().memory_limit,
        store.Access(reads=(request.source, Path(f"{request.source}.wal"))),  # DuckDB looks whether there is a log
        prepared_files.ready(),
        request.limits.threads,
    ) as db:
        db.execute(f"ATTACH {quote(str(request.source))} AS {_OLDER} (READ_ONLY)")
        db.execute("ATTACH ':memory:' AS src")
        redact.prepare(db, [])
        _copy(db)
        _say_what_was_not_read(db)
        db.execute("DETACH src")
        classes.assign(db)
        precomputed_answers.write(db)
        made = manifest_rebuild.read_manifest(db)
    if made is None:
        raise ConversionError("The file of the report holds no report.")
    return Outcome("ready", made.id, made.to_json())


def _copy(db: duckdb.DuckDBPyConnection) -> None:
    there = _columns(db, "main")
    for name in schema.tables().keys() - _COPIED_LAST:
        _copy_table(db, name, there.get(name, {}))
    references = [
        f"SELECT {identifier(column.name)} FROM {identifier(table.name)}"
        for table in schema.tables().values()
        for column in table.columns
        if column.comment.startswith(_STRING)
    ]
    names = "SELECT unnest([demangled, short, mangled]) FROM kernel_name UNION SELECT name FROM range_name"
    kept_texts = f"WHERE string_id IN ({' UNION '.join(references)}) OR value IN ({names})"
    _copy_table(db, "string", there.get("string", {}), kept_texts)
    for name in ("capture_setting", "system_info"):
        _copy_settings(db, name)
    if (command := db.execute("SELECT command FROM report").fetchone()) and command[0] is not None:
        db.execute(f"UPDATE report SET command = {quote(scrub.command_line(command[0]))}")
    _copy_raw(db)


def _copy_table(db: duckdb.DuckDBPyConnection, name: str, there: dict[str, str], where: str = "") -> None:
    """Copies the rows of a table in their order, columns by their names; those that it lacks stay NULL."""
    columns = [column for column in schema.tables()[name].columns if column.name in there]
    if columns:
        names = ", ".join(identifier(column.name) for column in columns)
        cells = ", ".join(
            f"src.clean({identifier(column.name)})" if column.type == "VARCHAR" else identifier(column.name)
            for column in columns
        )
        source = f"{_OLDER}.{identifier(name)}"
        db.execute(f"INSERT INTO {identifier(name)} ({names}) SELECT {cells} FROM {source} {where}")


def _copy_settings(db: duckdb.DuckDBPyConnection, name: str) -> None:
    rows = db.execute(f"SELECT name, value FROM {_OLDER}.{name}").fetchall()
    if db.execute("SELECT 1 FROM report WHERE kind = 'nsys'").fetchone():
        *tables, machine = column_allowlist.FACTS
        wanted = [machine] if name == "system_info" else tables
        rows = [row for table in wanted for row in redact.wanted(table, rows)]
    if rows:
        values = ", ".join(f"({quote(key)}, {quote(value)})" for key, value in rows)
        db.execute(f"INSERT INTO {name} (name, value) VALUES {values}")


def _copy_raw(db: duckdb.DuckDBPyConnection) -> None:
    """Copies what a new conversion keeps in the schema ``raw``."""
    if not db.execute("SELECT 1 FROM report WHERE kind = 'nsys'").fetchone():
        return
    db.execute("CREATE SCHEMA raw")
    there = _columns(db, "raw")
    for name in sorted(
        there.keys() & (column_allowlist.RAW | attach.wanted().keys() | {"NVTX_OTHER"}) - set(column_allowlist.FACTS)
    ):
        numbers = [column for column, type_ in there[name].items() if type_ in column_allowlist.NUMBERS][
            : column_allowlist.MOST_COLUMNS
        ]
        if numbers:
            names, table = ", ".join(map(identifier, numbers)), identifier(name)
            db.execute(f"CREATE TABLE raw.{table} AS SELECT {names} FROM {_OLDER}.raw.{table}")


def _say_what_was_not_read(db: duckdb.DuckDBPyConnection) -> None:
    there = _columns(db, "main")
    unread = " and ".join(what for table, what in _ADDED.items() if table not in there)
    if unread and db.execute("SELECT 1 FROM report WHERE kind = 'nsys'").fetchone():
        text = f"An earlier version of Warpdeck took this report in and did not read {unread}."
        diagnostics.note(db, "info", f"{text} Drop its source again to have all of it.")


def _columns(db: duckdb.DuckDBPyConnection, of: str) -> dict[str, dict[str, str]]:
    """The columns of each table of a schema of the older report, with their types."""
    found: dict[str, dict[str, str]] = {}
    rows = db.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns()"
        f" WHERE database_name = {quote(_OLDER)} AND schema_name = {quote(of)} ORDER BY column_index"
    ).fetchall()
    for table, column, type_ in rows:
        found.setdefault(table, {})[column] = type_
    return found
