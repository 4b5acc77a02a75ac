"""Rewrite an nsys export to another schema: its tables and columns, in another order.

The columns of 3.24.14 (nsys 2026.1) are those of an export of that version. The other schema is that of the samples
(3.20.3, nsys 2025.3) without columns that it may lack.
"""

import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

_EVENTS = ("KERNEL", "MEMCPY", "MEMSET", "SYNCHRONIZATION", "GRAPH_TRACE")


@dataclass(frozen=True)
class Schema:
    """What a version has more and less: columns by table with the SQL of their values, and tables."""

    version: str
    product: str
    more: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    less: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)


FEWER = Schema(
    "3.20.3", "2025.3.2.0",
    less={f"CUPTI_ACTIVITY_KIND_{kind}": ("greenContextId", "eventSyncId", "copyCount") for kind in _EVENTS},
)  # fmt: skip
NEWER = Schema(
    "3.24.14", "2026.1.1.204",
    more={
        "CUPTI_ACTIVITY_KIND_KERNEL": {
            "qmdBulkReleaseDone": "1", "qmdPreexitDone": "2", "qmdLastCtaDone": "3", "graphId": "NULL",
            "clusterX": "2", "clusterY": "1", "clusterZ": "1", "clusterSchedulingPolicy": "0",
            "maxPotentialClusterSize": "8", "maxActiveClusters": "66", "sharedMemoryRequestedPercentage": "50",
        },
        "PROFILER_OVERHEAD": {"overheadType": "NULL"},
        "TARGET_INFO_CUDA_CONTEXT_INFO": {"numMultiprocessors": "132"},
        "TARGET_INFO_CUDA_DEVICE": {"uuid": "'GPU-0'", "numMultiprocessors": "132"},
        "TARGET_INFO_SESSION_START_TIME": {"systemClockNs": "1"},
    },
    less={"PROFILER_OVERHEAD": ("returnValue",)},
    tables={
        "CUPTI_ACTIVITY_KIND_OVERHEAD": 'start, "end", eventClass, globalTid, correlationId, nameId, overheadType',
        "ENUM_CUPTI_OVERHEAD_TYPE": "id, name TEXT, label TEXT",
        "ENUM_STACK_UNWIND_METHOD": "id, name TEXT, label TEXT",
        "OSRT_FILE_ACCESS_DESCRIPTORS": "fileAccessId, processId, openedAt, closedAt, filePath TEXT",
        "OSRT_FILE_ACCESS_EVENTS":
            "fileAccessId, threadId, startedAt, endedAt, eventType, apiCallId, bytesProcessed, context TEXT",
    },
)  # fmt: skip


def rewrite(source: Path, target: Path, schema: Schema) -> None:
    """Write an export with the rows of another one in a schema."""
    shutil.copy(source, target)
    with closing(sqlite3.connect(target)) as db, db:
        names = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table in sorted(names & (schema.more.keys() | schema.less.keys())):
            kept = [(row[1], row[2]) for row in db.execute(f'PRAGMA table_info("{table}")')]
            kept = [(column, kind) for column, kind in kept if column not in schema.less.get(table, ())]
            cells = {f'"{column}"': f'"{column}"' for column, _ in reversed(kept)}
            cells |= {f'"{column}"': value for column, value in schema.more.get(table, {}).items()}
            types = {f'"{column}"': kind for column, kind in kept}
            declared = ", ".join(f"{column} {types.get(column, 'INTEGER')}" for column in cells)
            db.execute(f"CREATE TABLE rewritten ({declared})")
            db.execute(f'INSERT INTO rewritten SELECT {", ".join(cells.values())} FROM "{table}" ORDER BY rowid')
            db.execute(f'DROP TABLE "{table}"')
            db.execute(f'ALTER TABLE rewritten RENAME TO "{table}"')
        for table, columns in schema.tables.items():
            db.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")
        numbers = dict(zip(("MAJOR", "MINOR", "MICRO"), schema.version.split("."), strict=True))
        facts = {f"EXPORT_SCHEMA_VERSION_{part}": number for part, number in numbers.items()}
        facts |= {"EXPORT_SCHEMA_VERSION": schema.version, "EXPORT_PRODUCT_VERSION": schema.product}
        for name, value in facts.items():
            db.execute("UPDATE META_DATA_EXPORT SET value = ? WHERE name = ?", (value, name))
