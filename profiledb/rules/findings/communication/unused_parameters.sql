-- title: Search for unused parameters
-- question: Does DistributedDataParallel search for parameters that a step does not use?
-- The time of searches in which the GPU is idle and of all-reduces of the list in which it computes nothing, as a share
-- of the active span (first to last operation of each GPU). With `find_unused_parameters=True` each forward pass walks
-- the graph of the loss, and each backward pass reduces a list of the used parameters with all gradients. Evidence is
-- the range of the search (`torch.distributed.ddp.reducer::search_unused_parameters`), or all-reduces of 32-bit
-- integers, the type of the list, once or twice per step beside those of gradients. No report shows whether a step
-- leaves parameters out.
-- needs: kernel
-- includes: finding, work, nccl, ranges, idle, waiting
-- selects: part
-- once: span, functions, idle, compute, communication, finding_steps, messages
-- parts: communication, host code
-- unit: %
-- fires: above
-- param: threshold = 0.5 fires at or above this share of the active span
-- column: searches | count | | searches through the graph, if ranges show them
-- column: reduced | count | | all-reduces of the list
-- column: cost_ns | ns | | time of both
-- says: DistributedDataParallel searches for unused parameters in {searches} {searches|step|steps} and reduces the list of them {reduced} {reduced|time|times}: {cost_ns}, {value} of the time.
-- says: DistributedDataParallel reduces a list of used parameters {reduced} {reduced|time|times}, once or twice a step: it costs {cost_ns}, {value} of the time, plus the search itself, which no range shows.
-- clear: A search for unused parameters costs {value} of the time.
-- advice: [PyTorch] Drop `find_unused_parameters=True` if each step uses all parameters (PyTorch warns about it). Remove parameters that are never used, or freeze them before wrapping the model.
-- advice: [PyTorch] If the same parameters are unused in each step, `static_graph=True` searches only once.
-- advice: [not PyTorch] If each step uses all parameters, reduce only the gradients, without a list of those that it used.
-- source: PyTorch, torch/csrc/distributed/c10d/reducer.cpp (search_unused_parameters, all_reduce_local_used_map); threshold: ours
SELECT NULL AS value, 'The selection has no all-reduces of NCCL.' AS unjudged, 0 AS saving_ns, NULL AS searches,
    0 AS reduced, 0 AS cost_ns, NULL AS evidence
FROM finding_communication
HAVING count(*) = 0 AND NOT EXISTS (FROM range_path WHERE contains(name, 'search_unused_parameters'));

WITH search AS MATERIALIZED (
    SELECT pre, post FROM selected_range JOIN range_path USING (path_id)
    WHERE contains(range_path.name, 'search_unused_parameters')
), step AS (SELECT nullif(count(DISTINCT number), 0) AS steps FROM finding_step
), whole AS (
    SELECT one.*, regexp_matches(short, '(?i)_(u32|i32|u?int32_t)(_|$)') OR coalesce(dtype = 'Int', false) AS listed
    FROM finding_communication AS one
    LEFT JOIN (SELECT kernel_id, dtype FROM nccl_collective) AS traced USING (kernel_id)
    WHERE nccl_operation(short) = 'AllReduce'
), listed AS MATERIALIZED (
    SELECT whole.* FROM whole CROSS JOIN step WHERE listed AND EXISTS (SELECT 1 FROM whole WHERE NOT listed)
        AND (SELECT count(*) FROM whole WHERE listed) BETWEEN steps - 1 AND 2 * steps + 1
), reduced AS (FROM finding_cover('listed', 'finding_compute')
), idle AS (
    SELECT coalesce(sum(ns), 0)::BIGINT AS ns
    FROM selected_idle(2000, NULL) AS piece ASOF JOIN search ON piece.pre >= search.pre WHERE piece.pre <= search.post
), total AS (
    SELECT idle.ns + bare_ns AS ns, (SELECT nullif(count(*), 0) FROM search) AS searches,
        (SELECT count(*) FROM listed) AS reduced
    FROM idle CROSS JOIN reduced
), shown AS (
    SELECT {
            'name': short, 'ns': end_ns - start_ns, 'start_ns': start_ns, 'end_ns': end_ns, 'device': device_id,
            'stream': stream_id
        } AS piece
    FROM listed ORDER BY end_ns - start_ns DESC, start_ns LIMIT 10
)
SELECT CASE WHEN EXISTS (FROM whole) OR searches > 0 THEN 100.0 * total.ns / nullif(finding_window.ns, 0) END AS value,
    'The selection has no all-reduces of NCCL.' AS unjudged,
    total.ns AS saving_ns, searches, reduced, total.ns AS cost_ns,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN total;
