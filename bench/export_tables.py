"""The tables of an `nsys export` (schema 3.7, nsys 2023.4) that the generator fills.

A column is `name:type`, with `!` where it is NOT NULL and `*` where it is the primary key. Types are parquet's, as nsys
writes them; in SQLite all integers and booleans are INTEGER, floats REAL, strings TEXT.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

_ARROW = {
    "i64": pa.int64(), "i32": pa.int32(), "u64": pa.uint64(), "bool": pa.bool_(), "str": pa.string(),
    "f64": pa.float64(), "f32": pa.float32(),
}  # fmt: skip
_SQLITE = {"str": "TEXT", "f64": "REAL", "f32": "REAL"}

# Tables that nsys 2023.4 omits from a parquetdir.
SQLITE_ONLY = frozenset({"META_DATA_CAPTURE"})

_ENUM = "id:i64!* name:str label:str"
_META = "name:str! value:str"
_OPERATION = (
    "start:i64! end:i64! deviceId:i64! contextId:u64! greenContextId:u64 streamId:u64! correlationId:i64 globalPid:u64"
)
_LAYOUT = {
    "StringIds": "id:i32!* value:str!",
    "CUPTI_ACTIVITY_KIND_KERNEL": _OPERATION + " demangledName:u64! shortName:u64! mangledName:u64 launchType:i64 "
    "cacheConfig:i64 registersPerThread:i64! gridX:i32! gridY:i32! gridZ:i32! blockX:i32! blockY:i32! blockZ:i32! "
    "staticSharedMemory:i32! dynamicSharedMemory:i32! localMemoryPerThread:i32! localMemoryTotal:i32! gridId:i64! "
    "sharedMemoryExecuted:i64 graphNodeId:u64 sharedMemoryLimitConfig:i64",
    "CUPTI_ACTIVITY_KIND_MEMCPY": _OPERATION + " bytes:u64! copyKind:u64! deprecatedSrcId:i64 srcKind:i64 dstKind:i64 "
    "srcDeviceId:i64 srcContextId:i64 dstDeviceId:i64 dstContextId:i64 migrationCause:i64 graphNodeId:u64 "
    "virtualAddress:u64",
    "CUPTI_ACTIVITY_KIND_MEMSET": _OPERATION + " value:i64! bytes:u64! graphNodeId:u64 memKind:i64",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": _OPERATION + " syncType:i64! eventId:i64!",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start:i64! end:i64! eventClass:i64! globalTid:u64 correlationId:i64 nameId:u64! "
    "returnValue:i64! callchainId:i64",
    "NVTX_EVENTS": "start:i64! end:i64 eventType:i64! rangeId:u64 category:u64 color:i64 text:str globalTid:u64 "
    "endGlobalTid:u64 textId:i64 domainId:u64 uint64Value:u64 int64Value:i64 doubleValue:f64 uint32Value:i64 "
    "int32Value:i32 floatValue:f32 jsonTextId:i64 jsonText:str",
    "OSRT_API": "start:i64! end:i64! eventClass:i64! globalTid:u64 nameId:u64! returnValue:i64! nestingLevel:i64 "
    "callchainId:i64!",
    "PROCESSES": "globalPid:u64 pid:u64 name:str",
    "ThreadNames": "nameId:u64! priority:u64 globalTid:u64",
    "ANALYSIS_DETAILS": "globalVid:u64! duration:u64! startTime:u64! stopTime:u64!",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs:u64 utcTime:str localTime:str",
    "TARGET_INFO_SYSTEM_ENV": "globalVid:u64 devStateName:str! name:str! nameEnum:i32! value:str!",
    "TARGET_INFO_CUDA_CONTEXT_INFO": "nullStreamId:i64! hwId:i64! vmId:i64! processId:i64! deviceId:i64! "
    "contextId:i64! parentContextId:i64 isGreenContext:bool",
    "TARGET_INFO_CUDA_STREAM": "streamId:i64! hwId:i64! vmId:i64! processId:i64! contextId:i64! "
    "priority:i64! flag:i64!",
    "TARGET_INFO_GPU": "vmId:i64! id:i64! name:str busLocation:str isDiscrete:bool l2CacheSize:i64 totalMemory:u64 "
    "memoryBandwidth:u64 clockRate:i64 smCount:i64 pwGpuId:i64 uuid:str luid:u64 chipName:str cuDevice:i32 "
    "ctxswDevPath:str ctrlDevPath:str revision:i64 nodeMask:i64 constantMemory:i64 maxIPC:i64 maxRegistersPerBlock:i64 "
    "maxShmemPerBlock:i64 maxShmemPerBlockOptin:i64 maxShmemPerSm:i64 maxRegistersPerSm:i64 threadsPerWarp:i64 "
    "asyncEngines:i64 maxWarpsPerSm:i64 maxBlocksPerSm:i64 maxThreadsPerBlock:i64 maxBlockDimX:i64 maxBlockDimY:i64 "
    "maxBlockDimZ:i64 maxGridDimX:i64 maxGridDimY:i64 maxGridDimZ:i64 computeMajor:i64 computeMinor:i64 smMajor:i64 "
    "smMinor:i64",
    "META_DATA_CAPTURE": _META,
    "META_DATA_EXPORT": _META,
    "ENUM_NSYS_EVENT_TYPE": _ENUM,
    "ENUM_NSYS_EVENT_CLASS": _ENUM,
    "ENUM_CUDA_MEMCPY_OPER": _ENUM,
    "ENUM_CUDA_MEM_KIND": _ENUM,
    "ENUM_CUDA_KERNEL_LAUNCH_TYPE": _ENUM,
    "ENUM_CUDA_FUNC_CACHE_CONFIG": _ENUM,
    "ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG": _ENUM,
    "ENUM_CUPTI_STREAM_TYPE": _ENUM,
    "ENUM_CUPTI_SYNC_TYPE": _ENUM,
}


@dataclass(frozen=True)
class Column:
    """One column: its name, its type in this module's short form, and its constraints."""

    name: str
    kind: str
    required: bool
    key: bool

    @property
    def arrow(self) -> pa.Field:
        """Return the column as in parquetdir."""
        return pa.field(self.name, _ARROW[self.kind], nullable=not self.required)

    @property
    def sqlite(self) -> str:
        """Return the column as in CREATE TABLE."""
        parts = [f'"{self.name}"', _SQLITE.get(self.kind, "INTEGER")]
        parts += ["NOT NULL"] * self.required + ["PRIMARY KEY"] * self.key
        return " ".join(parts)


def _parse_columns(layout: str) -> tuple[Column, ...]:
    columns = []
    for item in layout.split():
        name, kind = item.split(":")
        columns.append(Column(name, kind.rstrip("!*"), "!" in kind, "*" in kind))
    return tuple(columns)


TABLES: dict[str, tuple[Column, ...]] = {table: _parse_columns(layout) for table, layout in _LAYOUT.items()}


def make_arrow_schema(table: str) -> pa.Schema:
    """Return the schema of `table` in a parquetdir."""
    return pa.schema([column.arrow for column in TABLES[table]])


def make_create_statement(table: str) -> str:
    """Return the CREATE TABLE of `table` in a SQLite export."""
    columns = ", ".join(column.sqlite for column in TABLES[table])
    return f"CREATE TABLE {table} ({columns})"
