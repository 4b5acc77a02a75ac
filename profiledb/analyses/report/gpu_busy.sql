-- title: GPU busy time
-- Busy time of each GPU in the capture. Busy is the union of kernels, copies, memsets and whole graphs, so concurrent
-- work counts once and no share exceeds 100 %. Unused GPUs of the machine have 0 operations and no times. For a
-- selection, its own work counts, in full even across an edge, and shares refer to the selected time: the GPU times of
-- its ranges.
-- page: summary
-- prefetch: whole
-- prefetch: part
-- prefetch: steady
-- needs: kernel or memop or graph_launch
-- includes: selection, idle
-- selects: part
-- once: pauses
-- column: gpu_id | id | | number of the GPU
-- column: gpu | text | | product name, empty if the report does not state it
-- column: operations | count | | kernels, memcpy, memset and whole CUDA graphs
-- column: busy_ns | ns | | union of the times of all operations
-- column: kernel_ns | ns | | sum of kernel durations; concurrent kernels both count
-- column: copy_ns | ns | | sum of the durations of memcpy and memset operations
-- column: copying_ns | ns | | union of the times of memcpy and memset operations
-- column: first_ns | ns | | start of the first operation, from the start of the capture
-- column: active_ns | ns | | time from the start of the first operation to the end of the last one, less excluded time
-- column: capture_ns | ns | | length of the capture, or of the selected time
-- column: busy_pct | % | .1f | busy time as a share of capture_ns, 100 at most
-- column: busy_active_pct | % | .1f | busy time within the active span, as a share of the span
-- column: idle_ns | ns | | time in the active span without work, except time in which work launched before the capture may run
-- column: idle_pct | % | .1f | idle time as a share of the active span
WITH busy_of AS (
    SELECT device_id AS gpu_id, sum(end_ns - start_ns)::BIGINT AS busy_ns, min(start_ns) AS low
    FROM selected_busy AS busy GROUP BY device_id
), active AS (
    SELECT device_id AS gpu_id, sum(end_ns - start_ns)::BIGINT AS active_ns FROM selected_active GROUP BY device_id
), covered AS (
    SELECT sum(end_ns - start_ns)::BIGINT AS capture_ns FROM selected_window
), copying AS (
    SELECT gpu_id, sum(greatest(0, end_ns - greatest(start_ns, reached)))::BIGINT AS copying_ns
    FROM (
        SELECT device_id AS gpu_id, start_ns, end_ns, coalesce(max(end_ns) OVER (
                PARTITION BY device_id ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ), start_ns) AS reached
        FROM selected_memop
    ) GROUP BY gpu_id
), idle AS (
    SELECT device_id AS gpu_id, sum(b - a)::BIGINT AS pause_ns,
        coalesce(sum(b - a) FILTER (NOT is_earlier), 0)::BIGINT AS idle_ns
    FROM selected_pause(1) GROUP BY device_id
), work AS (
    SELECT gpu_id, sum(num)::BIGINT AS operations, sum(kernel_ns)::BIGINT AS kernel_ns, sum(copy_ns)::BIGINT AS copy_ns
    FROM (
        SELECT device_id AS gpu_id, count(*) AS num, sum(end_ns - start_ns) AS kernel_ns, NULL AS copy_ns
        FROM selected_kernel AS kernel GROUP BY device_id
        UNION ALL
        SELECT device_id, count(*), NULL, sum(end_ns - start_ns) FROM selected_memop AS memop GROUP BY device_id
        UNION ALL
        SELECT device_id, count(*), NULL, NULL FROM selected_graph_launch AS graph_launch GROUP BY device_id
    )
    GROUP BY gpu_id
)
SELECT gpu_id, gpu.name AS gpu, coalesce(operations, 0) AS operations, busy_ns, kernel_ns, copy_ns, copying_ns,
    low - capture_window.start_ns AS first_ns, active_ns, capture_ns,
    100.0 * CASE WHEN busy_ns > capture_ns THEN capture_ns ELSE busy_ns END / nullif(capture_ns, 0) AS busy_pct,
    100.0 * (active_ns - coalesce(pause_ns, 0)) / nullif(active_ns, 0) AS busy_active_pct,
    CASE WHEN active_ns IS NOT NULL THEN coalesce(idle_ns, 0) END AS idle_ns,
    100.0 * coalesce(idle_ns, 0) / nullif(active_ns, 0) AS idle_pct
FROM gpu FULL JOIN work USING (gpu_id) LEFT JOIN busy_of USING (gpu_id) LEFT JOIN active USING (gpu_id)
LEFT JOIN idle USING (gpu_id) LEFT JOIN copying USING (gpu_id)
CROSS JOIN covered CROSS JOIN capture_window
ORDER BY gpu_id;
