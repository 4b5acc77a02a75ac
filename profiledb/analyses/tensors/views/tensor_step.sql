-- Memory of tensors by step.
-- includes: ranges, tensors

-- The counted steps of the best loop, for each of the eight devices with most events: tensor memory at the start of
-- each, and its maximum within it.
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

-- A least-squares line through the memory of each device at the start of its steps, from rows (device, device_type,
-- device_id, number, start_bytes, peak_bytes): its slope in bytes per step, and half of its 95 % interval by Student's
-- t. Both are empty with fewer than three steps.
CREATE OR REPLACE MACRO memory_growth(rows_of) AS TABLE
WITH fit AS (
    SELECT device, device_type, device_id, count(*) AS steps, arg_min(start_bytes, number) AS first_bytes,
        arg_max(start_bytes, number) AS last_bytes, max(start_bytes) AS most_bytes, max(peak_bytes) AS peak_bytes,
        CASE WHEN steps >= 3 THEN regr_slope(start_bytes, number) END AS slope, steps - 2 AS freedom,
        sqrt(greatest(0, regr_syy(start_bytes, number) - slope * regr_sxy(start_bytes, number))
            / freedom / regr_sxx(start_bytes, number)) AS error
    FROM query_table(rows_of) GROUP BY device, device_type, device_id
)
SELECT *, error * coalesce(  -- the quantile of Student's t: from a table, else by its expansion in 1 / freedom
    [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228][freedom],
    1.959964 + 2.372271 / freedom + 2.822499 / freedom ** 2) AS half
FROM fit;

CREATE OR REPLACE VIEW selected_tensor_growth AS FROM memory_growth('selected_tensor_step');
