"""Databases of nvprof, with the tables and columns that CUDA 10.2 writes."""

import sqlite3
import struct
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

TABLES = {
    "CONCURRENT_KERNEL": "registersPerThread start end completed deviceId contextId streamId gridX gridY gridZ blockX"
    " blockY blockZ staticSharedMemory dynamicSharedMemory correlationId gridId name",
    "MEMCPY": "copyKind srcKind dstKind flags bytes start end deviceId contextId streamId correlationId",
    "MEMSET": "value bytes start end deviceId contextId streamId correlationId flags memoryKind",
    "RUNTIME": "cbid start end processId threadId correlationId returnValue",
    "DRIVER": "cbid start end processId threadId correlationId returnValue",
    "MARKER": "flags timestamp id objectKind objectId name domain",
    "SYNCHRONIZATION": "type start end correlationId contextId streamId cudaEventId",
    "OVERHEAD": "overheadKind objectKind objectId start end",
    "NAME": "objectKind objectId name",
    "CONTEXT": "contextId deviceId computeApiKind nullStreamId",
    "DEVICE": "globalMemoryBandwidth globalMemorySize numThreadsPerWarp coreClockRate numMultiprocessors"
    " maxWarpsPerMultiprocessor computeCapabilityMajor computeCapabilityMinor id name",
    "METRIC": "id value correlationId flags",
}
PID, TID = 4242, 0xA1EB1000
PLACE = struct.pack("<III", PID, TID, 0)
ROWS: Mapping[str, Iterable[tuple[object, ...]]] = {
    "CONCURRENT_KERNEL": [(32, 1700, 1900, 1900, 0, 1, 7, 4, 2, 1, 256, 1, 1, 1024, 64, 113, 1, 3)],
    "MEMCPY": [(1, 1, 3, 0, 4096, 1200, 1300, 0, 1, 7, 111)],
    "MEMSET": [(0, 512, 1400, 1410, 0, 1, 7, 112, 0, 3)],
    "RUNTIME": [
        (31, 1100, 1350, PID, TID - (1 << 32), 111, 0), (51, 1390, 1395, PID, TID - (1 << 32), 112, 0),
        (211, 1500, 1600, PID, TID - (1 << 32), 113, 0), (165, 1650, 1950, PID, TID - (1 << 32), 114, 0),
    ],
    "DRIVER": [(4, 1000, 1010, PID, TID - (1 << 32), 1, 0)],
    "MARKER": [
        (2, 1450, 5, 2, PLACE, 4, 0), (2, 1460, 6, 2, PLACE, 5, 6), (4, 1620, 6, 2, PLACE, 0, 6),
        (4, 2000, 5, 2, PLACE, 0, 0), (1, 1980, 7, 2, PLACE, 7, 0), (2, 1990, 8, 2, PLACE, 7, 0),
    ],
    "SYNCHRONIZATION": [(4, 1650, 1940, 114, 1, -1, -1)],
    "OVERHEAD": [(1 << 17, 1, PLACE, 1020, 1060)],
    "NAME": [(1, PLACE, 1)],
    "CONTEXT": [(1, 0, 1, 7)],
    "DEVICE": [(28_800_000, 4_239_785_984, 32, 1_032_500, 3, 64, 5, 0, 0, 2)],
    "METRIC": [(9, b"\0" * 8, 113, 0)],
}  # fmt: skip
"""A copy, a memset and a launch in the range "step", whose inner range is of the domain "net"; a mark; one range that
never ends."""
_STRINGS = ("train --token=abc123", "GeForce 940MX", "_Z3addPfS_", "step", "forward", "net", "saved")


def write_nvprof(path: Path, rows: Mapping[str, Iterable[tuple[object, ...]]] = ROWS) -> Path:
    """Write a database with these records by kind."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT NOT NULL UNIQUE)")
        db.executemany("INSERT INTO StringTable (value) VALUES (?)", [(text,) for text in _STRINGS])
        db.execute("CREATE TABLE Version (version INTEGER)")
        db.execute("INSERT INTO Version VALUES (12)")
        for kind, columns in TABLES.items():
            names = columns.split()
            listed = ", ".join(f'"{name}" INT NOT NULL' for name in names)
            table = f"CUPTI_ACTIVITY_KIND_{kind}"
            db.execute(f"CREATE TABLE {table} (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, {listed})")
            quoted = ", ".join(f'"{name}"' for name in names)
            db.executemany(
                f"INSERT INTO {table} ({quoted}) VALUES ({', '.join('?' * len(names))})", list(rows.get(kind, ()))
            )
        db.commit()
    return path
