-- title: Memory of tensors over the capture
-- Memory of tensors, and reserved memory of the allocator, after each allocation and free (`tensor_memory`), over the
-- whole capture. If a device has more events than `points`, the capture is cut into bins, and each keeps the minimum,
-- maximum and last value, and the maximum reserved: peaks stay. The selection filters GPUs, never times.
-- page: memory
-- prefetch: part
-- needs: tensor_event
-- includes: selection, tensors
-- selects: part
-- once: tensors
-- param: points = 2000 at most this many rows per device
-- column: device | text | | CPU, or GPU with its number
-- column: time_ns | ns | | time of the sample, from the start of the capture
-- column: allocated_bytes | bytes | | held by tensors from then on
-- column: reserved_bytes | bytes | | held by the allocator from then on; empty if it keeps none
WITH level AS (
    SELECT device, nth, greatest(0, time_ns - start_ns) AS time_ns, allocated_bytes, reserved_bytes
    FROM tensor_level CROSS JOIN capture_window WHERE selected_tensor_device(device_type, device_id)
), frame AS (
    SELECT device, count(*) AS events, max(time_ns) // greatest(1, $points::BIGINT // 4) + 1 AS width
    FROM level GROUP BY device
), shown AS (
    SELECT device, unnest(CASE WHEN any_value(events) <= $points::BIGINT THEN list(nth)
        ELSE [arg_min(nth, (allocated_bytes, nth)), arg_max(nth, (allocated_bytes, -nth)), max(nth),
            arg_max(nth, (coalesce(reserved_bytes, 0), -nth))] END) AS nth
    FROM level JOIN frame USING (device) GROUP BY device, time_ns // width
)
SELECT device, time_ns, allocated_bytes, reserved_bytes FROM level SEMI JOIN shown USING (device, nth)
ORDER BY device, nth;
