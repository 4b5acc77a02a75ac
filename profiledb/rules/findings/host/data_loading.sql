-- title: Data loading
-- question: Does the GPU wait for input data?
-- The share of each GPU's active span (first to last operation) that it is idle while the thread that has yet to launch
-- the next operation is in a range named like data loading (next_batch, DataLoader, load_data, fetch, collate,
-- transform_image ...), or in a range inside one. Loading that overlaps the GPU's work costs nothing and does not
-- count, nor do gaps below `least_ns` in such ranges if they launch `kernels` or more each: they wait for launches. A
-- thread that sleeps loads nothing (os_blocking). Without a range of such a name, the gaps of `least_ns` or more count
-- that end with a copy of `least_bytes` or more to the GPU, if at least half of the steps have one, or without steps if
-- there are `times`: the CPU makes input there, unless the gap follows a copy to the host, whose data it may process,
-- or copies as many bytes as come from another GPU, which sends them through the host, is short enough to fill a buffer
-- (`staged_bytes_per_s`), or precedes the GPU's first kernel, like the copies of weights, or lies in a range within a
-- step that follows kernels of that step: the range names work on what the step has. Without either, the rule cannot
-- judge, unless the GPU is hardly idle at all; nor can it if ranges of such names launch most of the kernel time, like
-- a range around a loop over a DataLoader: the name then says nothing about the CPU. The cause is `made` if there are
-- `made` such gaps per step or more: a loader fills a batch in one. It is `works` if calls into the operating system
-- were traced and the thread is in none of them for half of the time or more: it then makes the input itself, and waits
-- for no worker. If no range has such a name and the loader has workers, such a thread may do anything, so the rule
-- cannot judge.
-- needs: kernel or memop or graph_launch
-- includes: finding, idle, waiting, ranges, program
-- selects: part
-- once: span, functions, names, signs, idle, steps, finding_steps
-- parts: data loading, host code, OS runtime call
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: least_ns = 100000 shorter gaps before a copy, or in ranges that launch many kernels, do not count
-- param: kernels = 10 kernels that a range launches each time from which its short gaps do not count
-- param: least_bytes = 64000 smaller copies are not input
-- param: times = 4 fewest such gaps without steps
-- param: staged_bytes_per_s = 4000000000 slowest rate at which the CPU fills a buffer, bytes/s
-- param: made = 2 gaps per step from which input is made in the middle of steps, not loaded
-- column: idle_ns | ns | | idle time of all GPUs during loading
-- column: range | name | | data loading range with most of it, unless that is the whole step; * stands for its last number
-- column: function | name | | OS call with most of it, if at least half
-- column: step_ns | ns | | idle time per step
-- column: steps | count | | steps that count
-- says: The GPU waits for input {value} of the time ({idle_ns}, {step_ns} per step): meanwhile the CPU is in {function} in {range}.
-- says: The GPU waits for input {value} of the time ({idle_ns}): meanwhile the CPU is in {function} in {range}.
-- says: The GPU waits for input {value} of the time ({idle_ns}, {step_ns} per step): meanwhile the CPU is in {range}.
-- says: The GPU waits for input {value} of the time ({idle_ns}): meanwhile the CPU is in {range}.
-- says: The GPU waits for input {value} of the time ({idle_ns}, {step_ns} per step): meanwhile the CPU works before copies to the GPU.
-- says: The GPU waits for input {value} of the time ({idle_ns}): meanwhile the CPU works before copies to the GPU.
-- clear: The GPU waits for input {value} of the time.
-- advice: [made, PyTorch] Make on the GPU what {part|the loop} copies to it in the middle of a step: `torch.randn(..., device="cuda")` for random numbers, and no NumPy. What the CPU has to make, another thread can make ahead.
-- advice: [made, else] Make on the GPU what {part|the loop} copies to it in the middle of a step, such as random numbers. What the CPU has to make, another thread can make ahead.
-- advice: [works, loader workers] Move the work that the launching thread does in {part|the loop} into the loader's workers (the dataset, or `collate_fn`), or do it on the GPU: the thread itself computes, it does not wait for them.
-- advice: [not made, else] -> load_ahead
-- advice: [PyTorch, pinned memory] Copy while the GPU works: `.to(device, non_blocking=True)` on its own stream; the memory is already pinned.
-- advice: [else, PyTorch] Copy while the GPU works, from pinned memory: `pin_memory=True` and `.to(device, non_blocking=True)`.
-- advice: [else, pinned memory] Copy while the GPU works; the memory is already pinned.
-- advice: [else] Copy while the GPU works, from pinned memory.
-- advice: [not made, PyTorch] Make the input cheaper: decode and transform on the GPU (NVIDIA DALI, `torchvision.transforms.v2`), or store decoded data.
-- advice: [not made, else] Make the input cheaper: decode and transform on the GPU, or store decoded data.
-- change: host_code={range}
-- source: PyTorch TensorBoard plugin (DataLoader > 5 % of the step); XProf input pipeline (5 % moderate, 20 % high)
SELECT CASE WHEN 100 * (SELECT coalesce(sum(b - a), 0) FROM selected_hole(1)) < $threshold::DOUBLE * ns
        THEN 0::DOUBLE END AS value,
    'No range of the selection is called like data loading, for example next_batch.' AS unjudged, 0 AS saving_ns,
    0 AS idle_ns, NULL AS cause, NULL AS range, NULL AS function, steps,
    CASE WHEN gpus = 1 AND steps > 0 THEN 0 END AS step_ns, NULL AS evidence
FROM finding_window
CROSS JOIN (SELECT nullif(count(*), 0) AS steps FROM selected_counted_step('process') WHERE rank = 1)
WHERE ns > 0 AND NOT EXISTS (FROM path_pattern WHERE is_loading(pattern))
    AND NOT EXISTS (FROM selected_memop WHERE copy_kind = 1 AND bytes >= $least_bytes::BIGINT);

WITH loading AS MATERIALIZED (
    SELECT path_id, pattern FROM path_pattern WHERE is_loading(pattern)
), computed AS (
    SELECT coalesce(2 * sum(ns) FILTER (path_id IN (SELECT path_id FROM loading)) > sum(ns), false) AS inside
    FROM (SELECT process_range AS pre, sum(end_ns - start_ns) AS ns FROM selected_kernel GROUP BY process_range)
    LEFT JOIN range USING (pre)
), named AS (
    SELECT count(*) > 0 AS is_named FROM selected_range WHERE path_id IN (SELECT path_id FROM loading)
), step AS (
    SELECT nullif(count(*), 0) AS steps FROM selected_counted_step('process') WHERE rank = 1
), worked AS (
    SELECT gap_id, any_value(device_id) AS device_id, any_value(start_ns) AS start_ns,
        any_value(next.call_id) AS call_id, sum(ns) AS ns, arg_max(pre, ns) AS pre
    FROM selected_idle(2000, NULL)
    WHERE reason IN ('host code', 'OS runtime call') AND duration_ns >= $least_ns::BIGINT
        AND NOT (SELECT is_named FROM named)
    GROUP BY gap_id
), amid AS (  -- gaps in a range within a step, after a kernel of that step
    SELECT gap_id FROM worked
    ASOF JOIN (
        SELECT pre AS low, post AS high FROM selected_counted_step('process')
        JOIN (SELECT range_id, post FROM range) USING (range_id) WHERE leads
    ) AS step ON worked.pre > low
    JOIN (SELECT device_id, end_ns AS start_ns, process_range FROM selected_kernel) USING (device_id, start_ns)
    WHERE worked.pre <= high AND process_range BETWEEN low AND high
), fetched AS MATERIALIZED (
    SELECT bytes, min(device_id) AS low, max(device_id) AS high FROM memop
    WHERE copy_kind = 2 AND bytes >= $least_bytes::BIGINT GROUP BY bytes
), fed AS MATERIALIZED (
    SELECT gap_id FROM worked ANTI JOIN amid USING (gap_id)
    JOIN (
        SELECT call_id, bytes FROM selected_memop LEFT JOIN fetched USING (bytes)
        WHERE copy_kind = 1 AND bytes >= $least_bytes::BIGINT AND coalesce(low = device_id AND high = device_id, true)
    ) AS sent USING (call_id)
    ANTI JOIN (
        SELECT device_id, end_ns AS start_ns FROM memop WHERE copy_kind = 2 AND bytes >= $least_bytes::BIGINT
    ) AS back USING (device_id, start_ns)
    JOIN (SELECT device_id, min(start_ns) AS first_ns FROM kernel GROUP BY device_id) USING (device_id)
    WHERE ns * $staged_bytes_per_s::DOUBLE > 1e9 * bytes AND start_ns > first_ns
    QUALIFY count(*) OVER () >= coalesce((SELECT steps FROM step) / 2, $times::BIGINT)
), launching AS (
    SELECT path_id FROM (
        SELECT path_id, count(*) AS kernels FROM selected_kernel JOIN range ON pre = process_range
        SEMI JOIN loading USING (path_id) GROUP BY path_id
    ) JOIN (SELECT path_id, count(*) AS ranges FROM selected_range GROUP BY path_id) USING (path_id)
    WHERE kernels >= $kernels::INTEGER * ranges
), awake AS (FROM selected_idle(2000, NULL) WHERE NOT is_sleeping(function)
), piece AS MATERIALIZED (
    SELECT gap_id, device_id, s, e, ns, pattern, path_id, reason, function FROM awake JOIN range USING (pre)
    JOIN loading USING (path_id)
    WHERE reason <> 'launch latency'
        AND (duration_ns >= $least_ns::BIGINT OR path_id NOT IN (FROM launching))
    UNION ALL
    SELECT gap_id, device_id, s, e, ns, pattern, path_id, reason, function FROM awake SEMI JOIN fed USING (gap_id)
    LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN path_pattern USING (path_id)
    WHERE reason IN ('host code', 'OS runtime call')
), total AS (
    SELECT coalesce(sum(ns), 0)::BIGINT AS ns FROM piece
), idle AS (
    SELECT coalesce(sum(b - a), 0) AS ns FROM selected_hole(1)
), main AS (
    SELECT pattern FROM piece GROUP BY pattern ORDER BY sum(ns) DESC, pattern LIMIT 1
), called AS (
    SELECT function FROM piece WHERE reason = 'OS runtime call' GROUP BY function
    HAVING 2 * sum(ns) >= (SELECT ns FROM total) ORDER BY sum(ns) DESC, function LIMIT 1
), whole AS (
    SELECT DISTINCT pattern FROM selected_range JOIN path_pattern USING (path_id)
    SEMI JOIN finding_step USING (start_ns, end_ns)
), longest AS (
    SELECT gap_id, {
            'name': coalesce(arg_max(path, piece.ns), 'Outside all ranges'), 'ns': sum(piece.ns)::BIGINT,
            'start_ns': min(s), 'end_ns': max(e),
            'device': any_value(device_id),
            'range': arg_max(CASE WHEN pattern NOT IN (FROM whole) THEN path END, piece.ns)
        } AS shown, sum(piece.ns) AS ns
    FROM piece LEFT JOIN range_path USING (path_id) GROUP BY gap_id ORDER BY ns DESC, gap_id LIMIT 10
), judged AS (
    SELECT CASE WHEN (SELECT count(*) FROM fed) >= $made::DOUBLE * step.steps THEN 'made'
            WHEN has_rows('osrt_call') AND 2 * (SELECT sum(ns) FROM piece WHERE reason = 'host code') >= total.ns
                THEN 'works' END AS cause,
        (SELECT count(*) > 0 FROM fed) AS is_fed,
        (SELECT count(*) > 0 FROM program_sign WHERE trait = 'loader workers') AS has_workers
    FROM step CROSS JOIN total
), known AS (
    SELECT inside, cause, is_fed AND has_workers AND coalesce(cause = 'works', false) AS is_unknown,
        is_named AND NOT inside OR is_fed AND NOT is_unknown AS can_judge
    FROM computed CROSS JOIN named CROSS JOIN judged
)
SELECT CASE WHEN can_judge OR 100 * idle.ns < $threshold::DOUBLE * finding_window.ns
        THEN 100.0 * total.ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN inside THEN 'Most kernels are launched in ranges that are called like data loading.'
        WHEN is_unknown THEN 'The launching thread works before copies to the GPU, its loader has workers, and no range'
            || ' says what it does.'
        WHEN NOT can_judge THEN 'No range of the selection is called like data loading, for example next_batch.' END
        AS unjudged,
    total.ns AS saving_ns, total.ns AS idle_ns,
    cause, (SELECT pattern FROM main WHERE pattern NOT IN (FROM whole)) AS range,
    (SELECT function FROM called) AS function,
    step.steps,
    CASE WHEN finding_window.gpus = 1 THEN total.ns / step.steps END::BIGINT AS step_ns,
    (SELECT list(shown ORDER BY ns DESC, gap_id) FROM longest) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN idle CROSS JOIN step CROSS JOIN known;
