-- title: Data loading
-- question: Does the GPU wait for input data?
-- The share of each GPU's active span (first to last operation) that it is idle while the thread that has yet to launch
-- the next operation is in a range named like data loading (next_batch, DataLoader, load_data, fetch, collate,
-- transform_image ...), or in a range inside one. Loading that overlaps the GPU's work costs nothing and does not
-- count. Without a range of such a name the rule cannot judge, unless the GPU is hardly idle at all; nor can it if such
-- ranges launch most of the kernel time, like a range around a loop over a DataLoader: the name then says nothing about
-- the CPU.
-- needs: kernel or memop or graph_launch
-- needs: range
-- includes: finding, idle, waiting, ranges
-- selects: part
-- once: functions, idle, steps
-- parts: data loading
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- column: idle_ns | ns | | idle time of all GPUs during loading
-- column: range | name | | data loading range with most of it; * stands for its last number
-- column: step_ns | ns | | idle time per step
-- column: steps | count | | steps that count
-- says: The GPU waits for input {value} of the time ({idle_ns}, {step_ns} per step): meanwhile the CPU is in {range}.
-- says: The GPU waits for input {value} of the time ({idle_ns}): meanwhile the CPU is in {range}.
-- clear: The GPU waits for input {value} of the time.
-- advice: -> load_ahead
-- advice: [PyTorch, pinned memory] Copy while the GPU works: `.to(device, non_blocking=True)` on a stream of its own; the memory is pinned already.
-- advice: [else, PyTorch] Copy while the GPU works, from pinned memory: `pin_memory=True` and `.to(device, non_blocking=True)`.
-- advice: [else, pinned memory] Copy while the GPU works: the memory is pinned already.
-- advice: [else] Copy while the GPU works, from pinned memory.
-- advice: [PyTorch] Make the input cheaper: decode and transform on the GPU (NVIDIA DALI, `torchvision.transforms.v2`), or store what is decoded.
-- advice: [else] Make the input cheaper: decode and transform on the GPU, or store what is decoded.
-- source: PyTorch TensorBoard plugin (DataLoader > 5 % of the step); XProf input pipeline (5 % moderate, 20 % high)
WITH loading AS MATERIALIZED (
    SELECT path_id, pattern FROM path_pattern WHERE is_loading(pattern)
), piece AS (
    SELECT gap_id, device_id, s, e, ns, pattern, path_id FROM selected_idle(2000, NULL) JOIN range USING (pre)
    JOIN loading USING (path_id) WHERE reason <> 'launch latency'
), total AS (
    SELECT coalesce(sum(ns), 0)::BIGINT AS ns FROM piece
), idle AS (
    SELECT coalesce(sum(b - a), 0) AS ns FROM selected_hole(1)
), main AS (
    SELECT pattern FROM piece GROUP BY pattern ORDER BY sum(ns) DESC, pattern LIMIT 1
), step AS (
    SELECT nullif(count(*), 0) AS steps FROM selected_counted_step('process') WHERE rank = 1
), longest AS (
    SELECT gap_id, {
            'name': arg_max(path, piece.ns), 'ns': sum(piece.ns)::BIGINT, 'start_ns': min(s), 'end_ns': max(e),
            'device': any_value(device_id), 'range': arg_max(path, piece.ns)
        } AS shown, sum(piece.ns) AS ns
    FROM piece JOIN range_path USING (path_id) GROUP BY gap_id ORDER BY ns DESC, gap_id LIMIT 10
), computed AS (
    SELECT coalesce(2 * sum(ns) FILTER (path_id IN (SELECT path_id FROM loading)) > sum(ns), false) AS inside
    FROM (SELECT process_range AS pre, sum(end_ns - start_ns) AS ns FROM selected_kernel GROUP BY process_range)
    LEFT JOIN range USING (pre)
), known AS (
    SELECT inside, (SELECT count(*) FROM selected_range WHERE path_id IN (SELECT path_id FROM loading)) > 0
        AND NOT inside AS named
    FROM computed
)
SELECT CASE WHEN named OR 100 * idle.ns < $threshold::DOUBLE * finding_window.ns
        THEN 100.0 * total.ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN inside THEN 'Most kernels are launched in ranges that are called like data loading.'
        WHEN NOT named THEN 'No range of the selection is called like data loading, for example next_batch.' END
        AS unjudged,
    total.ns AS saving_ns, total.ns AS idle_ns, (SELECT pattern FROM main) AS range, step.steps,
    CASE WHEN finding_window.gpus = 1 THEN total.ns / step.steps END::BIGINT AS step_ns,
    (SELECT list(shown ORDER BY ns DESC, gap_id) FROM longest) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN idle CROSS JOIN step CROSS JOIN known;
