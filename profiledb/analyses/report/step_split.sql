-- title: Where the time of each step goes
-- The same parts as `time_split`, for each step of the loop that counts: from the first GPU operation of a step to that
-- of the next one, or to the end of its own last one, over all GPUs that worked in it. The parts of a step add up to
-- all of it; kernels that run at the same time share it by their durations. Of many steps the first are told.
-- page: summary
-- prefetch: part
-- prefetch: steady
-- needs: range
-- needs: kernel or memop or graph_launch
-- includes: selection, idle, work, waiting
-- selects: part
-- once: idle, compute, finding_steps
-- param: min_ns = 2000 shorter gaps count as "between operations"
-- param: limit = 12 at most so many steps
-- column: step | text | | name of the step
-- column: start_ns = Start | ns | | start of the step on the GPU, from the start of the capture
-- column: part | text | | class of kernels, communication, copies, or what the launching thread did while the GPU was idle
-- column: kind | text | | kernels, communication, copies or idle
-- column: ns = Time | ns | | time of this part
-- column: share_pct | % | .1f | share of the time of the step
WITH step AS MATERIALIZED (
    SELECT place, any_value(name) AS name, min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM finding_step
    GROUP BY place ORDER BY place LIMIT $limit::BIGINT
), edge AS (
    SELECT place, name, start_ns, least(end_ns, coalesce(lead(start_ns) OVER (ORDER BY place), end_ns)) AS end_ns
    FROM step
), span AS MATERIALIZED (
    SELECT place, name, device_id, greatest(edge.start_ns, active.start_ns) AS low,
        least(edge.end_ns, active.end_ns) AS high
    FROM edge JOIN selected_active AS active ON active.start_ns < edge.end_ns AND active.end_ns > edge.start_ns
), every_kernel AS ( -- noqa: ST03
    SELECT device_id, start_ns, end_ns FROM selected_kernel
    UNION ALL SELECT device_id, start_ns, end_ns FROM selected_graph_launch
), stretch AS (
    SELECT 'busy' AS what, device_id, start_ns, end_ns FROM selected_busy
    UNION ALL SELECT 'kernels', device_id, start_ns, end_ns FROM finding_union('every_kernel')
    UNION ALL SELECT 'compute', device_id, start_ns, end_ns FROM finding_compute
), covered AS (
    SELECT place, sum(ns) FILTER (what = 'busy') AS busy_ns, sum(ns) FILTER (what = 'kernels') AS kernels_ns,
        sum(ns) FILTER (what = 'compute') AS compute_ns
    FROM (
        SELECT place, what, least(end_ns, high) - greatest(start_ns, low) AS ns
        FROM span JOIN stretch ON stretch.device_id = span.device_id AND start_ns < high AND end_ns > low
    ) GROUP BY place
), whole AS (
    SELECT place, any_value(name) AS step, min(low) AS low, sum(high - low) AS ns,
        coalesce(any_value(busy_ns), 0) AS busy_ns, coalesce(any_value(kernels_ns), 0) AS kernels_ns,
        coalesce(any_value(compute_ns), 0) AS compute_ns
    FROM span LEFT JOIN covered USING (place) GROUP BY place
), work AS (
    SELECT device_id, start_ns, end_ns, coalesce(class, 'other') AS part
    FROM selected_kernel LEFT JOIN kernel_name USING (name_id)
    WHERE NOT coalesce(is_communication(short, class), false)
    UNION ALL SELECT device_id, start_ns, end_ns, 'CUDA graph' FROM selected_graph_launch
), class AS (
    SELECT place, part, sum(least(end_ns, high) - greatest(start_ns, low)) AS ns
    FROM span JOIN work ON work.device_id = span.device_id AND start_ns < high AND end_ns > low GROUP BY place, part
), piece AS (
    SELECT place, CASE WHEN coalesce(is_loading(pattern), false) AND reason <> 'launch latency' THEN 'data loading'
            ELSE reason END AS part, sum(least(e, high) - greatest(s, low)) AS ns
    FROM span JOIN selected_idle($min_ns::BIGINT, NULL) AS idle
        ON idle.device_id = span.device_id AND s < high AND e > low
    LEFT JOIN idle_pattern USING (pre) GROUP BY ALL
), every AS (
    SELECT place, part, 'kernels' AS kind,
        compute_ns * (class.ns / sum(class.ns) OVER (PARTITION BY place)) AS ns
    FROM class JOIN whole USING (place)
    UNION ALL SELECT place, 'communication', 'communication', kernels_ns - compute_ns FROM whole
    UNION ALL SELECT place, 'copies', 'copies', busy_ns - kernels_ns FROM whole
    UNION ALL SELECT place, part, 'idle', ns FROM piece
    UNION ALL SELECT place, 'between operations', 'idle', ns - busy_ns - coalesce(idle_ns, 0)
        FROM whole LEFT JOIN (SELECT place, sum(ns) AS idle_ns FROM piece GROUP BY place) USING (place)
)
SELECT step, low - capture_window.start_ns AS start_ns, part, kind, every.ns::BIGINT AS ns,
    100.0 * every.ns / nullif(whole.ns, 0) AS share_pct
FROM every JOIN whole USING (place) CROSS JOIN capture_window WHERE every.ns > 0 AND has_finding_step()
ORDER BY place, list_position(['kernels', 'communication', 'copies', 'idle'], kind), every.ns DESC, part;
