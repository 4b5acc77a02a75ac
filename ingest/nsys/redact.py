"""Takes the environment variables out of a report: they hold the passwords and tokens of whoever captured it.

nsys stores more of them than one expects: those of the profiled program (META_DATA_CAPTURE), of the machine's agent
(TARGET_INFO_SYSTEM_ENV), and among the strings those of every process that it could see, a block each as the kernel
shows it in /proc/PID/environ: NAME=value, separated by NUL.
"""

import re
from collections.abc import Iterable

import duckdb

from profiledb.schema import quote

MARK = "[environment variables dropped]"
SHORT = 4
"""Assignments with a value of fewer characters are searched for nowhere else: they would hit innocent texts."""

ROWS = "ENVIRONMENT_VARIABLE|DeviceEnvironment"
"""Names of the rows that hold environments; load.sql leaves them out."""
LONGEST = 1_000_000
_ASSIGNMENT = re.compile(r"^[^\s=/\[\]<>,;'\"]+=", re.DOTALL)
_SECRET_NAME = re.compile(r"TOKEN|SECRET|PASS|KEY|CREDENTIAL|AUTH|COOKIE|SESSION", re.IGNORECASE)


def take_strings(db: duckdb.DuckDBPyConnection) -> list[str]:
    """Fills the table ``string`` from the export without any environment, and returns what must stand nowhere else.

    The texts are cleaned before they reach the report's file, whose freed blocks would keep what is deleted later.
    A text of a megabyte is the output of a program; it is cut so that one cell cannot fill the memory of a page.
    """
    db.execute(f"""
        CREATE OR REPLACE TEMP TABLE text AS
        SELECT id AS string_id,
            CASE WHEN length(value) > {LONGEST} THEN value[:{LONGEST}] || ' [cut]' ELSE value END AS value
        FROM src.StringIds
    """)
    assignments = set(_of_rows(db)) | set(_of_blocks(db))
    secrets = sorted({part for assignment in assignments for part in _parts(assignment)})
    if secrets:
        values = ", ".join(map(quote, secrets))
        db.execute(f"CREATE OR REPLACE TEMP TABLE secret AS SELECT unnest([{values}]) AS text")
        _blank(db, "temp.main.text", ["value"])
    db.execute("INSERT INTO string SELECT string_id, value FROM text")
    db.execute("DROP TABLE text")
    return secrets


def blank(db: duckdb.DuckDBPyConnection, secrets: list[str]) -> None:
    """Blanks every other text of the report that repeats a part of an environment.

    A program that prints its environment has it in its recorded output, and a shell's command line may set a
    variable, so all text columns are searched: for ``NAME=value``, and for the value alone where the name says that
    it is a secret.
    """
    if secrets:
        for table, columns in _text_columns(db).items():
            _blank(db, table, columns)
        db.execute("DROP TABLE secret")


def _of_rows(db: duckdb.DuckDBPyConnection) -> Iterable[str]:
    """Assignments in the rows that hold nothing else; load.sql leaves those rows out."""
    for table in ("META_DATA_CAPTURE", "META_DATA_EXPORT", "TARGET_INFO_SYSTEM_ENV"):
        rows = db.execute(f"SELECT value FROM src.{table} WHERE regexp_matches(name, '{ROWS}', 'i')").fetchall()
        for (value,) in rows:
            yield from re.split(r"[\n\0]", value or "")


def _of_blocks(db: duckdb.DuckDBPyConnection) -> Iterable[str]:
    """Assignments in texts that are an environment block; those texts are blanked on the way."""
    rows = db.execute("SELECT string_id, value FROM text WHERE contains(value, chr(0))").fetchall()
    blocks = [(number, value) for number, value in rows if is_block(value)]
    if blocks:
        numbers = ", ".join(str(number) for number, _ in blocks)
        db.execute(f"UPDATE text SET value = {quote(MARK)} WHERE string_id IN ({numbers})")
    for _, value in blocks:
        yield from value.split("\0")


def is_block(value: str) -> bool:
    """Whether a text with NULs in it is an environment: most of its parts assign something to a name."""
    parts = [part for part in value.split("\0") if part]
    return 2 * sum(1 for part in parts if _ASSIGNMENT.match(part)) > len(parts)


def _parts(assignment: str) -> set[str]:
    """What must not stand anywhere: the assignment, and its value alone where the name says that it is secret."""
    name, equals, value = assignment.partition("=")
    if not equals or len(value) < SHORT:
        return set()
    return {assignment, value} if _SECRET_NAME.search(name) and len(value) > SHORT else {assignment}


def _blank(db: duckdb.DuckDBPyConnection, table: str, columns: list[str]) -> None:
    hit = {c: f"EXISTS (SELECT 1 FROM secret WHERE contains(t.{c}, secret.text))" for c in columns}
    tests = ", ".join(f"bool_or({test})" for test in hit.values())
    found = db.execute(f"SELECT {tests} FROM {table} AS t").fetchone() or ()
    for column in (c for c, any_row in zip(columns, found, strict=False) if any_row):
        db.execute(f"UPDATE {table} AS t SET {column} = {quote(MARK)} WHERE {hit[column]}")


def _text_columns(db: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Text columns by table, quoted: all but those that are clean already."""
    rows = db.execute("""
        SELECT format('"{}"."{}"', schema_name, table_name), list('"' || column_name || '"')
        FROM duckdb_columns()
        WHERE database_name = 'report' AND data_type = 'VARCHAR' AND table_name NOT IN ('enum_value', 'string')
        GROUP BY ALL
    """).fetchall()
    return dict(rows)
