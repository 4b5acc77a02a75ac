-- title: GPU idle time by reason
-- CPU activity while a GPU was idle: the time in which the GPU ran no selected work, split by the activity of the
-- thread that launched the operation after each gap (`idle_gaps` lists the gaps, `idle_ranges` the thread's ranges). It
-- covers the active span of each GPU: the edges of the capture and excluded warm-up do not count as idle, nor does a
-- start in which work from before the capture may still run: a launch right at the start whose operation, the first of
-- its stream, starts over 1 ms later. The rows add up to the active span less busy time and such a start, over all
-- GPUs. Nested calls count with the outermost. synchronization, copy call, launch call, allocation, module loading,
-- other CUDA call, OS runtime call: inside such a call; host code: outside all of them, for example Python (`idle_code`
-- lists its functions if the report has CPU samples); launch latency: the call had returned, so the launch was in
-- flight or waited for other work; between operations: gaps shorter than `min_ns`, not analyzed; page migration: pages
-- of unified memory follow, which no call launches; unknown: the report has no call for the next operation.
-- page: idle
-- show: reason 180, share_pct bar 120, idle_ns, gaps, longest_ns, range 260, function 200
-- prefetch: part
-- prefetch: steady
-- needs: kernel or memop or graph_launch
-- includes: selection, idle
-- selects: part
-- once: functions, idle
-- param: min_ns = 2000 shorter gaps count as "between operations"
-- column: reason = CPU activity during gap | text | | activity of the thread that launched the next operation, during the gap
-- column: idle_ns | ns | | idle time with this CPU activity
-- column: share_pct | % | .1f | share of the idle time
-- column: window_pct | % | .1f | share of the active span, over these GPUs
-- column: gaps | count | | gaps in which this took longest
-- column: longest_ns = Longest gap | ns | | duration of the longest of these gaps
-- column: function = Mostly in function | text | | function that took most of the time
-- column: range = Mostly in range | text | | path of the innermost range that the thread had open for most of this time, with a star for its last numbers; empty outside all ranges
WITH idle AS MATERIALIZED (FROM selected_idle($min_ns::BIGINT, NULL)
), short AS (
    SELECT 'between operations' AS reason, sum(b - a)::BIGINT AS ns, count(*) AS gaps, max(b - a) AS longest_ns
    FROM selected_hole(1) WHERE b - a < $min_ns::BIGINT HAVING count(*) > 0
), by_gap AS (
    SELECT gap_id, reason, any_value(duration_ns) AS duration_ns, sum(ns) AS ns FROM idle GROUP BY gap_id, reason
), main AS (
    SELECT reason, duration_ns FROM by_gap QUALIFY row_number() OVER (PARTITION BY gap_id ORDER BY ns DESC, reason) = 1
), spent AS (
    SELECT reason, sum(ns)::BIGINT AS ns FROM idle GROUP BY reason
), counted AS (
    SELECT reason, count(*) AS gaps, max(duration_ns) AS longest_ns FROM main GROUP BY reason
), in_function AS (
    SELECT reason, arg_max(function, (ns, function)) AS function
    FROM (SELECT reason, function, sum(ns) AS ns FROM idle GROUP BY ALL) WHERE function IS NOT NULL GROUP BY reason
), in_range AS (
    SELECT reason, first(pattern ORDER BY ns DESC, pattern) AS range
    FROM (SELECT reason, pattern, sum(ns) AS ns FROM idle LEFT JOIN idle_pattern USING (pre) GROUP BY ALL)
    GROUP BY reason
), every AS (
    SELECT reason, ns, coalesce(gaps, 0) AS gaps, longest_ns, function, range
    FROM spent LEFT JOIN counted USING (reason) LEFT JOIN in_function USING (reason) LEFT JOIN in_range USING (reason)
    UNION ALL SELECT reason, ns, gaps, longest_ns, NULL, NULL FROM short
), covered AS (SELECT sum(end_ns - start_ns) AS ns FROM selected_active
)
SELECT reason, every.ns AS idle_ns, 100.0 * every.ns / sum(every.ns) OVER () AS share_pct,
    100.0 * idle_ns / nullif(covered.ns, 0) AS window_pct, gaps, longest_ns, function, range
FROM every CROSS JOIN covered ORDER BY idle_ns DESC, reason;
