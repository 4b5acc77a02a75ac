"""Rewrite an nsys export to another schema: its tables and columns, in another order.

The samples are of 3.20.3 (nsys 2025.3). The columns of 3.11.2 (nsys 2024.4) and 3.24.14 (nsys 2026.1) are those of
exports of these versions. The others are those that NVIDIA's user guide lists: of the versions before activities had
green contexts, and of the newest one. The guide does not give the numbers of their schemas, which nothing reads.
"""

import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path


@dataclass(frozen=True)
class Schema:
    """Additions and removals of a version: columns by table with the SQL of their values, and tables."""

    version: str
    product: str
    more: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    less: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)


_COPY, _SYNC = "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
OLDER = Schema(
    "3.11.2", "2024.4.1.61",
    more={"ANALYSIS_FILE": {"content": "''"}},
    less={
        "ANALYSIS_FILE": ("contentId",), _COPY: ("copyCount",), _SYNC: ("deprecatedSyncType", "eventSyncId"),
    },
)  # fmt: skip
_GREEN = dict.fromkeys(("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMSET"), ("greenContextId",))
OLDEST = replace(
    OLDER, version="3.9.0", product="2024.1.1.59",
    less={**OLDER.less, **_GREEN, **{table: ("greenContextId", *OLDER.less[table]) for table in (_COPY, _SYNC)}},
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
NEWEST = replace(
    NEWER, version="3.26.0", product="2026.3.1.100",
    more={
        **NEWER.more,
        "CUPTI_ACTIVITY_KIND_KERNEL":
            {**NEWER.more["CUPTI_ACTIVITY_KIND_KERNEL"], "tensorSizeMinusOneElements": "'[127,63]'"},
    },
    tables={
        **NEWER.tables,
        "NVTX_SCOPES": "domainId, scopeId, parentScopeId, path TEXT",
        "CUPTI_ACTIVITY_KIND_GRAPH_HOST_NODE_AND_HOST_LAUNCH":
            'start, "end", deviceId, contextId, greenContextId, streamId, correlationId, globalPid, graphNodeId,'
            " graphId",
        "CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS":
            'start, "end", eventClass, deviceId, contextId, streamId, correlationId, globalPid, ChannelID,'
            " sourceBytes, NumberOfOperations",
    },
)  # fmt: skip


def rewrite(source: Path, target: Path, schema: Schema) -> None:
    """Write an export with the rows of another one in a schema."""
    shutil.copy(source, target)
    with closing(sqlite3.connect(target)) as db, db:
        names = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table in sorted(names & (schema.more.keys() | schema.less.keys())):
            fields = [(row[1], row[2]) for row in db.execute(f'PRAGMA table_info("{table}")')]
            fields = [(column, kind) for column, kind in fields if column not in schema.less.get(table, ())]
            cells = {f'"{column}"': f'"{column}"' for column, _ in reversed(fields)}
            cells |= {f'"{column}"': value for column, value in schema.more.get(table, {}).items()}
            types = {f'"{column}"': kind for column, kind in fields}
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
