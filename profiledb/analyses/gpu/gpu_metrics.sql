-- title: GPU metrics
-- Mean and maximum of every sampled GPU metric over the selected time, by GPU.
-- page: idle
-- prefetch: part
-- needs: gpu_metric
-- includes: selection, memory
-- selects: part
-- column: gpu_id | id | | number of the GPU
-- column: metric | text | | metric name of the profiler
-- column: unit | text | | %, Hz, or empty if the name states it; clocks are in Hz even if their name says otherwise
-- column: mean | number | .2f | mean of the samples
-- column: largest | number | .2f | largest sample
-- column: samples | count | | number of samples
WITH inside AS (
    SELECT gpu_metric.* FROM gpu_metric ASOF JOIN selected_window AS stretch ON gpu_metric.time_ns >= stretch.start_ns
    WHERE gpu_metric.time_ns <= stretch.end_ns
), mean AS (
    SELECT gpu_id, 'mean' AS what, avg(COLUMNS(* EXCLUDE (gpu_id, time_ns))) FROM inside GROUP BY gpu_id
    UNION ALL SELECT gpu_id, 'largest', max(COLUMNS(* EXCLUDE (gpu_id, time_ns))) FROM inside GROUP BY gpu_id
    UNION ALL SELECT gpu_id, 'samples', count(COLUMNS(* EXCLUDE (gpu_id, time_ns))) FROM inside GROUP BY gpu_id
), long AS (UNPIVOT mean ON COLUMNS(* EXCLUDE (gpu_id, what)) INTO NAME metric VALUE amount)
SELECT gpu_id, metric, metric_unit(metric) AS unit, max(amount) FILTER (what = 'mean') AS mean,
    max(amount) FILTER (what = 'largest') AS largest, (max(amount) FILTER (what = 'samples'))::BIGINT AS samples
FROM long GROUP BY gpu_id, metric HAVING samples > 0
ORDER BY gpu_id, metric;
