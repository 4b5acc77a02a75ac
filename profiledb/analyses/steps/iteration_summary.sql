-- title: Steps in numbers
-- One row per step pattern (see `iterations`): the first step against the rest, without warm-up, and the number of
-- steps per second. Steps that were cut off (`closed`) are left out. The rest are the steps that count, on every page
-- and in every analysis with values per step.
-- page: ranges
-- prefetch: part
-- prefetch: part by=gpu
-- needs: range
-- includes: selection, ranges
-- selects: part, mode
-- once: steps
-- param: by = cpu (cpu, gpu, busy) CPU time, time from first to last operation on the GPU, or time in which operations ran
-- column: rank | count | | rank of the pattern, from 1
-- column: steps | text | | path with a star for the number that changes
-- column: thread | text | | process and thread id of the opening thread
-- column: count = Steps | count | | steps that count: not cut off, without warm-up
-- column: warmup | count | | further steps, which look like warm-up
-- column: first_ns | ns | | duration of the first step
-- column: median_ns | ns | .1f | median of the rest
-- column: mean_ns | ns | .1f | mean of the rest
-- column: min_ns | ns | | shortest of the rest
-- column: p95_ns | ns | .1f | 95th percentile of the rest
-- column: max_ns | ns | | longest of the rest
-- column: stddev_ns = Std dev | ns | .1f | sample standard deviation of the rest (n - 1), empty for a single one
-- column: cv_pct | % | .1f | coefficient of variation: standard deviation over mean
-- column: per_second | 1/s | .2f | steps per second on the CPU, from the start of the first of the rest to the end of the last
-- column: total_ns | ns | | sum over the steps that count
-- column: unclosed | count | | steps that were cut off
-- column: has_gpu | bool | | whether any of them ran GPU work
WITH step AS (
    SELECT *, CASE $by WHEN 'cpu' THEN cpu_ns WHEN 'gpu' THEN gpu_ns ELSE busy_ns END AS ns, NOT is_warmup AS rest
    FROM selected_step(selected_mode())
)
SELECT rank, any_value(label) AS steps, thread_label(any_value(global_tid)) AS thread,
    count(*) FILTER (closed AND rest) AS count,
    count(*) FILTER (closed AND is_warmup) AS warmup, arg_min(ns, number) FILTER (closed) AS first_ns,
    median(ns) FILTER (closed AND rest) AS median_ns, avg(ns) FILTER (closed AND rest) AS mean_ns,
    min(ns) FILTER (closed AND rest) AS min_ns, quantile_cont(ns, 0.95) FILTER (closed AND rest) AS p95_ns,
    max(ns) FILTER (closed AND rest) AS max_ns, stddev_samp(ns) FILTER (closed AND rest) AS stddev_ns,
    100 * stddev_samp(ns) FILTER (closed AND rest) / nullif(avg(ns) FILTER (closed AND rest), 0) AS cv_pct,
    1e9 * count(*) FILTER (closed AND rest)
        / nullif(max(end_ns) FILTER (closed AND rest) - min(start_ns) FILTER (closed AND rest), 0) AS per_second,
    coalesce(sum(ns) FILTER (closed AND rest), 0)::BIGINT AS total_ns, count(*) FILTER (NOT closed) AS unclosed,
    count(gpu_ns) > 0 AS has_gpu
FROM step GROUP BY rank ORDER BY rank;
