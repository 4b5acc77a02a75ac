-- title: Large results copied to the CPU
-- question: Does the GPU wait while the CPU takes in large results?
-- The share of each GPU's active span (first to last operation) that it is idle in gaps of `least_ns` or more next to
-- copies of `least_bytes` or more to the CPU, while the CPU runs code of its own or waits in the operating system: it
-- prepares memory for the copy in a gap that ends with it, and works on the data in one that follows it. Only code
-- outside all ranges, or directly in the range of a step, counts, since a range within a step names its work
-- (`host_work`). A gap that ends with a copy of `sent_bytes` or more to the GPU does not count: the data may return
-- (`round_trips`), or be input (`data_loading`). There must be `times` such copies.
-- needs: kernel or memop or graph_launch
-- needs: api_call
-- includes: finding, idle, waiting
-- selects: part
-- once: span, functions, idle, finding_steps
-- parts: host code, OS runtime call
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: least_bytes = 1000000 smaller copies to the CPU do not count
-- param: least_ns = 100000 shorter gaps do not count
-- param: sent_bytes = 64000 smaller copies to the GPU are no data that returns
-- param: times = 4 fewest copies with such a gap
-- column: copies | count | | copies with such a gap before or after them
-- column: bytes | bytes | | bytes of these copies
-- column: idle_ns | ns | | idle time of all GPUs in these gaps
-- column: before_ns | ns | | idle time before these copies
-- column: after_ns | ns | | idle time after them
-- says: The GPU waits {value} of the time ({idle_ns}) around {copies} {copies|copy|copies} of results to the CPU, {bytes} in all: {before_ns} before them, and {after_ns} after them, while the CPU is outside CUDA.
-- clear: The GPU waits {value} of the time around copies of large results to the CPU.
-- advice: Leave on the GPU what the CPU does not need: compute there what the program takes from these results, and copy that.
-- advice: [JAX or XLA] Start the copies of what remains early (`x.copy_to_host_async()`), and dispatch the next step before NumPy reads them.
-- advice: [PyTorch] Copy what remains into pinned memory that you reuse (`out.copy_(x, non_blocking=True)`), launch the next step, then wait for an event of the copy; another thread can work on the data.
-- advice: [not JAX, not XLA, not PyTorch] Copy what remains into pinned memory that you reuse, asynchronously, and launch the next step before you read it.
-- source: ours. Pair on H200: a weather model in JAX that takes all fields to NumPy each step
SELECT 0::DOUBLE AS value, 0 AS saving_ns, 0 AS copies, NULL AS bytes, 0 AS idle_ns, 0 AS before_ns, 0 AS after_ns,
    NULL AS evidence
FROM finding_window
WHERE ns > 0 AND (
        SELECT count(*) FROM selected_memop WHERE copy_kind = 2 AND bytes >= $least_bytes::BIGINT
    ) < $times::BIGINT;

WITH result AS MATERIALIZED (
    SELECT memop_id, device_id, start_ns, end_ns, bytes, call_id FROM selected_memop
    WHERE copy_kind = 2 AND bytes >= $least_bytes::BIGINT
    QUALIFY count(*) OVER () >= $times::BIGINT
), step AS (
    SELECT pre FROM selected_range SEMI JOIN finding_step USING (start_ns, end_ns)
), gap AS MATERIALIZED (
    SELECT gap_id, device_id, start_ns, any_value(duration_ns) AS duration_ns, any_value(next.call_id) AS call_id,
        sum(ns)::BIGINT AS ns, arg_max(pre, ns) AS pre
    FROM selected_idle(2000, NULL)
    WHERE duration_ns >= $least_ns::BIGINT AND reason IN ('host code', 'OS runtime call') AND NOT is_sleeping(function)
        AND (pre IN (FROM step) OR pre NOT IN (SELECT pre FROM range))
    GROUP BY gap_id, device_id, start_ns
), sent AS (
    SELECT gap_id FROM gap SEMI JOIN (
        SELECT call_id FROM selected_memop WHERE copy_kind = 1 AND bytes >= $sent_bytes::BIGINT
    ) AS memop USING (call_id)
), beside AS MATERIALIZED (
    SELECT gap_id, memop_id, bytes, ns, duration_ns, gap.start_ns, gap.device_id, pre, 'before' AS side
    FROM gap JOIN result USING (call_id)
    UNION ALL
    SELECT gap_id, memop_id, bytes, ns, duration_ns, gap.start_ns, gap.device_id, pre, 'after'
    FROM gap JOIN result ON gap.device_id = result.device_id AND gap.start_ns = result.end_ns
    ANTI JOIN sent USING (gap_id)
    WHERE gap.call_id IS NULL OR gap.call_id NOT IN (SELECT call_id FROM result)
), total AS (
    SELECT coalesce(sum(ns), 0)::BIGINT AS ns, coalesce(sum(ns) FILTER (side = 'before'), 0)::BIGINT AS before_ns,
        coalesce(sum(ns) FILTER (side = 'after'), 0)::BIGINT AS after_ns, count(DISTINCT memop_id) AS copies
    FROM beside
), copied AS (SELECT sum(bytes)::BIGINT AS bytes FROM result SEMI JOIN beside USING (memop_id)
), shown AS (
    SELECT ns, gap_id, {
            'name': side || ' a copy to the CPU', 'ns': ns, 'bytes': bytes, 'start_ns': beside.start_ns,
            'end_ns': beside.start_ns + duration_ns, 'device': device_id, 'range': path
        } AS piece
    FROM (FROM beside ORDER BY ns DESC, gap_id LIMIT 10) AS beside
    LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN range_path USING (path_id)
)
SELECT CASE WHEN copies >= $times::BIGINT THEN 100.0 * total.ns / nullif(finding_window.ns, 0) ELSE 0 END AS value,
    CASE WHEN copies >= $times::BIGINT THEN total.ns ELSE 0 END AS saving_ns, copies, bytes, total.ns AS idle_ns,
    before_ns, after_ns, (SELECT list(piece ORDER BY ns DESC, gap_id) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN copied;
