-- title: Spread of the instances of a range
-- Spread of the instances of a range: one row each for CPU time (cpu), time from the first operation on the GPU to the
-- end of the last (gpu), and time in which operations ran (busy). Unclosed ranges are left out. `range_instances`
-- defines warm-up.
-- page: ranges
-- needs: range
-- includes: selection, ranges
-- selects: part, mode
-- param: path =  path as nvtx_tree prints it, or a name at any position
-- column: measure | text | | cpu, gpu, busy; only cpu without operations of ranges
-- column: instances | count | | instances with this time
-- column: warmup | count | | instances that look like warm-up
-- column: mean_ns | ns | .1f | mean time
-- column: min_ns | ns | | shortest time
-- column: median_ns | ns | .1f | median time
-- column: p95_ns | ns | .1f | 95th percentile
-- column: max_ns | ns | | longest time
-- column: stddev_ns = Std dev | ns | .1f | sample standard deviation (n - 1), empty for a single kernel
-- column: cv_pct | % | .1f | coefficient of variation: standard deviation over mean
-- column: steady_median_ns | ns | .1f | median without warm-up
-- column: steady_cv_pct | % | .1f | coefficient of variation without warm-up
-- column: unclosed | count | | unclosed instances
WITH instance AS MATERIALIZED (
    FROM selected_instances($path::VARCHAR, selected_mode())
), timed AS (
    SELECT 1 AS place, 'cpu' AS measure, cpu_ns AS ns, is_warmup FROM instance WHERE closed
    UNION ALL SELECT 2, 'gpu', gpu_ns, is_warmup FROM instance WHERE closed AND gpu_ns IS NOT NULL
    UNION ALL SELECT 3, 'busy', busy_ns, is_warmup FROM instance WHERE closed AND gpu_ns IS NOT NULL
)
SELECT measure, count(*) AS instances, count(*) FILTER (is_warmup) AS warmup, avg(ns) AS mean_ns, min(ns) AS min_ns,
    median(ns) AS median_ns, quantile_cont(ns, 0.95) AS p95_ns, max(ns) AS max_ns, stddev_samp(ns) AS stddev_ns,
    100 * stddev_samp(ns) / nullif(avg(ns), 0) AS cv_pct, median(ns) FILTER (NOT is_warmup) AS steady_median_ns,
    100 * stddev_samp(ns) FILTER (NOT is_warmup) / nullif(avg(ns) FILTER (NOT is_warmup), 0) AS steady_cv_pct,
    (SELECT count(*) FROM instance WHERE NOT closed) AS unclosed
FROM timed GROUP BY place, measure ORDER BY place;
