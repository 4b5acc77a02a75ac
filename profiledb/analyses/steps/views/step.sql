-- Time of a rank: its steps, and what runs in them.
-- includes: selection, ranges

-- Iterations that the kernels tell (detected_iterations says how), in times of the report.
CREATE OR REPLACE VIEW selected_iteration AS
WITH lane AS (
    SELECT global_pid, device_id, stream_id FROM selected_kernel
    GROUP BY ALL ORDER BY sum(end_ns - start_ns) DESC, global_pid, device_id, stream_id LIMIT 1
), here AS MATERIALIZED (
    SELECT name_id, start_ns, end_ns, row_number() OVER (ORDER BY start_ns, kernel_id) AS position
    FROM selected_kernel AS kernel JOIN lane ON kernel.global_pid IS NOT DISTINCT FROM lane.global_pid
        AND kernel.device_id IS NOT DISTINCT FROM lane.device_id
        AND kernel.stream_id IS NOT DISTINCT FROM lane.stream_id
), candidate AS (
    SELECT name_id FROM here GROUP BY name_id
    HAVING count(*) BETWEEN 3 AND 10000
        AND max(start_ns) - min(start_ns) >= 0.5 * (SELECT max(end_ns) - min(start_ns) FROM here)
), gap AS (
    SELECT name_id, start_ns, position, lead(start_ns) OVER one - start_ns AS ns,
        lead(position) OVER one - position AS steps
    FROM here SEMI JOIN candidate USING (name_id) WINDOW one AS (PARTITION BY name_id ORDER BY position)
), steady AS (
    SELECT name_id, count(*) AS calls, min(position) AS first, 100 * stddev_samp(steps) / avg(steps) AS kernels_cv_pct,
        100 * stddev_samp(ns) / nullif(avg(ns), 0) AS cv_pct
    FROM gap GROUP BY name_id
), marker AS (
    SELECT name_id, kernels_cv_pct, cv_pct FROM steady
    WHERE kernels_cv_pct <= least(25, (SELECT min(kernels_cv_pct) FROM steady) + 1)
    ORDER BY calls DESC, first LIMIT 1
), edge AS MATERIALIZED (
    SELECT start_ns AS ns FROM gap SEMI JOIN marker USING (name_id)
), begun AS ( -- no join with lane here: DuckDB would take 1 M rows for one, and loop
    SELECT edge.ns, count(*) AS kernels FROM (
        SELECT start_ns FROM selected_kernel WHERE device_id IS NOT DISTINCT FROM (SELECT device_id FROM lane)
    ) AS one ASOF JOIN edge ON one.start_ns >= edge.ns GROUP BY edge.ns
), worked AS ( -- by the edge before, where there is one
    SELECT edge.ns, sum(one.end_ns - one.start_ns) AS busy_ns, max(one.end_ns) AS until_ns FROM (
        SELECT start_ns, end_ns FROM selected_busy WHERE device_id IS NOT DISTINCT FROM (SELECT device_id FROM lane)
    ) AS one ASOF LEFT JOIN edge ON one.start_ns >= edge.ns GROUP BY edge.ns
), summed AS ( -- busy_ns is how long the GPU had worked until the edge
    SELECT ns, coalesce(sum(busy_ns) OVER before, 0) - greatest(0, max(until_ns) OVER before - ns) AS busy_ns
    FROM edge FULL JOIN worked USING (ns)
    WINDOW before AS (ORDER BY ns NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), iteration AS (
    SELECT ns AS low, lead(ns) OVER (ORDER BY ns) AS high, coalesce(kernels, 0) AS kernels,
        lead(busy_ns) OVER (ORDER BY ns) - busy_ns AS busy_ns
    FROM summed LEFT JOIN begun USING (ns) WHERE ns IS NOT NULL
)
SELECT row_number() OVER (ORDER BY low) AS number, low AS start_ns, high AS end_ns, high - low AS duration_ns, kernels,
    busy_ns::BIGINT AS busy_ns, count(*) OVER () AS iterations, kernels_cv_pct, cv_pct, device_id AS gpu_id,
    stream_id AS stream, kernel, readable_name(short, demangled) AS marker
FROM iteration CROSS JOIN marker CROSS JOIN lane LEFT JOIN kernel_key USING (name_id)
WHERE high IS NOT NULL;

-- The steps of each process as stretches of time that do not overlap, told by `ranges` (selected_counted_step: the best
-- loop of the process), by `kernels` (selected_iteration, a guess), or by `nothing`: one, from its first to its last
-- kernel. One of ranges begins with its range on the host, or later, when the GPU is done with the steps before; it
-- ends with its range, or later, with its last operation on the GPU. So steps that wait for the GPU last as long as
-- their ranges, and steps that only launch as long as the GPU takes. Only what is asked for is computed.
CREATE OR REPLACE MACRO selected_step_time(told_by) AS TABLE
WITH step AS (
    SELECT pid_of(global_tid) AS pid, number, name, pre, post, start_ns,
        greatest(end_ns, coalesce(gpu_start_ns + gpu_ns, end_ns)) AS until_ns
    FROM selected_counted_step('process') JOIN (SELECT range_id, post FROM range) USING (range_id)
    WHERE told_by = 'ranges'
    QUALIFY rank = min(rank) OVER (PARTITION BY pid_of(global_tid))
), told AS (
    SELECT pid, number, name, pre, post, greatest(start_ns, coalesce(max(until_ns) OVER before, start_ns)) AS start_ns,
        until_ns AS end_ns
    FROM step WINDOW before AS (PARTITION BY pid ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), process AS (
    SELECT pid_of(global_pid) AS pid, min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM selected_kernel GROUP BY ALL
)
FROM told WHERE end_ns > start_ns
UNION ALL
SELECT pid, number, NULL, NULL, NULL, one.start_ns, one.end_ns
FROM selected_iteration AS one CROSS JOIN (SELECT DISTINCT pid_of(global_pid) AS pid FROM selected_kernel)
WHERE told_by = 'kernels'
UNION ALL
SELECT pid, 1, NULL, NULL, NULL, start_ns, end_ns FROM process WHERE told_by = 'nothing';
