"""Decode payloads that programs attach to their NVTX ranges with a schema, as NCCL attaches the bytes of a message.

An export made with blobs holds them as bytes: their number, then for each the schema, the size and the offset (u64
each), then the payloads. The tables NVTX_PAYLOAD_* describe the entries (source: nvToolsExtPayload.h of NVTX 3). Only
static schemas whose entries all have a fixed size are decoded; the report omits all others.
"""

import json
import math
import sqlite3
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import duckdb

from ingest.nsys.source import Source

STATIC = 1
"""Type of a schema with a fixed layout (NVTX_PAYLOAD_SCHEMA_TYPE_STATIC)."""
INDIRECT = 0x23E
"""Flags of entries that point elsewhere or repeat: pointer, offsets, arrays, deep copy."""
FORMATS = {
    1: "b", 2: "B", 3: "h", 4: "H", 5: "i", 6: "I", 9: "q", 10: "Q", 11: "b", 12: "B", 13: "h", 14: "H", 15: "i",
    16: "I", 17: "q", 18: "Q", 19: "f", 20: "d", 22: "Q", 23: "Q", 25: "B", 26: "H", 27: "I", 32: "B", 42: "e",
    43: "f", 44: "d",
}  # fmt: skip
"""NVTX_PAYLOAD_ENTRY_TYPE_* with the same size on every 64-bit platform, as ``struct`` formats."""
_ENUMS = {1: "B", 2: "H", 4: "I", 8: "Q"}
_HEADER = struct.Struct("<QQQ")
_MOST = 64
"""Most payloads of an event that are read."""

Key = tuple[int, int]
"""Domain and schema."""


@dataclass(frozen=True)
class Entry:
    """A value of a payload: its name, offset (bytes), ``struct`` format, and the names of an enum's values."""

    name: str
    offset: int
    form: struct.Struct
    names: Mapping[int, str] | None = None


Schemas = Mapping[Key, Sequence[Entry]]


def decode(db: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> None:
    """Create the temporary table ``payload`` (row_id, value): the payload of rows of NVTX_EVENTS as JSON."""
    db.execute("CREATE OR REPLACE TEMP TABLE payload (row_id BIGINT, value VARCHAR)")
    export = next((source for source in sources if "NVTX_EVENTS" in source.tables), None)
    if export is None or not (schemas := _read_schemas(db, export)):
        return
    import pyarrow as pa  # here: it takes 0.1 s, and few captures have payloads

    try:
        rows = read_texts(export.blobs(), schemas)
    except (sqlite3.Error, pa.ArrowException, OSError):
        return
    if rows:
        ids, values = zip(*rows, strict=True)
        columns = [pa.array(ids, pa.int64()), pa.array(values, pa.string())]
        db.register("decoded payload", pa.table(columns, names=["row_id", "value"]))
        db.execute('INSERT INTO payload FROM "decoded payload"')
        db.unregister("decoded payload")


def read_texts(events: Iterable[tuple[int, int | None, bytes]], schemas: Schemas) -> list[tuple[int, str]]:
    """Yield (row_id, JSON) for the events (row_id, domain, bytes) that can be decoded."""

    @lru_cache(maxsize=10_000)  # a loop repeats the same messages
    def text(domain: int | None, blob: bytes) -> str | None:
        return format_json(blob, domain, schemas)

    decoded = ((row_id, text(domain, blob)) for row_id, domain, blob in events)
    return [(row_id, value) for row_id, value in decoded if value is not None]


def format_json(blob: bytes, domain: int | None, schemas: Schemas) -> str | None:
    """Return the payloads of an event as one JSON object; None if none of them can be decoded."""
    values: dict[str, Any] = {}
    for schema, size, offset in place_fields(blob):
        entries = schemas.get((domain or 0, schema), ())
        if any(entry.offset + entry.form.size > size for entry in entries):
            continue
        for entry in entries:
            values[_find_free_name(entry.name, values)] = _decode_value(entry, blob, offset)
    return json.dumps(values, ensure_ascii=False, allow_nan=False) if values else None


def place_fields(blob: bytes) -> list[tuple[int, int, int]]:
    """Yield schema, size and offset of the payloads that lie completely in the blob."""
    count = int.from_bytes(blob[:8], "little") if len(blob) >= 8 else 0
    if count > _MOST or 8 + count * _HEADER.size > len(blob):
        return []
    heads = (_HEADER.unpack_from(blob, 8 + n * _HEADER.size) for n in range(count))
    return [(schema, size, offset) for schema, size, offset in heads if offset + size <= len(blob)]


def _find_free_name(name: str, taken: Mapping[str, Any]) -> str:
    """Return the name, followed by a number if an earlier payload has the same name."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free


def _decode_value(entry: Entry, blob: bytes, offset: int) -> Any:
    (value,) = entry.form.unpack_from(blob, offset + entry.offset)
    if entry.names is not None:
        return entry.names.get(value, value)
    return None if isinstance(value, float) and not math.isfinite(value) else value  # JSON cannot express these


def _read_schemas(db: duckdb.DuckDBPyConnection, export: Source) -> Schemas:
    """Return the schemas of an export whose entries can all be decoded."""
    enums = read_enums(db, export)
    kinds = {get_key(row): get_number(row, "type") for row in read_table_rows(db, export, "NVTX_PAYLOAD_SCHEMAS")}
    entries: dict[Key, dict[int, dict[str, Any]]] = {}
    unclear: set[Key] = set()  # two processes use the same number, and the events do not tell which one they mean
    for row in read_table_rows(db, export, "NVTX_PAYLOAD_SCHEMA_ENTRIES"):
        known = entries.setdefault(get_key(row), {})
        if known.setdefault(get_number(row, "idx"), row) != row:
            unclear.add(get_key(row))
    laid_out = {
        key: lay_out([rows[n] for n in sorted(rows)], {s: e for (domain, s), e in enums.items() if domain == key[0]})
        for key, rows in entries.items()
        if kinds.get(key) == STATIC and key not in unclear and sorted(rows) == list(range(len(rows)))
    }
    return {key: laid for key, laid in laid_out.items() if laid}


def lay_out(rows: Sequence[Mapping[str, Any]], enums: Mapping[int, tuple[int, Mapping[int, str]]]) -> list[Entry]:
    """Return the entries of a schema; none if one of them is not a single value of a fixed size.

    Args:
        rows: rows of NVTX_PAYLOAD_SCHEMA_ENTRIES, in order; a missing offset is the next that fits.
        enums: enumerations of the domain: size in bytes, and names by value (unsigned).
    """
    entries: list[Entry] = []
    end = 0
    for number, row in enumerate(rows):
        size, names = enums.get(get_number(row, "type"), (0, None))
        form = _ENUMS.get(size) if names is not None else FORMATS.get(get_number(row, "type"))
        if form is None or get_number(row, "flags") & INDIRECT or get_number(row, "arrayOrUnionDetail"):
            return []
        packed = struct.Struct(f"<{form}")
        offset = get_number(row, "offset") or -(-end // packed.size) * packed.size
        entries.append(Entry(str(row.get("name") or f"entry {number}"), offset, packed, names))
        end = offset + packed.size
    return entries


def read_enums(db: duckdb.DuckDBPyConnection, export: Source) -> dict[Key, tuple[int, dict[int, str]]]:
    """Return the enumerations of payloads: size in bytes, and names by value (unsigned)."""
    enums: dict[Key, tuple[int, dict[int, str]]] = {
        get_key(row): (get_number(row, "size"), {}) for row in read_table_rows(db, export, "NVTX_PAYLOAD_ENUMS")
    }
    for row in read_table_rows(db, export, "NVTX_PAYLOAD_ENUM_ENTRIES"):
        size, names = enums.get(get_key(row), (0, {}))
        if row.get("name"):
            names[get_number(row, "value") % (1 << 8 * size)] = str(row["name"])
    return enums


def read_table_rows(db: duckdb.DuckDBPyConnection, export: Source, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table that describes payloads; none if the export lacks it."""
    if table not in export.tables:
        return []
    cursor = db.execute(f"SELECT * EXCLUDE (row_id) FROM ({export.tables[table]})")
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def get_key(row: Mapping[str, Any]) -> Key:
    """Return the key of the schema or enumeration that a row belongs to."""
    return get_number(row, "domainId"), get_number(row, "schemaId")


def get_number(row: Mapping[str, Any], name: str) -> int:
    """Return a number of a row; exports omit zeros, and repaired ones hold texts."""
    try:
        return int(row.get(name) or 0)
    except (TypeError, ValueError):
        return -1
