-- title: GPU memory in use
-- Device memory that the program held, by GPU: allocated minus freed, as seen in the capture, module variables
-- included. If a program freed more than its visible allocations, the difference was held from the start. Memory of the
-- CUDA context and of other processes is excluded. Host and managed memory count separately. The selection filters
-- GPUs, never times.
-- page: memory
-- prefetch: part
-- needs: memory_event
-- includes: selection, memory
-- column: gpu_id | id | | number of the GPU
-- column: peak_bytes | bytes | | maximum device memory held at once
-- column: peak_ns | ns | | time of the first peak, from the start of the capture
-- column: end_bytes | bytes | | device memory held at the end
-- column: allocations | count | | number of device memory allocations
-- column: releases | count | | number of device memory frees
-- column: gpu_bytes | bytes | | memory of the GPU, if the report states it
-- column: peak_pct | % | .1f | maximum held, as a share of the GPU's memory
-- column: capture_ns | ns | | length of the capture
-- column: host_bytes | bytes | | pinned host memory, allocated minus freed; empty if there is none
-- column: managed_bytes | bytes | | managed memory, allocated minus freed; empty if there is none
WITH device AS (
    SELECT device_id, event_id, moment_ns, held_bytes FROM memory_held
), peak AS (
    SELECT device_id, max(held_bytes)::BIGINT AS peak_bytes, min_by(moment_ns, (-held_bytes, moment_ns)) AS peak_ns,
        max_by(held_bytes, (moment_ns, event_id))::BIGINT AS end_bytes
    FROM device GROUP BY device_id
), counts AS (
    SELECT device_id, count(*) FILTER (operation = 0 AND mem_kind IN (2, 3, 5)) AS allocations,
        count(*) FILTER (operation = 1 AND mem_kind IN (2, 3, 5)) AS releases,
        sum(CASE WHEN operation = 0 THEN bytes ELSE -bytes END) FILTER (mem_kind = 1)::BIGINT AS host_bytes,
        sum(CASE WHEN operation = 0 THEN bytes ELSE -bytes END) FILTER (mem_kind IN (4, 6))::BIGINT AS managed_bytes
    FROM memory_event GROUP BY device_id
)
SELECT device_id AS gpu_id, peak_bytes, greatest(0, peak_ns - start_ns) AS peak_ns, end_bytes, allocations, releases,
    nullif(memory_bytes, 0) AS gpu_bytes, 100.0 * peak_bytes / nullif(memory_bytes, 0) AS peak_pct,
    capture_window.duration_ns AS capture_ns, host_bytes, managed_bytes
FROM counts LEFT JOIN peak USING (device_id) LEFT JOIN gpu ON gpu.gpu_id = device_id CROSS JOIN capture_window
ORDER BY gpu_id;
