-- title: Spread of the instances of a range
-- How much the instances of a range differ: a row for their time on the CPU (cpu), from their first operation on the
-- GPU to the end of the last (gpu), and in which their operations ran (busy). What was never closed is left out.
-- `range_instances` says which ones look like a warm-up.
-- page: ranges
-- needs: range
-- includes: selection, ranges
-- selects: part, mode
-- param: path =  path as nvtx_tree prints it, or a name wherever it stands
-- column: measure | text | | cpu, gpu, busy; without operations of ranges only the first
-- column: instances | count | | instances that have this time
-- column: warmup | count | | how many of them look like a warm-up
-- column: mean_ns | ns | .1f | mean time
-- column: min_ns | ns | | shortest
-- column: median_ns | ns | .1f | half of them take at most this long
-- column: p95_ns | ns | .1f | 95 % take at most this long
-- column: max_ns | ns | | longest
-- column: stddev_ns = Std dev | ns | .1f | sample standard deviation (n - 1), empty for a single kernel
-- column: cv_pct | % | .1f | standard deviation over mean: coefficient of variation
-- column: steady_median_ns | ns | .1f | median without the warm-up
-- column: steady_cv_pct | % | .1f | coefficient of variation without the warm-up
-- column: unclosed | count | | instances that were never closed
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
