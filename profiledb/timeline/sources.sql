-- What each kind of lane shows, a row an event, with the times of the report's own tables.
--
-- device, pid, stream and tid say which lane of the kind an event is in; `depth` is the row that it would stand in if
-- no two events of a lane overlapped there. `name` is a number for its text: 4 * id + table, where table says where the
-- text of the id stands: 0 kernel_name, 1 string, 2 range_name, 3 own_name of the timeline's file; 3 itself is "no
-- name". `ref` is a number of the event within its lane: with `4 * id + table` for those of streams (0 kernel, 1 memop,
-- 2 graph_launch), the id of the event's table for the others.
-- includes: idle, openmp

CREATE OR REPLACE VIEW raw_stream AS
SELECT device_id AS device, global_pid AS pid, stream_id AS stream, NULL::BIGINT AS tid, 0 AS depth, start_ns, end_ns,
    coalesce(4 * name_id::BIGINT, 3) AS name, 4 * kernel_id AS ref
FROM kernel
UNION ALL
SELECT device_id, global_pid, stream_id, NULL, 0, start_ns, end_ns, coalesce(4 * own.id + 3, 3), 4 * memop_id + 1
FROM memop LEFT JOIN own_name AS own ON own.kind = 'memop' AND own.text = memop.operation
UNION ALL
SELECT device_id, global_pid, stream_id, NULL, 0, start_ns, end_ns, coalesce(4 * own.id + 3, 3), 4 * launch_id + 2
FROM graph_launch LEFT JOIN own_name AS own ON own.kind = 'graph';

CREATE OR REPLACE VIEW raw_api AS
SELECT NULL::INTEGER AS device, NULL::BIGINT AS pid, NULL::BIGINT AS stream, global_tid AS tid, 0 AS depth, start_ns,
    end_ns, coalesce(4 * name_id + 1, 3) AS name, call_id AS ref
FROM api_call;

CREATE OR REPLACE VIEW raw_osrt AS
SELECT NULL::INTEGER AS device, NULL::BIGINT AS pid, NULL::BIGINT AS stream, global_tid AS tid, 0 AS depth, start_ns,
    end_ns, coalesce(4 * name_id + 1, 3) AS name, call_id AS ref
FROM osrt_call;

CREATE OR REPLACE VIEW raw_range AS
SELECT NULL::INTEGER AS device, NULL::BIGINT AS pid, NULL::BIGINT AS stream, global_tid AS tid, level AS depth,
    start_ns, end_ns, coalesce(4 * name_id::BIGINT + 2, 3) AS name, range_id AS ref
FROM range;

CREATE OR REPLACE VIEW raw_mpi AS
SELECT NULL::INTEGER AS device, NULL::BIGINT AS pid, NULL::BIGINT AS stream, global_tid AS tid, 0 AS depth, start_ns,
    coalesce(end_ns, start_ns) AS end_ns, coalesce(4 * name_id + 1, 3) AS name, call_id AS ref
FROM mpi_call;

CREATE OR REPLACE VIEW raw_openacc AS
SELECT NULL::INTEGER AS device, NULL::BIGINT AS pid, NULL::BIGINT AS stream, global_tid AS tid, 0 AS depth, start_ns,
    end_ns, coalesce(4 * name_id + 1, 3) AS name, event_id AS ref
FROM openacc_event;

-- On the thread of a parallel region nothing lasts longer than it: what nsys never saw end, it draws to the session's.
CREATE OR REPLACE VIEW raw_openmp AS
SELECT NULL::INTEGER AS device, NULL::BIGINT AS pid, NULL::BIGINT AS stream, one.global_tid AS tid, 0 AS depth,
    one.start_ns, greatest(one.start_ns, coalesce(least(one.end_ns, region.end_ns), one.end_ns)) AS end_ns,
    coalesce(4 * one.name_id + 1, 3) AS name, event_id AS ref
FROM openmp_event AS one LEFT JOIN openmp_region AS region
    ON region.global_tid = one.global_tid AND region.parallel_id = one.parallel_id;

CREATE OR REPLACE VIEW raw_nccl_call AS
SELECT NULL::INTEGER AS device, NULL::BIGINT AS pid, NULL::BIGINT AS stream, global_tid AS tid, 0 AS depth, start_ns,
    end_ns, coalesce(4 * own.id + 3, 3) AS name, call_id AS ref
FROM nccl_call LEFT JOIN own_name AS own ON own.kind = 'nccl_call' AND own.text = nccl_call.name;

CREATE OR REPLACE VIEW raw_overhead AS
SELECT NULL::INTEGER AS device, NULL::BIGINT AS pid, NULL::BIGINT AS stream, NULL::BIGINT AS tid, 0 AS depth, start_ns,
    end_ns, coalesce(4 * name_id + 1, 3) AS name, row_number() OVER (ORDER BY start_ns, end_ns, name_id) AS ref
FROM profiler_overhead;

-- A synchronization knows its process; its thread is that of the call that waits.
CREATE OR REPLACE VIEW raw_sync AS
SELECT NULL::INTEGER AS device, NULL::BIGINT AS pid, NULL::BIGINT AS stream,
    coalesce(any_value(api_call.global_tid), sync.global_pid) AS tid, 0 AS depth, sync.start_ns, sync.end_ns,
    coalesce(4 * any_value(own.id) + 3, 3) AS name, sync_id AS ref
FROM sync LEFT JOIN api_call ON api_call.correlation_id = sync.correlation_id
    AND api_call.global_tid // 16777216 = sync.global_pid // 16777216
LEFT JOIN own_name AS own ON own.kind = 'sync' AND own.number = sync.sync_type
GROUP BY sync_id, sync.start_ns, sync.end_ns, sync.global_pid;

-- From the moment at which a thread was put on a core to the next one that tells of it. The last one has no end.
CREATE OR REPLACE VIEW raw_sched AS
WITH switched AS (
    SELECT global_tid, cpu, scheduled_in, time_ns AS start_ns,
        lead(time_ns, 1, time_ns) OVER (PARTITION BY global_tid ORDER BY time_ns, scheduled_in) AS end_ns,
        row_number() OVER (ORDER BY global_tid, time_ns, scheduled_in, cpu) AS ref
    FROM sched_event
)
SELECT NULL::INTEGER AS device, NULL::BIGINT AS pid, NULL::BIGINT AS stream, global_tid AS tid, 0 AS depth, start_ns,
    end_ns, coalesce(4 * own.id + 3, 3) AS name, ref
FROM switched LEFT JOIN own_name AS own ON own.kind = 'sched' AND own.number = cpu WHERE scheduled_in;

-- Moments: the innermost function of each sample.
CREATE OR REPLACE VIEW raw_sample AS
SELECT NULL::INTEGER AS device, NULL::BIGINT AS pid, NULL::BIGINT AS stream, global_tid AS tid, 0 AS depth,
    time_ns AS start_ns, time_ns AS end_ns, coalesce(4 * symbol_id + 1, 3) AS name, sample_id AS ref
FROM cpu_sample LEFT JOIN callchain ON callchain.kind = 'sample' AND callchain_id = sample_id AND depth = 0;

CREATE OR REPLACE VIEW raw_nccl AS
SELECT device_id AS device, NULL::BIGINT AS pid, NULL::BIGINT AS stream, NULL::BIGINT AS tid, 0 AS depth, start_ns,
    end_ns, 4 * name_id::BIGINT AS name, 4 * kernel_id AS ref
FROM kernel SEMI JOIN (
    SELECT name_id FROM kernel_name WHERE starts_with(short, 'nccl') OR class = 'communication'
) USING (name_id);

-- What a range ran on the GPU, from the first operation to the last; the lane is that of its thread, below the one GPU
-- that the process used, else below the process.
CREATE OR REPLACE VIEW raw_projection AS
WITH used AS (
    SELECT DISTINCT global_pid, device_id FROM kernel UNION SELECT DISTINCT global_pid, device_id FROM memop
    UNION SELECT DISTINCT global_pid, device_id FROM graph_launch
), only_one AS (
    SELECT global_pid, any_value(device_id) AS device FROM used GROUP BY global_pid HAVING count(*) = 1
)
SELECT device, NULL::BIGINT AS pid, NULL::BIGINT AS stream, global_tid AS tid, level AS depth, projection.start_ns,
    projection.end_ns, coalesce(4 * name_id::BIGINT + 2, 3) AS name, range_id AS ref
FROM projection JOIN range USING (range_id)
LEFT JOIN only_one ON only_one.global_pid // 16777216 = global_tid // 16777216
WHERE mode = 'process';

-- Pieces of the gaps of each GPU of at least two microseconds, by what the host did: as on all other pages.
CREATE OR REPLACE VIEW raw_idle AS
SELECT device, NULL::BIGINT AS pid, NULL::BIGINT AS stream, NULL::BIGINT AS tid, 0 AS depth, start_ns, end_ns,
    coalesce(4 * own.id + 3, 3) AS name, ref
FROM idle_piece LEFT JOIN own_name AS own ON own.kind = 'idle' AND own.text = idle_piece.text
    AND own.class = idle_piece.class;

-- The critical path of the replayed steps; `ref` is 5 * id + table for kernels, memops, graph launches and calls. Each
-- join has one condition: with one on the piece alone, DuckDB tries all pairs.
CREATE OR REPLACE VIEW raw_path AS
SELECT NULL::INTEGER AS device, NULL::BIGINT AS pid, NULL::BIGINT AS stream, NULL::BIGINT AS tid, 0 AS depth,
    piece.start_ns, piece.end_ns,
    coalesce(4 * kernel.name_id::BIGINT, 4 * call.name_id + 1, 4 * own.id + 3, 3) AS name,
    CASE piece.source WHEN 'kernel' THEN 5 * piece.id WHEN 'memop' THEN 5 * piece.id + 1
        WHEN 'graph_launch' THEN 5 * piece.id + 2 WHEN 'api' THEN 5 * piece.id + 3
        ELSE 5 * row_number() OVER (ORDER BY piece.start_ns) + 4 END AS ref
FROM path_piece AS piece
LEFT JOIN kernel ON kernel_id = CASE WHEN piece.source = 'kernel' THEN piece.id END
LEFT JOIN memop ON memop_id = CASE WHEN piece.source = 'memop' THEN piece.id END
LEFT JOIN api_call AS call ON call.call_id = CASE WHEN piece.source = 'api' THEN piece.id END
LEFT JOIN own_name AS own ON own.kind = CASE piece.source WHEN 'memop' THEN 'memop' WHEN 'graph_launch' THEN 'graph'
    WHEN '' THEN 'path' END
    AND own.text = CASE piece.source WHEN 'memop' THEN memop.operation WHEN 'graph_launch' THEN 'CUDA graph'
        ELSE piece.text END;
