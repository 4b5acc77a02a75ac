-- title: Garbage collection
-- question: Does the GPU wait while Python collects garbage?
-- The share of each GPU's active span (first to last operation) that it is idle while the thread that launches the next
-- operation is in a range named gc or garbage collection, as hooks in `gc.callbacks` create them. Without such ranges,
-- CPU samples decide: the rule takes the idle time in host code times the share of its samples in Python's collector.
-- The samples must name functions of the interpreter. With neither, the rule cannot judge, unless the GPU is hardly
-- idle at all.
-- needs: kernel or memop or graph_launch
-- includes: finding, idle
-- selects: part
-- once: span, functions, idle
-- parts: host code
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the active span
-- column: idle_ns | ns | | idle time of all GPUs during collection
-- column: told_by | text | | basis of the value: ranges or CPU samples
-- says: The GPU waits {value} of the time ({idle_ns}) while Python collects garbage (seen in {told_by}).
-- clear: The GPU waits {value} of the time for garbage collection.
-- advice: [Lightning] Collect at a moment of your choice: after warm-up `gc.freeze()` and `gc.disable()`, and `gc.collect()` every N steps in a callback (`on_train_batch_end`).
-- advice: [else] Collect at a moment of your choice: after warm-up `gc.collect()`, `gc.freeze()` and `gc.disable()`, then every N steps.
-- advice: Create fewer objects in the loop, and no reference cycles that hold arrays.
-- source: TensorRT-LLM hotspot-classification, nsys-ai gc_impact; share of the time: ours
SELECT CASE WHEN 100 * (SELECT coalesce(sum(b - a), 0) FROM selected_hole(1)) < $threshold::DOUBLE * ns
        THEN 0::DOUBLE END AS value,
    'No range is called gc, and no CPU samples name functions of the Python interpreter.' AS unjudged,
    0 AS saving_ns, 0 AS idle_ns, 'CPU samples' AS told_by, NULL AS evidence
FROM finding_window
WHERE ns > 0 AND NOT has_rows('cpu_sample') AND NOT EXISTS (
        FROM path_pattern WHERE regexp_matches(pattern, '(?i)gc|garbage')
    );

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
), idle AS (
    SELECT coalesce(sum(b - a), 0) AS ns FROM selected_hole(1)
), total AS (
    SELECT has_ranges OR has_samples AS can_judge, CASE WHEN has_ranges THEN 'ranges' ELSE 'CPU samples' END AS told_by,
        round(coalesce(CASE WHEN has_ranges THEN (SELECT sum(ns) FROM named) ELSE sampled.ns END, 0))::BIGINT AS ns
    FROM known CROSS JOIN sampled
), shown AS (
    SELECT ns, s, {
            'name': path, 'ns': ns, 'start_ns': s, 'end_ns': e, 'device': device_id, 'range': path
        } AS piece
    FROM (FROM named ORDER BY ns DESC, s LIMIT 10) AS named JOIN range_path USING (path_id)
)
SELECT CASE WHEN can_judge OR 100 * idle.ns < $threshold::DOUBLE * finding_window.ns
        THEN 100.0 * total.ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN NOT can_judge
        THEN 'No range is called gc, and no CPU samples name functions of the Python interpreter.' END AS unjudged,
    total.ns AS saving_ns, total.ns AS idle_ns, told_by,
    (SELECT list(piece ORDER BY ns DESC, s) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN idle;
