-- title: GPUs and streams
-- One row per GPU and CUDA stream with work in the whole report, and its totals.
-- page: summary
-- prefetch: whole
-- needs: kernel or memop or graph_launch
-- column: gpu_id | id | | number of the GPU
-- column: gpu | text | | product name, empty if the report does not state it
-- column: stream | id | | number of the CUDA stream
-- column: operations | count | | kernels, memcpy, memset and whole CUDA graphs
-- column: gpu_ns | ns | | sum of their durations
SELECT device_id AS gpu_id, any_value(gpu.name) AS gpu, stream_id AS stream, count(*) AS operations,
    sum(end_ns - start_ns)::BIGINT AS gpu_ns
FROM (
    SELECT device_id, stream_id, start_ns, end_ns FROM kernel
    UNION ALL SELECT device_id, stream_id, start_ns, end_ns FROM memop
    UNION ALL SELECT device_id, stream_id, start_ns, end_ns FROM graph_launch
) LEFT JOIN gpu ON gpu_id = device_id
GROUP BY device_id, stream_id
ORDER BY device_id, stream_id;
