"""Make lookup tables unique: if an export repeats an id, the first row with it counts.

nsys repeats none; a join with a repeated id would multiply the rows of a table of millions.
"""

from collections.abc import Sequence

import duckdb

from ingest import diagnostics, scrub
from ingest.nsys.source import Source
from profiledb.report.schema import quote, quote_identifier

ENUM = "ENUM_"
"""Start of the names of enumeration tables."""
KEYS = {
    "StringIds": ("id",),
    "PROCESSES": ("globalPid",),
    "TARGET_INFO_GPU": ("id",),
    "TARGET_INFO_GPU_METRICS": ("typeId", "metricId"),
}
"""Tables that others reference, with their keys; ids of enumerations are made unique as they are read."""
ENUMS = 500
"""Most enumerations of an export; nsys has some 150."""
LABEL = 200
"""Longest label of an enumeration in characters; many rows repeat it."""
KNOWN = {
    "CUDA_MEMCPY_OPER": (
        *("Unknown", "Host-to-Device", "Device-to-Host", "Host-to-Array", "Array-to-Host", "Array-to-Array"),
        *("Array-to-Device", "Device-to-Array", "Device-to-Device", "Host-to-Host", "Peer-to-Peer"),
        *("Unified Host-to-Device", "Unified Device-to-Host", "Unified Device-to-Device"),
    ),
    "CUDA_MEM_KIND": (
        *("Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown"),
    ),
}
"""Labels from number 0 on, as every version of nsys writes them; an export of 2022.2 has no enumerations at all."""


def keep_first(db: duckdb.DuckDBPyConnection) -> None:
    """Replace the tables in ``src`` that repeat ids by tables with the first row of each id."""
    for table, columns in KEYS.items():
        key = ", ".join(map(quote_identifier, columns))
        (rows, different) = db.execute(f"SELECT count(*), count(DISTINCT ({key})) FROM src.{table}").fetchone() or (
            0,
            0,
        )
        if rows > different:
            db.execute(f"""
                CREATE TABLE src."first of {table}" AS
                SELECT * FROM src.{table} QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY row_id) = 1;
                DROP {"VIEW" if table == "StringIds" else "TABLE"} src.{table};
                ALTER TABLE src."first of {table}" RENAME TO {table}
            """)
            diagnostics.remember(
                db, "warning", f"{rows - different:,} rows of {table} repeat an id; only the first of each counts."
            )


def collect_enums(db: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> None:
    """Create the temporary table ``enumeration`` of all enumerations; the first source that has one counts."""
    reads = {name: read for s in reversed(sources) for name, read in s.tables.items() if name.startswith(ENUM)}
    db.execute("CREATE OR REPLACE TEMP TABLE enumeration (enum VARCHAR, id BIGINT, name VARCHAR, label VARCHAR)")
    if len(reads) > ENUMS:
        text = f"{len(reads) - ENUMS:,} enumerations are excluded: the export has {len(reads):,}, and {ENUMS} are read."
        diagnostics.remember(db, "warning", text)
    selects = [_read_enum(name, read) for name, read in sorted(reads.items())[:ENUMS]]
    try:
        _insert_enums(db, selects)
    except (duckdb.BinderException, duckdb.ConversionException):  # not an enumeration
        for part in selects:
            _insert_enum(db, part)
    _add_known_values(db)


def _add_known_values(db: duckdb.DuckDBPyConnection) -> None:
    """Add the meaning of numbers to an export without enumerations: a copy without a direction would be in no sum."""
    present = {enum for (enum,) in db.execute("SELECT DISTINCT enum FROM enumeration").fetchall()}
    rows = [(enum, i, label) for enum in KNOWN.keys() - present for i, label in enumerate(KNOWN[enum])]
    if rows:  # as literals: see schema.quote
        values = ", ".join(f"({quote(enum)}, {i}, {quote(label)})" for enum, i, label in rows)
        db.execute(f"INSERT INTO enumeration (enum, id, label) VALUES {values}")


def _read_enum(name: str, read: str) -> str:
    return f"SELECT {quote(name.removeprefix(ENUM)[:LABEL])} AS enum, * FROM ({read})"


def _insert_enum(db: duckdb.DuckDBPyConnection, part: str) -> None:
    try:
        _insert_enums(db, [part])
    except (duckdb.BinderException, duckdb.ConversionException) as error:
        name = scrub.scrub_text(part.split("'")[1])
        diagnostics.remember(
            db, "warning", f"The enumeration {name} cannot be read: {scrub.scrub_database_error(error)}"
        )


def _insert_enums(db: duckdb.DuckDBPyConnection, selects: list[str]) -> None:
    columns = "NULL::VARCHAR AS enum, NULL::BIGINT AS id, NULL::VARCHAR AS name, NULL::VARCHAR AS label"
    union = " UNION ALL BY NAME ".join([f"SELECT 0 AS row_id, {columns} WHERE false", *selects])
    db.execute(f"""
        INSERT INTO enumeration
        SELECT enum, TRY_CAST(id::VARCHAR AS BIGINT) AS number, src.clean(cut(name::VARCHAR, {LABEL})),
            src.clean(cut(label::VARCHAR, {LABEL}))
        FROM ({union})
        QUALIFY row_number() OVER (PARTITION BY enum, number ORDER BY row_id) = 1
    """)
