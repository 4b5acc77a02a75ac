-- title: Durations of a kernel over the capture
-- Launches of one kernel in time order. More launches than `points` are reduced: the capture is cut into half as many
-- bins, and each keeps its shortest and longest launch. Outliers stay, the middle is thinned out.
-- page: kernel
-- needs: kernel
-- includes: selection
-- selects: part
-- param: kernel =  number of the kernel (analysis kernels), or its full name
-- param: points = 2000 at most this many rows
-- column: kernel_id | text | | number of the launch
-- column: since_start_ns | ns | | start, from the start of the capture
-- column: duration_ns | ns | | duration of the launch
-- column: gpu_id | id | | number of the GPU
-- column: stream | id | | CUDA stream
-- column: calls = Launches | count | | all launches of the kernel, shown or not
WITH execution AS (
    SELECT kernel_id, start_ns, end_ns - start_ns AS ns, device_id, stream_id
    FROM selected_kernel AS kernel WHERE name_id IN (FROM kernel_ids($kernel))
), frame AS (
    SELECT min(start_ns) AS low, count(*) AS calls, greatest(1, $points::INTEGER // 2) AS bins,
        (max(start_ns) - low) // bins + 1 AS width
    FROM execution
), shown AS (
    SELECT unnest(CASE WHEN any_value(calls) <= $points::INTEGER THEN list(kernel_id)
        ELSE [arg_min(kernel_id, ns), arg_max(kernel_id, ns)] END) AS kernel_id
    FROM execution CROSS JOIN frame GROUP BY (start_ns - low) // width
)
SELECT kernel_id, execution.start_ns - capture_window.start_ns AS since_start_ns, ns AS duration_ns,
    device_id AS gpu_id,
    stream_id AS stream, calls
FROM execution CROSS JOIN frame CROSS JOIN capture_window
WHERE kernel_id IN (SELECT kernel_id FROM shown)
ORDER BY execution.start_ns, kernel_id;
