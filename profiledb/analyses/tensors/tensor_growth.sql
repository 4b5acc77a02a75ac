-- title: Growth of the memory of tensors
-- Whether tensors hold more from step to step: the slope of a straight line (least squares) through what they hold when
-- each step begins (`tensor_steps`), with its 95 % interval by Student's t. It grows where the interval lies above 0
-- and the steps together add more than a thousandth of what was held; so a single step that adds
-- something, which later ones reuse, is no growth. Three steps are needed.
-- needs: tensor_event
-- needs: range
-- includes: tensor_step
-- selects: part
-- column: device | text | | CPU, or GPU with its number
-- column: steps | count | | steps that count
-- column: first_bytes | bytes | | held when the first one begins
-- column: last_bytes | bytes | | held when the last one begins
-- column: slope_bytes | bytes | .1f | growth per step; empty with fewer than three
-- column: low_bytes | bytes | .1f | lower end of its 95 % interval
-- column: high_bytes | bytes | .1f | upper end
-- column: grows | bool | | whether it does; empty with fewer than three steps
WITH fit AS (
    SELECT device, device_type, device_id, count(*) AS steps, arg_min(start_bytes, number) AS first_bytes,
        arg_max(start_bytes, number) AS last_bytes, max(start_bytes) AS most_bytes,
        CASE WHEN steps >= 3 THEN regr_slope(start_bytes, number) END AS slope, steps - 2 AS freedom,
        sqrt(greatest(0, regr_syy(start_bytes, number) - slope * regr_sxy(start_bytes, number))
            / freedom / regr_sxx(start_bytes, number)) AS error
    FROM selected_tensor_step GROUP BY device, device_type, device_id
), sure AS (  -- the quantile of Student's t: from a table, else by its expansion in 1 / freedom
    SELECT *, error * coalesce(
        [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228][freedom],
        1.959964 + 2.372271 / freedom + 2.822499 / freedom ** 2) AS half
    FROM fit
)
SELECT device, steps, first_bytes, last_bytes, slope AS slope_bytes, slope - half AS low_bytes,
    slope + half AS high_bytes, slope - half > 0 AND slope * (steps - 1) > 0.001 * most_bytes AS grows
FROM sure ORDER BY device_type = 0, device_type, device_id;
