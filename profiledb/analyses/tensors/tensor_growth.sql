-- title: Growth of the memory of tensors
-- Whether tensors hold more from step to step: the slope of a straight line (least squares) through what they hold when
-- each step begins (`tensor_steps`), with its 95 % interval by Student's t. It grows where the interval lies above 0
-- and the steps together add more than a thousandth of what was held; so a single step that adds
-- something, which later ones reuse, is no growth. Three steps are needed.
-- page: memory
-- prefetch: whole warmup=exclude
-- needs: tensor_event
-- needs: range
-- includes: tensor_step
-- selects: part
-- once: tensor_steps
-- column: device | text | | CPU, or GPU with its number
-- column: steps | count | | steps that count
-- column: first_bytes | bytes | | held when the first one begins
-- column: last_bytes | bytes | | held when the last one begins
-- column: slope_bytes | bytes | .1f | growth per step; empty with fewer than three
-- column: low_bytes | bytes | .1f | lower end of its 95 % interval
-- column: high_bytes | bytes | .1f | upper end
-- column: grows | bool | | whether it does; empty with fewer than three steps
SELECT device, steps, first_bytes, last_bytes, slope AS slope_bytes, slope - half AS low_bytes,
    slope + half AS high_bytes, slope - half > 0 AND slope * (steps - 1) > 0.001 * most_bytes AS grows
FROM selected_tensor_growth ORDER BY device_type = 0, device_type, device_id;
