-- Memory of tensors by step.
-- includes: ranges, tensors

-- The steps of the best loop that count, for each of the eight devices with most events: what tensors held when each
-- began, and at most within it.
CREATE OR REPLACE VIEW selected_tensor_step AS
WITH step AS MATERIALIZED (
    SELECT number, name, start_ns, end_ns FROM selected_counted_step('process') QUALIFY rank = min(rank) OVER ()
), level AS MATERIALIZED (
    SELECT * FROM tensor_level WHERE selected_tensor_device(device_type, device_id)
), place AS (
    SELECT step.*, before.* FROM step CROSS JOIN (
        SELECT device, device_type, device_id, arg_min(allocated_bytes - bytes, nth) AS before_bytes
        FROM level GROUP BY device, device_type, device_id
        QUALIFY row_number() OVER (ORDER BY count(*) DESC, device) <= 8
    ) AS before
), held AS (
    SELECT level.device, number, max(allocated_bytes) AS peak_bytes
    FROM level ASOF JOIN step ON level.time_ns >= step.start_ns WHERE level.time_ns < step.end_ns GROUP BY ALL
), begun AS (
    SELECT place.*, greatest(0, coalesce(level.allocated_bytes, before_bytes)) AS start_bytes
    FROM place ASOF LEFT JOIN level ON level.device = place.device AND place.start_ns > level.time_ns
)
SELECT begun.*, greatest(start_bytes, coalesce(peak_bytes, start_bytes)) AS peak_bytes
FROM begun LEFT JOIN held USING (device, number);
