-- An operation belongs to the call with its correlation id in its process (view launch: launches.py). Memory operations
-- and graphs are few compared with calls: filter the calls before joining them.
INSERT INTO kernel BY NAME
SELECT staged_kernel.*, call_id, thread_range, process_range
FROM staged_kernel LEFT JOIN launch USING (correlation_id, global_pid);

INSERT INTO memop BY NAME
SELECT staged_memop.*, call_id, thread_range, process_range
FROM staged_memop LEFT JOIN (
    FROM launch WHERE correlation_id IN (SELECT correlation_id FROM staged_memop)
) USING (correlation_id, global_pid);

INSERT INTO graph_launch BY NAME
SELECT staged_graph_launch.*, call_id, thread_range, process_range
FROM staged_graph_launch LEFT JOIN (
    FROM launch WHERE correlation_id IN (SELECT correlation_id FROM staged_graph_launch)
) USING (correlation_id, global_pid);

INSERT INTO nccl_call BY NAME
SELECT row_number() OVER () AS call_id, start_ns, end_ns, global_tid, text AS name, payload_json
FROM range JOIN range_name USING (name_id)
WHERE domain = 'NCCL';

-- A thread has a name, or something refers to it.
INSERT INTO thread BY NAME
SELECT global_tid, global_tid - (global_tid & 16777215) AS global_pid, (global_tid // 16777216) & 16777215 AS pid,
    global_tid & 16777215 AS tid, any_value(name) AS name, any_value(priority) AS priority
FROM (
    SELECT global_tid, name, priority FROM staged_thread
    UNION ALL SELECT DISTINCT global_tid, NULL, NULL FROM api_call
    UNION ALL SELECT DISTINCT global_tid, NULL, NULL FROM range
    UNION ALL SELECT DISTINCT global_tid, NULL, NULL FROM osrt_call
    UNION ALL SELECT DISTINCT global_tid, NULL, NULL FROM mpi_call
    UNION ALL SELECT DISTINCT global_tid, NULL, NULL FROM openacc_event
    UNION ALL SELECT DISTINCT global_tid, NULL, NULL FROM openmp_event
)
WHERE global_tid IS NOT NULL
GROUP BY global_tid;
