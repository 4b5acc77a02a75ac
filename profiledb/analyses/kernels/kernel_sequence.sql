-- title: Kernels in the order of their streams
-- One row per kernel, by process, GPU and stream, each in time order. The step is the step of the process's loop in
-- which the kernel was launched.
-- needs: kernel
-- includes: selection, ranges
-- selects: part
-- once: steps
-- column: kernel_id | count | | row of the kernel
-- column: kernel | text | | number of the kernel in this report
-- column: pid = Process | count | | process id of the operating system
-- column: gpu_id = GPU | count | | number of the GPU
-- column: stream | count | | number of the CUDA stream
-- column: step | text | | name of the step around the launch; empty outside steps
-- column: start_ns = Start | ns | | start on the GPU, on the report's clock
WITH step AS MATERIALIZED (
    SELECT range.pre, range.post, step.name FROM selected_step('process') AS step JOIN range USING (range_id)
    WHERE leads
), place AS MATERIALIZED (
    SELECT range.pre, CASE WHEN range.pre <= step.post THEN step.name END AS step
    FROM range ASOF LEFT JOIN step ON range.pre >= step.pre
), further AS ( -- of calls on threads with their own ranges
    SELECT call_id, max(step) AS step FROM call_range JOIN place ON pre = process_range GROUP BY call_id
)
SELECT kernel_id, kernel, pid_of(global_pid) AS pid, device_id AS gpu_id, stream_id AS stream,
    coalesce(place.step, further.step) AS step, start_ns
FROM selected_kernel JOIN kernel_key USING (name_id) LEFT JOIN place ON place.pre = process_range
LEFT JOIN further USING (call_id)
ORDER BY global_pid, device_id, stream_id, start_ns, kernel_id;
