-- title: CPU and GPU wait for each other
-- question: Does a synchronization keep the CPU from launching ahead?
-- The time that launching ahead would save, as a share of the active span (first to last operation of each GPU). After
-- a synchronization or a copy that waits for the GPU, the GPU has nothing queued and waits until the CPU launches
-- again. Without these calls the CPU reaches each launch earlier by the time that it waited, and gaps shrink by as much
-- until they are gone (`finding_ahead`): the saving is the time of the calls if the CPU takes longer than the GPU
-- anyway, else the gaps. Calls followed by less than `least_ns` of CPU work besides launches count only if a function
-- has at least `times` of them: reading results takes a few. Gaps of up to `gap_ns` in which such a call returns count
-- as explained in full: the trace does not show how long launching takes there without the wait. A read of a few bytes
-- is a copy and often a synchronization after it: both are one wait, named after the call that takes longer. The cause
-- of such reads is `positions` if kernels that list the positions of a mask run as often as half of them, `conditions`
-- if half of them read one byte.
-- needs: kernel or memop or graph_launch
-- needs: api_call
-- includes: finding, idle, waiting, ranges
-- selects: part
-- once: span, steps, synced_gaps
-- parts: synchronization, copy call, host code, other CUDA call, OS runtime call, launch call, launch latency
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: least_ns = 100000 calls followed by less CPU work count only if they recur
-- param: times = 20 fewest calls of one function that recur
-- param: gap_ns = 100000 longer gaps may have other causes
-- column: calls | count | | calls after which the GPU waits
-- column: steps | count | | steps that count
-- column: function | name | | function with most of this time
-- column: range | name | | range around these calls; * stands for its last number
-- column: main_calls | count | | calls of this function in this range, if there are others, and fewer
-- column: few_calls | count | | the same, if there are more others
-- column: waited_ns | ns | .1f | mean time that the CPU waits in such a call
-- column: gap_ns | ns | .1f | mean time that the GPU then waits, over all gaps after such a call
-- says: CPU and GPU take turns waiting: {calls} {calls|time|times} in {steps} {steps|step|steps} the CPU waits {waited_ns} on average ({main_calls} {main_calls|time|times} in {function} in {range}), and then the GPU waits {gap_ns} for the CPU.
-- says: CPU and GPU take turns waiting: {calls} {calls|time|times} the CPU waits {waited_ns} on average ({main_calls} {main_calls|time|times} in {function} in {range}), and then the GPU waits {gap_ns} for the CPU.
-- says: CPU and GPU take turns waiting: {calls} {calls|time|times} the CPU waits {waited_ns} on average ({main_calls} {main_calls|time|times} in {function}), and then the GPU waits {gap_ns} for the CPU.
-- says: CPU and GPU take turns waiting: {calls} {calls|time|times} the CPU waits {waited_ns} on average, and then the GPU waits {gap_ns} for the CPU. {few_calls} of these waits, in {function} in {range}, {few_calls|costs|cost} the most.
-- says: CPU and GPU take turns waiting: {calls} {calls|time|times} the CPU waits {waited_ns} on average, and then the GPU waits {gap_ns} for the CPU. {few_calls} of these waits, in {function}, {few_calls|costs|cost} the most.
-- says: CPU and GPU take turns waiting: {calls} {calls|time|times} in {steps} {steps|step|steps} the CPU waits {waited_ns} in {function} in {range}, and then the GPU waits {gap_ns} for the CPU.
-- says: CPU and GPU take turns waiting: {calls} {calls|time|times} the CPU waits {waited_ns} in {function} in {range}, and then the GPU waits {gap_ns} for the CPU.
-- says: CPU and GPU take turns waiting: {calls} {calls|time|times} the CPU waits {waited_ns} in {function}, and then the GPU waits {gap_ns} for the CPU.
-- clear: Synchronization makes CPU and GPU wait for each other {value} of the time.
-- advice: [positions, PyTorch, not vLLM, not SGLang] Search no masks in {place|the step}: `nonzero`, `torch.where(mask)` and `x[mask]` read on the CPU how many positions they find. Keep shapes fixed: `torch.where(mask, a, b)`, products with the mask, or rows that are sorted by group (`argsort`) and computed in one batch, which spares launches, too.
-- advice: [else, conditions, PyTorch, not vLLM, not SGLang, training] Check less in {place|the step}: `torch.autograd.set_detect_anomaly(True)`, `if torch.isnan(x).any()` and other conditions on tensors read a truth value each, for which the CPU waits. Turn them off, or check every N steps.
-- advice: [else, conditions, PyTorch, not vLLM, not SGLang, not decode] Check less in {place|the step}: conditions on tensors (`if x.any()`, `bool(x)`, `torch.equal`) read a truth value each, for which the CPU waits. Keep them on the GPU (`torch.where`), or read them every N steps.
-- advice: [else, few bytes or positions or conditions] -> read_later
-- advice: [copy, vLLM or SGLang] -> read_later
-- advice: [copy, else, PyTorch] Copy results of {place|the step} with `.to("cpu", non_blocking=True)` into pinned memory, and read them a step later, after `event.synchronize()`.
-- advice: [copy, else, CuPy] Copy results of {place|the loop} with `array.get(out=host, stream=stream, blocking=False)` into a pinned `host`, and read them a step later, after `stream.synchronize()`.
-- advice: [copy, else, Numba] Copy results of {place|the loop} with `copy_to_host(host, stream=stream)` into a pinned `host`, and read them a step later, after `stream.synchronize()`.
-- advice: [copy, else, JAX or XLA or TensorFlow or OpenACC or OpenMP offload] -> read_later
-- advice: [copy, else] Copy results of {place|the loop} with `cudaMemcpyAsync` into pinned memory, and read them a step later, after `cudaEventSynchronize`.
-- advice: [synchronization, CuPy or Numba or JAX or XLA or TensorFlow or vLLM or SGLang or OpenACC or OpenMP offload] -> read_later
-- advice: [synchronization, else, PyTorch] Remove {function} (`torch.cuda.synchronize()`, `.item()`) from {place|the loop}; use `stream.wait_event` where order matters.
-- advice: [synchronization, else] Remove {function} from {place|the loop}; use `cudaStreamWaitEvent` where order matters.
-- advice: Launch the next step before waiting, so that the GPU has work meanwhile.
-- change: without_waits
-- source: nsys-ai root_cause_matcher, sync_cost_analysis (synchronization >= 2 % of the time); bound by the shorter of both waits, threshold, 20 waits and 100 µs: ours; 2.5 µs of Python around `torch.cuda.synchronize`: 80 per step on an H100 host, PyTorch 2.11, cost 2.35 µs each more than their calls
WITH synced AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY tid, s ORDER BY a, gap_id) = 1 AS leads FROM finding_synced_gap()
), held AS MATERIALIZED (
    FROM synced QUALIFY sum(host_ns) OVER (PARTITION BY tid, s, device_id) >= $least_ns::BIGINT
        OR count_if(leads) OVER (PARTITION BY function) >= $times::BIGINT
), total AS (
    SELECT coalesce(sum(ns), 0)::BIGINT AS ns, count(DISTINCT {'tid': tid, 's': s}) AS calls,
        avg(waited_ns) FILTER (leads) AS waited_ns, sum(duration_ns) / nullif(calls, 0) AS gap_ns, sum(
            CASE WHEN e > a AND duration_ns <= $gap_ns::BIGINT THEN duration_ns ELSE ns END
        )::BIGINT AS explains_ns
    FROM held
), caller AS (
    SELECT function, pattern, sum(ns) AS ns, count(DISTINCT {'tid': tid, 's': s}) AS calls,
        sum(waited_ns) FILTER (leads) AS waited_ns, CASE WHEN bool_or(few) THEN 'few bytes'
        WHEN any_value(category) = 'synchronization' THEN 'synchronization' ELSE 'copy' END AS cause
    FROM held LEFT JOIN idle_pattern ON pre = process_range GROUP BY function, pattern
), main AS (
    SELECT arg_max(function, waited_ns) AS function, pattern, sum(ns) AS ns, sum(calls)::BIGINT AS calls, cause
    FROM caller GROUP BY pattern, cause, CASE WHEN cause <> 'few bytes' THEN function END
    ORDER BY ns DESC, function, pattern LIMIT 1
), read AS (
    SELECT count(*) AS reads, count_if(bytes = 1) AS truths, (
            SELECT count(*) FROM selected_kernel JOIN kernel_name USING (name_id)
            WHERE regexp_matches(short, '^write_indices|^DeviceSelectSweepKernel')
        ) AS searches
    FROM selected_memop WHERE kind = 'memcpy' AND copy_kind = 2 AND bytes <= 64
), step AS (
    SELECT nullif(count(*), 0) AS steps FROM selected_counted_step('process') WHERE rank = 1
), shown AS (
    SELECT ns, gap_id, {
            'name': coalesce(path, function), 'note': function, 'ns': ns, 'start_ns': s, 'end_ns': a + duration_ns,
            'device': device_id, 'range': path
        } AS piece
    FROM (FROM held ORDER BY ns DESC, gap_id LIMIT 10) AS held
    LEFT JOIN (SELECT pre, path_id FROM range) ON pre = process_range LEFT JOIN range_path USING (path_id)
)
SELECT 100.0 * total.ns / nullif(finding_window.ns, 0) AS value, total.ns AS saving_ns, explains_ns, total.calls, steps,
    main.function, main.pattern AS range,
    CASE WHEN main.calls < total.calls AND 2 * main.calls >= total.calls THEN main.calls END AS main_calls,
    CASE WHEN 2 * main.calls < total.calls THEN main.calls END AS few_calls, total.waited_ns, total.gap_ns,
    CASE WHEN main.cause <> 'few bytes' THEN main.cause WHEN 2 * searches >= reads THEN 'positions'
        WHEN 2 * truths >= reads THEN 'conditions' ELSE 'few bytes' END AS cause,
    (SELECT list(piece ORDER BY ns DESC, gap_id) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN step CROSS JOIN read LEFT JOIN main ON true;
