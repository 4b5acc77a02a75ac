"""Payloads of NVTX ranges, from made-up bytes and from both forms of an export."""

import json
import sqlite3
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest import tools
from ingest.nsys import payload
from ingest.nsys.payload import Entry
from profiledb.library.library import Library
from profiledb.query import views
from tests.conftest import Ingest
from tests.support import exports
from tests.support.exports import MAIN

NCCL = 16777221
ENUM = 16777236
U64, SIZE, INT = 18, 22, 5
COMMUNICATOR = 0x7A103EC8364F821A

ENTRIES = [
    {"type": U64, "name": "communicator", "offset": None},
    {"type": SIZE, "name": "bytes", "offset": 8},
    {"type": ENUM, "name": "reduction", "offset": 16},
]
ENUMS: dict[int, tuple[int, Mapping[int, str]]] = {ENUM: (4, {0: "Sum", 4: "Avg", 2**32 - 1: "None"})}


def blob(*parts: tuple[int, bytes]) -> bytes:
    """An event's payloads (schema, bytes) as an export holds them."""
    at = 8 + 24 * len(parts)
    heads = b""
    for schema, data in parts:
        heads += struct.pack("<QQQ", schema, len(data), at)
        at += len(data)
    return struct.pack("<Q", len(parts)) + heads + b"".join(data for _, data in parts)


def message(size: int, operation: int = 0) -> bytes:
    return struct.pack("<QQiI", COMMUNICATOR, size, operation, 0xDEAD)


def decoded(data: bytes, entries: Sequence[Mapping[str, Any]] = ENTRIES, domain: int | None = 1) -> Any:
    schemas: dict[tuple[int, int], list[Entry]] = {(1, NCCL): payload.lay_out(entries, ENUMS)}
    text = payload.format_json(data, domain, schemas)
    return None if text is None else json.loads(text)


def test_values_and_names_of_an_enum() -> None:
    assert decoded(blob((NCCL, message(108_589_056)))) == {
        "communicator": COMMUNICATOR, "bytes": 108_589_056, "reduction": "Sum",
    }  # fmt: skip
    assert decoded(blob((NCCL, message(2**64 - 1, 4))))["bytes"] == 2**64 - 1
    assert decoded(blob((NCCL, message(1, -1))))["reduction"] == "None"
    assert decoded(blob((NCCL, message(1, 77))))["reduction"] == 77, "a value without a name is a number"


def test_the_bytes_that_the_samples_hold() -> None:
    shown = "0100000000000000050000010000000018000000000000002000000000000000"
    data = bytes.fromhex(shown + "1a824f36c83e107a00f07806000000000000000000000000")
    assert decoded(data)["bytes"] == 108_589_056


def test_several_payloads_and_those_that_nobody_knows() -> None:
    two = decoded(blob((NCCL, message(5)), (NCCL, message(6))))
    assert (two["bytes"], two["bytes (2)"]) == (5, 6)
    assert decoded(blob((1023, b"raw"), (NCCL, message(7))))["bytes"] == 7
    assert decoded(blob((1023, b"raw"))) is None
    assert decoded(blob((NCCL, message(7))), domain=2) is None, "a schema belongs to its domain"


@pytest.mark.parametrize("length", [0, 1, 7, 8, 20, 31, 32, 40, 55])
def test_what_is_cut_short_is_nothing(length: int) -> None:
    assert decoded(blob((NCCL, message(7)))[:length]) is None


def test_numbers_that_cannot_be_are_nothing() -> None:
    assert decoded(struct.pack("<Q", 2**63) + bytes(48)) is None
    assert decoded(struct.pack("<QQQQ", 1, NCCL, 2**63, 2**63) + message(1)) is None
    assert decoded(blob((NCCL, message(9)[:16]))) is None, "shorter than its schema"


def test_places_that_are_not_given_follow_the_size() -> None:
    entries: list[dict[str, Any]] = [{"type": 12, "name": "a"}, {"type": INT, "name": "b", "offset": 0}, {"type": 20}]
    data = struct.pack("<B3xid", 7, -5, 0.5)
    assert decoded(blob((NCCL, data)), entries) == {"a": 7, "b": -5, "entry 2": 0.5}


def test_no_word_of_json_for_what_is_no_number() -> None:
    found = decoded(blob((NCCL, struct.pack("<d", float("nan")))), [{"type": 20, "name": "x"}])
    assert found == {"x": None}


@pytest.mark.parametrize(
    "odd",
    [
        {"type": 75},
        {"type": U64, "flags": 2},
        {"type": U64, "flags": 0x10},
        {"type": 21},
        {"type": U64, "arrayOrUnionDetail": 3},
    ],
)
def test_entries_of_no_fixed_size_are_not_decoded(odd: dict[str, Any]) -> None:
    assert payload.lay_out([*ENTRIES, odd], ENUMS) == []


SCHEMAS = (("domainId", "schemaId", "type", "numEntries"), [(1, NCCL, 1, 3), (1, 7, 2, 1)])
SCHEMA_ENTRIES = (
    ("domainId", "schemaId", "idx", "flags", "type", "name", "offset"),
    [
        (1, NCCL, 0, None, U64, "communicator", None),
        (1, NCCL, 1, None, SIZE, "bytes", 8),
        (1, NCCL, 2, None, ENUM, "reduction", 16),
        (1, 7, 0, None, U64, "of a dynamic schema", None),
    ],
)
TABLES: exports.Tables = {
    "NVTX_PAYLOAD_SCHEMAS": SCHEMAS,
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": SCHEMA_ENTRIES,
    "NVTX_PAYLOAD_ENUMS": (("domainId", "schemaId", "size"), [(1, ENUM, 4)]),
    "NVTX_PAYLOAD_ENUM_ENTRIES": (
        ("domainId", "schemaId", "idx", "name", "value"), [(1, ENUM, 0, "Sum", None), (1, ENUM, 1, "Avg", 4)]
    ),
}  # fmt: skip
EVENTS: list[tuple[Any, ...]] = [
    (0, None, 75, "NCCL", MAIN, 1, None),
    (1, 5, 59, "ncclAllReduce", MAIN, 1, blob((NCCL, message(64, 4)))),
    (6, 9, 59, "plain", MAIN, 0, None),
    (10, 12, 59, "ncclBroadcast", MAIN, 1, blob((NCCL, b"\xff\xfe\x00"))),
    (13, 15, 59, "dynamic", MAIN, 1, blob((7, message(1)))),
]
COLUMNS = ("start", "end", "eventType", "text", "globalTid", "domainId", "binaryData")
EXPECTED = [
    ("ncclAllReduce", {"communicator": COMMUNICATOR, "bytes": 64, "reduction": "Avg"}),
    ("plain", None),
    ("ncclBroadcast", None),
    ("dynamic", None),
]


def write_sqlite(path: Path, tables: exports.Tables = TABLES) -> None:
    """As nsys writes it: the column of bytes is declared as text."""
    exports.write(path, tables)
    with closing(sqlite3.connect(path)) as db, db:
        declared = ", ".join(f"{c!r} {'TEXT' if c in ('text', 'binaryData') else 'INTEGER'}" for c in COLUMNS)
        db.execute(f"CREATE TABLE NVTX_EVENTS ({declared})")
        db.executemany(f"INSERT INTO NVTX_EVENTS VALUES ({', '.join('?' * len(COLUMNS))})", EVENTS)


def write_parquet(folder: Path, tables: exports.Tables = TABLES) -> None:
    """As nsys writes it: the column of bytes says that it is UTF-8, and is not."""
    folder.mkdir()
    facts: exports.Tables = {
        "StringIds": (("id", "value"), [(1, "one")]),
        "TARGET_INFO_SYSTEM_ENV": (("name", "value"), [("OsDescription", "Linux")]),
    }
    for name, (columns, rows) in {**facts, **tables}.items():
        cells = {c: [row[n] for row in rows] for n, c in enumerate(columns)}
        pq.write_table(pa.table(cells), folder / f"{name}.parquet")
    cells = {c: [event[n] for event in EVENTS] for n, c in enumerate(COLUMNS)}
    lying = pa.Array.from_buffers(pa.string(), len(EVENTS), pa.array(cells.pop("binaryData"), pa.binary()).buffers())
    pq.write_table(pa.table({**cells, "binaryData": lying}), folder / "NVTX_EVENTS.parquet")


def payloads(library: Library, name: str) -> list[tuple[str, Any]]:
    with library.cursor(library.find(name).id, views=views.list_all()) as db:
        rows = db.execute(
            "SELECT text, payload_json FROM range JOIN range_name USING (name_id) ORDER BY start_ns"
        ).fetchall()
        assert "binaryData" not in {
            column for (column,) in db.execute("SELECT column_name FROM duckdb_columns()").fetchall()
        }, "bytes that nothing has searched for secrets are not kept"
    return [(text, None if value is None else json.loads(value)) for text, value in rows]


@pytest.mark.parametrize("write", [write_sqlite, write_parquet])
def test_both_forms_of_an_export(
    ingest: Ingest, inbox: Path, empty_library: Library, write: Callable[[Path], None]
) -> None:
    write(inbox / "made.sqlite")
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    assert payloads(empty_library, "made.sqlite") == EXPECTED


@pytest.mark.parametrize("write", [write_sqlite, write_parquet])
def test_without_the_tables_of_schemas_nothing_is_known(
    ingest: Ingest, inbox: Path, empty_library: Library, write: Callable[..., None]
) -> None:
    write(inbox / "made.sqlite", {})
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    assert [value for _, value in payloads(empty_library, "made.sqlite")] == [None] * 4


def test_a_table_that_duckdb_refuses_costs_no_payload(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    write_sqlite(inbox / "made.sqlite")
    with closing(sqlite3.connect(inbox / "made.sqlite")) as db, db:
        db.execute("CREATE TABLE ODD (id INTEGER, what TEXT)")
        db.execute("INSERT INTO ODD VALUES (1, x'fffe')")
        db.execute("ALTER TABLE NVTX_EVENTS ADD COLUMN uint64Value INTEGER")
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    assert payloads(empty_library, "made.sqlite") == EXPECTED


def test_two_schemas_of_one_number_are_not_guessed_at(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    columns, rows = SCHEMA_ENTRIES
    other = (columns, [*rows, (1, NCCL, 1, None, INT, "something else", 8)])
    write_sqlite(inbox / "made.sqlite", {**TABLES, "NVTX_PAYLOAD_SCHEMA_ENTRIES": other})
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    assert [value for _, value in payloads(empty_library, "made.sqlite")] == [None] * 4


def test_the_option_is_asked_for(tmp_path: Path) -> None:
    for name, words in (("old", "--tables="), ("new", "--include-blobs=")):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\necho '{words}'\n")
        path.chmod(0o755)
        tool = tools.Tool("nsys", path, (2024, 1, 1))
        assert tools.has_option(tool, "export", "--include-blobs") is (name == "new")


def test_duckdb_cannot_read_the_column_itself(tmp_path: Path) -> None:
    """This is why payloads have their own reader; once this test fails, they need none."""
    write_parquet(tmp_path / "made")
    with pytest.raises(duckdb.Error):
        duckdb.sql(f"SELECT \"binaryData\" FROM '{tmp_path}/made/NVTX_EVENTS.parquet'").fetchall()
