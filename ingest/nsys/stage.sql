-- Rows of an nsys export for derived tables, in the form of ingest/derive/staging.py: views, so that rows are read in
-- place and written once. The catalog "src" is the export; row_id is the position of a row in it, from 1.

DROP TABLE temp.staged_api_call;
CREATE TEMP VIEW staged_api_call AS
SELECT row_id AS call_id, start AS start_ns, "end" AS end_ns, "globalTid" AS global_tid,
    "correlationId" AS correlation_id, "nameId" AS name_id, "eventClass" AS event_class,
    "returnValue" AS return_value, "callchainId" AS callchain_id
FROM src.CUPTI_ACTIVITY_KIND_RUNTIME;

-- Names are few and kernels many: a kernel stores one number for its three names.
CREATE OR REPLACE TEMP TABLE name_key AS
SELECT row_number() OVER (ORDER BY demangled_id, short_id, mangled_id) AS name_id, *
FROM (
    SELECT DISTINCT coalesce("demangledName", -1) AS demangled_id, coalesce("shortName", -1) AS short_id,
        coalesce("mangledName", -1) AS mangled_id
    FROM src.CUPTI_ACTIVITY_KIND_KERNEL
);

DROP TABLE temp.staged_kernel;
CREATE TEMP VIEW staged_kernel AS
SELECT row_id AS kernel_id, start AS start_ns, "end" AS end_ns, "deviceId" AS device_id,
    "contextId" AS context_id, "greenContextId" AS green_context_id, "streamId" AS stream_id,
    "correlationId" AS correlation_id, "globalPid" AS global_pid, name_id,
    "gridX" AS grid_x, "gridY" AS grid_y, "gridZ" AS grid_z,
    "blockX" AS block_x, "blockY" AS block_y, "blockZ" AS block_z,
    "clusterX" AS cluster_x, "clusterY" AS cluster_y, "clusterZ" AS cluster_z,
    "registersPerThread" AS registers_per_thread, "staticSharedMemory" AS static_shared_bytes,
    "dynamicSharedMemory" AS dynamic_shared_bytes, "sharedMemoryExecuted" AS shared_executed_bytes,
    "localMemoryPerThread" AS local_per_thread_bytes, "localMemoryTotal" AS local_total_bytes,
    "launchType" AS launch_type, "cacheConfig" AS cache_config, "sharedMemoryLimitConfig" AS shared_limit_config,
    "gridId" AS grid_id, "graphNodeId" AS graph_node_id, "graphId" AS graph_id
FROM src.CUPTI_ACTIVITY_KIND_KERNEL
JOIN name_key ON demangled_id = coalesce("demangledName", -1) AND short_id = coalesce("shortName", -1)
    AND mangled_id = coalesce("mangledName", -1);

DROP TABLE temp.staged_memop;
CREATE TEMP VIEW staged_memop AS
SELECT row_id AS memop_id, 'memcpy' AS kind, '[CUDA memcpy ' || e.label || ']' AS operation,
    start AS start_ns, "end" AS end_ns, "deviceId" AS device_id, "contextId" AS context_id,
    "greenContextId" AS green_context_id, "streamId" AS stream_id, "correlationId" AS correlation_id,
    "globalPid" AS global_pid, bytes, "copyKind" AS copy_kind, "srcKind" AS src_kind, "dstKind" AS dst_kind,
    "srcDeviceId" AS src_device_id, "srcContextId" AS src_context_id, "dstDeviceId" AS dst_device_id,
    "dstContextId" AS dst_context_id, "copyCount" AS copy_count, "migrationCause" AS migration_cause,
    "virtualAddress" AS virtual_address, "graphNodeId" AS graph_node_id
FROM src.CUPTI_ACTIVITY_KIND_MEMCPY
LEFT JOIN enumeration AS e ON e.enum = 'CUDA_MEMCPY_OPER' AND e.id = "copyKind"
UNION ALL BY NAME
SELECT (SELECT coalesce(max(row_id), 0) FROM src.CUPTI_ACTIVITY_KIND_MEMCPY) + row_id AS memop_id, 'memset' AS kind,
    '[CUDA memset]' AS operation, start AS start_ns, "end" AS end_ns, "deviceId" AS device_id,
    "contextId" AS context_id, "greenContextId" AS green_context_id, "streamId" AS stream_id,
    "correlationId" AS correlation_id, "globalPid" AS global_pid, bytes, "memKind" AS dst_kind, value,
    "graphNodeId" AS graph_node_id
FROM src.CUPTI_ACTIVITY_KIND_MEMSET;

DROP TABLE temp.staged_graph_launch;
CREATE TEMP VIEW staged_graph_launch AS
SELECT row_id AS launch_id, start AS start_ns, "end" AS end_ns, "deviceId" AS device_id,
    "contextId" AS context_id, "greenContextId" AS green_context_id, "streamId" AS stream_id,
    "correlationId" AS correlation_id, "globalPid" AS global_pid, "graphId" AS graph_id,
    "graphExecId" AS graph_exec_id
FROM src.CUPTI_ACTIVITY_KIND_GRAPH_TRACE;

DROP TABLE temp.staged_osrt_call;
CREATE TEMP VIEW staged_osrt_call AS
SELECT row_id AS call_id, start AS start_ns, "end" AS end_ns, "globalTid" AS global_tid,
    "nameId" AS name_id, "eventClass" AS event_class, "returnValue" AS return_value, "nestingLevel" AS nesting_level,
    "callchainId" AS callchain_id, "argumentsId" AS arguments_id
FROM src.OSRT_API;

-- nsys lists calls with the same start in this order of kinds.
DROP TABLE temp.staged_mpi_call;
CREATE TEMP VIEW staged_mpi_call AS
SELECT row_number() OVER (ORDER BY part, row_id) AS call_id, * EXCLUDE (part, row_id) FROM (
    SELECT 1 AS part, row_id, 'p2p' AS kind, start AS start_ns, "end" AS end_ns, "globalTid" AS global_tid,
        "textId" AS name_id, "commHandle" AS communicator, "remoteRank" AS rank, tag, size AS bytes
    FROM src.MPI_P2P_EVENTS
    UNION ALL BY NAME
    SELECT 2 AS part, row_id, 'start_wait' AS kind, start AS start_ns, "end" AS end_ns, "globalTid" AS global_tid,
        "textId" AS name_id
    FROM src.MPI_START_WAIT_EVENTS
    UNION ALL BY NAME
    SELECT 3 AS part, row_id, 'other' AS kind, start AS start_ns, "end" AS end_ns, "globalTid" AS global_tid,
        "textId" AS name_id
    FROM src.MPI_OTHER_EVENTS
    UNION ALL BY NAME
    SELECT 4 AS part, row_id, 'collective' AS kind, start AS start_ns, "end" AS end_ns, "globalTid" AS global_tid,
        "textId" AS name_id, "commHandle" AS communicator, "rootRank" AS rank, size AS bytes,
        "recvSize" AS received_bytes
    FROM src.MPI_COLLECTIVES_EVENTS
);

INSERT INTO staged_thread BY NAME
SELECT "globalTid" AS global_tid, cut(value, 1000) AS name, priority
FROM src.ThreadNames LEFT JOIN src.StringIds ON id = "nameId";
