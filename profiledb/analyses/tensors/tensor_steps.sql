-- title: Memory of tensors from step to step
-- Tensor memory at the start of each step, and its maximum within it. Steps are those of the best loop of `iterations`,
-- without warm-up. `tensor_growth` tests for growth.
-- page: memory
-- show: step, name, start_ns, start_bytes, change_bytes, peak_bytes, kept_bytes
-- prefetch: whole warmup=exclude
-- needs: tensor_event
-- needs: range
-- includes: selection, tensors, tensor_step
-- selects: part
-- once: tensor_steps
-- param: limit = 2000 at most this many steps per device, the last ones
-- column: device | text | | CPU, or GPU with its number
-- column: step | count | | number of the step
-- column: name | text | | name of its range
-- column: start_ns | ns | | start, from the start of the capture
-- column: start_bytes = At its start | bytes | | held at the start of the step
-- column: change_bytes = Change | bytes | | start value less that of the step before
-- column: peak_bytes = Peak | bytes | | maximum within the step, its start included
-- column: kept_bytes = Kept | bytes | | allocated within it and not freed in the capture
WITH step AS MATERIALIZED (FROM selected_tensor_step
), unfreed AS (
    SELECT life.device, number, TRY_CAST(sum(bytes) AS BIGINT) AS kept_bytes
    FROM (FROM tensor_life WHERE gone IS NULL) AS life
    ASOF JOIN step ON life.device = step.device AND life.start_ns >= step.start_ns
    WHERE life.start_ns < step.end_ns GROUP BY ALL
)
SELECT device, number AS step, name, step.start_ns - capture_window.start_ns AS start_ns, start_bytes,
    start_bytes - lag(start_bytes) OVER (PARTITION BY device ORDER BY number) AS change_bytes, peak_bytes,
    coalesce(kept_bytes, 0) AS kept_bytes
FROM step LEFT JOIN unfreed USING (device, number) CROSS JOIN capture_window
QUALIFY row_number() OVER (PARTITION BY device ORDER BY number DESC) <= $limit::BIGINT
ORDER BY device_type = 0, device_type, device_id, number;
