-- title: Asynchronous copies of pageable memory
-- question: Does the CPU wait in asynchronous copies because their memory is pageable?
-- The time in which asynchronous copies of pageable memory, or their calls, run and the GPU computes nothing, as a
-- share of the active span (first to last operation of each GPU). Pageable memory on one side blocks the CPU until the
-- data is staged, and reaches only part of the link's bandwidth. Pinned copies take time, too: fixing this saves all of
-- it only if they then overlap kernels. The time counts up to the end of the copy and its call, and at most the copy's
-- time on the GPU plus that of its bytes at 1 GB/s. A longer call waits for earlier GPU work, as `.item()` does: see
-- "CPU and GPU wait for each other". The cause is `before kernels` if all of them end before the GPU computes. It is
-- `both ways` if `alike_pct` percent of the bytes that come from the GPU go there by the next copy, of the same size,
-- and kernels run between both: the same data may return. A loop that copies results at its end copies its next input
-- then.
-- needs: kernel or memop or graph_launch
-- includes: finding, work, memory
-- selects: part
-- once: span, functions, compute, copies
-- parts: copies, copy call, synchronization
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the active span
-- param: alike_pct = 80 share of the bytes to the CPU that may return, percent
-- column: copies | count | | asynchronous copies with pageable memory
-- column: bytes | bytes | | bytes copied
-- column: bare_ns | ns | | time in which they or their calls run and the GPU computes nothing
-- column: rate | bytes/s | .0f | bytes over the time on the GPU
-- says: For {bare_ns} ({value} of the time) the GPU computes nothing because of {copies} async {copies|copy|copies} of pageable memory: {bytes} at {rate}.
-- says: For {bare_ns} ({value} of the time) the GPU computes nothing because of async copies of pageable memory.
-- clear: The GPU waits {value} of the time for async copies of pageable memory.
-- advice: [both ways] Leave on the GPU whatever returns to it, such as a state: after most copies to the CPU, and further kernels, as many bytes go back. If these are different data, pin their memory.
-- advice: [to host] -> pin_results
-- advice: [before kernels] Leave these copies out of the capture if they happen once, as when weights move to the GPU: all of them precede the first kernel. Otherwise pin their host memory.
-- advice: [not to host, not before kernels, not both ways] -> pin
-- change: [not to host, not both ways] pinned_copies
-- source: Nsight Systems rule cuda_memcpy_async (srcKind or dstKind 0 is pageable); share of the time and 1 GB/s, slower than all pageable copies at hand: ours
SELECT 0::DOUBLE AS value, NULL AS unjudged, 0 AS saving_ns, NULL AS cause, 0 AS copies, NULL AS bytes, 0 AS bare_ns,
    NULL AS rate, NULL AS evidence
FROM finding_window
WHERE ns > 0 AND NOT EXISTS (FROM finding_held_copy WHERE held = 'pageable')
    AND NOT EXISTS (FROM selected_memop WHERE kind = 'memcpy' AND call_id IS NULL AND 0 IN (src_kind, dst_kind));

WITH held AS MATERIALIZED (  -- a byte at 1 GB/s takes 1 ns
    SELECT * REPLACE (greatest(start_ns, end_ns - duration_ns - bytes) AS start_ns) FROM finding_held_copy
    WHERE held = 'pageable'
), total AS (
    SELECT count(*) AS copies, sum(bytes)::BIGINT AS bytes, sum(bytes) * 1e9 / nullif(sum(duration_ns), 0) AS rate,
        2 * sum(duration_ns) FILTER (copy_kind = 2) > sum(duration_ns) AS back,
        max(end_ns) <= (SELECT min(start_ns) FROM finding_compute) AS ahead
    FROM held
), led AS (
    SELECT device_id, bytes, copy_kind, end_ns, lead({'kind': copy_kind, 'bytes': bytes, 'start_ns': start_ns}) OVER (
            PARTITION BY device_id ORDER BY start_ns, memop_id
        ) AS back
    FROM held
), alike AS (
    SELECT count(*) > 1 AND 100 * sum(bytes) >= $alike_pct::DOUBLE * any_value(down_bytes) AS is_alike
    FROM (FROM led WHERE copy_kind = 2 AND back.kind = 1 AND back.bytes = bytes) AS led
    ASOF JOIN (SELECT device_id, start_ns FROM finding_compute) AS compute
        ON led.device_id = compute.device_id AND end_ns <= compute.start_ns
    CROSS JOIN (SELECT sum(bytes) AS down_bytes FROM held WHERE copy_kind = 2)
    WHERE compute.start_ns < back.start_ns
), lost AS (FROM finding_cover('held', 'finding_compute')
), shown AS (
    SELECT {
            'name': title, 'ns': end_ns - start_ns, 'bytes': bytes, 'start_ns': start_ns, 'end_ns': end_ns,
            'device': device_id, 'stream': stream_id
        } AS piece
    FROM held ORDER BY end_ns - start_ns DESC, start_ns LIMIT 10
), untold AS (
    SELECT count(*) AS copies FROM selected_copy
    WHERE kind = 'memcpy' AND call_id IS NULL AND 0 IN (src_kind, dst_kind)
)
SELECT CASE WHEN total.copies > 0 OR untold.copies = 0 THEN 100.0 * bare_ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN untold.copies > 0 THEN 'The report has no calls of its copies.' END AS unjudged,
    bare_ns AS saving_ns, CASE WHEN is_alike THEN 'both ways' WHEN back THEN 'to host'
        WHEN ahead THEN 'before kernels' END AS cause,
    total.copies, bytes, bare_ns, rate,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN alike CROSS JOIN lost CROSS JOIN untold;
