-- title: Synchronous memsets
-- question: Does the CPU wait in memsets of host memory?
-- The time in which synchronous memsets or their calls run and the GPU computes nothing, as a share of the active span
-- (first to last operation of each GPU). A `cudaMemset` without `Async` blocks the CPU for pinned or managed memory,
-- not for device memory.
-- needs: kernel or memop or graph_launch
-- includes: finding, work, memory
-- selects: part
-- once: span, functions, compute, copies
-- parts: copies, copy call
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the active span
-- column: sets | count | | synchronous memsets
-- column: bytes | bytes | | bytes set
-- column: bare_ns | ns | | time in which they or their calls run and the GPU computes nothing
-- says: For {bare_ns} ({value} of the time) the GPU waits for {sets} {sets|memset|memsets} of pinned or managed memory ({bytes}).
-- clear: The GPU waits {value} of the time for synchronous memsets.
-- advice: [CUDA C++ or Fortran or OpenACC or OpenMP offload] Set this memory with `cudaMemsetAsync` on the stream that needs it; for host memory `memset` on the CPU is faster.
-- advice: [else] Set this memory on the stream that needs it (`cudaMemsetAsync`); for host memory `memset` on the CPU is faster.
-- source: Nsight Systems rule cuda_memset_sync (destination pinned or managed); share of the time: ours
SELECT 0::DOUBLE AS value, NULL AS unjudged, 0 AS saving_ns, 0 AS sets, NULL AS bytes, 0 AS bare_ns, NULL AS evidence
FROM finding_window
WHERE ns > 0 AND NOT EXISTS (FROM finding_held_copy WHERE held = 'memset')
    AND NOT EXISTS (FROM selected_memop WHERE kind = 'memset' AND call_id IS NULL);

WITH held AS MATERIALIZED (FROM finding_held_copy WHERE held = 'memset'
), total AS (SELECT count(*) AS sets, sum(bytes)::BIGINT AS bytes FROM held
), lost AS (FROM finding_cover('held', 'finding_compute')
), shown AS (
    SELECT {
            'name': title, 'ns': end_ns - start_ns, 'bytes': bytes, 'start_ns': start_ns, 'end_ns': end_ns,
            'device': device_id, 'stream': stream_id
        } AS piece
    FROM held ORDER BY end_ns - start_ns DESC, start_ns LIMIT 10
), untold AS (SELECT count(*) AS sets FROM selected_copy WHERE kind = 'memset' AND call_id IS NULL
)
SELECT CASE WHEN total.sets > 0 OR untold.sets = 0 THEN 100.0 * bare_ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN untold.sets > 0 THEN 'The report has no calls of its memsets.' END AS unjudged,
    bare_ns AS saving_ns, total.sets, bytes, bare_ns,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN lost CROSS JOIN untold;
