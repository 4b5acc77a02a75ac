-- title: GPU activity not recorded
-- question: Did the capture record GPU activity?
-- The share of CUDA calls that launch kernels, graphs or copies but have no operation in the report. It is 100 if the
-- driver does not report GPU activity, as under WSL2. Calls at the edges of a capture have their operations outside it.
-- needs: api_call
-- includes: finding, memory, program
-- once: functions
-- unit: %
-- fires: above
-- weight: warning
-- param: threshold = 50 fires at or above this share of the calls
-- column: calls | count | | calls that launch kernels, graphs or copies
-- column: without | count | | calls without an operation
-- says: The driver did not report what the GPU ran for {value} of the program's {calls} {calls|launch or copy|launches and copies}.
-- clear: The report lacks the GPU operations of {value} of the launches and copies.
-- advice: [WSL2] Profile on native Linux: WSL2 drivers often do not report GPU activity.
-- advice: [other] If the program runs in a container, allow profiling (`--cap-add=SYS_ADMIN`).
-- advice: Let the program end by itself, so that the profiler can write its buffers.
-- source: ours; NVIDIA documentation of nsys on WSL2
WITH launching AS MATERIALIZED (  -- names are few and calls many
    SELECT name_id, function FROM api_function
    WHERE category IN ('launch', 'blocking copy', 'queued copy')
        AND NOT regexp_matches(function, 'Prefetch|HostFunc|Symbol|ToArray|Param')
), capturing AS (
    SELECT global_tid, start_ns AS t, CASE WHEN function LIKE '%BeginCapture%' THEN 1 ELSE -1 END AS depth
    FROM api_call JOIN api_function USING (name_id)
    WHERE function LIKE '%StreamBeginCapture%' OR function LIKE '%StreamEndCapture%'
), captured AS (
    SELECT global_tid, t, sum(depth) OVER (PARTITION BY global_tid ORDER BY t) AS depth FROM capturing
), launched AS (
    SELECT call_id, global_tid, start_ns, end_ns, function FROM api_call JOIN launching USING (name_id)
), issued AS (  -- without calls that a capture puts into a CUDA graph instead of running them; few reports have one
    FROM launched WHERE NOT EXISTS (FROM capturing)
    UNION ALL
    SELECT one.* FROM (FROM launched WHERE EXISTS (FROM capturing)) AS one
    ASOF LEFT JOIN captured ON captured.global_tid = one.global_tid AND captured.t <= one.start_ns
    WHERE coalesce(depth, 0) <= 0
), ran AS (
    SELECT call_id FROM kernel UNION ALL SELECT call_id FROM memop UNION ALL SELECT call_id FROM graph_launch
), call AS MATERIALIZED (
    SELECT call_id, global_tid, start_ns, function, call_id IN (FROM ran) AS has_run, start_ns >= coalesce(
            max(end_ns) OVER (
                PARTITION BY global_tid ORDER BY start_ns, end_ns DESC, call_id
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ), start_ns) AS is_outermost
    FROM issued
), nested AS MATERIALIZED (SELECT global_tid, start_ns FROM call WHERE NOT is_outermost AND has_run
), within AS (  -- libraries that wrap CUDA functions nest calls: one of them has the operation
    SELECT one.call_id FROM nested ASOF JOIN (FROM call WHERE is_outermost AND EXISTS (FROM nested)) AS one
        ON one.global_tid = nested.global_tid AND one.start_ns <= nested.start_ns
), alone AS MATERIALIZED (
    SELECT function, count(*) AS calls FROM call ANTI JOIN within USING (call_id)
    WHERE is_outermost AND NOT has_run GROUP BY function
), total AS (
    SELECT (SELECT count(*) FROM call WHERE is_outermost) AS calls,
        (SELECT coalesce(sum(calls), 0)::BIGINT FROM alone) AS without
), shown AS (
    SELECT {'name': function, 'count': calls} AS piece FROM alone ORDER BY calls DESC, function LIMIT 10
)
SELECT 100.0 * without / nullif(calls, 0) AS value, 'No CUDA call of the report launches work.' AS unjudged, calls,
    without,
    CASE WHEN (SELECT wsl FROM machine) THEN 'WSL2' ELSE 'other' END AS cause,
    (SELECT list(piece ORDER BY piece.count DESC, piece.name) FROM shown) AS evidence
FROM total;
