-- title: Where the time goes
-- The active span of each GPU (first to last operation), over all GPUs, split into disjoint parts that add up to it:
-- kernels by class, communication without compute, copies without a kernel, and idle time by activity of the launching
-- thread (`idle_reasons`), with data loading as a part. At the start of a capture, work launched before it may run that
-- the report lacks: that time is a part of its own. Excluded warm-up is not included. Concurrent kernels share time in
-- proportion to their durations.
-- page: findings
-- prefetch: part
-- prefetch: steady
-- needs: kernel or memop or graph_launch
-- includes: selection, idle, finding, work, waiting
-- selects: part
-- once: functions, idle, compute, communication, exposed, sums
-- param: min_ns = 2000 shorter gaps count as "between operations"
-- column: part | text | | kernel class, communication, copies, or activity of the launching thread while the GPU was idle
-- column: kind | text | | kernels, communication, copies, unknown or idle
-- column: ns = Time | ns | | time of this part
-- column: share_pct | % | .1f | share of the total
-- column: range = Mostly in range | text | | for idle time, path of the range open for most of it, with a star for its last numbers; empty outside all ranges
WITH hole AS (
    SELECT coalesce(sum(b - a), 0)::BIGINT AS ns,
        coalesce(sum(b - a) FILTER (b - a < $min_ns::BIGINT AND NOT is_earlier), 0)::BIGINT AS short_ns,
        coalesce(sum(b - a) FILTER (is_earlier), 0)::BIGINT AS earlier_ns
    FROM selected_pause(1)
), piece AS MATERIALIZED (
    SELECT pattern, CASE WHEN coalesce(is_loading(pattern), false) AND reason <> 'launch latency' THEN 'data loading'
            ELSE reason END AS part, sum(ns)::BIGINT AS ns
    FROM selected_idle($min_ns::BIGINT, NULL) LEFT JOIN idle_pattern USING (pre) GROUP BY ALL
), whole AS (
    SELECT finding_window.ns - hole.ns AS busy_ns, short_ns, least(bare_ns, finding_window.ns - hole.ns) AS bare_ns
    FROM finding_window CROSS JOIN hole CROSS JOIN finding_exposed
), worked AS (
    SELECT busy_ns, short_ns, bare_ns, least(busy_ns - bare_ns, all_ns)::BIGINT AS compute_ns
    FROM whole CROSS JOIN (SELECT coalesce(sum(end_ns - start_ns), 0) AS all_ns FROM finding_compute)
), class AS (
    SELECT class AS part, sum(ns) AS ns FROM finding_kernel_sum JOIN kernel_name USING (name_id)
    WHERE NOT coalesce(is_communication(short, class), false) GROUP BY class
    UNION ALL SELECT 'other', sum(ns) FROM finding_kernel_sum WHERE name_id IS NULL HAVING sum(ns) > 0
    UNION ALL SELECT 'CUDA graph', sum(end_ns - start_ns) FROM selected_graph_launch HAVING count(*) > 0
), every AS (
    SELECT part, 'kernels' AS kind,
        (compute_ns * (sum(class.ns) / nullif(sum(sum(class.ns)) OVER (), 0)))::BIGINT AS ns, NULL AS range
    FROM class CROSS JOIN worked GROUP BY part, compute_ns
    UNION ALL SELECT 'communication', 'communication', bare_ns, NULL FROM worked
    UNION ALL SELECT 'copies', 'copies', busy_ns - bare_ns - compute_ns, NULL FROM worked
    UNION ALL SELECT part, 'idle', sum(ns)::BIGINT, first(pattern ORDER BY ns DESC, pattern) FROM piece GROUP BY part
    UNION ALL SELECT 'between operations', 'idle', short_ns, NULL FROM worked
    UNION ALL SELECT 'earlier work', 'unknown', earlier_ns, NULL FROM hole
)
SELECT part, kind, every.ns, 100.0 * every.ns / nullif(finding_window.ns, 0) AS share_pct, range
FROM every CROSS JOIN finding_window WHERE every.ns > 0
ORDER BY list_position(['kernels', 'communication', 'copies', 'unknown', 'idle'], kind), every.ns DESC, part;
