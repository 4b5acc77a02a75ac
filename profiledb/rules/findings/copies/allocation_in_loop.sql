-- title: Allocation in the loop
-- question: Does the program allocate or free GPU memory between its kernels?
-- The GPU idle time that allocation calls cause, as a share of the second half of the span from the first to the last
-- kernel of each GPU: allocations at the start do not count. `cudaMalloc`, `cudaFree` and similar calls for pinned
-- memory take long, and most wait for the GPU, which then has nothing queued. Without them the CPU reaches each later
-- launch earlier, and gaps shrink by as much (`finding_ahead`). The saving covers both halves. Allocation from pools
-- (`cudaMallocAsync`) does not count. Memory grows if this half allocates device memory `least` times or more and frees
-- it less than half as often. The cause is `captures` if at least half of these allocations are made while the thread
-- captures a CUDA graph. Gaps of up to `gap_ns` in which such a call returns count as explained in full.
-- needs: kernel or graph_launch
-- needs: api_call
-- includes: finding, work, memory, waiting
-- selects: part
-- once: compute, synced_gaps
-- parts: allocation, other CUDA call, module loading, host code, launch call, launch latency, synchronization
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the second half
-- param: least = 2 fewest allocations of growing memory
-- param: gap_ns = 100000 longer gaps may have other causes
-- column: calls | count | | calls in the second half
-- column: function | name | | function with most of the time
-- column: function_calls | count | | calls of that function in the second half, if there are others
-- column: call_ns | ns | .1f | mean time of a call
-- column: lost_ns | ns | | idle time in the second half that disappears without these calls
-- column: allocated | count | | allocations of device memory in the second half, if memory grows
-- column: freed | count | | releases of device memory in the second half, if memory grows
-- column: grown_bytes | bytes | | bytes that the second half allocates and does not free, if memory events show it
-- says: Device memory grows: the second half of the time allocates {allocated} {allocated|time|times} and frees {freed} {freed|time|times}, {grown_bytes} more than it frees. Its {calls} allocation {calls|call|calls} ({function_calls} of {function}) {calls|takes|take} {call_ns} on average and {calls|keeps|keep} the GPU waiting for {lost_ns}, {value} of that half.
-- says: Device memory grows: the second half of the time allocates {allocated} {allocated|time|times} and frees {freed} {freed|time|times}, {grown_bytes} more than it frees. Its {calls} {calls|call|calls} of {function} {calls|takes|take} {call_ns} on average and {calls|keeps|keep} the GPU waiting for {lost_ns}, {value} of that half.
-- says: Device memory grows: the second half of the time allocates {allocated} {allocated|time|times} and frees {freed} {freed|time|times}. Its {calls} allocation {calls|call|calls} ({function_calls} of {function}) {calls|takes|take} {call_ns} on average and {calls|keeps|keep} the GPU waiting for {lost_ns}, {value} of that half.
-- says: Device memory grows: the second half of the time allocates {allocated} {allocated|time|times} and frees {freed} {freed|time|times}. Its {calls} {calls|call|calls} of {function} {calls|takes|take} {call_ns} on average and {calls|keeps|keep} the GPU waiting for {lost_ns}, {value} of that half.
-- says: In the second half of the time from the first kernel to the last, {calls} allocation {calls|call|calls} ({function_calls} of {function}) {calls|takes|take} {call_ns} on average and {calls|keeps|keep} the GPU waiting for {lost_ns}, {value} of that half.
-- says: In the second half of the time from the first kernel to the last, {calls} {calls|call|calls} of {function} {calls|takes|take} {call_ns} on average and {calls|keeps|keep} the GPU waiting for {lost_ns}, {value} of that half.
-- clear: Allocation delays the GPU for {value} of the second half of the time.
-- advice: [growth, PyTorch, not training] Look for tensors that outlive their step: outputs in a list, caches, states passed from step to step. Sizes that keep changing grow memory, too: the caching allocator finds no free block and asks CUDA for more.
-- advice: [growth, PyTorch, training] Look for tensors that outlive their step: losses in a list with their graph (`loss.item()` or `.detach()` instead), outputs in a list, caches, states passed from step to step. The caching allocator then finds no free block and asks CUDA for more memory.
-- advice: [growth, not PyTorch] Free what a step no longer needs, or allocate once before the loop and reuse it.
-- advice: [captures, PyTorch] Capture each graph once, before the loop: a capture empties the cache first, and takes new memory.
-- advice: [captures, not PyTorch] Capture each graph once, before the loop: its memory is allocated in the capture.
-- advice: [churn] -> allocate_once
-- change: without_allocations
-- source: CUDA C++ Best Practices (allocation synchronizes); 2 % and the second half: ours
SELECT 0::DOUBLE AS value, NULL AS unjudged, 0 AS saving_ns, NULL AS explains_ns, 0 AS calls, NULL AS call_ns,
    NULL AS function, NULL AS function_calls, 0 AS lost_ns, 'churn' AS cause, NULL AS allocated, NULL AS freed,
    NULL AS grown_bytes, NULL AS evidence
FROM selected_api_call
JOIN (
    FROM api_function
    WHERE category = 'allocation' AND NOT regexp_matches(function, 'Async|Pool|^cuMem(Address|Map)')
) USING (name_id)
HAVING count(*) = 0 AND EXISTS (FROM finding_compute);

WITH edge AS MATERIALIZED (
    SELECT device_id, min(start_ns) AS low, max(end_ns) AS high, low + (high - low) // 2 AS middle
    FROM finding_compute GROUP BY device_id
), lane AS (
    SELECT DISTINCT device_id, pid_of(global_pid) AS pid FROM selected_kernel
    UNION SELECT DISTINCT device_id, pid_of(global_pid) FROM selected_graph_launch
), loop AS (  -- with several GPUs the time in which any of them computes
    SELECT pid, min(low) AS low, max(high) AS high, min(middle) AS middle FROM lane JOIN edge USING (device_id)
    GROUP BY pid
), call AS MATERIALIZED (
    SELECT global_tid AS tid, greatest(start_ns, low) AS s, end_ns AS e, end_ns - greatest(start_ns, low) AS ns,
        function, end_ns > middle AS late, middle
    FROM selected_api_call
    JOIN (
        FROM api_function
        WHERE category = 'allocation' AND NOT regexp_matches(function, 'Async|Pool|^cuMem(Address|Map)')
    ) USING (name_id)
    JOIN loop ON pid = pid_of(global_tid)
    WHERE start_ns < high AND end_ns > low
    QUALIFY e > coalesce(max(e) OVER (
        PARTITION BY tid ORDER BY s, e DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 0)
), every AS MATERIALIZED (  -- and the waits that remain
    SELECT *, false AS kept FROM call
    UNION ALL BY NAME SELECT tid, s, e, ns, true AS kept FROM finding_wait()
), gap AS MATERIALIZED (
    SELECT device_id, a, s, e, duration_ns, lost_ns, call.function, call.late AND b > middle AS counts,
        least(lost_ns, b - middle) AS late_ns  -- a gap may start in the first half
    FROM finding_ahead('every') JOIN edge USING (device_id) WHERE EXISTS (FROM every)
), total AS (
    SELECT coalesce(sum(lost_ns), 0)::BIGINT AS saving_ns,
        coalesce(sum(late_ns) FILTER (counts), 0)::BIGINT AS lost_ns,
        sum(CASE WHEN e > a AND duration_ns <= $gap_ns::BIGINT THEN duration_ns ELSE lost_ns END)::BIGINT AS explains_ns
    FROM gap
), late_call AS (
    SELECT tid, s, function, any_value(ns) AS ns, regexp_matches(function, '^(cu(da)?|hip)(Malloc|MemAlloc|MemCreate)')
            AND NOT regexp_matches(function, 'Host|Managed') AS allocates
    FROM call WHERE late GROUP BY ALL
), main AS (
    SELECT function, count(*) AS calls FROM late_call GROUP BY function ORDER BY sum(ns) DESC, function LIMIT 1
), edge_of_capture AS (
    SELECT global_tid AS tid, start_ns AS t, function LIKE '%StreamBeginCapture%' AS begins
    FROM api_call JOIN api_function USING (name_id) WHERE regexp_matches(function, 'Stream(Begin|End)Capture')
), captured AS (
    SELECT count(*) AS allocated FROM late_call ASOF JOIN edge_of_capture AS capture
        ON capture.tid = late_call.tid AND late_call.s >= capture.t
    WHERE begins AND allocates
), late AS (
    SELECT count(*) AS calls, avg(ns) AS call_ns,
        count(*) FILTER (allocates) AS allocated,
        count(*) FILTER (frees_device_memory(function)) AS freed
    FROM late_call
), grown AS (
    SELECT sum(CASE WHEN operation = 0 THEN bytes ELSE -bytes END) AS bytes
    FROM memory_event JOIN edge USING (device_id)
    WHERE mem_kind = 2 AND operation IN (0, 1) AND time_ns BETWEEN middle AND high
), judged AS (
    SELECT late.*, allocated >= $least::INTEGER AND 4 * freed < allocated AS grows FROM late
), half AS (SELECT sum(high - middle)::BIGINT AS ns FROM edge
), shown AS (
    SELECT {
            'name': function, 'ns': lost_ns, 'start_ns': s, 'end_ns': greatest(e, a + duration_ns), 'device': device_id
        } AS piece
    FROM gap WHERE counts ORDER BY lost_ns DESC, s LIMIT 10
)
SELECT 100.0 * total.lost_ns / nullif(half.ns, 0) AS value,
    CASE WHEN half.ns IS NULL THEN 'The selection has no kernels.' END AS unjudged, saving_ns, explains_ns,
    judged.calls, call_ns,
    main.function, CASE WHEN main.calls < judged.calls THEN main.calls END AS function_calls,
    total.lost_ns, CASE WHEN grows THEN 'growth'
        WHEN judged.allocated > 0 AND 2 * captured.allocated >= judged.allocated THEN 'captures'
        ELSE 'churn' END AS cause,
    CASE WHEN grows THEN judged.allocated END AS allocated, CASE WHEN grows THEN freed END AS freed,
    CASE WHEN grows AND grown.bytes > 0 THEN grown.bytes::BIGINT END AS grown_bytes,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM total CROSS JOIN judged CROSS JOIN half CROSS JOIN grown CROSS JOIN captured LEFT JOIN main ON true;
