-- Fill the underived tables of a report from an nsys export (catalog "src", described in export.sql; stage.sql fills
-- the others). row_id is the position of a row in the export, from 1. Rows with impossible times are removed afterward
-- (rejected_row).

INSERT INTO process BY NAME SELECT "globalPid" AS global_pid, pid, name FROM src.PROCESSES;

-- kept.py selects the settings and machine facts to import.
INSERT INTO capture_setting BY NAME
SELECT name, value FROM (FROM src.META_DATA_CAPTURE UNION ALL BY NAME FROM src.META_DATA_EXPORT);

INSERT INTO system_info BY NAME SELECT name, value FROM src.TARGET_INFO_SYSTEM_ENV;

INSERT INTO gpu BY NAME
SELECT id AS gpu_id, cut(name, 200) AS name, cut("chipName", 200) AS chip, cut(uuid, 200) AS uuid,
    cut("busLocation", 200) AS bus,
    "computeMajor" || '.' || "computeMinor" AS compute_capability, "smCount" AS sm_count, "clockRate" AS clock_hz,
    "totalMemory" AS memory_bytes, "memoryBandwidth" AS memory_bandwidth_bytes_per_s, "l2CacheSize" AS l2_bytes,
    "maxWarpsPerSm" AS max_warps_per_sm, "maxBlocksPerSm" AS max_blocks_per_sm,
    "maxThreadsPerBlock" AS max_threads_per_block, "maxRegistersPerSm" AS max_registers_per_sm,
    "maxRegistersPerBlock" AS max_registers_per_block, "maxShmemPerSm" AS max_shared_per_sm_bytes,
    "maxShmemPerBlock" AS max_shared_per_block_bytes, "maxShmemPerBlockOptin" AS max_shared_per_block_optin_bytes,
    "threadsPerWarp" AS threads_per_warp, "asyncEngines" AS async_engines
FROM src.TARGET_INFO_GPU;

-- If names are many, each is short.
INSERT INTO kernel_name BY NAME
SELECT name_id, cut(d.value, most) AS demangled, cut(s.value, most) AS short, cut(m.value, most) AS mangled
FROM name_key CROSS JOIN (SELECT greatest(256, 16_000_000 // count(*)) AS most FROM name_key)
LEFT JOIN string AS d ON d.string_id = demangled_id
LEFT JOIN string AS s ON s.string_id = short_id
LEFT JOIN string AS m ON m.string_id = mangled_id;

INSERT INTO sync BY NAME
SELECT row_id AS sync_id, start AS start_ns, "end" AS end_ns, "deviceId" AS device_id,
    "contextId" AS context_id, "greenContextId" AS green_context_id, "streamId" AS stream_id,
    "correlationId" AS correlation_id, "globalPid" AS global_pid, "syncType" AS sync_type, "eventId" AS event_id,
    "eventSyncId" AS event_sync_id
FROM src.CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;

INSERT INTO memory_event BY NAME
SELECT row_id AS event_id, start AS time_ns, "globalPid" AS global_pid, "deviceId" AS device_id,
    "contextId" AS context_id, "streamId" AS stream_id, address, bytes, "memKind" AS mem_kind,
    "memoryOperationType" AS operation, name, "correlationId" AS correlation_id,
    "localMemoryPoolAddress" AS pool_address, "localMemoryPoolSize" AS pool_bytes,
    "localMemoryPoolUtilizedSize" AS pool_used_bytes
FROM src.CUDA_GPU_MEMORY_USAGE_EVENTS;

INSERT INTO mpi_rank BY NAME SELECT "globalTid" AS global_tid, rank FROM src.MPI_RANKS;

INSERT INTO gpu_metric_name BY NAME
SELECT DISTINCT ("typeId" & 255)::INTEGER AS gpu_id, "metricId" AS metric_id, "metricName" AS name,
    TRY_CAST("typeId" AS BIGINT) AS type_id
FROM src.TARGET_INFO_GPU_METRICS
ORDER BY ALL;

-- Samples whose metric has no name keep its number as the name.
INSERT INTO gpu_metric_name BY NAME
SELECT ("typeId" & 255)::INTEGER AS gpu_id, "metricId" AS metric_id, 'metric ' || "metricId" AS name,
    TRY_CAST("typeId" AS BIGINT) AS type_id
FROM (SELECT DISTINCT "typeId", "metricId" FROM src.GPU_METRICS)
ANTI JOIN gpu_metric_name ON type_id = TRY_CAST("typeId" AS BIGINT) AND metric_id = "metricId"
ORDER BY ALL;

INSERT INTO sched_event BY NAME
SELECT start AS time_ns, cpu, "isSchedIn" AS scheduled_in, "globalTid" AS global_tid, "threadState" AS thread_state,
    "threadBlock" AS thread_block
FROM src.SCHED_EVENTS;

INSERT INTO cpu_sample BY NAME
SELECT id AS sample_id, start AS time_ns, cpu, "globalTid" AS global_tid, "threadState" AS thread_state,
    "cpuCycles" AS cpu_cycles
FROM src.COMPOSITE_EVENTS;

INSERT INTO callchain BY NAME
SELECT kind, id AS callchain_id, "stackDepth" AS depth, symbol AS symbol_id, module AS module_id,
    "kernelMode" AS kernel_mode, unresolved, "originalIP" AS address
FROM (
    SELECT 'sample' AS kind, * FROM src.SAMPLING_CALLCHAINS
    UNION ALL BY NAME SELECT 'osrt' AS kind, * FROM src.OSRT_CALLCHAINS
    UNION ALL BY NAME SELECT 'cuda' AS kind, * FROM src.CUDA_CALLCHAINS
);

INSERT INTO profiler_overhead BY NAME
SELECT start AS start_ns, "end" AS end_ns, "globalTid" AS global_tid, "nameId" AS name_id,
    "overheadType" AS overhead_type, "returnValue" AS return_value
FROM src.PROFILER_OVERHEAD;

INSERT INTO diagnostic BY NAME
SELECT timestamp AS time_ns, "globalPid" AS global_pid, text, coalesce(source.label, 'Nsight Systems') AS source,
    CASE severity.label WHEN 'Error' THEN 'error' WHEN 'Warning' THEN 'warning' ELSE 'info' END AS severity
FROM src.DIAGNOSTIC_EVENT AS d
LEFT JOIN enum_value AS severity ON severity.enum = 'DIAGNOSTIC_SEVERITY_LEVEL' AND severity.id = d.severity
LEFT JOIN enum_value AS source ON source.enum = 'DIAGNOSTIC_SOURCE_TYPE' AND source.id = d.source;

INSERT INTO openacc_event BY NAME
SELECT row_number() OVER (ORDER BY part, row_id) AS event_id, kind, start AS start_ns, "end" AS end_ns,
    "globalTid" AS global_tid, "nameId" AS name_id, "eventKind" AS event_kind, "DeviceType" AS device_type,
    "srcFile" AS source_id, "lineNo" AS line, "funcName" AS function_id, "cuDeviceId" AS device_id,
    "cuContextId" AS context_id, "cuStreamId" AS stream_id, bytes, "varName" AS variable_id, "numGangs" AS gangs,
    "numWorkers" AS workers, "vectorLength" AS vector_length, "kernelName" AS kernel_name_id
FROM (
    SELECT 1 AS part, 'data' AS kind, * FROM src.CUPTI_ACTIVITY_KIND_OPENACC_DATA
    UNION ALL BY NAME SELECT 2 AS part, 'launch' AS kind, * FROM src.CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH
    UNION ALL BY NAME SELECT 3 AS part, 'other' AS kind, * FROM src.CUPTI_ACTIVITY_KIND_OPENACC_OTHER
);

INSERT INTO um_cpu_page_fault BY NAME
SELECT row_id AS fault_id, start AS time_ns, "globalPid" AS global_pid, address, "originalFaultPc" AS pc,
    "CpuInstruction" AS function_id, module AS module_id, "unresolvedFaultPc" AS unresolved
FROM src.CUDA_UM_CPU_PAGE_FAULT_EVENTS;

INSERT INTO um_gpu_page_fault BY NAME
SELECT row_id AS fault_id, start AS start_ns, "end" AS end_ns, "globalPid" AS global_pid, "deviceId" AS device_id,
    address, "numberOfPageFaults" AS faults, "faultAccessType" AS access_type
FROM src.CUDA_UM_GPU_PAGE_FAULT_EVENTS;
