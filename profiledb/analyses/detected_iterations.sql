-- title: Iterations that the kernels tell
-- Iterations of a program without NVTX ranges, from its kernels alone: on the stream with the most kernel time, the one
-- kernel that comes back after the same number of kernels each time is the marker, and an iteration lasts from the begin
-- of a marker to the begin of the next. A marker has 3 to 10,000 calls, from first to last at least half of the time
-- between the first and the last kernel of the stream, and numbers of kernels between its calls that vary by at most 25 %
-- (coefficient of variation, `kernels_cv_pct`). Of those within one point of the steadiest the one with the most calls is
-- taken, of these the first; `cv_pct` tells how much the times vary. No row means that nothing repeats so. It is a guess:
-- equal layers without anything between the iterations count as iterations, so do several that always come together,
-- and where an iteration begins is arbitrary. What runs before the first and after the last marker is in none.
-- needs: kernel
-- column: number | count | | number of the iteration in the order of time, from 1
-- column: start_ns | ns | | begin of its marker, from the begin of the capture
-- column: end_ns | ns | | begin of the next marker, from the begin of the capture
-- column: duration_ns | ns | | between the two
-- column: kernels | count | | kernels that begin in it on this GPU, on all streams
-- column: busy_ns | ns | | time in which this GPU ran anything of the selection
-- column: iterations | count | | iterations in all
-- column: kernels_cv_pct | % | .2f | coefficient of variation (n - 1) of the number of kernels from marker to marker on the stream
-- column: cv_pct | % | .2f | that of the durations
-- column: gpu_id | text | | number of the GPU
-- column: stream | text | | number of the CUDA stream of the marker
-- column: kernel | text | | number of the marker in this report, as kernel_summary and its kin take it
-- column: marker | text | | readable name of the marker
WITH lane AS (
    SELECT global_pid, device_id, stream_id FROM selected_kernel
    GROUP BY ALL ORDER BY sum(end_ns - start_ns) DESC, global_pid, device_id, stream_id LIMIT 1
), here AS MATERIALIZED (
    SELECT name_id, start_ns, end_ns, row_number() OVER (ORDER BY start_ns, kernel_id) AS position
    FROM selected_kernel AS kernel JOIN lane ON kernel.global_pid IS NOT DISTINCT FROM lane.global_pid
        AND kernel.device_id IS NOT DISTINCT FROM lane.device_id AND kernel.stream_id IS NOT DISTINCT FROM lane.stream_id
), candidate AS (
    SELECT name_id FROM here GROUP BY name_id
    HAVING count(*) BETWEEN 3 AND 10000
        AND max(start_ns) - min(start_ns) >= 0.5 * (SELECT max(end_ns) - min(start_ns) FROM here)
), gap AS (
    SELECT name_id, start_ns, position, lead(start_ns) OVER one - start_ns AS ns, lead(position) OVER one - position AS steps
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
SELECT row_number() OVER (ORDER BY low) AS number, low - capture_window.start_ns AS start_ns,
    high - capture_window.start_ns AS end_ns, high - low AS duration_ns, kernels,
    busy_ns::BIGINT AS busy_ns, count(*) OVER () AS iterations, kernels_cv_pct, cv_pct, device_id AS gpu_id,
    stream_id AS stream, kernel, readable_name(short, demangled) AS marker
FROM iteration CROSS JOIN marker CROSS JOIN lane LEFT JOIN kernel_key USING (name_id) CROSS JOIN capture_window
WHERE high IS NOT NULL
ORDER BY number;
