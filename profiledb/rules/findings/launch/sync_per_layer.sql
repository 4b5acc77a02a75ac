-- title: Synchronization in each layer
-- question: Does the model synchronize once or more in each layer?
-- The cost of waits in layers that synchronize, computed as in "CPU and GPU wait for each other", as a share of the
-- active span (first to last operation of each GPU). Layers are numbered ranges inside steps (layer_0, layer_1 ...);
-- each step that counts has the same number of them, at least `layers`. Layers synchronize if each step has the same
-- number of synchronizations and blocking copies in them, a multiple of the number of layers. If steps synchronize but
-- have no layers, the rule cannot judge.
-- needs: kernel or memop or graph_launch
-- needs: api_call
-- needs: range
-- includes: finding, idle, waiting, ranges
-- selects: part
-- once: span, steps, synced_gaps
-- parts: sync_bound
-- parts: synchronization, copy call, host code, other CUDA call, OS runtime call, launch call, launch latency
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the active span
-- param: layers = 4 fewest layers per step
-- column: range | name | | the layers; * stands for their number
-- column: layers | count | | layers per step
-- column: calls | count | | synchronizations in the layers of a step
-- column: function | name | | function with most of these calls
-- column: idle_ns | ns | | time that waiting for each other takes there
-- says: Each step synchronizes {calls} {calls|time|times} ({function}) in its {layers} layers {range}, which costs up to {value} of the time.
-- clear: Synchronization in layers costs up to {value} of the time.
-- advice: [PyTorch] Remove the calls that wait in {range}: `.item()`, `.cpu()`, `.tolist()`, `nonzero()`, masks as indexes, `if tensor:` and shapes that depend on data. `torch.cuda.set_sync_debug_mode("warn")` names the line.
-- advice: [else] -> read_later
-- advice: [CUDA C++ or Fortran] Order work by streams and events: `cudaStreamWaitEvent` instead of `cudaStreamSynchronize`.
-- source: TensorRT-LLM hotspot-classification (stream synchronizations per step that are a multiple of its layers); cost and threshold: ours
SELECT NULL AS value, 'The selection has no steps.' AS unjudged, 0 AS saving_ns, NULL AS idle_ns, NULL AS range,
    NULL AS layers, NULL AS calls, NULL AS function, NULL AS evidence
FROM selected_counted_step('process') WHERE leads HAVING count(*) = 0;

WITH RECURSIVE step AS MATERIALIZED (
    SELECT own.pre, own.post FROM selected_counted_step('process') JOIN range AS own USING (range_id) WHERE leads
), numbered AS MATERIALIZED (  -- paths whose last name has a number
    SELECT path_id, pattern, min(path_id) OVER (PARTITION BY pattern) AS pattern_id
    FROM path_pattern JOIN range_path USING (path_id) WHERE without_number(name) <> name
), by_step AS (
    SELECT pattern_id, step.pre, count(*) AS layers
    FROM (SELECT pre, pattern_id FROM range JOIN numbered USING (path_id)) AS one
    ASOF JOIN step ON one.pre > step.pre WHERE one.pre <= step.post GROUP BY ALL
), layered AS MATERIALIZED (
    SELECT pattern_id, min(layers) AS layers FROM by_step GROUP BY pattern_id
    HAVING min(layers) = max(layers) AND min(layers) >= $layers::BIGINT AND count(*) = (SELECT count(*) FROM step)
), call AS MATERIALIZED (
    SELECT path_id, function, step.pre AS step_pre, count(*) AS calls
    FROM (
        SELECT path_id, function, pre FROM api_call JOIN api_function USING (name_id)
        JOIN (SELECT pre, path_id FROM range) ON pre = process_range
        WHERE category IN ('synchronization', 'blocking copy')
    ) AS one ASOF JOIN step ON one.pre >= step.pre WHERE one.pre <= step.post GROUP BY ALL
), held AS MATERIALIZED (
    SELECT gap_id, device_id, s, a, duration_ns, ns, function, path_id
    FROM finding_synced_gap() JOIN (SELECT pre, path_id FROM range) ON pre = process_range
), above AS (  -- each path of a call with its ancestors
    SELECT path_id, path_id AS around FROM (SELECT path_id FROM call UNION SELECT path_id FROM held)
    UNION ALL
    SELECT above.path_id, parent_id FROM above JOIN range_path ON around = range_path.path_id
    WHERE parent_id IS NOT NULL
), belongs AS MATERIALIZED (
    SELECT above.path_id, pattern_id FROM above JOIN numbered ON around = numbered.path_id SEMI JOIN layered
        USING (pattern_id)
), counted AS (
    SELECT pattern_id, step_pre, sum(calls) AS calls FROM call JOIN belongs USING (path_id) GROUP BY ALL
), synced AS MATERIALIZED (
    SELECT pattern_id, layers, min(calls)::BIGINT AS calls FROM counted JOIN layered USING (pattern_id)
    GROUP BY pattern_id, layers
    HAVING min(calls) = max(calls) AND min(calls) % layers = 0 AND count(*) = (SELECT count(*) FROM step)
), cost AS (
    SELECT pattern_id, sum(ns)::BIGINT AS ns FROM held JOIN belongs USING (path_id) GROUP BY pattern_id
), main AS MATERIALIZED (
    SELECT pattern_id, pattern, layers, calls, coalesce(ns, 0) AS ns
    FROM synced JOIN (SELECT path_id AS pattern_id, pattern FROM numbered) USING (pattern_id)
    LEFT JOIN cost USING (pattern_id)
    ORDER BY coalesce(ns, 0) DESC, layers DESC, pattern LIMIT 1
), shown AS (
    SELECT held.ns, gap_id, {
            'name': path, 'note': function, 'ns': held.ns, 'start_ns': s, 'end_ns': a + duration_ns,
            'device': device_id, 'range': path
        } AS piece
    FROM held JOIN belongs USING (path_id) SEMI JOIN main USING (pattern_id) JOIN range_path USING (path_id)
    ORDER BY held.ns DESC, gap_id LIMIT 10
), known AS (
    SELECT (SELECT count(*) FROM step) > 0 AS steps, EXISTS (FROM layered) OR NOT EXISTS (FROM call) AS can_judge
)
SELECT CASE WHEN steps AND can_judge THEN 100.0 * coalesce(main.ns, 0) / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN NOT steps THEN 'The selection has no steps.'
        WHEN NOT can_judge THEN 'The steps have no ranges with numbers inside, such as layer_0 and layer_1.' END
        AS unjudged,
    coalesce(main.ns, 0) AS saving_ns, main.ns AS idle_ns, pattern AS range, layers, calls, (
        SELECT function FROM call JOIN belongs USING (path_id) SEMI JOIN main USING (pattern_id)
        GROUP BY function ORDER BY sum(calls) DESC, function LIMIT 1
    ) AS function,
    (SELECT list(piece ORDER BY ns DESC, gap_id) FROM shown) AS evidence
FROM finding_window CROSS JOIN known LEFT JOIN main ON true;
