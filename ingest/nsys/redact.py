"""Takes the environment variables out of a report: they hold the passwords and tokens of whoever captured it.

nsys stores more of them than one expects: those of the profiled program (META_DATA_CAPTURE), of the machine's agent
(TARGET_INFO_SYSTEM_ENV), and among the strings those of every process that it could see, a block each as the kernel
shows it in /proc/PID/environ: NAME=value, separated by NUL. None of these texts is taken in (column_allowlist.py),
and what they hold is removed wherever it stands again: a program may print its environment, a shell may set a
variable.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

import duckdb

from ingest import scrub
from ingest.nsys import column_allowlist
from ingest.nsys.source import Facts, Source
from profiledb.report.schema import identifier, quote

MARK = "[environment variables dropped]"
SHORT = 4
"""Assignments with a value of fewer characters are searched for nowhere else: they would hit innocent texts."""
MOST = 5000
"""Texts that are searched for; an environment has some hundred."""
_AT_HAND = {
    "CUPTI_ACTIVITY_KIND_KERNEL": """(
        SELECT nullif(demangled_id, -1) AS "demangledName", nullif(short_id, -1) AS "shortName",
            nullif(mangled_id, -1) AS "mangledName" FROM name_key
    )""",
    "NVTX_EVENTS": "nvtx",
}
"""Temporary tables that have the strings of large ones: a million rows need not be read again for each column."""
_PREFIX = 500
"""Characters of a long one that are searched for."""
_ASSIGNMENT = re.compile(r"^[^\s=/\[\]<>,;'\"]+=", re.DOTALL)
_SEPARATORS = ("\n", "\0", ";")
"""What stands between variables: old versions of nsys write ``;``."""


def facts(sources: Iterable[Source]) -> dict[str, Facts]:
    """All rows of the tables of names and values of an export, of which ``wanted`` keeps some."""
    tables: dict[str, Facts] = {}
    for source in sources:
        for table in column_allowlist.FACTS:
            if table in source.tables and table not in tables:
                tables[table] = source.facts(table)
    return tables


def wanted(table: str, rows: Facts) -> list[tuple[str, str | None]]:
    """The rows of a table of names and values that are kept, without secrets."""
    chosen = [(name, value) for name, value in rows if column_allowlist.NAMES[table].fullmatch(name)]
    return _without_secrets([(name, value and value.replace("\0", " ")) for name, value in chosen])


def find(db: duckdb.DuckDBPyConnection, sources: Iterable[Source], rows: dict[str, Facts]) -> list[str]:
    """Texts that must stand nowhere in the report: what environments assign, the longest first."""
    assignments = {part for text in _environments(db, sources, rows) for part in _assignments(text)}
    secrets = {secret[:_PREFIX] for assignment in assignments for secret in _secrets(assignment)}
    clean = (secret for secret in secrets if "\0" not in secret)  # whose parts between NULs are among them
    return sorted(clean, key=lambda text: (-len(text), text))[:MOST]


def prepare(db: duckdb.DuckDBPyConnection, secrets: list[str]) -> None:
    """Creates ``src.clean(text)``: a text as the report may hold it. All texts of an export pass it."""
    values = ", ".join(f"({quote(secret)})" for secret in secrets) or "(NULL)"
    db.execute(f"CREATE TABLE src.secret AS SELECT * FROM (VALUES {values}) AS given(text)")
    shown = scrub.expression(db)
    if secrets:
        hit = "EXISTS (SELECT 1 FROM src.secret WHERE contains(t, secret.text))"
        shown = f"CASE WHEN {hit} THEN {quote(MARK)} ELSE {shown} END"
    db.execute(f"CREATE MACRO src.clean(t) AS {shown}")


def take_strings(db: duckdb.DuckDBPyConnection, tables: Mapping[str, Iterable[str]]) -> None:
    """Fills the table ``string`` with those strings of the export that a column of a table of ours names.

    Args:
        db: connection that writes the report, after ``ranges.stage`` and stage.sql.
        tables: those in ``src`` that the export has, with their columns.
    """
    uses = [
        f"SELECT {identifier(column)} AS id FROM {_AT_HAND.get(table) or f'src.{identifier(table)}'}"
        for table, columns in tables.items()
        for column in columns
        if column in column_allowlist.STRING_COLUMNS
    ]
    if uses:
        db.execute(f"""
            INSERT INTO string
            SELECT id, value FROM src.StringIds WHERE id IN ({" UNION ".join(uses)})
        """)


def is_block(value: str) -> bool:
    """Whether a text with NULs in it is an environment: most of its parts assign something to a name."""
    parts = [part for part in value.split("\0") if part]
    return 2 * sum(1 for part in parts if _ASSIGNMENT.match(part)) > len(parts)


def _environments(db: duckdb.DuckDBPyConnection, sources: Iterable[Source], rows: dict[str, Facts]) -> Iterator[str]:
    """Texts that hold environments: values that are called so, and blocks among the strings."""
    for pairs in rows.values():
        yield from (value for name, value in pairs if value and column_allowlist.ENVIRONMENT.search(name))
    read = next((source.tables["StringIds"] for source in sources if "StringIds" in source.tables), None)
    if read:
        blocks = db.execute(f"SELECT value::VARCHAR FROM ({read}) WHERE contains(value::VARCHAR, chr(0))").fetchall()
        yield from (value for (value,) in blocks if is_block(value))


def _assignments(text: str) -> Iterator[str]:
    """NAME=value as far as it can be told, for each way to separate them; a value may have several lines."""
    for separator in _SEPARATORS:
        whole = ""
        for part in text.split(separator):
            if _ASSIGNMENT.match(part):
                if whole:
                    yield whole
                whole = part
            elif whole:
                whole += separator + part
        if whole:
            yield whole


def _secrets(assignment: str) -> Iterator[str]:
    """What must not stand anywhere: the assignment; where the name says that it is secret the value and its lines;
    and whatever looks like a token or a password in an address."""
    name, _, value = assignment.partition("=")
    if len(value) < SHORT:
        return
    yield assignment
    yield from (line for line in assignment.split("\n") if len(line) > SHORT and _ASSIGNMENT.match(line))
    yield from (match[0] for match in re.finditer(scrub.CREDENTIAL, value))
    yield from (match[0] for match in re.finditer(scrub.USERINFO, value))
    if scrub.SECRET_NAME.search(name):
        yield from (line for part in (value, *value.split("\n")) if len(line := part.strip()) > SHORT)


def _without_secrets(rows: list[tuple[str, str | None]]) -> list[tuple[str, str | None]]:
    """Values without secrets; one may stand in the argument after its option, which is another row."""
    places: dict[str, list[tuple[int, int]]] = {}
    for at, (name, _) in enumerate(rows):
        if match := column_allowlist.COMMAND.fullmatch(name):
            places.setdefault(match[1], []).append((int(match[3] or -1), at))
    shown = [None if value is None else scrub.facts(value, name) for name, value in rows]
    for numbered in places.values():
        order = [at for _, at in sorted(numbered)]
        for at, text in zip(order, scrub.command([rows[at][1] or "" for at in order]), strict=True):
            shown[at] = text
    return [(name, text and text[: column_allowlist.LONGEST_FACT]) for (name, _), text in zip(rows, shown, strict=True)]
