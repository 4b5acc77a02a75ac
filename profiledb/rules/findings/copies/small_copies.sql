-- title: Many small copies in a row
-- question: Does the program send many small pieces to the GPU one by one?
-- The share of each GPU's active span (first to last operation) that joining small copies to the GPU saves. Copies of
-- at most `most_bytes` stand in a row if no kernel starts between them; a row of fewer than `copies` does not count. Of
-- each copy after the first of its row, its time counts and that since the previous one, without the time that its
-- bytes take at the link's peak and without time in which a kernel runs. A gap longer than `gap_ns` does not count: the
-- CPU does other work in it.
-- needs: memop
-- includes: finding, work, memory
-- selects: part
-- once: span, functions, compute
-- parts: copies, copy call, host code, launch latency, other CUDA call
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: copies = 8 fewest copies of a row
-- param: most_bytes = 65536 larger copies are limited by the link, not by their start
-- param: gap_ns = 100000 longer gaps between two copies do not count
-- column: copies | count | | small copies in such rows
-- column: row_copies | count | | median number of copies of a row
-- column: each_bytes | bytes | | median size of a copy
-- column: lost_ns | ns | | time that joining them saves
-- says: The program sends {copies} small pieces ({each_bytes} each, median) to the GPU one by one, {row_copies} in a row (median) without a kernel between them. That costs {lost_ns} ({value} of the time).
-- clear: Small copies to the GPU in a row cost {value} of the time.
-- advice: [PyTorch] Join what {place|each step} needs on the CPU, and copy it once: `torch.stack` or `torch.cat` into one pinned buffer, one `.to(device, non_blocking=True)`, then views of it (`unbind`, `split`).
-- advice: [else, JAX or XLA] Join what {place|each step} needs on the CPU, and copy it once: one `jax.device_put` of one array, and slices of it inside of `jax.jit`.
-- advice: [else, CuPy or Numba] Join what {place|each step} needs in one pinned array on the CPU, copy it once, and take views of it on the GPU.
-- advice: [else] Join what {place|each step} needs in one pinned buffer, and copy it with a single `cudaMemcpyAsync`; values that all threads read fit into a kernel's arguments.
-- advice: Keep on the GPU whatever does not change from step to step.
-- source: CUDA C++ Best Practices Guide, Data Transfer Between Host and Device (batch many small transfers into one); thresholds: ours
SELECT 0::DOUBLE AS value, 0 AS saving_ns, 0 AS copies, NULL AS row_copies, NULL AS each_bytes,
    0 AS lost_ns, NULL AS evidence
FROM finding_window
WHERE ns > 0 AND NOT EXISTS (
        SELECT device_id FROM selected_memop WHERE kind = 'memcpy' AND copy_kind = 1 AND bytes <= $most_bytes::BIGINT
        GROUP BY device_id HAVING count(*) >= $copies::BIGINT
    );

WITH copy AS (
    SELECT device_id, stream_id, memop_id, operation, bytes, start_ns, end_ns, peak_bytes_per_s
    FROM selected_copy WHERE kind = 'memcpy' AND copy_kind = 1 AND bytes <= $most_bytes::BIGINT
), placed AS MATERIALIZED (  -- a row is named by the compute that began last before it
    SELECT copy.*, compute.start_ns AS row_id, compute.end_ns AS busy_until_ns FROM copy
    ASOF LEFT JOIN finding_compute AS compute
        ON compute.device_id = copy.device_id AND copy.start_ns >= compute.start_ns
), spaced AS (
    SELECT *, max(end_ns) OVER (
            PARTITION BY device_id, row_id ORDER BY start_ns, memop_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached_ns
    FROM placed
), priced AS (
    SELECT *, CASE WHEN reached_ns IS NULL THEN 0 ELSE greatest(0, end_ns - greatest(
            coalesce(busy_until_ns, 0),
            CASE WHEN start_ns - reached_ns > $gap_ns::BIGINT THEN start_ns ELSE reached_ns END
        ) - coalesce(1e9 * bytes / peak_bytes_per_s, 0)) END AS ns
    FROM spaced
), long AS MATERIALIZED (
    SELECT device_id, row_id, count(*) AS copies, sum(ns)::BIGINT AS ns, sum(bytes)::BIGINT AS bytes,
        median(bytes) AS each_bytes, min(start_ns) AS start_ns, max(end_ns) AS end_ns, min(stream_id) AS stream_id,
        min(operation) AS operation
    FROM priced GROUP BY device_id, row_id HAVING count(*) >= $copies::BIGINT
), total AS (
    SELECT coalesce(sum(copies), 0)::BIGINT AS copies, median(copies) AS row_copies,
        median(each_bytes) AS each_bytes, coalesce(sum(ns), 0)::BIGINT AS lost_ns
    FROM long
), shown AS (
    SELECT {
            'name': operation, 'ns': ns, 'bytes': bytes, 'start_ns': start_ns, 'end_ns': end_ns,
            'device': device_id, 'stream': stream_id
        } AS piece
    FROM long ORDER BY ns DESC, start_ns LIMIT 10
)
SELECT 100.0 * lost_ns / nullif(finding_window.ns, 0) AS value, lost_ns AS saving_ns, total.copies,
    row_copies::BIGINT AS row_copies, each_bytes::BIGINT AS each_bytes, lost_ns,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN total;
