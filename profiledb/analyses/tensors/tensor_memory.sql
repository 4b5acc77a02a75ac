-- title: Memory of tensors
-- Memory that the framework's allocator gave to tensors, by device (`profile_memory=True` of torch.profiler, or a
-- memory snapshot, which counts requested sizes). Peak, reserved and unused memory are the maxima of the selection.
-- Reserved is the memory that the allocator took from the device and keeps; unused is the part of it that no tensor
-- holds: cached for later, or too fragmented. The start and the end are those of the capture. If the trace does not
-- state the allocated memory, it is allocations less frees. As in TensorBoard's plugin the peak is the maximum of
-- "Total Allocated", here also separate for CPU and GPUs.
-- page: memory
-- prefetch: part
-- needs: tensor_event
-- includes: selection, tensors
-- selects: part
-- once: tensors
-- column: device | text | | CPU, or GPU with its number
-- column: peak_bytes | bytes | | maximum that tensors held at once in the selection
-- column: peak_ns | ns | | time of the first peak, from the start of the capture
-- column: capture_peak_bytes | bytes | | maximum in the whole capture
-- column: gpu_bytes | bytes | | memory of the GPU, if the report states it
-- column: peak_pct | % | .1f | peak as a share of the GPU's memory
-- column: before_bytes | bytes | | held at the start of the capture
-- column: end_bytes | bytes | | held at the end of the capture
-- column: allocations | count | | number of allocations in the selection
-- column: allocated_bytes | bytes | | sum of their sizes
-- column: releases | count | | number of allocations in the selection
-- column: unseen | count | | frees of memory allocated before the capture
-- column: reserved_bytes | bytes | | maximum device memory held by the allocator; empty if it keeps none
-- column: unused_bytes | bytes | | maximum part of it that no tensor held
-- column: unused_pct | % | .1f | unused memory as a share of the memory reserved then
-- column: unused_ns | ns | | time of the first maximum, from the start of the capture
-- column: out_of_memory | count | | number of failed allocations
-- column: is_stated | bool | | whether the trace states the allocated memory
-- column: capture_ns | ns | | length of the capture
WITH level AS (
    SELECT level.*,
        CASE WHEN reserved_bytes IS NOT NULL THEN greatest(0, reserved_bytes - allocated_bytes) END AS unused_bytes,
        selected.event_id IS NOT NULL AS is_selected
    FROM tensor_level AS level LEFT JOIN (SELECT event_id FROM selected_tensor_event) AS selected USING (event_id)
    WHERE selected_tensor_device(device_type, device_id)
), unseen AS (
    SELECT device, count(*) AS unseen FROM tensor_life WHERE born IS NULL AND gone IS NOT NULL GROUP BY device
), failed AS (
    SELECT tensor_device(device_type, device_id) AS device, count(*) AS failed
    FROM selected_tensor_event WHERE kind = 'out_of_memory' GROUP BY ALL
), summed AS (
    SELECT device, device_type, device_id, bool_and(is_stated) AS is_stated,
        max(allocated_bytes) AS capture_peak_bytes, arg_min(allocated_bytes - bytes, nth) AS before_bytes,
        arg_max(allocated_bytes, nth) AS end_bytes, count(*) FILTER (is_selected AND bytes > 0) AS allocations,
        TRY_CAST(sum(bytes) FILTER (is_selected AND bytes > 0) AS BIGINT) AS allocated_bytes,
        count(*) FILTER (is_selected AND bytes < 0) AS releases,
        max(reserved_bytes) FILTER (is_selected) AS reserved_bytes,
        max(unused_bytes) FILTER (is_selected) AS unused_bytes,
        arg_max({reserved: reserved_bytes, time_ns: time_ns}, (unused_bytes, -nth))
            FILTER (is_selected AND unused_bytes IS NOT NULL) AS most
    FROM level GROUP BY device, device_type, device_id
)
SELECT device, peak_bytes, CASE WHEN time_ns IS NOT NULL THEN greatest(0, time_ns - start_ns) END AS peak_ns,
    capture_peak_bytes, nullif(memory_bytes, 0) AS gpu_bytes, 100.0 * peak_bytes / nullif(memory_bytes, 0) AS peak_pct,
    greatest(0, before_bytes) AS before_bytes, end_bytes, allocations, allocated_bytes, releases,
    coalesce(unseen, 0) AS unseen, reserved_bytes, unused_bytes,
    100.0 * unused_bytes / nullif(most.reserved, 0) AS unused_pct,
    CASE WHEN unused_bytes IS NOT NULL THEN greatest(0, most.time_ns - start_ns) END AS unused_ns,
    coalesce(failed, 0) AS out_of_memory, is_stated,
    duration_ns AS capture_ns
FROM summed LEFT JOIN selected_tensor_peak USING (device) LEFT JOIN unseen USING (device)
LEFT JOIN failed USING (device) LEFT JOIN gpu ON device_type <> 0 AND gpu_id = device_id CROSS JOIN capture_window
ORDER BY device_type = 0, device_type, device_id;
