-- title: GPU idle
-- question: Is the GPU idle while the program runs?
-- The share of each GPU's active span (first to last operation) in which no operation runs, as in `idle_reasons`. Range
-- and reason are those of most of this time (`idle_ranges`, `idle_reasons`): they describe the gaps, not the work
-- launched after them. The evidence lists the longest gaps. If most kernels are nodes of CUDA graphs, tracing each node
-- slows down `cudaGraphLaunch` (`traced_launch`): idle time in it is neither saved nor a reason, and if it decides
-- whether the rule fires, the rule does not judge. Code of the CPU in a compiled function of JAX is the cause `in XLA`,
-- and allocation of which one gap holds half or more `one allocation`.
-- needs: kernel or memop or graph_launch
-- includes: finding, idle
-- selects: part
-- once: span, functions, idle
-- parts: idle
-- level: frame
-- unit: %
-- fires: above
-- param: threshold = 15 fires at or above this share of the active span
-- column: idle_ns | ns | | idle time of all GPUs
-- column: traced_ns | ns | | idle time in calls that tracing slows, if any
-- column: reason | text | | activity of the launching thread for most of it
-- column: reason_pct | % | .1f | share of the idle time with this reason
-- column: range | name | | innermost range with most of it, if that is at least half
-- column: place | name | | that range, or the one with most of the time of the main reason
-- column: range_pct | % | .1f | share of the idle time in this range, the ranges inside it included
-- says: The GPU is idle {value} of the time ({idle_ns}), of which {traced_ns} may be the profiler's: it traces each node of CUDA graphs, which makes launching them slow. Main reason of the rest: {reason}.
-- says: The GPU is idle {value} of the time ({idle_ns}). For {range_pct} of that the CPU is in {range}; main reason: {reason} ({reason_pct}).
-- says: The GPU is idle {value} of the time ({idle_ns}). Main reason: {reason} ({reason_pct}).
-- says: The GPU is idle {value} of the time ({idle_ns}). Nothing in the report tells why.
-- clear: The GPU is idle {value} of the time.
-- advice: [in XLA, JAX or XLA] Do more in each call of {part|the function}: loop over steps inside of it with `jax.lax.scan`. Leave its first calls, which compile and load, out of the capture.
-- advice: [else, in XLA] Do more in each call of {part|the function}.
-- advice: [host code, vLLM or SGLang] -> launch_less
-- advice: [host code, else, JAX or XLA] Dispatch the next step before you work on this one's results in {part|the loop}: JAX runs ahead of the GPU until a value is read.
-- advice: [host code, else, PyTorch, eager] Cut the Python work in {part|the loop}: compile the model (`torch.compile(model)`), and do other work (logging, metrics, input) in another thread or after the next step is launched.
-- advice: [host code, else] Move the work in {part|the loop} off the launching thread, or do it while the GPU runs: launch the next step first, read results later.
-- advice: [synchronization] -> read_later
-- advice: [launch call or launch latency or between operations] -> launch_less
-- advice: [copy call] -> pin
-- advice: [allocation] -> allocate_once
-- advice: [one allocation] Allocate before {part|the loop}, or start the capture later: a single gap has most of the idle time.
-- advice: [module loading, HIP] Launch every kernel once before {part|the loop}: the driver loads it at its first launch.
-- advice: [module loading, else] Launch every kernel once before {part|the loop}: the driver loads it at its first launch. `CUDA_MODULE_LOADING=EAGER` loads all at the start.
-- advice: [other CUDA call] Create events, streams and handles once, before {part|the loop}: the CUDA API page names the calls.
-- advice: [OS runtime call] Keep locks, file reads and prints out of {part|the loop}: the launching thread waits in the operating system.
-- advice: [page migration] Move pages before kernels need them in {part|the loop}: `cudaMemPrefetchAsync`, or `cudaMalloc` and explicit copies.
-- advice: [no calls, HIP] Capture HIP calls, too, to see the cause.
-- advice: [no calls, else] Capture CUDA calls, too (`--trace=cuda`), to see the cause.
-- source: TensorRT-LLM thresholds (0.15 generation, 0.30 training); nsys-ai root_cause_matcher and TraceLens (15 %); gaps as in `idle_reasons`
WITH piece AS MATERIALIZED (FROM selected_idle(2000, NULL)
), own AS (FROM piece WHERE coalesce(function NOT IN (FROM traced_launch()), true)
), short AS (
    SELECT coalesce(sum(b - a), 0)::BIGINT AS ns FROM selected_hole(1) WHERE b - a < 2000
), summed AS (SELECT sum(ns) AS ns FROM piece
), total AS (SELECT coalesce(summed.ns, 0) + short.ns AS ns FROM summed CROSS JOIN short
), traced AS (
    SELECT nullif(summed.ns - own_ns, 0)::BIGINT AS ns
    FROM summed CROSS JOIN (SELECT coalesce(sum(ns), 0) AS own_ns FROM own)
), rest AS (SELECT total.ns - coalesce(traced.ns, 0) AS ns FROM total CROSS JOIN traced
), by_reason AS (
    SELECT reason, sum(ns)::BIGINT AS ns FROM own GROUP BY reason
    UNION ALL SELECT 'between operations', ns FROM short
), by_range AS (
    SELECT pattern, reason, sum(ns)::BIGINT AS ns FROM piece JOIN idle_pattern USING (pre) GROUP BY pattern, reason
), place AS (
    SELECT pattern FROM (SELECT pattern, sum(ns) AS ns FROM by_range GROUP BY pattern)
    CROSS JOIN (SELECT ns AS all_ns FROM total) WHERE 2 * ns >= all_ns ORDER BY ns DESC, pattern LIMIT 1
), within AS (
    SELECT sum(by_range.ns) AS ns
    FROM by_range JOIN place ON by_range.pattern = place.pattern
        OR starts_with(by_range.pattern, place.pattern || '/')
), longest AS (
    SELECT gap_id, device_id, start_ns, duration_ns, arg_max(reason, ns) AS reason, arg_max(pre, ns) AS pre
    FROM piece WHERE gap_id <= 10 GROUP BY ALL
), shown AS (
    SELECT gap_id, {
            'name': coalesce(path, 'Outside all ranges'), 'note': replace(reason, 'host code', 'non-CUDA code'),
            'ns': duration_ns,
            'start_ns': longest.start_ns,
            'end_ns': longest.start_ns + duration_ns, 'device': device_id, 'range': path
        } AS piece
    FROM longest LEFT JOIN range USING (pre) LEFT JOIN range_path USING (path_id)
)
SELECT CASE WHEN $threshold::DOUBLE * finding_window.ns > 100.0 * rest.ns
            AND $threshold::DOUBLE * finding_window.ns <= 100.0 * total.ns THEN NULL
        ELSE 100.0 * total.ns / nullif(finding_window.ns, 0) END AS value,
    'The profiler traces each node of the CUDA graphs, which makes launching them slow and may account for this idle'
        || ' time: capture without `--cuda-graph-trace=node` to see how much remains.' AS unjudged,
    rest.ns AS saving_ns, total.ns AS idle_ns, traced.ns AS traced_ns,
    CASE WHEN main.reason = 'host code' AND is_compiled_by_xla(coalesce(place.pattern, mainly.pattern)) THEN 'in XLA'
        WHEN main.reason = 'allocation' AND main.ns <= 2 * (
                SELECT max(ns) FROM (SELECT sum(ns) AS ns FROM own WHERE reason = 'allocation' GROUP BY gap_id)
            ) THEN 'one allocation'
        WHEN main.reason <> 'unknown' THEN main.reason WHEN NOT has_rows('api_call') THEN 'no calls' END AS cause,
    nullif(replace(main.reason, 'host code', 'non-CUDA code'), 'unknown') AS reason,
    100.0 * main.ns / nullif(rest.ns, 0) AS reason_pct,
    place.pattern AS range,
    coalesce(place.pattern, mainly.pattern) AS place, 100.0 * within.ns / nullif(total.ns, 0) AS range_pct,
    (SELECT list(piece ORDER BY gap_id) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN traced CROSS JOIN rest
LEFT JOIN (SELECT reason, ns FROM by_reason ORDER BY ns DESC, reason LIMIT 1) AS main ON true
LEFT JOIN place ON true CROSS JOIN within LEFT JOIN (  -- where the main reason holds for most of its time
    SELECT by_range.reason, pattern FROM by_range JOIN by_reason USING (reason)
    WHERE 2 * by_range.ns > by_reason.ns
) AS mainly ON mainly.reason = main.reason;
