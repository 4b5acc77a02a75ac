-- title: Timers against ranges
-- One row per label of the timings beside the report: the measurements of the program's timer, next to the ranges of
-- that label. A label means the ranges of that path, with or without the name of their step, else those whose path ends
-- so, else of that name followed by a number. They pair by step, if the range or one around it is named like one
-- (step_3) and the label lacks that name; else in order, if there are as many of both. A label with measurements of a
-- range and of the steps inside it, such as batch_8, has a second row for these: batch_8/step_*. Warm-up measurements
-- (step warmup) pair with warm-up ranges, and are left out with them. Figures cover the pairs; if nothing pairs, all
-- measurements and all ranges, and then no overhead is shown. Unclosed ranges do not count.
-- page: timer_check
-- show: label 240, timings 84, ranges 72, pairs 64, timer_mean_ns, cpu_mean_ns, gpu_mean_ns, over_cpu_ns
-- show: over_cpu_pct, over_gpu_ns, over_gpu_pct, timer_std_ns, cpu_std_ns, gpu_std_ns, timer_p50_ns, cpu_p50_ns
-- show: gpu_p50_ns, timer_p95_ns, cpu_p95_ns, gpu_p95_ns
-- needs: timing
-- needs: range
-- includes: selection, sidecar, timing
-- selects: part, mode
-- column: label | text | | label of the measurements; for steps inside its range, with their pattern
-- column: timings = Measured | count | | number of measurements of this label
-- column: ranges | count | | number of ranges of this label in the selection
-- column: pairs | count | | number of measurements paired with a range
-- column: timer_mean_ns = Timer | ns | .0f | mean of the timer's measurements
-- column: timer_std_ns = Timer std dev | ns | .0f | sample standard deviation of the timer
-- column: timer_p50_ns = Timer P50 | ns | .0f | median of the timer
-- column: timer_p95_ns = Timer P95 | ns | .0f | 95th percentile of the timer
-- column: cpu_mean_ns = CPU | ns | .0f | mean duration of the ranges on the CPU
-- column: cpu_std_ns = CPU std dev | ns | .0f | sample standard deviation of the ranges on the CPU
-- column: cpu_p50_ns = CPU P50 | ns | .0f | median of the ranges on the CPU
-- column: cpu_p95_ns = CPU P95 | ns | .0f | 95th percentile of the ranges on the CPU
-- column: gpu_mean_ns = GPU | ns | .0f | mean time on the GPU, from the first operation to the end of the last
-- column: gpu_std_ns = GPU std dev | ns | .0f | sample standard deviation of the time on the GPU
-- column: gpu_p50_ns = GPU P50 | ns | .0f | median of the time on the GPU
-- column: gpu_p95_ns = GPU P95 | ns | .0f | 95th percentile of the time on the GPU
-- column: over_cpu_ns = Timer − CPU | ns | .0f | mean of timer minus range
-- column: over_cpu_pct = Of CPU | % | .2f | the same as a share of the mean range on the CPU
-- column: over_gpu_ns = Timer − GPU | ns | .0f | mean of timer minus time on the GPU; below 0: the GPU continued after the timer stopped
-- column: over_gpu_pct = Of GPU | % | .2f | the same as a share of the mean time on the GPU
-- column: gpu_pairs | count | | pairs with GPU work
WITH pair AS (
    FROM selected_timing_pair(selected_mode())
), counted AS (
    SELECT label, count(timer_ns) AS timings, count(range_id) AS ranges, count(*) FILTER (is_pair) AS pairs
    FROM pair GROUP BY label
), used AS (
    SELECT pair.* FROM pair JOIN counted USING (label) WHERE is_pair OR pairs = 0
), figures AS (
    SELECT label, avg(timer_ns) AS timer_mean_ns, stddev_samp(timer_ns) AS timer_std_ns,
        median(timer_ns) AS timer_p50_ns,
        quantile_cont(timer_ns, 0.95) AS timer_p95_ns, avg(cpu_ns) AS cpu_mean_ns, stddev_samp(cpu_ns) AS cpu_std_ns,
        median(cpu_ns) AS cpu_p50_ns, quantile_cont(cpu_ns, 0.95) AS cpu_p95_ns, avg(gpu_ns) AS gpu_mean_ns,
        stddev_samp(gpu_ns) AS gpu_std_ns, median(gpu_ns) AS gpu_p50_ns, quantile_cont(gpu_ns, 0.95) AS gpu_p95_ns,
        avg(timer_ns - cpu_ns) AS over_cpu_ns, avg(timer_ns - gpu_ns) AS over_gpu_ns,
        count(timer_ns - gpu_ns) AS gpu_pairs
    FROM used GROUP BY label
)
SELECT label, timings, ranges, pairs, timer_mean_ns, timer_std_ns, timer_p50_ns, timer_p95_ns, cpu_mean_ns, cpu_std_ns,
    cpu_p50_ns, cpu_p95_ns, gpu_mean_ns, gpu_std_ns, gpu_p50_ns, gpu_p95_ns, over_cpu_ns,
    100 * over_cpu_ns / nullif(cpu_mean_ns, 0) AS over_cpu_pct, over_gpu_ns,
    CASE WHEN pairs > 0 THEN 100 * over_gpu_ns / nullif(gpu_mean_ns, 0) END AS over_gpu_pct, gpu_pairs
FROM counted JOIN figures USING (label)
ORDER BY timings * coalesce(timer_mean_ns, 0) DESC, label;
