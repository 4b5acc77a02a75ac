-- title: Garbage collection
-- question: Does the GPU wait while Python collects garbage?
-- The share of each GPU's active span (first to last operation) that it is idle while the thread that launches the next
-- operation is in a range named gc or garbage collection, as hooks in `gc.callbacks` create them. Without such ranges,
-- CPU samples decide: the rule takes the idle time in host code times the share of its samples in Python's collector.
-- The samples must name functions of the interpreter. With neither, what follows in a program of PyTorch or CuPy
-- decides: code of `least_ns` or more without a call of CUDA, and then at least `frees` releases of device memory in a
-- row, `times` times or more, as `gc.collect()` and `torch.cuda.empty_cache()` make them. Without these the rule cannot
-- judge, unless the GPU is hardly idle at all.
-- needs: kernel or memop or graph_launch
-- includes: finding, idle, program
-- selects: part
-- once: span, functions, idle
-- parts: host code
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the active span
-- param: least_ns = 5000000 shortest code before releases that counts as collection
-- param: frees = 2 fewest releases in a row after it
-- param: times = 3 fewest times of both
-- column: idle_ns | ns | | idle time of all GPUs during collection
-- column: told_by | text | | basis of the value: ranges, CPU samples, or releases of memory
-- column: frees | count | | releases of device memory after collections, if these tell of them
-- column: times | count | | collections that releases tell of
-- says: The GPU waits {value} of the time ({idle_ns}) while the CPU works and then frees GPU memory, {times} times ({frees} calls): most likely `gc.collect()` before the cache of GPU memory is emptied.
-- says: The GPU waits {value} of the time ({idle_ns}) while Python collects garbage (seen in {told_by}).
-- clear: The GPU waits {value} of the time for garbage collection.
-- advice: [emptied, PyTorch] Remove `gc.collect()` and `torch.cuda.empty_cache()` from {part|the loop}: Python frees most objects without them, and the caching allocator reuses blocks.
-- advice: [emptied, not PyTorch] Remove `gc.collect()` and `free_all_blocks()` from {part|the loop}: Python frees most objects without them, and the pool reuses blocks.
-- advice: [not emptied, Lightning] Collect at a moment of your choice: after warm-up `gc.freeze()` and `gc.disable()`, and `gc.collect()` every N steps in a callback (`on_train_batch_end`).
-- advice: [not emptied, not Lightning] Collect at a moment of your choice: after warm-up `gc.collect()`, `gc.freeze()` and `gc.disable()`, then every N steps.
-- advice: Create fewer objects in the loop, and no reference cycles that hold arrays.
-- source: TensorRT-LLM hotspot-classification, nsys-ai gc_impact; share of the time: ours
SELECT CASE WHEN 100 * (SELECT coalesce(sum(b - a), 0) FROM selected_hole(1)) < $threshold::DOUBLE * ns
        THEN 0::DOUBLE END AS value,
    'No range is called gc, and no CPU samples name functions of the Python interpreter.' AS unjudged,
    0 AS saving_ns, 0 AS idle_ns, 'CPU samples' AS told_by, NULL AS frees, NULL AS times, NULL AS cause,
    NULL AS evidence
FROM finding_window
WHERE ns > 0 AND NOT has_rows('cpu_sample') AND NOT EXISTS (
        FROM path_pattern WHERE regexp_matches(pattern, '(?i)gc|garbage')
    ) AND NOT EXISTS (FROM api_function WHERE frees_device_memory(function));

WITH collected AS (
    SELECT path_id FROM path_pattern
    WHERE regexp_matches(pattern, '(?i)(^|[^a-z])(gc|gc[ _.:]?collect\w*|garbage[ _-]?collect\w*)([^a-z]|$)')
), named AS MATERIALIZED (
    SELECT gap_id, device_id, s, e, ns, path_id FROM selected_idle(2000, NULL)
    JOIN (SELECT pre, path_id FROM range WHERE path_id IN (SELECT path_id FROM collected)) USING (pre)
    WHERE reason <> 'launch latency'
), host AS MATERIALIZED (
    SELECT device_id, tid, s, e, ns FROM selected_idle(2000, NULL) WHERE reason = 'host code'
), met AS MATERIALIZED (FROM finding_idle_sample('host')
), symbol AS (
    SELECT string_id AS symbol_id, regexp_matches(value, '(^|_)(gc_collect|PyGC_Collect|collect_with_callback'
            || '|deduce_unreachable)') AS collects
    FROM string WHERE regexp_matches(value, '^_?Py[A-Z]|^_*gc_collect|^collect_with_callback|^deduce_unreachable')
), chain AS (
    SELECT callchain_id, bool_or(collects) AS collects FROM callchain JOIN symbol USING (symbol_id)
    WHERE kind = 'sample' AND callchain_id IN (SELECT sample_id FROM met) GROUP BY callchain_id
), sampled AS (
    SELECT count(*) > 0 AS has_samples, count(*) FILTER (collects) / nullif((SELECT count(*) FROM met), 0)
            * (SELECT sum(ns) FROM host) AS ns
    FROM chain
), known AS (
    SELECT count(*) > 0 AS has_ranges FROM selected_range WHERE path_id IN (SELECT path_id FROM collected)
), called AS (  -- releases, and the time since the call before: in a row they count with the first one
    SELECT global_tid AS tid, start_ns, frees, since_ns,
        count_if(NOT frees) OVER (PARTITION BY global_tid ORDER BY start_ns ROWS UNBOUNDED PRECEDING) AS row
    FROM (
        SELECT global_tid, start_ns, frees_device_memory(function) AS frees,
            lag(end_ns) OVER (PARTITION BY global_tid ORDER BY start_ns) AS since_ns
        FROM selected_api_call JOIN api_function USING (name_id)
    ) WHERE EXISTS (FROM api_function WHERE frees_device_memory(function))
), emptied AS MATERIALIZED (
    SELECT tid, arg_min(since_ns, start_ns) AS s, min(start_ns) AS e, count(*) AS frees
    FROM called WHERE frees GROUP BY tid, row HAVING count(*) >= $frees::INTEGER AND e - s >= $least_ns::BIGINT
), waited AS MATERIALIZED (
    SELECT device_id, idle.s, idle.e, ns, pre, emptied.e AS freed_ns
    FROM (FROM selected_idle(2000, NULL) WHERE reason IN ('host code', 'OS runtime call')) AS idle
    ASOF JOIN emptied ON idle.tid = emptied.tid AND idle.e <= emptied.e
    WHERE idle.s >= emptied.s
), told AS (
    SELECT sum(ns) AS ns, count(DISTINCT freed_ns) AS times,
        (SELECT sum(frees) FROM emptied WHERE e IN (SELECT freed_ns FROM waited)) AS frees
    FROM waited WHERE EXISTS (FROM program_sign WHERE trait IN ('PyTorch', 'CuPy')) HAVING times >= $times::INTEGER
), idle AS (
    SELECT coalesce(sum(b - a), 0) AS ns FROM selected_hole(1)
), total AS (
    SELECT has_ranges OR has_samples OR coalesce(told.ns > 0, false) AS can_judge,
        CASE WHEN has_ranges THEN 'ranges' WHEN has_samples OR told.ns IS NULL THEN 'CPU samples'
            ELSE 'releases of memory' END AS told_by,
        round(coalesce(CASE told_by WHEN 'ranges' THEN (SELECT sum(ns) FROM named)
            WHEN 'CPU samples' THEN sampled.ns ELSE told.ns END, 0))::BIGINT AS ns,
        CASE WHEN told_by = 'releases of memory' THEN told.frees END AS frees,
        CASE WHEN told_by = 'releases of memory' THEN told.times END AS times
    FROM known CROSS JOIN sampled LEFT JOIN told ON true
), shown AS (
    SELECT ns, s, {
            'name': coalesce(path, 'Outside all ranges'), 'ns': ns, 'start_ns': s, 'end_ns': e, 'device': device_id,
            'range': path
        } AS piece
    FROM (
        SELECT device_id, s, e, ns, path_id FROM named
        UNION ALL SELECT device_id, s, e, ns, path_id FROM waited LEFT JOIN (SELECT pre, path_id FROM range) USING (pre)
        WHERE (SELECT times FROM total) > 0
        ORDER BY ns DESC, s LIMIT 10
    ) LEFT JOIN range_path USING (path_id)
)
SELECT CASE WHEN can_judge OR 100 * idle.ns < $threshold::DOUBLE * finding_window.ns
        THEN 100.0 * total.ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN NOT can_judge
        THEN 'No range is called gc, and no CPU samples name functions of the Python interpreter.' END AS unjudged,
    total.ns AS saving_ns, total.ns AS idle_ns, told_by, frees, times, CASE WHEN times > 0 THEN 'emptied' END AS cause,
    (SELECT list(piece ORDER BY ns DESC, s) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN idle;
