-- Names that no table of the report has a number for, and the class that each is drawn in.
INSERT INTO t.own_name
SELECT row_number() OVER (ORDER BY kind, number, text, class), kind, number, text, class
FROM (
    SELECT DISTINCT 'memop' AS kind, NULL::BIGINT AS number, operation AS text, CASE
        WHEN memop.kind = 'memset' THEN 'memset' WHEN copy_kind IN (1, 3, 11) THEN 'copy-to-device'
        WHEN copy_kind IN (2, 4, 12) THEN 'copy-to-host' WHEN copy_kind IN (5, 6, 7, 8) THEN 'copy-on-device'
        WHEN copy_kind = 10 THEN 'copy-between' ELSE 'copy-other' END AS class
    FROM memop WHERE operation IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY operation ORDER BY class) = 1
    UNION ALL SELECT 'graph', NULL, 'CUDA graph', 'graph' WHERE EXISTS (FROM graph_launch)
    UNION ALL SELECT DISTINCT 'nccl_call', NULL, name, 'nccl' FROM nccl_call WHERE name IS NOT NULL
    UNION ALL
    SELECT 'sync', sync_type, coalesce(any_value(label), 'Synchronization ' || sync_type), 'sync'
    FROM (SELECT DISTINCT sync_type FROM sync WHERE sync_type IS NOT NULL)
    LEFT JOIN enum_value ON enum = 'CUPTI_SYNC_TYPE' AND id = sync_type GROUP BY sync_type
    UNION ALL
    SELECT DISTINCT 'sched', cpu, 'on CPU ' || cpu, 'sched' FROM sched_event WHERE scheduled_in AND cpu IS NOT NULL
    UNION ALL SELECT DISTINCT 'idle', NULL, text, class FROM idle_piece
    UNION ALL SELECT DISTINCT 'path', NULL, text, 'path-' || text FROM path_piece WHERE text <> ''
);

-- The class of every name that is on the timeline.
INSERT INTO t.name
SELECT 4 * name_id::BIGINT AS code, coalesce(class, 'other') AS class FROM kernel_name
UNION ALL SELECT 4 * id + 3, class FROM t.own_name
UNION ALL
SELECT 4 * name_id::BIGINT + 2, coalesce('nvtx-' || printf('%06x', mode(color) & 16777215), 'range')
FROM range GROUP BY name_id
UNION ALL
SELECT 4 * string_id + 1, arg_min(class, rank) FROM (
    SELECT name_id AS string_id, 'api-' || category AS class, 0 AS rank FROM api_function
    UNION ALL SELECT DISTINCT name_id, 'osrt', 1 FROM osrt_call
    UNION ALL SELECT DISTINCT name_id, 'mpi', 2 FROM mpi_call
    UNION ALL SELECT DISTINCT name_id, 'openacc', 3 FROM openacc_event
    UNION ALL
    SELECT DISTINCT name_id, CASE WHEN kind IN ('sync_region', 'sync_region_wait', 'mutex_wait') THEN 'openmp-wait'
        ELSE 'openmp' END, 3
    FROM openmp_event
    UNION ALL SELECT DISTINCT name_id, 'overhead', 4 FROM profiler_overhead
    UNION ALL SELECT DISTINCT symbol_id, 'sample', 5 FROM callchain WHERE kind = 'sample' AND depth = 0
) WHERE string_id IS NOT NULL GROUP BY string_id;
