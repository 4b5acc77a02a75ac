-- title: Asynchronous copies of pageable memory
-- question: Does the CPU wait in asynchronous copies because their memory is pageable?
-- An asynchronous copy with pageable memory on one side holds the CPU until the data is staged, and reaches a part of
-- the link's bandwidth. The value is the time in which such a copy or its call runs and the GPU computes nothing, as a
-- share of the time from the first to the last operation. Pinned copies take time, too: mending saves all of it only
-- where they then run beside kernels. What pageable memory costs ends with the copy and its call, and takes at most
-- the time of the copy on the GPU and that of its bytes at 1 GB/s; any longer the call waits for earlier work of the
-- GPU, as `.item()` does: that is "CPU and GPU wait for each other".
-- needs: kernel or memop or graph_launch
-- includes: finding, work, memory
-- selects: part
-- once: functions, compute, copies
-- parts: copies, copy call, synchronization
-- unit: %
-- fires: above
-- param: threshold = 2 share of the time from which on it is said
-- column: copies | count | | asynchronous copies with pageable memory
-- column: bytes | bytes | | what they copied
-- column: bare_ns | ns | | time in which they or their calls ran and the GPU computed nothing
-- column: rate | bytes/s | .0f | bytes over the time on the GPU
-- says: For {bare_ns} ({value} of the time) the GPU waits for {copies} async {copies|copy|copies} of pageable memory: {bytes} at {rate}.
-- says: For {bare_ns} ({value} of the time) the GPU waits for async copies of pageable memory.
-- clear: Async copies of pageable memory hold the GPU up for {value} of the time.
-- advice: -> pin
-- source: NSYS cuda_memcpy_async (srcKind or dstKind 0 is pageable); the share of the time and 1 GB/s, slower than all pageable copies at hand, are ours
WITH held AS MATERIALIZED (  -- a byte at 1 GB/s takes 1 ns
    SELECT * REPLACE (greatest(start_ns, end_ns - duration_ns - bytes) AS start_ns) FROM finding_held_copy
    WHERE held = 'pageable'
), total AS (
    SELECT count(*) AS copies, sum(bytes)::BIGINT AS bytes, sum(bytes) * 1e9 / nullif(sum(duration_ns), 0) AS rate
    FROM held
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
    bare_ns AS saving_ns, total.copies, bytes, bare_ns, rate,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN lost CROSS JOIN untold;
