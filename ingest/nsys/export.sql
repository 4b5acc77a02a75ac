-- Tables, columns and types that load.sql reads from nsys exports of any version. Anything missing from an export
-- becomes an empty table or a NULL column; additional data goes to the schema "raw".
CREATE TABLE StringIds (id BIGINT, value VARCHAR);
CREATE TABLE PROCESSES ("globalPid" BIGINT, pid BIGINT, name VARCHAR);
CREATE TABLE ThreadNames ("nameId" BIGINT, priority BIGINT, "globalTid" BIGINT);
CREATE TABLE ANALYSIS_DETAILS (duration BIGINT, "startTime" BIGINT, "stopTime" BIGINT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME ("utcEpochNs" BIGINT);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (name VARCHAR, value VARCHAR);
CREATE TABLE META_DATA_CAPTURE (name VARCHAR, value VARCHAR);
CREATE TABLE META_DATA_EXPORT (name VARCHAR, value VARCHAR);
CREATE TABLE TARGET_INFO_GPU (
    id INTEGER, name VARCHAR, "chipName" VARCHAR, uuid VARCHAR, "busLocation" VARCHAR, "computeMajor" INTEGER,
    "computeMinor" INTEGER, "smCount" INTEGER, "clockRate" BIGINT, "totalMemory" BIGINT, "memoryBandwidth" BIGINT,
    "l2CacheSize" BIGINT, "maxWarpsPerSm" INTEGER, "maxBlocksPerSm" INTEGER, "maxThreadsPerBlock" INTEGER,
    "maxRegistersPerSm" INTEGER, "maxRegistersPerBlock" INTEGER, "maxShmemPerSm" BIGINT, "maxShmemPerBlock" BIGINT,
    "maxShmemPerBlockOptin" BIGINT, "threadsPerWarp" INTEGER, "asyncEngines" INTEGER
);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
    start BIGINT, "end" BIGINT, "deviceId" INTEGER, "contextId" BIGINT, "greenContextId" BIGINT, "streamId" BIGINT,
    "correlationId" BIGINT, "globalPid" BIGINT, "demangledName" BIGINT, "shortName" BIGINT, "mangledName" BIGINT,
    "launchType" INTEGER, "cacheConfig" INTEGER, "registersPerThread" INTEGER, "gridX" INTEGER, "gridY" INTEGER,
    "gridZ" INTEGER, "blockX" INTEGER, "blockY" INTEGER, "blockZ" INTEGER, "clusterX" INTEGER, "clusterY" INTEGER,
    "clusterZ" INTEGER, "staticSharedMemory" INTEGER, "dynamicSharedMemory" INTEGER, "sharedMemoryExecuted" BIGINT,
    "localMemoryPerThread" BIGINT, "localMemoryTotal" BIGINT, "gridId" BIGINT, "graphNodeId" BIGINT,
    "graphId" BIGINT, "sharedMemoryLimitConfig" INTEGER
);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (
    start BIGINT, "end" BIGINT, "deviceId" INTEGER, "contextId" BIGINT, "greenContextId" BIGINT, "streamId" BIGINT,
    "correlationId" BIGINT, "globalPid" BIGINT, bytes BIGINT, "copyKind" INTEGER, "srcKind" INTEGER,
    "dstKind" INTEGER, "srcDeviceId" INTEGER, "srcContextId" BIGINT, "dstDeviceId" INTEGER, "dstContextId" BIGINT,
    "copyCount" BIGINT, "migrationCause" INTEGER, "graphNodeId" BIGINT, "virtualAddress" BIGINT
);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (
    start BIGINT, "end" BIGINT, "deviceId" INTEGER, "contextId" BIGINT, "greenContextId" BIGINT, "streamId" BIGINT,
    "correlationId" BIGINT, "globalPid" BIGINT, value BIGINT, bytes BIGINT, "memKind" INTEGER, "graphNodeId" BIGINT
);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
    start BIGINT, "end" BIGINT, "globalTid" BIGINT, "correlationId" BIGINT, "nameId" BIGINT, "eventClass" INTEGER,
    "returnValue" INTEGER, "callchainId" BIGINT
);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (
    start BIGINT, "end" BIGINT, "deviceId" INTEGER, "contextId" BIGINT, "greenContextId" BIGINT, "streamId" BIGINT,
    "correlationId" BIGINT, "globalPid" BIGINT, "syncType" INTEGER, "eventId" BIGINT, "eventSyncId" BIGINT
);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (
    start BIGINT, "end" BIGINT, "deviceId" INTEGER, "contextId" BIGINT, "greenContextId" BIGINT, "streamId" BIGINT,
    "correlationId" BIGINT, "globalPid" BIGINT, "graphId" BIGINT, "graphExecId" BIGINT
);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (
    start BIGINT, "globalPid" BIGINT, "deviceId" INTEGER, "contextId" BIGINT, "streamId" BIGINT, address UBIGINT,
    bytes BIGINT, "memKind" INTEGER, "memoryOperationType" INTEGER, name VARCHAR, "correlationId" BIGINT,
    "localMemoryPoolAddress" UBIGINT, "localMemoryPoolSize" BIGINT, "localMemoryPoolUtilizedSize" BIGINT
);
CREATE TABLE NVTX_EVENTS (
    start BIGINT, "end" BIGINT, "eventType" INTEGER, "rangeId" BIGINT, category BIGINT, color BIGINT, text VARCHAR,
    "globalTid" BIGINT, "endGlobalTid" BIGINT, "textId" BIGINT, "domainId" BIGINT, "uint64Value" UBIGINT,
    "int64Value" BIGINT, "doubleValue" DOUBLE, "uint32Value" BIGINT, "int32Value" BIGINT, "floatValue" DOUBLE,
    "jsonTextId" BIGINT, "jsonText" VARCHAR
);
CREATE TABLE OSRT_API (
    start BIGINT, "end" BIGINT, "globalTid" BIGINT, "nameId" BIGINT, "eventClass" INTEGER, "returnValue" INTEGER,
    "nestingLevel" INTEGER, "callchainId" BIGINT, "argumentsId" BIGINT
);
CREATE TABLE MPI_P2P_EVENTS (
    start BIGINT, "end" BIGINT, "globalTid" BIGINT, "textId" BIGINT, "commHandle" BIGINT, tag INTEGER,
    "remoteRank" INTEGER, size BIGINT
);
CREATE TABLE MPI_COLLECTIVES_EVENTS (
    start BIGINT, "end" BIGINT, "globalTid" BIGINT, "textId" BIGINT, "commHandle" BIGINT, "rootRank" INTEGER,
    size BIGINT, "recvSize" BIGINT
);
CREATE TABLE MPI_START_WAIT_EVENTS (start BIGINT, "end" BIGINT, "globalTid" BIGINT, "textId" BIGINT);
CREATE TABLE MPI_OTHER_EVENTS (start BIGINT, "end" BIGINT, "globalTid" BIGINT, "textId" BIGINT);
CREATE TABLE MPI_RANKS ("globalTid" BIGINT, rank INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_OPENACC_DATA (
    start BIGINT, "end" BIGINT, "globalTid" BIGINT, "nameId" BIGINT, "eventKind" INTEGER, "DeviceType" INTEGER,
    "lineNo" INTEGER, "cuDeviceId" INTEGER, "cuContextId" BIGINT, "cuStreamId" BIGINT, "srcFile" BIGINT,
    "funcName" BIGINT, bytes BIGINT, "varName" BIGINT
);
CREATE TABLE CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH (
    start BIGINT, "end" BIGINT, "globalTid" BIGINT, "nameId" BIGINT, "eventKind" INTEGER, "DeviceType" INTEGER,
    "lineNo" INTEGER, "cuDeviceId" INTEGER, "cuContextId" BIGINT, "cuStreamId" BIGINT, "srcFile" BIGINT,
    "funcName" BIGINT, "numGangs" BIGINT, "numWorkers" BIGINT, "vectorLength" BIGINT, "kernelName" BIGINT
);
CREATE TABLE CUPTI_ACTIVITY_KIND_OPENACC_OTHER (
    start BIGINT, "end" BIGINT, "globalTid" BIGINT, "nameId" BIGINT, "eventKind" INTEGER, "DeviceType" INTEGER,
    "lineNo" INTEGER, "cuDeviceId" INTEGER, "cuContextId" BIGINT, "cuStreamId" BIGINT, "srcFile" BIGINT,
    "funcName" BIGINT
);
CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (
    start BIGINT, "globalPid" BIGINT, address UBIGINT, "originalFaultPc" UBIGINT, "CpuInstruction" BIGINT,
    module BIGINT, "unresolvedFaultPc" BOOLEAN
);
CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (
    start BIGINT, "end" BIGINT, "globalPid" BIGINT, "deviceId" INTEGER, address UBIGINT, "numberOfPageFaults" BIGINT,
    "faultAccessType" INTEGER
);
CREATE TABLE GPU_METRICS (timestamp BIGINT, "typeId" UBIGINT, "metricId" INTEGER, value DOUBLE);
CREATE TABLE TARGET_INFO_GPU_METRICS ("typeId" UBIGINT, "metricId" INTEGER, "metricName" VARCHAR);
CREATE TABLE SCHED_EVENTS (
    start BIGINT, cpu INTEGER, "isSchedIn" BOOLEAN, "globalTid" BIGINT, "threadState" INTEGER, "threadBlock" INTEGER
);
CREATE TABLE COMPOSITE_EVENTS (
    id BIGINT, start BIGINT, cpu INTEGER, "threadState" INTEGER, "globalTid" BIGINT, "cpuCycles" BIGINT
);
CREATE TABLE SAMPLING_CALLCHAINS (
    id BIGINT, symbol BIGINT, module BIGINT, "kernelMode" BOOLEAN, unresolved BOOLEAN, "originalIP" UBIGINT,
    "stackDepth" INTEGER
);
CREATE TABLE OSRT_CALLCHAINS (
    id BIGINT, symbol BIGINT, module BIGINT, "kernelMode" BOOLEAN, unresolved BOOLEAN, "originalIP" UBIGINT,
    "stackDepth" INTEGER
);
CREATE TABLE CUDA_CALLCHAINS (
    id BIGINT, symbol BIGINT, module BIGINT, "kernelMode" BOOLEAN, unresolved BOOLEAN, "originalIP" UBIGINT,
    "stackDepth" INTEGER
);
CREATE TABLE PROFILER_OVERHEAD (
    start BIGINT, "end" BIGINT, "globalTid" BIGINT, "nameId" BIGINT, "overheadType" INTEGER, "returnValue" INTEGER
);
CREATE TABLE DIAGNOSTIC_EVENT (
    timestamp BIGINT, source INTEGER, severity INTEGER, text VARCHAR, "globalPid" BIGINT
);
