-- title: Slow launch calls
-- question: Does the GPU wait in unusually long launch calls?
-- The share of each GPU's active span (first to last operation) that it is idle inside launch calls of kernels that
-- take at least `call_ns`. A launch call usually takes 3 to 10 µs, and longer if it waits for a lock, a page, a core or
-- a full queue. CUDA graphs do not count, nor does the first launch of each kernel, which may load its code.
-- needs: kernel
-- needs: api_call
-- includes: finding, idle
-- selects: part
-- once: span, functions, idle
-- parts: launch call
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the active span
-- param: call_ns = 50000 shortest slow launch call
-- column: calls | count | | slow launch calls during which the GPU is idle
-- column: idle_ns | ns | | idle time of all GPUs in them
-- column: longest_ns | ns | | longest idle time in one call
-- says: The GPU waits {value} of the time ({idle_ns}) for {calls} slow launch {calls|call|calls} of up to {longest_ns}.
-- clear: The GPU waits {value} of the time for slow launch calls.
-- advice: Let only one thread launch, and use no more threads than cores (`OMP_NUM_THREADS`, CPU quota, pinning): these launches wait for a lock or a core.
-- source: HTA trace_analysis (launch call > 50 µs); share of the time: ours
WITH piece AS MATERIALIZED (
    SELECT gap_id, device_id, s, e, idle.ns, function, pre FROM selected_idle(2000, NULL) AS idle
    JOIN (SELECT call_id, start_ns AS call_start, end_ns AS call_end FROM api_call) AS call
        ON call.call_id = idle.next.call_id
    WHERE reason = 'launch call' AND function NOT LIKE '%Graph%' AND s >= call_start
        AND call_end - call_start >= $call_ns::BIGINT
        AND idle.next.call_id NOT IN (SELECT arg_min(call_id, start_ns) FROM kernel WHERE call_id > 0 GROUP BY name_id)
), total AS (
    SELECT coalesce(sum(ns), 0)::BIGINT AS ns, count(*) AS calls, max(ns) AS longest_ns FROM piece
), shown AS (
    SELECT ns, s, {
            'name': function, 'ns': ns, 'start_ns': s, 'end_ns': e, 'device': device_id, 'range': path
        } AS piece
    FROM (FROM piece ORDER BY ns DESC, s LIMIT 10) AS piece
    LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN range_path USING (path_id)
)
SELECT 100.0 * total.ns / nullif(finding_window.ns, 0) AS value, total.ns AS saving_ns, total.ns AS idle_ns, calls,
    longest_ns, (SELECT list(piece ORDER BY ns DESC, s) FROM shown) AS evidence
FROM finding_window CROSS JOIN total;
