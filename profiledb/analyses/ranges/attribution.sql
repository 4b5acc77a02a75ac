-- title: GPU time by range match
-- GPU work by its match to ranges. attributed: the launching thread had a range open; inferred: only the thread that
-- drives the launching one had, as in a backward pass of PyTorch, which the mode `process` counts; unattributed:
-- outside all ranges. The three rows add up to the selection.
-- page: ranges
-- prefetch: part
-- needs: kernel or memop or graph_launch
-- needs: range
-- includes: selection
-- selects: part
-- column: category | text | | attributed, inferred, unattributed
-- column: operations | count | | kernels, memcpy, memset and whole CUDA graphs
-- column: gpu_ns | ns | | sum of their durations
-- column: share_pct | % | .1f | share of the sum over all three
WITH work AS (
    SELECT end_ns - start_ns AS ns, call_id, thread_range, process_range FROM selected_kernel
    UNION ALL SELECT end_ns - start_ns, call_id, thread_range, process_range FROM selected_memop
    UNION ALL SELECT end_ns - start_ns, call_id, thread_range, process_range FROM selected_graph_launch
), placed AS (
    SELECT ns, CASE
        WHEN thread_range IS NOT NULL
            OR coalesce(call_id IN (SELECT call_id FROM call_range WHERE thread_range IS NOT NULL), false)
            THEN 'attributed'
        WHEN process_range IS NOT NULL
            OR coalesce(call_id IN (SELECT call_id FROM call_range WHERE process_range IS NOT NULL), false)
            THEN 'inferred'
        ELSE 'unattributed' END AS category
    FROM work
), total AS (
    SELECT category, count(*) AS operations, sum(ns)::BIGINT AS gpu_ns FROM placed GROUP BY category
)
SELECT category, coalesce(operations, 0) AS operations, coalesce(gpu_ns, 0) AS gpu_ns,
    100.0 * coalesce(gpu_ns, 0) / nullif(sum(gpu_ns) OVER (), 0) AS share_pct
FROM (VALUES ('attributed'), ('inferred'), ('unattributed')) AS kind (category) LEFT JOIN total USING (category)
ORDER BY category;
