-- title: Growth of the memory of tensors
-- Growth of tensor memory between steps: the slope of a least-squares line through the held memory at the start of each
-- step (`tensor_steps`), with its 95 % interval by Student's t. It grows if the interval lies above 0 and the steps
-- together add more than a thousandth of the held memory; a single step that adds memory which later ones reuse is no
-- growth. It needs three steps.
-- page: memory
-- prefetch: whole warmup=exclude
-- needs: tensor_event
-- needs: range
-- includes: tensor_step
-- selects: part
-- once: tensor_steps
-- column: device | text | | CPU, or GPU with its number
-- column: steps | count | | number of steps that count
-- column: first_bytes | bytes | | held at the start of the first step
-- column: last_bytes | bytes | | held at the start of the last step
-- column: slope_bytes | bytes | .1f | growth per step; empty with fewer than three
-- column: low_bytes | bytes | .1f | lower end of its 95 % interval
-- column: high_bytes | bytes | .1f | upper end of this interval
-- column: grows | bool | | whether memory grows; empty with fewer than three steps
SELECT device, steps, first_bytes, last_bytes, slope AS slope_bytes, slope - half AS low_bytes,
    slope + half AS high_bytes, slope - half > 0 AND slope * (steps - 1) > 0.001 * most_bytes AS grows
FROM selected_tensor_growth ORDER BY device_type = 0, device_type, device_id;
