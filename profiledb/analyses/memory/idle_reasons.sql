-- title: GPU idle time by reason
-- What the host did while a GPU was idle: the time in which the GPU ran nothing of the selection, split by what the
-- thread did that launched the operation after each gap (`idle_gaps` lists them). The rows add up to the time that the
-- selection covers less the busy time, over all GPUs that it used. Time inside nested calls counts with the outermost.
-- synchronisation, copy call, launch call, allocation, module loading, other CUDA call, OS runtime call: inside such a
-- call; host code: outside all of them, for example Python; launched, not begun: the call had returned, so the launch
-- was on its way or waited for other work; between operations: gaps shorter than `min_ns`, not looked into;
-- until the end: no operation follows in the capture or in the selected stretch of it; unknown: the report has no call
-- of the operation that follows.
-- needs: kernel or memop or graph_launch
-- includes: selection, memory
-- selects: part
-- param: min_ns = 2000 shorter gaps count as "between operations"
-- column: reason = Host meanwhile | text | | what the thread did that launched the operation after the gap
-- column: idle_ns | ns | | idle time in which the host did this
-- column: share_pct | % | .1f | share of the idle time
-- column: window_pct | % | .1f | share of the time that the selection covers, over the GPUs that it used
-- column: gaps | count | | gaps of which this is the longest part
-- column: longest_ns = Longest gap | ns | | the longest of these gaps
-- column: function = Mostly in | text | | function that took most of the time
WITH idle AS MATERIALIZED (FROM selected_idle($min_ns::BIGINT, NULL)
), spent AS (SELECT reason, function, sum(ns) AS ns FROM idle GROUP BY ALL
), named AS (SELECT reason, arg_max(function, ns) AS function FROM spent GROUP BY reason
), covered AS (
    SELECT sum(end_ns - start_ns) * (SELECT count(DISTINCT device_id) FROM selected_busy) AS ns FROM selected_window
)
SELECT reason, sum(idle.ns)::BIGINT AS idle_ns, 100.0 * idle_ns / (SELECT sum(ns) FROM idle) AS share_pct,
    100.0 * idle_ns / nullif((SELECT ns FROM covered), 0) AS window_pct,
    coalesce(sum(gaps) FILTER (is_main), 0)::BIGINT AS gaps,
    max(duration_ns) FILTER (is_main) AS longest_ns, any_value(named.function) AS function
FROM idle LEFT JOIN named USING (reason)
GROUP BY reason ORDER BY idle_ns DESC, reason;
