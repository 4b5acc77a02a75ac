"""Remove environment variables from a report: they hold the passwords and tokens of whoever captured it.

nsys stores more of them than one expects: those of the profiled program (META_DATA_CAPTURE), of the machine's agent
(TARGET_INFO_SYSTEM_ENV), and among the strings those of every process that it could see, a block each as the kernel
shows it in /proc/PID/environ: NAME=value, separated by NUL. None of these texts is imported (column_allowlist.py), and
their secrets are removed wherever else they occur: a program may print its environment, a shell may set a variable.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

import duckdb

from ingest import scrub
from ingest.nsys import column_allowlist
from ingest.nsys.source import Facts, Source
from profiledb.report.schema import quote, quote_identifier

MARK = "[environment variables dropped]"
SHORT = 4
"""Assignments with a shorter value (characters) are not searched elsewhere: they would hit innocent texts."""
MOST = 5000
"""Most texts that are searched for; an environment has some hundred."""
_AT_HAND = {
    "CUPTI_ACTIVITY_KIND_KERNEL": """(
        SELECT nullif(demangled_id, -1) AS "demangledName", nullif(short_id, -1) AS "shortName",
            nullif(mangled_id, -1) AS "mangledName" FROM name_key
    )""",
    "NVTX_EVENTS": "nvtx",
}
"""Temporary tables with the strings of large tables, so that a million rows are not read again for each column."""
_PREFIX = 500
"""Characters of a long text that are searched for."""
_ASSIGNMENT = re.compile(r"^[^\s=/\[\]<>,;'\"]+=", re.DOTALL)
_SEPARATORS = ("\n", "\0", ";")
"""Separators of variables: old versions of nsys write ``;``."""


def redact_facts(sources: Iterable[Source]) -> dict[str, Facts]:
    """Return all rows of the export's tables of names and values, of which ``select_wanted`` keeps some."""
    tables: dict[str, Facts] = {}
    for source in sources:
        for table in column_allowlist.FACTS:
            if table in source.tables and table not in tables:
                tables[table] = source.facts(table)
    return tables


def select_wanted(table: str, rows: Facts) -> list[tuple[str, str | None]]:
    """Return the stored rows of a table of names and values, without secrets."""
    chosen = [(name, value) for name, value in rows if column_allowlist.NAMES[table].fullmatch(name)]
    return _remove_secrets([(name, value and value.replace("\0", " ")) for name, value in chosen])


def find_secrets(db: duckdb.DuckDBPyConnection, sources: Iterable[Source], rows: dict[str, Facts]) -> list[str]:
    """Return texts that must not occur in the report: the assignments of environments, longest first."""
    assignments = {part for text in _find_environments(db, sources, rows) for part in _find_assignments(text)}
    secrets = {secret[:_PREFIX] for assignment in assignments for secret in _list_secrets(assignment)}
    clean = (secret for secret in secrets if "\0" not in secret)  # the parts between NULs are among them
    return sorted(clean, key=lambda text: (-len(text), text))[:MOST]


def prepare(db: duckdb.DuckDBPyConnection, secrets: list[str]) -> None:
    """Create the macro ``src.clean(text)``, which every text of an export passes."""
    values = ", ".join(f"({quote(secret)})" for secret in secrets) or "(NULL)"
    db.execute(f"CREATE TABLE src.secret AS SELECT * FROM (VALUES {values}) AS given(text)")
    scrubbed = scrub.make_scrub_expression(db)
    if secrets:
        hit = "EXISTS (SELECT 1 FROM src.secret WHERE contains(t, secret.text))"
        scrubbed = f"CASE WHEN {hit} THEN {quote(MARK)} ELSE {scrubbed} END"
    db.execute(f"CREATE MACRO src.clean(t) AS {scrubbed}")


def take_strings(db: duckdb.DuckDBPyConnection, tables: Mapping[str, Iterable[str]]) -> None:
    """Fill the table ``string`` with the export's strings that a column of our tables references.

    Args:
        db: connection that writes the report, after ``ranges.stage_ranges`` and stage.sql.
        tables: present tables of ``src`` with their columns.
    """
    uses = [
        f"SELECT {quote_identifier(column)} AS id FROM {_AT_HAND.get(table) or f'src.{quote_identifier(table)}'}"
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
    """Return True if a text with NULs is an environment: most of its parts assign something to a name."""
    parts = [part for part in value.split("\0") if part]
    return 2 * sum(1 for part in parts if _ASSIGNMENT.match(part)) > len(parts)


def _find_environments(
    db: duckdb.DuckDBPyConnection, sources: Iterable[Source], rows: dict[str, Facts]
) -> Iterator[str]:
    """Yield texts that hold environments: values of that name, and blocks among the strings."""
    for pairs in rows.values():
        yield from (value for name, value in pairs if value and column_allowlist.ENVIRONMENT.search(name))
    read = next((source.tables["StringIds"] for source in sources if "StringIds" in source.tables), None)
    if read:
        blocks = db.execute(f"SELECT value::VARCHAR FROM ({read}) WHERE contains(value::VARCHAR, chr(0))").fetchall()
        yield from (value for (value,) in blocks if is_block(value))


def _find_assignments(text: str) -> Iterator[str]:
    """Yield NAME=value as far as it can be told, for each separator; a value may have several lines."""
    for separator in _SEPARATORS:
        assignment = ""
        for part in text.split(separator):
            if _ASSIGNMENT.match(part):
                if assignment:
                    yield assignment
                assignment = part
            elif assignment:
                assignment += separator + part
        if assignment:
            yield assignment


def _list_secrets(assignment: str) -> Iterator[str]:
    """Yield secrets: the assignment; if its name is secret the value and its lines; and anything that looks like a
    token or a password in a URL."""
    name, _, value = assignment.partition("=")
    if len(value) < SHORT:
        return
    yield assignment
    yield from (line for line in assignment.split("\n") if len(line) > SHORT and _ASSIGNMENT.match(line))
    yield from (match[0] for match in re.finditer(scrub.CREDENTIAL, value))
    yield from (match[0] for match in re.finditer(scrub.USERINFO, value))
    if scrub.SECRET_NAME.search(name):
        yield from (line for part in (value, *value.split("\n")) if len(line := part.strip()) > SHORT)


def _remove_secrets(rows: list[tuple[str, str | None]]) -> list[tuple[str, str | None]]:
    """Return values without secrets; a secret may be the argument after its option, which is another row."""
    places: dict[str, list[tuple[int, int]]] = {}
    for at, (name, _) in enumerate(rows):
        if match := column_allowlist.COMMAND.fullmatch(name):
            places.setdefault(match[1], []).append((int(match[3] or -1), at))
    scrubbed = [None if value is None else scrub.scrub_facts(value, name) for name, value in rows]
    for numbered in places.values():
        order = [at for _, at in sorted(numbered)]
        for at, text in zip(order, scrub.scrub_arguments([rows[at][1] or "" for at in order]), strict=True):
            scrubbed[at] = text
    return [
        (name, text and text[: column_allowlist.LONGEST_FACT]) for (name, _), text in zip(rows, scrubbed, strict=True)
    ]
