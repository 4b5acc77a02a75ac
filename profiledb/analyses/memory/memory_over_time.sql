-- title: GPU memory over the capture
-- Device memory that the program held after each allocation and free (`memory_use` defines the count). If a GPU has
-- more events than `points`, the capture is cut into bins, and each keeps its minimum, maximum and last value: peaks
-- stay.
-- page: memory
-- prefetch: part
-- needs: memory_event
-- includes: selection, memory
-- param: points = 1000 at most this many rows per GPU
-- column: gpu_id | id | | number of the GPU
-- column: time_ns | ns | | time, from the start of the capture; 0 for memory held before
-- column: held_bytes | bytes | | device memory held from then on
WITH held AS (
    SELECT device_id, event_id, greatest(0, moment_ns - start_ns) AS time_ns, held_bytes
    FROM memory_held CROSS JOIN capture_window
), frame AS (
    SELECT device_id, count(*) AS events, max(time_ns) // greatest(1, $points::BIGINT // 3) + 1 AS width
    FROM held GROUP BY device_id
), shown AS (
    SELECT unnest(CASE WHEN any_value(events) <= $points::BIGINT THEN list(event_id)
        ELSE [min_by(event_id, (held_bytes, time_ns)), max_by(event_id, (held_bytes, time_ns)),
            max_by(event_id, (time_ns, event_id))] END) AS event_id
    FROM held JOIN frame USING (device_id) GROUP BY device_id, time_ns // width
)
SELECT device_id AS gpu_id, time_ns, held_bytes::BIGINT AS held_bytes
FROM held WHERE event_id IN (SELECT event_id FROM shown)
ORDER BY gpu_id, time_ns, event_id;
