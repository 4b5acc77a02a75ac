-- title: Synchronous copies
-- question: Does the GPU wait while the CPU is in synchronous copies?
-- The time in which synchronous copies or their calls run and the GPU computes nothing, as a share of the active span
-- (first to last operation of each GPU). A `cudaMemcpy` without `Async` blocks the CPU until the copy is done, so it
-- launches nothing meanwhile. Copies to the GPU of 64,000 bytes or less and copies inside one GPU return early and do
-- not count, and neither do copies before the first kernel of the GPU or after the last: there is nothing that the GPU
-- could do meanwhile (`slow_copies` judges their rate). The value includes the copies, which remain unless they overlap
-- kernels.
-- needs: kernel or memop or graph_launch
-- includes: finding, work, memory
-- selects: part
-- once: span, functions, compute, copies
-- parts: copies, copy call, synchronization
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the active span
-- column: copies | count | | synchronous copies
-- column: bytes | bytes | | bytes copied
-- column: bare_ns | ns | | time in which they or their calls run and the GPU computes nothing
-- says: For {bare_ns} ({value} of the time) the GPU waits for {copies} synchronous {copies|copy|copies} ({bytes}).
-- clear: The GPU waits {value} of the time for synchronous copies.
-- advice: [PyTorch, pinned memory] Copy without waiting in {place|the program}: `.to(device, non_blocking=True)`, and read results only every N steps.
-- advice: [else, PyTorch] Copy without waiting in {place|the program}: `.to(device, non_blocking=True)` from `pin_memory()`, and read results only every N steps.
-- advice: [else, JAX or XLA or TensorFlow or CuPy or Numba] -> pin
-- advice: [else, OpenACC] Copy without waiting in {place|the program}: `update device(x) async`, and one `wait` where the data is needed.
-- advice: [else, OpenMP offload] Copy without waiting in {place|the program}: `target update to(x) nowait`, and one `taskwait` where the data is needed.
-- advice: [else, pinned memory] Copy without waiting in {place|the program}: `cudaMemcpyAsync` on a stream of its own, then an event where the data is needed.
-- advice: [else] Copy without waiting in {place|the program}: `cudaMemcpyAsync` on a stream of its own from pinned memory (`cudaMallocHost`), then an event where the data is needed.
-- source: Nsight Systems rule cuda_memcpy_sync (64,000 bytes, without copies inside a GPU); share of the time: ours
SELECT 0::DOUBLE AS value, NULL AS unjudged, 0 AS saving_ns, 0 AS copies, NULL AS bytes, 0 AS bare_ns, NULL AS evidence
FROM finding_window
WHERE ns > 0 AND NOT EXISTS (FROM finding_held_copy WHERE held = 'synchronous')
    AND NOT EXISTS (FROM selected_memop WHERE kind = 'memcpy' AND call_id IS NULL);

WITH edge AS (
    SELECT device_id, min(start_ns) AS first_ns, max(end_ns) AS last_ns FROM finding_compute GROUP BY device_id
), held AS MATERIALIZED (
    SELECT finding_held_copy.* FROM finding_held_copy LEFT JOIN edge USING (device_id)
    WHERE held = 'synchronous' AND coalesce(end_ns > first_ns AND start_ns < last_ns, true)
), total AS (SELECT count(*) AS copies, sum(bytes)::BIGINT AS bytes FROM held
), lost AS (FROM finding_cover('held', 'finding_compute')
), shown AS (
    SELECT {
            'name': title, 'ns': end_ns - start_ns, 'bytes': bytes, 'start_ns': start_ns, 'end_ns': end_ns,
            'device': device_id, 'stream': stream_id
        } AS piece
    FROM held ORDER BY end_ns - start_ns DESC, start_ns LIMIT 10
), untold AS (SELECT count(*) AS copies FROM selected_copy WHERE kind = 'memcpy' AND call_id IS NULL
)
SELECT CASE WHEN total.copies > 0 OR untold.copies = 0 THEN 100.0 * bare_ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN untold.copies > 0 THEN 'The report has no calls of its copies.' END AS unjudged,
    bare_ns AS saving_ns, total.copies, bytes, bare_ns,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN lost CROSS JOIN untold;
