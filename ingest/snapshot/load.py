"""Load a memory snapshot into the tables of a report and complete them."""

import gc
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from ingest import diagnostics
from ingest.derive import complete, stage
from ingest.scrub import scrub_text
from ingest.snapshot.json_reader import Walk
from ingest.snapshot.pickle_reader import Machine
from ingest.snapshot.snapshot_rows import TABLES, Annotation, Rows, SnapshotParts
from ingest.torch.source import Source
from profiledb import words
from profiledb.errors import ConversionError
from profiledb.report.schema import quote, read_sql
from profiledb.words import counted

SETTINGS = (
    *("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "max_split_size", "garbage_collection_threshold"),
    *("expandable_segments", "roundup_power2_divisions"),
)
"""Stored settings of the allocator."""
LISTS = ("segments", "device_traces")
"""Lists of every snapshot."""
REST_BLOCKS = 8
"""Most blocks that are read after the snapshot, where only the checksum of its compression may follow."""
LONGEST = 200
"""Longest setting in characters."""
_ANNOTATION = pa.schema([("name", pa.string()), ("begin_us", pa.int64()), ("end_us", pa.int64())])
_TYPES = {
    "BIGINT": pa.int64(), "UBIGINT": pa.uint64(), "INTEGER": pa.int32(), "VARCHAR": pa.string(), "BOOLEAN": pa.bool_(),
}  # fmt: skip


def load_snapshot(db: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Fill the tables of the report that ``db`` has open as catalog ``report``.

    Raises:
        ConversionError: the file has no part of a snapshot, or instructions that no snapshot needs.
    """
    stage(db)
    for table, columns in TABLES.items():
        listed = ", ".join(f"{name} {kind}" for name, kind in columns)
        db.execute(f"CREATE OR REPLACE TEMP TABLE {table} ({listed})")
    parts = SnapshotParts(lambda table, rows: _insert_batch(db, table, rows))
    source = Source(path)
    blocks = source.blocks()
    first = next(blocks, b"")
    reader = (Machine if first.startswith(b"\x80") else Walk)(parts, _rejoin_blocks(first, blocks))
    gc.disable()  # the objects have no cycles, and a pass over millions of numbers takes as long as reading them
    try:
        reader.read()
        for _ in itertools.islice(blocks, REST_BLOCKS):
            pass  # the checksum at the end is wrong
    finally:
        gc.enable()
    parts.finish()
    if not parts.counts["snapshot_segment"] + parts.counts["snapshot_event"]:
        raise ConversionError(
            f"The snapshot holds no memory{f', and is {reader.damage}' if reader.damage else ''}.",
            hint="Call torch.cuda.memory._record_memory_history() before the program allocates, and capture again.",
        )
    _stage_ranges(db, parts.annotations())
    db.execute(read_sql("load.sql", "ingest.snapshot"))
    is_pickle = isinstance(reader, Machine)
    settings = reader.result.get("allocator_settings") if isinstance(reader.result, dict) else None
    _write_report(db, "pickle" if is_pickle else "JSON", settings)
    complete(db, names=lambda: _write_names(db), rest=lambda: _write_rest(db))
    damage = source.damage or reader.damage
    _note_limits(db, parts, damage)
    if isinstance(reader.result, dict) and reader.result and not damage:
        _note_missing(db, [name for name in LISTS if name not in reader.result])


def _rejoin_blocks(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _insert_batch(db: duckdb.DuckDBPyConnection, table: str, rows: Rows) -> None:
    columns = TABLES[table]
    data = {
        name: pa.array(cells, _TYPES[kind])
        for (name, kind), cells in zip(columns, zip(*rows, strict=True), strict=True)
    }
    db.register("snapshot_batch", pa.table(data))
    try:
        db.execute(f"INSERT INTO {table} FROM snapshot_batch")
    finally:
        db.unregister("snapshot_batch")


def _stage_ranges(db: duckdb.DuckDBPyConnection, annotations: Sequence[Annotation]) -> None:
    """Stage annotations as ranges; those without an end last to the end of the snapshot."""
    table = pa.table(dict(zip(_ANNOTATION.names, zip(*annotations, strict=True), strict=True)) if annotations else
                     {name: [] for name in _ANNOTATION.names}, schema=_ANNOTATION)  # fmt: skip
    db.register("snapshot_batch", table)
    try:
        db.execute("""
            CREATE OR REPLACE TEMP TABLE snapshot_annotation AS
            SELECT row_number() OVER () AS range_id, dense_rank() OVER (ORDER BY name)::INTEGER AS name_id, *
            FROM snapshot_batch
        """)
    finally:
        db.unregister("snapshot_batch")


def _write_names(db: duckdb.DuckDBPyConnection) -> None:
    db.execute("""
        INSERT INTO range_name BY NAME
        SELECT DISTINCT name_id, name AS text, name FROM snapshot_annotation
    """)


def _write_rest(db: duckdb.DuckDBPyConnection) -> None:
    db.execute(read_sql("write.sql", "ingest.snapshot"))


def _write_report(db: duckdb.DuckDBPyConnection, form: str, settings: Any) -> None:
    db.execute(f"""
        INSERT INTO report BY NAME
        SELECT 'snapshot' AS kind, 'PyTorch' AS tool, {quote(f"memory snapshot ({form})")} AS converter,
            CASE WHEN is_timed THEN make_timestamp(begin_us) END AS captured_at, 0 AS start_ns,
            length_ns AS stop_ns, length_ns AS duration_ns
        FROM session CROSS JOIN (SELECT max(time_ns) AS length_ns FROM tensor_row)
    """)
    for name in SETTINGS if isinstance(settings, dict) else ():
        if text := _format_setting(settings.get(name)):
            db.execute(f"INSERT INTO capture_setting VALUES ({quote(name)}, {quote(text)})")


def _format_setting(value: Any) -> str:
    """Return a setting as text; of containers only the outermost one, because a small file may nest them without
    end."""
    if isinstance(value, dict):
        value = ", ".join(f"{key}: {one}" for key, one in value.items() if isinstance(one, int | float))
    return scrub_text(str(value)[:1000])[:LONGEST] if isinstance(value, str | int | float) else ""


def _note_missing(db: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
    for name in names:
        diagnostics.note(db, "warning", f"The snapshot has no `{name}`, so it is damaged: these parts are missing.")


def _note_limits(db: duckdb.DuckDBPyConnection, parts: SnapshotParts, damage: str) -> None:
    """Note unreadable parts and the limits of the figures."""
    events = parts.counts["snapshot_event"]
    diagnostics.note_damage(db, "The snapshot", damage, counted(events, "event"))
    if parts.damaged:
        diagnostics.note(db, "warning", f"{counted(parts.damaged, 'part')} of the snapshot could not be read.")
    if not events:
        text = "The snapshot has no history, only the memory held when it was taken. torch.cuda.memory"
        diagnostics.note(db, "info", f"{text}._record_memory_history() records allocations and their stacks.")
    for device, missing in db.execute("SELECT device, missing FROM held WHERE missing > 0 ORDER BY 1").fetchall():
        text = f"The events of GPU {device} do not lead to the memory that it held when the snapshot was taken:"
        text = f"{text} {counted(missing, 'allocation')} differ, as where recording ended before."
        diagnostics.note(db, "warning", f"{text} Memory in use is allocations minus releases.")
    (timed,) = db.execute("SELECT is_timed FROM session").fetchone() or (False,)
    if events and not timed:
        diagnostics.note(
            db, "warning", "The snapshot has no times: its events stand a microsecond apart, in their order."
        )
    failed = "SELECT device, bytes, device_free FROM change WHERE kind = 'out_of_memory' ORDER BY number LIMIT 10"
    for device, size, free in db.execute(failed).fetchall():
        left = f", {words.bytes_(free)} of it was free" if free is not None else ""
        diagnostics.note(db, "warning", f"Out of memory on GPU {device}: {words.bytes_(size)} asked for{left}.")
